// The one header an Ascend C kernel includes. Clean-room: written from the public API documentation.
#pragma once
#define NPUKB_KERNEL_OPERATOR_INCLUDED 1
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "twin/copy.h"
#include "twin/pipe.h"
#include "twin/reduce.h"
#include "twin/sync.h"
#include "twin/tensor.h"
#include "twin/types.h"
#include "twin/vector.h"
