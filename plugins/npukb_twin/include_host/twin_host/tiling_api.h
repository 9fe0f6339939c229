// Host-side helpers of the kernel library: sizes of temporary space and library tiling structures.
#pragma once
#include "../../include/twin/both_sides.h"
#include "twin_host/platform.h"
#include "twin_host/tiling_data.h"

namespace npukb_host {
enum class ScratchKind {
#define NPUKB_SCRATCH(name, times, extra) name,
#define NPUKB_SCRATCH_WHOLE(name, times, extra) name,
#include "../../include/twin/scratch.def"
#undef NPUKB_SCRATCH
#undef NPUKB_SCRATCH_WHOLE
};
// Least and most temporary bytes of a library function over `data` bytes.
void ScratchSizes(ScratchKind kind, uint64_t data, uint32_t& most, uint32_t& least);
void ScratchFactors(ScratchKind kind, uint32_t& times, uint32_t& extra);
uint64_t Bytes(const ge::Shape& shape, uint32_t type_size);
}  // namespace npukb_host

#define NPUKB_STRUCTS "../../include/twin/tiling_structs.def"
namespace optiling {
#define NPUKB_TILING_BEGIN(name) BEGIN_TILING_DATA_DEF(name)
#define NPUKB_TILING_FIELD(type, name) TILING_DATA_FIELD_DEF(type, name)
#define NPUKB_TILING_END(name) END_TILING_DATA_DEF
#include NPUKB_STRUCTS
#undef NPUKB_TILING_BEGIN
#undef NPUKB_TILING_FIELD
#undef NPUKB_TILING_END
}  // namespace optiling

namespace npukb_host {
// The plain structure of either form of a tiling structure, and how the one gets into the other.
template <class T>
struct Plain;
#define NPUKB_TILING_BEGIN(name)            \
    template <>                             \
    struct Plain<optiling::name> {          \
        using Type = AscendC::tiling::name; \
    };                                      \
    template <>                             \
    struct Plain<AscendC::tiling::name> {   \
        using Type = AscendC::tiling::name; \
    };
#define NPUKB_TILING_FIELD(type, name)
#define NPUKB_TILING_END(name)
#include NPUKB_STRUCTS
#undef NPUKB_TILING_BEGIN
#undef NPUKB_TILING_FIELD
#undef NPUKB_TILING_END
#undef NPUKB_STRUCTS

template <class T>
void Put(T& out, const T& plain) {
    out = plain;
}
template <class T>
void Put(optiling::TilingDef& out, const T& plain) {
    out.NpukbAssign(&plain, sizeof plain);
}
// A softmax takes groups of rows that fit into `space`.
struct RowGroups {
    uint32_t rows, length, lanes, group, loops, tail;
};
RowGroups GroupRows(ScratchKind kind, const ge::Shape& shape, uint32_t type_size, uint32_t space);

template <class T>
void SoftMaxRows(ScratchKind kind, const ge::Shape& shape, uint32_t type_size, uint32_t space, T& out) {
    const RowGroups g = GroupRows(kind, shape, type_size, space);
    Put(out, typename Plain<T>::Type{g.rows, g.length, g.rows * g.length, g.rows, g.lanes, g.rows * g.lanes, g.group,
                                     g.length, g.group * g.length, g.group, g.lanes, g.group * g.lanes, g.loops, g.tail,
                                     g.tail * g.length, g.tail * g.lanes});
}
}  // namespace npukb_host

namespace AscendC {

// Get<Name>MaxMinTmpSize and Get<Name>TmpBufferFactorSize of the functions that work element by element.
#define NPUKB_SIZES(name)                                                                                              \
    inline void Get##name##MaxMinTmpSize(const ge::Shape& shape, const uint32_t type_size, const bool, uint32_t& most, \
                                         uint32_t& least) {                                                            \
        npukb_host::ScratchSizes(npukb_host::ScratchKind::name, npukb_host::Bytes(shape, type_size), most, least);     \
    }
#define NPUKB_FACTORS(name)                                                                        \
    inline void Get##name##TmpBufferFactorSize(const uint32_t, uint32_t& times, uint32_t& extra) { \
        npukb_host::ScratchFactors(npukb_host::ScratchKind::name, times, extra);                   \
    }
#define NPUKB_ELEMENTWISE(name) NPUKB_SIZES(name) NPUKB_FACTORS(name)
NPUKB_ELEMENTWISE(Acos)
NPUKB_ELEMENTWISE(Acosh)
NPUKB_ELEMENTWISE(Asin)
NPUKB_ELEMENTWISE(Asinh)
NPUKB_ELEMENTWISE(Atan)
NPUKB_ELEMENTWISE(Atanh)
NPUKB_ELEMENTWISE(Axpy)
NPUKB_ELEMENTWISE(Ceil)
NPUKB_ELEMENTWISE(ClampMax)
NPUKB_ELEMENTWISE(ClampMin)
NPUKB_ELEMENTWISE(Cos)
NPUKB_ELEMENTWISE(Cosh)
NPUKB_ELEMENTWISE(Digamma)
NPUKB_ELEMENTWISE(Erf)
NPUKB_ELEMENTWISE(Erfc)
NPUKB_ELEMENTWISE(Exp)
NPUKB_ELEMENTWISE(Floor)
NPUKB_ELEMENTWISE(Fmod)
NPUKB_ELEMENTWISE(Frac)
NPUKB_ELEMENTWISE(Lgamma)
NPUKB_ELEMENTWISE(Log)
NPUKB_ELEMENTWISE(Log2)
NPUKB_ELEMENTWISE(Log10)
NPUKB_ELEMENTWISE(Round)
NPUKB_ELEMENTWISE(Sign)
NPUKB_ELEMENTWISE(Sin)
NPUKB_ELEMENTWISE(Sinh)
NPUKB_ELEMENTWISE(Tan)
NPUKB_ELEMENTWISE(Tanh)
NPUKB_ELEMENTWISE(Trunc)
NPUKB_ELEMENTWISE(Xor)
NPUKB_ELEMENTWISE(GeGLU)
NPUKB_SIZES(ReGlu)
NPUKB_SIZES(Sigmoid)
NPUKB_FACTORS(Power)
NPUKB_FACTORS(SwiGLU)
#undef NPUKB_ELEMENTWISE
#undef NPUKB_FACTORS
#undef NPUKB_SIZES

void GetSiluTmpSize(const ge::Shape& shape, const uint32_t type_size, const bool reuse, uint32_t& most,
                    uint32_t& least);
void GetSwishTmpSize(const ge::Shape& shape, const uint32_t type_size, const bool reuse, uint32_t& most,
                     uint32_t& least);
void GetSwiGLUMaxMinTmpSize(const ge::Shape& shape, const uint32_t type_size, uint32_t& most, uint32_t& least,
                            const bool reuse);
void GetPowerMaxMinTmpSize(const ge::Shape& base, const ge::Shape& exponent, const bool is_integer,
                           const uint32_t type_size, const bool reuse, uint32_t& most, uint32_t& least);
void GetReduceXorSumMaxMinTmpSize(const ge::Shape& shape, const uint32_t type_size, const bool reuse, uint32_t& most,
                                  uint32_t& least);
void GetGeluMaxMinTmpSize(const ge::Shape& shape, const uint32_t type_size, uint32_t& most, uint32_t& least);
void GetCumSumMaxMinTmpSize(const ge::Shape& shape, const uint32_t type_size, const bool last_axis, const bool reuse,
                            uint32_t& most, uint32_t& least);
void GetBroadCastMaxMinTmpSize(const platform_ascendc::PlatformAscendC& platform, const ge::Shape& from,
                               const ge::Shape& to, uint32_t type_size, const bool reuse, uint32_t& most,
                               uint32_t& least);
void GetSumMaxMinTmpSize(const uint32_t n, const uint32_t type_size, const bool reuse, uint32_t& most, uint32_t& least);
void GetMeanMaxMinTmpSize(const uint32_t n, const uint32_t type_size, const uint32_t sum_type_size, const bool reuse,
                          uint32_t& most, uint32_t& least);

#define NPUKB_REDUCE(name)                                                                                           \
    inline void Get##name##MaxMinTmpSize(const ge::Shape& shape, const ge::DataType type, ReducePattern, bool, bool, \
                                         uint32_t& most, uint32_t& least) {                                          \
        auto data = npukb_host::Bytes(shape, static_cast<uint32_t>(ge::GetSizeByDataType(type)));                    \
        npukb_host::ScratchSizes(npukb_host::ScratchKind::name, data, most, least);                                  \
    }
NPUKB_REDUCE(ReduceSum)
NPUKB_REDUCE(ReduceMean)
NPUKB_REDUCE(ReduceMax)
NPUKB_REDUCE(ReduceMin)
NPUKB_REDUCE(ReduceProd)
NPUKB_REDUCE(ReduceAny)
NPUKB_REDUCE(ReduceAll)
#undef NPUKB_REDUCE

uint32_t GetSoftMaxMaxTmpSize(const ge::Shape& shape, const uint32_t type_size, const bool reuse);
uint32_t GetSoftMaxMinTmpSize(const ge::Shape& shape, const uint32_t type_size, const bool reuse);
uint32_t GetSoftMaxGradMaxTmpSize(const ge::Shape& shape, const uint32_t type_size, const bool is_front,
                                  const bool reuse);
uint32_t GetSoftMaxGradMinTmpSize(const ge::Shape& shape, const uint32_t type_size, const bool is_front,
                                  const bool reuse);
uint32_t GetLogSoftMaxMaxTmpSize(const ge::Shape& shape, const uint32_t type_size, const bool reuse);
uint32_t GetLogSoftMaxMinTmpSize(const ge::Shape& shape, const uint32_t type_size, const bool reuse);
uint32_t GetSoftMaxFlashMaxTmpSize(const ge::Shape& shape, const uint32_t type_size, const bool is_update,
                                   const bool reuse);
uint32_t GetSoftMaxFlashMinTmpSize(const ge::Shape& shape, const uint32_t type_size, const bool is_update,
                                   const bool reuse);
uint32_t GetSoftMaxFlashV2MaxTmpSize(const ge::Shape& shape, const uint32_t type_size, const uint32_t sum_type_size,
                                     const bool is_update, const bool basic_block = false,
                                     const bool no_broadcast = false);
uint32_t GetSoftMaxFlashV2MinTmpSize(const ge::Shape& shape, const uint32_t type_size, const uint32_t sum_type_size,
                                     const bool is_update, const bool basic_block = false,
                                     const bool no_broadcast = false);

template <class T>
void SoftMaxTilingFunc(const ge::Shape& shape, const uint32_t type_size, const uint32_t space, T& out) {
    npukb_host::SoftMaxRows(npukb_host::ScratchKind::SoftMax, shape, type_size, space, out);
}
template <class T>
void SoftMaxGradTilingFunc(const ge::Shape& shape, const uint32_t type_size, const uint32_t space, T& out,
                           const bool = false) {
    npukb_host::SoftMaxRows(npukb_host::ScratchKind::SoftMaxGrad, shape, type_size, space, out);
}
template <class T>
void SoftMaxFlashTilingFunc(const ge::Shape& shape, const uint32_t type_size, const uint32_t space, T& out,
                            const bool = false) {
    npukb_host::SoftMaxRows(npukb_host::ScratchKind::SoftMaxFlash, shape, type_size, space, out);
}
template <class T>
void SoftMaxFlashV2TilingFunc(const ge::Shape& shape, const uint32_t, const uint32_t sum_type_size,
                              const uint32_t space, T& out, const bool, const bool = false, const bool = false) {
    npukb_host::SoftMaxRows(npukb_host::ScratchKind::SoftMaxFlashV2, shape, sum_type_size, space, out);
}
template <class T>
void LogSoftMaxTilingFunc(const ge::Shape& shape, const uint32_t type_size, const uint32_t space, T& out) {
    npukb_host::SoftMaxRows(npukb_host::ScratchKind::LogSoftMax, shape, type_size, space, out);
}
bool IsBasicBlockInSoftMax(optiling::SoftMaxTiling& tiling);
bool IsBasicBlockInSoftMax(tiling::SoftMaxTiling& tiling);

}  // namespace AscendC
