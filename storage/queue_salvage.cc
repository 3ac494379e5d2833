#include "storage/queue_salvage.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "common/counted.h"
#include "storage/queue_cut.h"
#include "storage/recovery_copies.h"
#include "storage/segment_overlaps.h"
#include "storage/segment_remainder.h"

namespace segue::storage {

namespace {

/// Names in a directory; none if it is missing.
Result<std::vector<std::string>> list(FileSystem& files, const std::string& path) {
  auto names = files.list(path);
  if (!names.is_ok() && names.status().code() == Code::kNotFound) return std::vector<std::string>();
  return names;
}

/// Whether these segments have every message of the copy.
bool have_all(const std::vector<const SalvagedSegment*>& sources, const SalvagedSegment& copy) {
  std::set<Sequence> sequences;
  for (const SalvagedSegment* const source : sources) {
    for (std::size_t i = 0; i < source->entries.size(); ++i) sequences.insert(source->sequence(i));
  }
  for (std::size_t i = 0; i < copy.entries.size(); ++i) {
    if (!sequences.contains(copy.sequence(i))) return false;
  }
  return true;
}

/// Segments in front of a complete one are complete: of one whose footer is damaged, the place is
/// still there.
void complete(std::vector<SalvagedSegment>& segments) {
  std::size_t end = segments.size();
  while (end > 0 && !segments[end - 1].named.sealed) --end;
  for (std::size_t i = 0; i < end; ++i) {
    CheckpointSegment& named = segments[i].named;
    if (named.sealed || named.data_bytes + SegmentFooter::kSize != segments[i].file_bytes) continue;
    named.sealed = true;
    named.data_bytes += SegmentFooter::kSize;
  }
}

}  // namespace

Result<SalvagedQueue> QueueSalvage::run() {
  auto segments = read_segments();
  if (!segments.is_ok()) return segments.status();
  SEGUE_RETURN_IF_ERROR(settle_copies(*segments));
  SEGUE_RETURN_IF_ERROR(separate_overlaps(work_, id_, directory_, *segments));
  complete(*segments);
  SEGUE_RETURN_IF_ERROR(cut_what_is_logged(*segments));
  for (const SalvagedSegment& segment : *segments) {
    SEGUE_RETURN_IF_ERROR(write(segment));
    found_.segments.push_back(segment.named);
    found_.messages += segment.named.valid;
  }
  if (!found_.segments.empty()) found_.last = found_.segments.back().last;
  SEGUE_RETURN_IF_ERROR(move_others_aside());
  return std::move(found_);
}

Result<QueueSalvage::Segments> QueueSalvage::read_segments() {
  auto names = list(work_.files(), directory_);
  if (!names.is_ok()) return names.status();
  Segments segments;
  for (const std::string& file : *names) {
    const auto name = segment_of_file_name(file, ".data");
    if (!name) continue;
    auto segment = salvage_segment(work_.files(), id_, directory_, *name, name->generation > 0);
    if (!segment.is_ok()) return segment.status();
    if (segment->has_value()) {
      segments.push_back(std::move(**segment));
      continue;
    }
    RepairLoss loss;
    std::string what = "has no message that can be found: it is moved to " + work_.folder();
    auto other = names_another_segment(work_.files(), data_path(*name), id_, *name);
    if (!other.is_ok()) return other.status();
    if (other->has_value()) {
      what +=
          ". It says that it is another segment's, or another queue's, whose place is taken, or "
          "unknown: messages in it may be lost";
      loss.more = true;
    }
    found_.loss += loss;
    work_.done(directory_ + "/" + file, std::move(what), queue_name(), loss);
    SEGUE_RETURN_IF_ERROR(move_aside(*name));
  }
  std::sort(segments.begin(), segments.end(),
            [](const SalvagedSegment& one, const SalvagedSegment& other) {
              return one.named.name() < other.named.name();
            });
  return segments;
}

/// As choose_segments() does, but without knowing which sources a copy had: it is needed if those
/// that are there lack one of its messages. What any of them says is settled is settled.
Status QueueSalvage::settle_copies(Segments& segments) {
  Segments chosen;
  Segments copies;
  for (SalvagedSegment& segment : segments) {
    (segment.named.generation == 0 ? chosen : copies).push_back(std::move(segment));
  }
  std::stable_sort(copies.begin(), copies.end(),
                   [](const SalvagedSegment& one, const SalvagedSegment& other) {
                     return one.named.generation < other.named.generation;
                   });
  for (SalvagedSegment& copy : copies) {
    const Sequence first = copy.named.first;
    const Sequence last = std::max(copy.named.last, copy.replaced_last);
    std::vector<const SalvagedSegment*> sources;
    for (const SalvagedSegment& segment : chosen) {
      if (segment.named.first <= last && segment.named.last >= first) sources.push_back(&segment);
    }
    if (have_all(sources, copy)) {
      for (SalvagedSegment& segment : chosen) segment.settle_as(copy);
      SEGUE_RETURN_IF_ERROR(move_aside(copy.named.name()));
      continue;
    }
    SEGUE_RETURN_IF_ERROR(replace_sources(sources, copy, chosen));
  }
  std::sort(chosen.begin(), chosen.end(),
            [](const SalvagedSegment& one, const SalvagedSegment& other) {
              return one.named.first < other.named.first;
            });
  segments = std::move(chosen);
  return {};
}

/// The copy stands for its range. What its sources have beside that, a segment that is being cut
/// for one, goes into segments of its own.
Status QueueSalvage::replace_sources(const std::vector<const SalvagedSegment*>& sources,
                                     SalvagedSegment& copy, Segments& chosen) {
  const Sequence first = copy.named.first;
  const Sequence last = std::max(copy.named.last, copy.replaced_last);
  Segments remainders;
  for (const SalvagedSegment* const source : sources) {
    copy.settle_as(*source);
    const std::uint32_t generation = copy.named.generation;
    SEGUE_RETURN_IF_ERROR(keep_remainder(*source, source->named.first, Sequence{first.value - 1},
                                         generation, remainders));
    SEGUE_RETURN_IF_ERROR(
        keep_remainder(*source, last.next(), source->named.last, generation, remainders));
    SEGUE_RETURN_IF_ERROR(move_aside(source->named.name()));
  }
  std::erase_if(chosen, [&](const SalvagedSegment& segment) {
    return segment.named.first <= last && segment.named.last >= first;
  });
  chosen.push_back(std::move(copy));
  for (SalvagedSegment& remainder : remainders) chosen.push_back(std::move(remainder));
  return {};
}

Status QueueSalvage::keep_remainder(const SalvagedSegment& source, Sequence first, Sequence last,
                                    std::uint32_t generation, Segments& remainders) {
  std::optional<Sequence> begin;
  for (std::size_t i = 0; i < source.entries.size() && !begin; ++i) {
    const Sequence sequence = source.sequence(i);
    if (sequence >= first && sequence <= last && source.entries[i].valid()) begin = sequence;
  }
  if (!begin) return {};
  SegmentName name{*begin, generation};
  while (work_.files().exists(data_path(name))) ++name.generation;
  auto made = make_remainder(work_.files(), id_, directory_, source, {*begin, last, name});
  if (!made.is_ok()) return made.status();
  work_.done(source.data_path(directory_),
             "lacks messages that a copy of a part of it has; its other " +
                 counted(made->named.messages, "message") + " are written to " +
                 segment_file_name(name, ".data") + ", and it is moved to " + work_.folder(),
             queue_name());
  remainders.push_back(std::move(*made));
  return {};
}

/// What the log has is stored again from it: a loss of power may have taken any part of a segment
/// that no checkpoint named yet, whole ones between others included, and their footers prove
/// nothing, since the checkpoint that wrote them may not have come to its end.
Status QueueSalvage::cut_what_is_logged(Segments& segments) {
  if (in_log_ == nullptr || in_log_->enqueued.empty()) return {};
  const Sequence lowest{in_log_->enqueued.front().first};
  std::vector<HeldMessage> held;
  for (const SalvagedSegment& segment : segments) {
    std::vector<bool> intact(segment.entries.size(), true);
    if (segment.named.last >= lowest) {
      auto found = find_intact(work_.files(), id_, directory_, segment);
      if (!found.is_ok()) return found.status();
      intact = std::move(*found);
    }
    for (std::size_t i = 0; i < segment.entries.size(); ++i) {
      held.push_back({segment.sequence(i), intact[i], segment.entries[i].valid(),
                      i == 0 || !segment.named.sealed});
    }
  }
  const QueueCut cut = cut_queue(held, *in_log_);
  found_.loss.messages += cut.lost;
  found_.loss.returned += cut.returned;
  if (cut.kept == held.size()) return {};
  const Sequence from = held[cut.kept].sequence;
  std::size_t first = 0;
  for (std::size_t left = cut.kept; left >= segments[first].entries.size(); ++first) {
    left -= segments[first].entries.size();
  }
  return cut_from(segments, first, from);
}

Status QueueSalvage::cut_from(Segments& segments, std::size_t first, Sequence from) {
  for (std::size_t i = first; i < segments.size(); ++i) {
    SalvagedSegment& segment = segments[i];
    const std::uint32_t cut = segment.cut_from(from);
    const bool all = segment.entries.empty();
    work_.done(data_path(segment.named.name()),
               "its " + std::string(all ? "" : "last ") + counted(cut, "message") +
                   (all ? " are moved to " : " are cut off, and copied to ") + work_.folder() +
                   ": the log has what is not settled of them",
               queue_name());
    SEGUE_RETURN_IF_ERROR(
        all ? move_aside(segment.named.name())
            : work_.keep_copy(data_path(segment.named.name()), segment.named.data_bytes));
  }
  std::erase_if(segments, [](const SalvagedSegment& segment) { return segment.entries.empty(); });
  return {};
}

Status QueueSalvage::write(const SalvagedSegment& segment) {
  const SegmentName name = segment.named.name();
  if (segment.write_index) {
    RepairLoss loss;
    std::string what = "does not fit the .data file: it is made anew";
    if (segment.uncertain > 0) {
      what += "; of " + counted(segment.uncertain, "message") +
              " nothing tells whether they were settled: they count as not settled, and come back "
              "if they were";
      loss.more = true;
    }
    if (segment.damaged > 0) {
      what += "; at " + counted(segment.damaged, "place") +
              " of the .data file there is no message any more: damaged, and lost";
      loss.more = true;
    }
    found_.loss += loss;
    work_.done(index_path(name), std::move(what), queue_name(), loss);
    SEGUE_RETURN_IF_ERROR(work_.keep_copy(index_path(name)));
  }
  if (segment.named.sealed && !segment.has_footer) {
    work_.done(data_path(name), "its footer is damaged: it is written anew", queue_name());
    SEGUE_RETURN_IF_ERROR(
        work_.keep_copy(data_path(name), segment.named.data_bytes - SegmentFooter::kSize));
  }
  return write_salvaged(work_.files(), id_, directory_, segment);
}

Status QueueSalvage::move_aside(SegmentName name) {
  SEGUE_RETURN_IF_ERROR(work_.move_aside(data_path(name)));
  return work_.move_aside(index_path(name));
}

Status QueueSalvage::move_others_aside() {
  auto names = list(work_.files(), directory_);
  if (!names.is_ok()) return names.status();
  std::set<std::string> needed{"queue_stat"};
  for (const CheckpointSegment& segment : found_.segments) {
    needed.insert(segment_file_name(segment.name(), ".data"));
    needed.insert(segment_file_name(segment.name(), ".index"));
  }
  for (const std::string& name : *names) {
    if (!needed.contains(name)) {
      SEGUE_RETURN_IF_ERROR(work_.move_aside(directory_ + "/" + name));
    }
  }
  return {};
}

std::string QueueSalvage::data_path(SegmentName name) const {
  return directory_ + "/" + segment_file_name(name, ".data");
}

std::string QueueSalvage::index_path(SegmentName name) const {
  return directory_ + "/" + segment_file_name(name, ".index");
}

std::string QueueSalvage::queue_name() const {
  return queue_name_of_directory(directory_.substr(directory_.rfind('/') + 1));
}

Result<std::uint64_t> count_unlogged(FileSystem& files, QueueId id, const std::string& directory,
                                     Sequence above, const LogContent::Queue* in_log) {
  auto names = list(files, directory);
  if (!names.is_ok()) return names.status();
  const auto logged = [&](Sequence sequence) {
    return in_log != nullptr &&
           (in_log->enqueued.contains(sequence.value) || in_log->settled.contains(sequence.value));
  };
  std::set<Sequence> unlogged;
  for (const std::string& file : *names) {
    const auto name = segment_of_file_name(file, ".data");
    if (!name) continue;
    auto segment = salvage_segment(files, id, directory, *name, name->generation > 0);
    if (!segment.is_ok()) return segment.status();
    if (!segment->has_value() || (*segment)->named.last <= above) continue;
    std::optional<std::vector<bool>> intact;
    for (std::size_t i = 0; i < (*segment)->entries.size(); ++i) {
      const Sequence sequence = (*segment)->sequence(i);
      if (sequence <= above || !(*segment)->entries[i].valid() || logged(sequence)) continue;
      if (!intact) {
        auto found = find_intact(files, id, directory, **segment);
        if (!found.is_ok()) return found.status();
        intact = std::move(*found);
      }
      if ((*intact)[i]) unlogged.insert(sequence);
    }
  }
  return unlogged.size();
}

}  // namespace segue::storage
