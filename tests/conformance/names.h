#pragma once

#include <string>

#include "segue/delivery.h"
#include "tests/conformance/outcome.h"

namespace segue::conformance {

/// The names of a program's queues and exchanges in a cluster that it shares with others.
class Names {
 public:
  explicit Names(std::string prefix) : prefix_(std::move(prefix)) {}

  const std::string& prefix() const { return prefix_; }
  /// In the cluster; what is no name of a queue or an exchange stays.
  std::string there(const std::string& name) const;
  Table there(const Table& table) const;
  /// And back.
  std::string here(const std::string& name) const;
  /// Of a policy: for names of the program only.
  std::string pattern_there(const std::string& pattern) const;
  std::string pattern_here(const std::string& pattern) const;
  Table here(const Table& table) const;

  Seen seen(const client::MessageHeader& header, std::string_view body) const;
  Seen seen(const client::Delivery& delivery) const;

 private:
  std::vector<Death> deaths_in(const Table& headers) const;
  std::string death_in(const Table& headers, const std::string& which) const;

  std::string prefix_;
};

}  // namespace segue::conformance
