#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/definitions.h"
#include "common/logging.h"
#include "common/status.h"
#include "node/catalog_leader.h"

namespace segue::node {

/// A document that the configuration names.
struct DefinitionsDocument {
  std::string path;
  ReadDefinitions read;
};

/// Reads the documents and holds them against the catalog's rules, as far as these need no cluster:
/// what can never be made is found before anything is. INVALID_CONFIG names document and object.
Result<std::vector<DefinitionsDocument>> load_definitions_documents(
    const std::vector<std::string>& paths);

/// Makes what documents of definitions want when the catalog's leader starts: what is missing is
/// asked for, what is there and equal is left alone, and so is what is there and different, with a
/// warning. Some objects in each turn of the loop; when the log takes nothing (a full disk) it goes
/// on later from there. No I/O; reactor's thread.
class DefinitionsAtStart {
 public:
  /// The references outlive this object; `leader` must not reply after it is gone.
  DefinitionsAtStart(std::vector<DefinitionsDocument> documents, CatalogLeader& leader,
                     Logger& log);

  /// Once in every turn, before the leader's end_turn().
  void step(TimePoint now);
  /// step() has more to do at once.
  bool wants_turn() const { return can_ask() && state_ == State::kAsking; }
  /// Nobody is told of the catalog yet: until everything was asked for and answered once.
  bool holds_catalog_back() const { return first_pass_; }

 private:
  enum class State : std::uint8_t { kAsking, kWaiting, kDone };
  enum class Outcome : std::uint8_t { kOpen, kAsked, kTold };
  struct Object {
    DefinedObject wanted;
    std::size_t document;
    Outcome outcome = Outcome::kOpen;
  };
  struct Counts {
    std::uint64_t made = 0, equal = 0, different = 0, refused = 0;
  };

  bool can_ask() const;
  void ask(std::size_t number);
  void answered(std::size_t number, const v1::CatalogOutcome& outcome);
  void tell_waiting(TimePoint now);
  void finish();

  std::vector<std::string> paths_;
  std::vector<Counts> counts_;  // of each document
  std::vector<Object> objects_;
  CatalogLeader& leader_;
  Logger& log_;
  State state_ = State::kAsking;
  bool first_pass_ = true;
  std::size_t next_ = 0;   // objects before it were looked at
  std::size_t asked_ = 0;  // that are not answered
  std::size_t failed_;     // the first that the log did not take; objects_.size(): none
  std::string why_;        // it did not
  Duration pause_{};       // until it is tried again
  TimePoint retry_at_{};
};

}  // namespace segue::node
