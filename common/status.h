#pragma once

#include "segue/status.h"  // public: storage's headers use it, too
