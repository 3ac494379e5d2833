#include "cli/lines.h"

namespace segue::cli {

void LineSplitter::add(std::string_view bytes) {
  if (begin_ > 0) {
    buffer_.erase(0, begin_);
    scanned_ -= begin_;
    begin_ = 0;
  }
  buffer_ += bytes;
}

std::optional<LineSplitter::Line> LineSplitter::next() {
  if (too_long_) return std::nullopt;
  const std::size_t end = buffer_.find('\n', scanned_);
  if (end == std::string::npos) {
    scanned_ = buffer_.size();
    if (scanned_ - begin_ > max_line_) {
      too_long_ = true;
      return std::nullopt;
    }
    if (!finished_ || begin_ == buffer_.size()) return std::nullopt;
    const Line line{std::string_view(buffer_).substr(begin_), false};
    begin_ = scanned_ = buffer_.size();
    ++count_;
    return line;
  }
  if (end - begin_ > max_line_) {
    too_long_ = true;
    return std::nullopt;
  }
  const Line line{std::string_view(buffer_).substr(begin_, end - begin_), true};
  begin_ = scanned_ = end + 1;
  ++count_;
  return line;
}

std::optional<std::size_t> LineSplitter::too_long() const {
  if (!too_long_) return std::nullopt;
  return count_ + 1;
}

}  // namespace segue::cli
