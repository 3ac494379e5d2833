#include "router/consumer.h"

#include <algorithm>

namespace segue::router {

const char* check_settled_tags(const v1::SettledTags& tags) {
  if (tags.tags().first() == 0) return "tags begin at 1";
  if (tags.tags().last() < tags.tags().first()) return "the range's last tag is before its first";
  if (tags.outcome() != v1::OUTCOME_ACK && tags.outcome() != v1::OUTCOME_REJECT &&
      tags.outcome() != v1::OUTCOME_REQUEUE && tags.outcome() != v1::OUTCOME_RELEASE &&
      tags.outcome() != v1::OUTCOME_EXTEND) {
    return "the outcome is not one of ack, reject, requeue, release, extend";
  }
  return nullptr;
}

TranslatedSettle translate(const Consumer& consumer, const v1::Settle& settle) {
  TranslatedSettle result;
  result.settle.set_consumer(consumer.id.value);
  for (const v1::SettledTags& settled : settle.settled()) {
    if (const char* wrong = check_settled_tags(settled)) {
      result.wrong = wrong;
      continue;
    }
    std::uint64_t first = settled.tags().first();
    std::uint64_t last = settled.tags().last();
    if (last > consumer.last_tag()) {
      result.wrong = "tag " + std::to_string(last) + " was not delivered, the last one was " +
                     std::to_string(consumer.last_tag());
      last = consumer.last_tag();
      if (first > last) continue;
    }
    if (first <= consumer.base) {
      result.stale = true;
      first = consumer.base + 1;
      if (first > last) continue;
    }
    v1::SettledTags& translated = *result.settle.add_settled();
    translated.mutable_tags()->set_first(first - consumer.base);
    translated.mutable_tags()->set_last(last - consumer.base);
    translated.set_outcome(settled.outcome());
    translated.set_delay_ms(settled.delay_ms());
  }
  return result;
}

}  // namespace segue::router
