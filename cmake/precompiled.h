// What most files include, for builds that precompile it: see segue_precompile() in segue.cmake.
// Nothing includes this.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <variant>
#include <vector>

#include "segue/v1/client.pb.h"
#include "segue/v1/peer.pb.h"
