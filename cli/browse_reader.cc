#include "cli/browse_reader.h"

#include <algorithm>
#include <utility>

namespace segue::cli {

// A page tells the place of its last message only. Where the numbers have no gap that tells all of
// them; where they have, a smaller page is asked for, in the end one message.
client::Result<std::vector<BrowseReader::Placed>> BrowseReader::next() {
  while (more_) {
    auto page = delayed_ ? admin_.browse_delayed(queue_, after_, bytes_)
                         : admin_.browse(queue_, after_, bytes_);
    if (!page) return page.error();
    const std::uint64_t count = page->messages.size();
    if (count > 1 && page->through - after_ != count) {
      bytes_ = std::max<std::uint64_t>(bytes_ / 16, 1);
      continue;
    }
    std::vector<Placed> placed;
    placed.reserve(count);
    std::uint64_t place = page->through - count;
    for (client::Message& message : page->messages) placed.push_back({++place, std::move(message)});
    bytes_ = std::min(bytes_ * 4, kMostBytes);
    corrupt_ += page->corrupt;
    more_ = page->more && page->through > after_;
    after_ = page->through;
    if (!placed.empty()) return placed;
  }
  return std::vector<Placed>();
}

}  // namespace segue::cli
