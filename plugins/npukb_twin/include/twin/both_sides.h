// What kernels and the host's code both see under the same names: a file that launches kernels includes both sides.
#pragma once
#include <stdint.h>

// Hints to a compiler, which sources use as if the language had them.
#ifndef likely
#define likely(condition) __builtin_expect(!!(condition), 1)
#endif
#ifndef unlikely
#define unlikely(condition) __builtin_expect(!!(condition), 0)
#endif

namespace AscendC {

inline constexpr uint32_t BLOCK_CUBE = 16;

enum class DataFormat : uint8_t { ND, NZ, NCHW, NC1HWC0, NHWC, NCDHW, NDC1HWC0, FRACTAL_Z_3D };
enum class TopKMode { TOPK_NORMAL, TOPK_NSMALL };
enum class ReducePattern : uint32_t {
#define NPUKB_REDUCE_PATTERN(name) name,
#include "reduce_patterns.def"
#undef NPUKB_REDUCE_PATTERN
};

struct TransDataConfig {
    DataFormat srcFormat;
    DataFormat dstFormat;
};

// The structures of tiling_structs.def as plain fields, and those that hold nothing documented.
namespace tiling {

struct Mc2InitTiling {
    uint8_t reserved[64]{};
};
struct Mc2CcTiling {
    uint8_t reserved[280]{};
};

#define NPUKB_TILING_BEGIN(name) struct name {
#define NPUKB_TILING_FIELD(type, name) type name = 0;
#define NPUKB_TILING_END(name) \
    }                          \
    ;
#include "tiling_structs.def"
#undef NPUKB_TILING_BEGIN
#undef NPUKB_TILING_FIELD
#undef NPUKB_TILING_END

}  // namespace tiling

}  // namespace AscendC

using AscendC::tiling::Mc2CcTiling;
using AscendC::tiling::Mc2InitTiling;
