#pragma once

#include "common/range_set.h"

namespace segue::node {

using segue::NumberRange;
using segue::RangeSet;

}  // namespace segue::node
