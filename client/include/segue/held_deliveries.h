#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "segue/delivery.h"

namespace segue::client {

class ConsumerCore;

/// Deliveries of one consumer that are to be released later, without their messages: a few bytes
/// for each run of neighbours, however many there are. What is neither released nor settled
/// otherwise comes back when the connection closes, as always. One thread.
class HeldDeliveries {
 public:
  HeldDeliveries();
  ~HeldDeliveries();
  HeldDeliveries(const HeldDeliveries&) = delete;
  HeldDeliveries& operator=(const HeldDeliveries&) = delete;

  /// One of a newer session makes those before it void: the broker delivers them again.
  void add(const Delivery& delivery);
  std::uint64_t size() const { return size_; }
  /// As Delivery::release(), all of them; empty afterwards.
  void release();
  void clear();

 private:
  struct Tags {
    std::uint64_t first;
    std::uint64_t last;
  };

  std::shared_ptr<ConsumerCore> consumer_;
  std::uint64_t session_ = 0;
  std::vector<Tags> held_;
  std::uint64_t size_ = 0;
};

}  // namespace segue::client
