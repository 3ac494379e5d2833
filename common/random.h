#pragma once

#include <cstdint>
#include <random>

namespace segue {

/// Where unpredictable numbers come from (epochs, ids, jitter).
class Random {
 public:
  virtual ~Random() = default;
  /// A number from the whole range, each as likely.
  virtual std::uint64_t next_u64() = 0;
  /// A number in [0, bound); bound > 0.
  std::uint64_t below(std::uint64_t bound) { return next_u64() % bound; }
};

/// Seeded from the operating system. One thread.
class SystemRandom final : public Random {
 public:
  SystemRandom() {
    std::random_device device;
    std::seed_seq seed{device(), device(), device(), device()};
    engine_.seed(seed);
  }
  std::uint64_t next_u64() override { return engine_(); }

 private:
  std::mt19937_64 engine_;
};

/// The same numbers for the same seed. One thread.
class SeededRandom final : public Random {
 public:
  explicit SeededRandom(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t next_u64() override { return engine_(); }

 private:
  std::mt19937_64 engine_;
};

}  // namespace segue
