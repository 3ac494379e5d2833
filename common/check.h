#pragma once

#include "segue/check.h"  // public: segue/status.h uses it
