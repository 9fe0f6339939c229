// The one header an Ascend C kernel includes. Clean-room: written from the public API documentation.
//
// Its first definition is made whenever it is included, its content only once: the driver precompiles it, and has to
// know whether the kernel itself asks for it.
#define NPUKB_KERNEL_OPERATOR_INCLUDED 1
#ifndef NPUKB_KERNEL_OPERATOR
#define NPUKB_KERNEL_OPERATOR
#undef npukb_read_once  // poisoned from here on (compile/refused_names.py): no kernel reads this again
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "twin/cast.h"
#include "twin/compare.h"
#include "twin/copy.h"
#include "twin/cube/cube.h"
#include "twin/cube/intrinsics.h"
#include "twin/debug.h"
#include "twin/library/dropout.h"
#include "twin/entry.h"
#include "twin/fused.h"
#include "twin/gather.h"
#include "twin/intrinsics.h"
#include "twin/library/activation.h"
#include "twin/library/math.h"
#include "twin/library/reduce.h"
#include "twin/list.h"
#include "twin/mask.h"
#include "twin/move_intrinsics.h"
#include "twin/library/normalization.h"
#include "twin/operators.h"
#include "twin/pipe.h"
#include "twin/library/quantization.h"
#include "twin/library/ranks.h"
#include "twin/reduce.h"
#include "twin/scalar.h"
#include "twin/shape.h"
#include "twin/library/softmax.h"
#include "twin/sort.h"
#include "twin/sync.h"
#include "twin/tensor.h"
#include "twin/tiling.h"
#include "twin/transpose.h"
#include "twin/types.h"
#include "twin/vector.h"
#endif
