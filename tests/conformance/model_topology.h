#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/conformance/outcome.h"
#include "tests/conformance/program.h"

namespace segue::conformance {

/// Exchanges and bindings of the model: lines 8 to 12 of docs/semantics.md, written down plainly.
class ModelTopology {
 public:
  using Errors = std::set<ErrorCode>;

  struct Binding {
    std::string exchange;
    std::string to;
    std::string key;
    Table arguments;

    bool operator==(const Binding&) const = default;
  };

  Errors declare(const DeclareExchange& wanted);
  Errors remove(const DeleteExchange& wanted);
  /// `there`: whether the queue that it leads to is there, if it leads to a queue.
  Errors bind(const Bind& wanted, bool there);
  Errors unbind(const Bind& wanted);
  /// Takes the bindings to a queue that is deleted along.
  void forget_queue(const std::string& queue);
  /// What policies say of alternate exchanges, by exchange; their own arguments go before it.
  /// Whether that changes anything.
  bool set_alternates(std::map<std::string, std::string> by_policy);

  /// The queues that a message of the exchange comes to; nothing where that is left open (which of
  /// several queues a hash chooses).
  std::optional<std::set<std::string>> route(const Seen& message,
                                             const std::set<std::string>& queues) const;

  const std::map<std::string, DeclareExchange>& exchanges() const { return exchanges_; }
  const std::vector<Binding>& bindings() const { return bindings_; }

 private:
  std::optional<std::set<std::string>> matches(const DeclareExchange& exchange,
                                               const Seen& message) const;
  std::string alternate_of(const DeclareExchange& exchange) const;
  void delete_exchange(const std::string& name);
  /// Exchanges that are auto-delete and have no binding from them any more.
  void delete_if_bare(const std::set<std::string>& names);
  /// Deletes the bindings for which `goes` holds; the exchanges that they were from.
  template <typename Goes>
  std::set<std::string> erase_bindings(Goes goes);

  std::map<std::string, DeclareExchange> exchanges_;
  std::map<std::string, std::string> alternates_;  // by policy
  std::vector<Binding> bindings_;
};

}  // namespace segue::conformance
