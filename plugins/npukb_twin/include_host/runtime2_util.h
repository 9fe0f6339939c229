// The same under its other name.
#pragma once
#include "runtime_util.h"
