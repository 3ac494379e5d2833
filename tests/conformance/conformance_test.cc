// Random programs of client operations, run on real routers and nodes, must do what the model of
// docs/semantics.md says. SEGUE_CONFORMANCE_SEED runs the program of one seed again, with
// SEGUE_CONFORMANCE_PROGRAMS those of so many seeds from there on; SEGUE_TEST_EFFORT so many times
// more programs.

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
    Driver driver(arena(), "p" + std::to_string(++programs_) + "-", {mistake, patience, "", {}});
    std::string difference = driver.run(program);
    performed_ += driver.performed();
    return difference;
  }

  /// Programs of seeds from `first` on, until one fails; it is given as short as it can be made.
  std::optional<Found> search(std::uint64_t first, std::uint64_t count,
                              const Generator::Options& options) {
    for (std::uint64_t seed = first; seed < first + count; ++seed) {
      Found found{seed, Generator(seed, options).program(), ""};
      found.difference = run(found.program);
      if (found.difference.empty()) continue;
      const auto fails = [&](const Program& program) {
        return !run(program, Mistake::kNone, std::chrono::seconds(4)).empty();
      };
      found.program = shrink(found.program, fails, kAttempts);
      const std::string again = run(found.program, Mistake::kNone, std::chrono::seconds(4));
      if (!again.empty()) found.difference = again;
      return found;
    }
    return std::nullopt;
  }

  /// An operation of the one, an operation of the other, and so on, each in its virtual host.
  std::string run_beside(const Program& one, const Program& other) {
    const std::string prefix = "p" + std::to_string(++programs_) + "-";
    Driver here(arena(), prefix, {});
    Driver there(arena(), prefix, {.vhost = prefix + "vhost", .max_queues = 3});
    const auto step = [](Driver& driver, const Program& program, std::size_t i) {
      const std::string difference = i < program.size() ? driver.step(program[i]) : "";
      return difference.empty() ? "" : difference + "the program:\n" + to_text(program);
    };
    for (std::size_t i = 0; i < std::max(one.size(), other.size()); ++i) {
      if (std::string difference = step(here, one, i); !difference.empty()) return difference;
      if (std::string difference = step(there, other, i); !difference.empty()) return difference;
    }
    std::string difference = here.finish() + there.finish();
    performed_ += here.performed() + there.performed();
    return difference;
  }

  /// Of the seeds that are asked for.
  static std::uint64_t first() {
    return number_in_environment("SEGUE_CONFORMANCE_SEED").value_or(1);
  }
  static std::uint64_t count_of(std::uint64_t usual) {
    const auto only = number_in_environment("SEGUE_CONFORMANCE_SEED");
    const std::uint64_t effort =
        std::max<std::uint64_t>(1, number_in_environment("SEGUE_TEST_EFFORT").value_or(1));
    const std::uint64_t count =
        number_in_environment("SEGUE_CONFORMANCE_PROGRAMS")
            .value_or(only ? 1 : std::max<std::uint64_t>(1, usual * effort / kSlower));
    std::printf("seeds %llu to %llu\n", static_cast<unsigned long long>(first()),
                static_cast<unsigned long long>(first() + count - 1));
    return count;
  }

  /// All must do what the model says.
  void expect_conformance(std::uint64_t usual, const Generator::Options& options) {
    const auto found = search(first(), count_of(usual), options);
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

/// Whether a model with the mistake and one without say different things of the program.
bool shows(Mistake mistake, const Program& program) {
  Model wrong(mistake);
  Model right;
  for (const Operation& operation : program) {
    Model next = wrong;
    const auto said = next.apply(operation);
    if (!said) continue;
    wrong = std::move(next);
    const auto is = right.apply(operation);
    if (!is) return false;
    if (!fits(*said, *is) || wrong.delivered().size() != right.delivered().size()) return true;
    for (std::size_t i = 0; i < wrong.delivered().size(); ++i) {
      if (!fits(wrong.delivered()[i].seen, right.delivered()[i].seen)) return true;
    }
  }
  return false;
}

// Two programs with the same names, in two virtual hosts, do not meet.
TEST_F(Conformance, ProgramsInTwoVirtualHostsDoNotMeet) {
  const std::uint64_t end = first() + count_of(4);
  for (std::uint64_t seed = first(); seed < end; ++seed) {
    const Program one = Generator(2 * seed, {.operations = 40, .restarts = false}).program();
    const Program other = Generator(2 * seed + 1, {.operations = 40, .restarts = false}).program();
    const std::string difference = run_beside(one, other);
    if (difference.empty()) continue;
    ADD_FAILURE() << "SEGUE_CONFORMANCE_SEED=" << seed << ": " << difference
                  << arena().cluster().logs();
    return;
  }
}

// What the model gets wrong is found, and comes down to a handful of operations. Which program
// shows it, and whether a shorter one does, models tell alone.
class WrongModel : public Conformance, public ::testing::WithParamInterface<Mistake> {};
INSTANTIATE_TEST_SUITE_P(All, WrongModel,
                         ::testing::Values(Mistake::kPurgeCountsUnacked, Mistake::kRequeuedGoLast,
                                           Mistake::kNewestAreDropped, Mistake::kGroupsAreForgotten,
                                           Mistake::kPoliciesGoFirst, Mistake::kDelayedCanBePurged,
                                           Mistake::kRepeatsAreLetIn));

TEST_P(WrongModel, IsFoundAndShrunk) {
  Program program;
  for (std::uint64_t seed = 1; seed < 3000 && !shows(GetParam(), program); ++seed) {
    program = Generator(seed, {.operations = 40, .restarts = false}).program();
  }
  ASSERT_TRUE(shows(GetParam(), program));
  constexpr std::chrono::milliseconds kSoon{500};  // what is to come is not
  EXPECT_NE(run(program, GetParam(), kSoon), "") << to_text(program);
  const auto fails = [&](const Program& candidate) { return shows(GetParam(), candidate); };
  program = shrink(program, fails, 5000);
  EXPECT_LE(program.size(), 8u) << to_text(program);
  EXPECT_NE(run(program, GetParam(), kSoon), "") << to_text(program);
  EXPECT_EQ(run(program), "") << to_text(program);
}

}  // namespace
}  // namespace segue::conformance
