// What the wrappers of the high-level library and the runtime say to each other.
#pragma once
#include "../abi.h"

namespace npukb {

enum class LibraryOp : uint8_t {
#define NPUKB_LIBRARY_UNARY(name, types, passes, sharing) name,
#define NPUKB_LIBRARY_BINARY(name, types, passes, sharing) name,
#define NPUKB_LIBRARY_OTHER(name, types, passes, sharing) name,
#include "../library.def"
};

template <LibraryOp op, DType type>
inline constexpr uint32_t kLibraryCode = static_cast<uint32_t>(op) | static_cast<uint32_t>(type) << 16;

// Stands for a count: all elements of the source.
inline constexpr int64_t kWhole = -1;

// In codes and flags: the function may overwrite a source, as isReuseSource and isReuseMask allow it.
inline constexpr uint32_t kReuse = 1u << 31;

enum class Reduction : uint8_t { Sum, Mean, Max, Min, Prod, Any, All };

}  // namespace npukb

namespace AscendC {

struct SumParams {
    uint32_t outter = 1, inner, n;
};

struct MeanParams {
    uint32_t outter = 1, inner, n;
};

struct CumSumConfig {
    bool isLastAxis = true, isReuseSource = false, outputLastRow = false;
};

struct CumSumInfo {
    uint32_t outter = 0, inner = 0;
};

struct SelectWithBytesMaskShapeInfo {
    uint32_t firstAxis = 0, srcLastAxis = 0, maskLastAxis = 0;
};

}  // namespace AscendC

#pragma GCC visibility push(default)
extern "C" {
void npukb_library_unary(uint32_t code, int64_t count, const npukb::BufferView* dst, const npukb::BufferView* src,
                         const npukb::BufferView* tmp);
// A null source stands for the scalar.
void npukb_library_elementwise(uint32_t code, int64_t count, const npukb::BufferView* dst,
                               const npukb::BufferView* src0, const npukb::BufferView* src1,
                               const npukb::BufferView* tmp, const void* scalar);
// `code`: LibraryOp::Axpy, type of dst in bits 16…23, of src in bits 24…31.
void npukb_library_axpy(uint32_t code, int64_t count, const npukb::BufferView* dst, const npukb::BufferView* src,
                        const npukb::BufferView* tmp, const void* scalar);
void npukb_library_xor_sum(int64_t count, const npukb::BufferView* dst, const npukb::BufferView* src0,
                           const npukb::BufferView* src1, const npukb::BufferView* tmp);
// `types`: element type, then the type sums are made in, eight bits each.
void npukb_library_row_sum(uint32_t types, bool mean, const npukb::BufferView* dst, const npukb::BufferView* src,
                           const npukb::BufferView* tmp, const void* params);
// `flags`: 1 for rows padded to blocks, kReuse. `last`: the last axis is the one reduced (pattern AR).
void npukb_library_reduce(npukb::DType type, npukb::Reduction reduction, bool last, const npukb::BufferView* dst,
                          const npukb::BufferView* src, const npukb::BufferView* tmp, const uint32_t* shape,
                          uint32_t flags);
void npukb_library_cumsum(npukb::DType type, const AscendC::CumSumConfig* config, const npukb::BufferView* dst,
                          const npukb::BufferView* last_row, const npukb::BufferView* src, const npukb::BufferView* tmp,
                          const AscendC::CumSumInfo* info);
// `types`: element type, then the type of the mask, eight bits each, and kReuse. `swapped`: the scalar comes first and
// is chosen where the mask is 0.
void npukb_library_select_bytes(uint32_t types, bool swapped, const npukb::BufferView* dst,
                                const npukb::BufferView* src, const void* scalar, const npukb::BufferView* mask,
                                const npukb::BufferView* tmp, const AscendC::SelectWithBytesMaskShapeInfo* info);
}
#pragma GCC visibility pop
