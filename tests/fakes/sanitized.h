// Whether this is a sanitizer's build.
#pragma once

namespace segue {

/// Under a sanitizer everything takes many times as long, and memory is mostly the sanitizer's. Set
/// by the build, since compilers say it in different ways.
inline constexpr bool kSanitized = SEGUE_SANITIZED != 0;

}  // namespace segue
