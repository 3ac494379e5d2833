#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "common/random.h"
#include "tests/conformance/program.h"

namespace segue::conformance {

/// Random programs; the same for the same seed and options.
class Generator {
 public:
  struct Options {
    /// Operations of a program, after some that set it up.
    int operations = 40;
    /// Whether nodes and routers are killed.
    bool restarts = false;
  };
  Generator(std::uint64_t seed, const Options& options) : random_(seed), options_(options) {}

  Program program();

 private:
  bool one_in(std::uint64_t n) { return random_.below(n) == 0; }
  int number(int least, int most) {
    return least + static_cast<int>(random_.below(static_cast<std::uint64_t>(most - least + 1)));
  }
  template <typename T>
  T any_of(std::initializer_list<T> values) {
    return *(values.begin() + random_.below(values.size()));
  }
  int session() { return one_in(3) ? 1 : 0; }
  /// Mostly of those that programs declare.
  std::string queue();
  std::string exchange();
  std::string key();
  Table headers();

  Operation operation();
  Operation declare_exchange();
  Operation declare_queue();
  Operation update_queue();
  Operation bind();
  Operation publish();
  Operation consume();
  Operation settle();
  Operation set_policy();
  void add_death(Program& program);
  Table queue_arguments();
  void add_limits(Table& arguments);
  void add_odd_argument(Table& arguments);

  SeededRandom random_;
  const Options options_;
  // As they were declared last, to be declared again.
  std::map<std::string, DeclareQueue> queues_;
  std::map<std::string, DeclareExchange> exchanges_;
};

}  // namespace segue::conformance
