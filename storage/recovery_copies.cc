#include "storage/recovery_copies.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "storage/segment_format.h"

namespace segue::storage {

namespace {

/// A segment that may have copies, and the parts of its range for which none stands so far: a
/// segment that was cut has several, which may have been copied further, or have gone, one by one.
struct Source {
  NamedSegment named;
  std::vector<std::pair<Sequence, Sequence>> parts;

  explicit Source(NamedSegment segment)
      : named(std::move(segment)), parts{{named.segment.first, named.segment.last}} {}

  bool is_source_of(const FoundCopy& copy) const {
    return named.segment.generation < copy.segment.generation &&
           std::any_of(parts.begin(), parts.end(), [&](const auto& part) {
             return part.first <= copy.replaced_last && part.second >= copy.replaced_first;
           });
  }
  /// The copy stands for its part of a segment that is gone.
  void take_out(const FoundCopy& copy) {
    std::vector<std::pair<Sequence, Sequence>> left;
    for (const auto& [first, last] : parts) {
      if (first < copy.replaced_first) {
        left.emplace_back(first, std::min(last, Sequence{copy.replaced_first.value - 1}));
      }
      if (last > copy.replaced_last) {
        left.emplace_back(std::max(first, copy.replaced_last.next()), last);
      }
    }
    parts = std::move(left);
    named.segment.valid -= std::min(named.segment.valid, copy.segment.valid);
  }
};

Status damaged(const std::string& path, const std::string& what) {
  return Status(Code::kCorruption,
                path + ": " + what +
                    "; it is a copy of segments that may be gone. Restore the file, or let segue "
                    "check --repair "
                    "go on with what is found in it, or without it if the segments are there");
}

/// Reads a copy's header and footer.
Result<FoundCopy> read_copy(SegmentContext& context, QueueId queue, const std::string& path,
                            SegmentName name) {
  auto data = context.files.open(path, OpenMode::kRead);
  if (!data.is_ok()) return data.status();
  auto size = (*data)->size();
  if (!size.is_ok()) return size.status();
  constexpr std::uint64_t kLeast = SegmentHeader::kSize + SegmentFooter::kSize;
  if (*size < kLeast) return damaged(path, "is cut off at offset " + std::to_string(*size));
  const auto at = [&](std::uint64_t offset, std::size_t bytes) -> Result<std::string> {
    std::string read(bytes, '\0');
    auto got = (*data)->read(offset, read.data(), bytes);
    if (!got.is_ok()) return got.status();
    read.resize(*got);
    return read;
  };
  auto head = at(0, SegmentHeader::kSize);
  if (!head.is_ok()) return head.status();
  const std::uint64_t end = *size - SegmentFooter::kSize;
  auto foot = at(end, SegmentFooter::kSize);
  if (!foot.is_ok()) return foot.status();
  const auto header = SegmentHeader::decode(*head);
  if (!header.is_ok()) return damaged(path, header.status().message() + " at offset 0");
  const auto footer = SegmentFooter::decode(*foot);
  if (!footer.is_ok()) {
    return damaged(path, footer.status().message() + " at offset " + std::to_string(end));
  }
  if (header->queue != queue || header->first != name.first || footer->queue != queue ||
      footer->records_end != end || footer->first != name.first || footer->last < name.first ||
      header->replaced_last < footer->last || header->replaced_first != name.first) {
    return damaged(path, "does not fit its name at offset 0");
  }
  FoundCopy copy;
  copy.segment = {name.first,       name.generation,  footer->last, *size,
                  footer->messages, footer->messages, true};
  copy.replaced_first = header->replaced_first;
  copy.replaced_last = header->replaced_last;
  return copy;
}

}  // namespace

SegmentChoice choose_segments(std::vector<NamedSegment> named, std::vector<FoundCopy> copies) {
  SegmentChoice choice;
  std::sort(copies.begin(), copies.end(), [](const FoundCopy& one, const FoundCopy& other) {
    return std::pair(one.segment.generation, one.segment.first) <
           std::pair(other.segment.generation, other.segment.first);
  });
  std::vector<Source> sources(named.begin(), named.end());
  for (const FoundCopy& copy : copies) {
    const bool missing = std::any_of(sources.begin(), sources.end(), [&](const Source& source) {
      return source.is_source_of(copy) && !source.named.there;
    });
    if (!missing) {
      choice.discarded.push_back(copy.segment.name());
      continue;
    }
    std::erase_if(sources, [&](Source& source) {
      if (!source.is_source_of(copy)) return false;
      if (source.named.there) {
        choice.replaced.push_back(source.named.segment.name());
        return true;
      }
      source.take_out(copy);
      return source.parts.empty();
    });
    sources.emplace_back(NamedSegment{copy.segment, true});
  }
  for (const Source& source : sources) {
    const CheckpointSegment& segment = source.named.segment;
    if (source.named.there) {
      choice.segments.push_back(segment);
    } else if (segment.valid > 0) {
      choice.missing.push_back(segment);
    }
  }
  std::sort(choice.segments.begin(), choice.segments.end(),
            [](const CheckpointSegment& one, const CheckpointSegment& other) {
              return one.first < other.first;
            });
  return choice;
}

Result<std::vector<FoundCopy>> find_copies(SegmentContext& context, QueueId queue,
                                           const std::string& directory,
                                           const std::vector<std::string>& names,
                                           const std::vector<CheckpointSegment>& named) {
  std::vector<FoundCopy> copies;
  for (const std::string& file : names) {
    const auto name = segment_of_file_name(file, ".data");
    if (!name || name->generation == 0) continue;
    if (std::any_of(named.begin(), named.end(),
                    [&](const CheckpointSegment& segment) { return segment.name() == *name; })) {
      continue;
    }
    auto copy = read_copy(context, queue, directory + "/" + file, *name);
    if (!copy.is_ok()) return copy.status();
    copies.push_back(*copy);
  }
  return copies;
}

Result<std::vector<std::string>> find_hiding_files(SegmentContext& context, QueueId queue,
                                                   const std::string& directory,
                                                   const std::vector<NamedSegment>& named,
                                                   const std::vector<FoundCopy>& copies) {
  std::vector<std::string> paths;
  for (const NamedSegment& segment : named) {
    const Source source(segment);
    const bool copied = std::any_of(copies.begin(), copies.end(), [&](const FoundCopy& copy) {
      return source.is_source_of(copy);
    });
    if (!segment.there || !copied) continue;
    const SegmentName name = segment.segment.name();
    std::string path = directory + "/" + segment_file_name(name, ".data");
    const auto another = names_another_segment(context.files, path, queue, name);
    if (!another.is_ok()) return another.status();
    if (another->has_value()) paths.push_back(std::move(path));
  }
  return paths;
}

Result<std::optional<HeaderName>> names_another_segment(FileSystem& files, const std::string& path,
                                                        QueueId queue, SegmentName name) {
  auto data = files.open(path, OpenMode::kRead);
  if (!data.is_ok()) return data.status();
  std::string bytes(SegmentHeader::kSize, '\0');
  auto read = (*data)->read(0, bytes.data(), bytes.size());
  if (!read.is_ok()) return read.status();
  bytes.resize(*read);
  const auto header = SegmentHeader::decode(bytes);
  const bool another = header.is_ok() && (header->queue != queue || header->first != name.first);
  return another ? std::optional(HeaderName{header->queue, header->first}) : std::nullopt;
}

Status hides_a_copy(const std::string& path) {
  return Status(Code::kCorruption,
                path +
                    ": is another segment's, as its header at offset 0 says, and hides a copy of "
                    "the one that should be here. Put the right file there, or none; or let "
                    "segue check --repair move it away");
}

}  // namespace segue::storage
