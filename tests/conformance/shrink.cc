#include "tests/conformance/shrink.h"

#include <algorithm>

namespace segue::conformance {
namespace {

class Shrinker {
 public:
  Shrinker(Program program, const std::function<bool(const Program&)>& fails, int attempts)
      : program_(std::move(program)), fails_(fails), left_(attempts) {}

  Program shrink() {
    while (left_ > 0 && (remove_parts() || simplify())) {
    }
    return program_;
  }

 private:
  bool try_it(Program candidate) {
    if (left_ <= 0) return false;
    --left_;
    if (!fails_(candidate)) return false;
    program_ = std::move(candidate);
    return true;
  }

  /// Half of it, quarters, and so on to single operations; from the end, whose operations nothing
  /// depends on.
  bool remove_parts() {
    bool any = false;
    for (std::size_t part = std::max<std::size_t>(program_.size() / 2, 1); part > 0; part /= 2) {
      for (std::size_t end = program_.size(); end > 0;) {
        const std::size_t begin = end > part ? end - part : 0;
        Program candidate = program_;
        candidate.erase(candidate.begin() + static_cast<std::ptrdiff_t>(begin),
                        candidate.begin() + static_cast<std::ptrdiff_t>(end));
        any = try_it(std::move(candidate)) || any;
        end = begin;
      }
    }
    return any;
  }

  bool simplify() {
    bool any = false;
    for (std::size_t at = 0; at < program_.size(); ++at) {
      bool simpler_one = true;
      while (simpler_one) {
        simpler_one = false;
        for (const Operation& variant : simpler(program_[at])) {
          Program candidate = program_;
          candidate[at] = variant;
          simpler_one = try_it(std::move(candidate));
          if (simpler_one) break;
        }
        any = any || simpler_one;
      }
    }
    return any;
  }

  Program program_;
  const std::function<bool(const Program&)>& fails_;
  int left_;
};

}  // namespace

Program shrink(Program program, const std::function<bool(const Program&)>& fails, int attempts) {
  return Shrinker(std::move(program), fails, attempts).shrink();
}

}  // namespace segue::conformance
