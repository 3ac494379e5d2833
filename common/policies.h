#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/pattern.h"
#include "segue/v1/types.pb.h"

namespace segue {

/// The policies of a catalog, their patterns compiled once, and what they say of a name. Copies
/// share what is compiled. One thread.
class Policies {
 public:
  enum class Target : std::uint8_t { kQueue, kExchange };

  /// A value, and the name of the policy that it is of. Valid until the next change.
  struct Value {
    const v1::FieldValue* value = nullptr;
    std::string_view policy;
  };
  /// By key, as policies name it.
  using Values = std::map<std::string_view, Value>;

  /// Adds it, or replaces the one of its name. One whose pattern cannot be compiled, of a newer
  /// version, matches nothing.
  void set(const v1::PolicyDefinition& definition);
  void erase(std::string_view vhost, std::string_view name);
  void clear();

  /// Null when missing; valid until the next change.
  const v1::PolicyDefinition* find(std::string_view vhost, std::string_view name) const;
  /// In order of name, those after `after`.
  std::vector<const v1::PolicyDefinition*> list(std::string_view vhost, std::string_view after,
                                                std::size_t limit) const;
  /// Of all virtual hosts.
  std::vector<const v1::PolicyDefinition*> all() const;
  std::size_t count() const { return policies_.size(); }
  std::size_t count(std::string_view vhost) const;
  /// Of all patterns together (Pattern::steps): what looking at one queue may cost.
  std::uint64_t steps() const { return steps_; }

  /// What is said of the name: of each key what the policy with the highest priority says, of equal
  /// ones the one whose name comes first.
  Values values_of(Target target, std::string_view vhost, std::string_view name) const;
  /// Of one key; `value` is null when nothing is said.
  Value value_of(Target target, std::string_view vhost, std::string_view name,
                 std::string_view key) const;

  /// Goes up with every change.
  std::uint64_t generation() const { return generation_; }

  /// Whether it may say anything of such things. False for an unknown `apply_to`, too.
  static bool applies_to(const v1::PolicyDefinition& definition, Target target);

 private:
  struct Policy;
  using Shared = std::shared_ptr<const Policy>;
  using Key = std::pair<std::string, std::string>;  // vhost, name

  /// Calls visit(policy) for those that match, the one that counts most first, until it says false.
  template <typename Visit>
  void each_match(Target target, std::string_view vhost, std::string_view name,
                  const Visit& visit) const;

  std::map<Key, Shared> policies_;
  // Of each virtual host, the one that counts most first.
  std::map<std::string, std::vector<Shared>, std::less<>> by_vhost_;
  std::uint64_t generation_ = 0;
  std::uint64_t steps_ = 0;
};

inline constexpr std::string_view kApplyToQueues = "queues";
inline constexpr std::string_view kApplyToExchanges = "exchanges";
inline constexpr std::string_view kApplyToAll = "all";

}  // namespace segue
