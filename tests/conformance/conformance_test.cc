// Random programs of client operations, run on real routers and nodes, must do what the model of
// docs/semantics.md says. SEGUE_CONFORMANCE_SEED runs the program of one seed again,
// SEGUE_TEST_EFFORT so many times more programs.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>

#include "tests/conformance/arena.h"
#include "tests/conformance/driver.h"
#include "tests/conformance/generator.h"
#include "tests/conformance/shrink.h"
#include "tests/fakes/sanitized.h"

namespace segue::conformance {
namespace {

constexpr std::uint64_t kSlower = kSanitized ? 10 : 1;

/// To make a failing program shorter.
constexpr int kAttempts = 250;

std::optional<std::uint64_t> number_in_environment(const char* name) {
  const char* const text = std::getenv(name);
  if (text == nullptr) return std::nullopt;
  return std::strtoull(text, nullptr, 10);
}

class Conformance : public ::testing::Test {
 protected:
  struct Found {
    std::uint64_t seed = 0;
    Program program;
    std::string difference;
  };

  Arena& arena() {
    if (!arena_) {
      arena_ = std::make_unique<Arena>();
      EXPECT_TRUE(arena_->start()) << arena_->cluster().logs();
    }
    return *arena_;
  }

  std::string run(const Program& program, Mistake mistake = Mistake::kNone,
                  std::chrono::milliseconds patience = std::chrono::seconds(20)) {
    Driver driver(arena(), "p" + std::to_string(++programs_) + "-", {mistake, patience});
    std::string difference = driver.run(program);
    performed_ += driver.performed();
    return difference;
  }

  /// Programs of seeds from `first` on, until one fails; it is given as short as it can be made.
  std::optional<Found> search(std::uint64_t first, std::uint64_t count,
                              const Generator::Options& options, Mistake mistake = Mistake::kNone) {
    for (std::uint64_t seed = first; seed < first + count; ++seed) {
      Found found{seed, Generator(seed, options).program(), ""};
      found.difference = run(found.program, mistake);
      if (found.difference.empty()) continue;
      const auto fails = [&](const Program& program) {
        return !run(program, mistake, std::chrono::seconds(4)).empty();
      };
      found.program = shrink(found.program, fails, kAttempts);
      const std::string again = run(found.program, mistake, std::chrono::seconds(4));
      if (!again.empty()) found.difference = again;
      return found;
    }
    return std::nullopt;
  }

  /// All must do what the model says.
  void expect_conformance(std::uint64_t usual, const Generator::Options& options) {
    const auto only = number_in_environment("SEGUE_CONFORMANCE_SEED");
    const std::uint64_t effort =
        std::max<std::uint64_t>(1, number_in_environment("SEGUE_TEST_EFFORT").value_or(1));
    const std::uint64_t count = only ? 1 : std::max<std::uint64_t>(1, usual * effort / kSlower);
    const std::uint64_t first = only.value_or(1);
    std::printf("seeds %llu to %llu\n", static_cast<unsigned long long>(first),
                static_cast<unsigned long long>(first + count - 1));
    const auto found = search(first, count, options);
    if (found) {
      ADD_FAILURE() << "SEGUE_CONFORMANCE_SEED=" << found->seed << ": " << found->difference
                    << "the program, shortened:\n"
                    << to_text(found->program) << arena().cluster().logs();
    }
    std::printf("%d operations\n", performed_);
  }

 private:
  std::unique_ptr<Arena> arena_;
  int programs_ = 0;
  int performed_ = 0;
};

TEST_F(Conformance, RandomProgramsDoWhatTheModelSays) {
  expect_conformance(24, {.operations = 40, .restarts = false});
}

TEST_F(Conformance, RandomProgramsDoWhatTheModelSaysThroughKills) {
  expect_conformance(2, {.operations = 40, .restarts = true});
}

// What the model gets wrong is found, and comes down to a handful of operations.
class WrongModel : public Conformance, public ::testing::WithParamInterface<Mistake> {};
INSTANTIATE_TEST_SUITE_P(All, WrongModel,
                         ::testing::Values(Mistake::kPurgeCountsUnacked, Mistake::kRequeuedGoLast,
                                           Mistake::kNewestAreDropped));

TEST_P(WrongModel, IsFoundAndShrunk) {
  const auto found = search(1, 200, {.operations = 40, .restarts = false}, GetParam());
  ASSERT_TRUE(found);
  EXPECT_LE(found->program.size(), 8u) << found->difference << to_text(found->program);
  EXPECT_EQ(run(found->program), "");
}

}  // namespace
}  // namespace segue::conformance
