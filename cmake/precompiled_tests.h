// As precompiled.h, for tests.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <regex>

#include "cmake/precompiled.h"
