#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/message_batch.h"
#include "common/status.h"

namespace segue {

// The stream that `segue export` writes; docs/export-format.md draws it.

/// Where the messages come from.
struct ExportHeader {
  std::string queue;
  std::int64_t taken_ms = 0;  // since 1970-01-01 UTC
  std::uint64_t salt = 0;     // random: no block of another stream passes for one of this
};

/// What a whole stream has.
struct ExportTotals {
  std::uint64_t blocks = 0;
  std::uint64_t messages = 0;
  std::uint64_t body_bytes = 0;
  std::uint64_t left_out = 0;  // messages that could not be read

  bool operator==(const ExportTotals&) const = default;
};

/// Makes the parts of a stream, in order: header, blocks, end.
class ExportWriter {
 public:
  std::string header(const ExportHeader& header);
  /// Messages as MessageBatchBuilder gives them; at least one.
  std::string block(const MessageBatchBuilder::Built& messages);
  std::string end(std::uint64_t left_out = 0);
  const ExportTotals& totals() const { return totals_; }

 private:
  std::uint64_t seed_ = 0;
  ExportTotals totals_;
};

/// Reads such a stream, whatever its bytes are. Keeps one block in memory, as far as it has come.
///
///     parser.add(bytes); or parser.finish();
///     while (true) { auto event = parser.next(); ... until kMore or an error }
class ExportParser {
 public:
  enum class Kind {
    kMore,    // add() or finish() first
    kHeader,  // header() is known
    kBlock,   // its messages are in the event
    kEnd,     // the stream is whole; totals() are those of its end
  };
  struct Event {
    Kind kind = Kind::kMore;
    MessageBatchPtr messages;
  };

  void add(std::string_view bytes);
  /// There is nothing more.
  void finish() { finished_ = true; }
  /// CORRUPTION, with the offset, when the stream is damaged, cut short or goes on behind its end;
  /// INVALID_CONFIG when it is none, or a newer one. The same error ever after.
  Result<Event> next();

  const ExportHeader& header() const { return header_; }
  /// Of the blocks so far.
  const ExportTotals& totals() const { return totals_; }

 private:
  enum class State { kHeader, kBlocks, kEnded };

  Result<Event> step();
  Result<Event> read_header();
  Result<Event> read_block();
  Result<Event> read_end(std::string_view head);
  bool has(std::uint64_t bytes) const { return buffer_.size() - begin_ >= bytes; }
  std::string_view front(std::size_t bytes) const {
    return std::string_view(buffer_).substr(begin_, bytes);
  }
  void take(std::size_t bytes);
  /// kMore, or the error that the stream ends here.
  Result<Event> need_more(const char* what) const;
  Status damaged(const std::string& what) const;

  State state_ = State::kHeader;
  std::string buffer_;
  std::size_t begin_ = 0;     // of what is not taken yet
  std::uint64_t offset_ = 0;  // of that in the stream
  bool finished_ = false;
  std::uint64_t seed_ = 0;
  ExportHeader header_;
  ExportTotals totals_;
  Status failed_;
};

}  // namespace segue
