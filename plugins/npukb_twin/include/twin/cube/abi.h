// What headers of the cube unit and the runtime say to each other. See abi.h.
#pragma once
#include "../abi.h"

namespace npukb {

// Registers that cube instructions read and that outlive them.
enum class CubeRegister : uint8_t {
    Hf32,
    Hf32Away,
    RowMajor,
    LoadBoundary,
    PaddingValue,
    NzToNd,
    PreQuant,
};

// Element types of an instruction with up to four operands, a byte each. A constant, as unoptimised code would compute
// what a function returns, and what it computes costs a kernel time.
template <DType dst, DType src0, DType src1 = DType::F16, DType bias = DType::F16>
constexpr uint32_t kTypes = static_cast<uint32_t>(dst) | static_cast<uint32_t>(src0) << 8 |
                            static_cast<uint32_t>(src1) << 16 | static_cast<uint32_t>(bias) << 24;

// Where the result of Fixpipe goes, and how it lies there.
inline constexpr uint32_t kStoreRowMajor = 1, kStoreLocal = 2;

}  // namespace npukb

#pragma GCC visibility push(default)
extern "C" {
// `global`: the source is a GlobalTensor, otherwise a BufferView.
void npukb_cube_load(npukb::DType type, const npukb::BufferView* dst, const void* src, int global, const void* params);
void npukb_cube_load_transposed(npukb::DType type, const npukb::BufferView* dst, const npukb::BufferView* src,
                                const void* params);
// `padding` points to the value of padding; `keep` bit 0: the feature map of SetFmatrix holds, bit 1: the padding
// register does.
void npukb_cube_load_image(npukb::DType type, const npukb::BufferView* dst, const npukb::BufferView* src,
                           const void* params, const void* padding, int keep);
void npukb_cube_load_sparse(const npukb::BufferView* dst, const npukb::BufferView* src, const npukb::BufferView* index,
                            const void* params);
void npukb_cube_fill(npukb::DType type, const npukb::BufferView* dst, const void* params, uint64_t value);
// `types`: kTypes; `bias` may be null.
void npukb_cube_multiply(uint32_t types, const npukb::BufferView* dst, const npukb::BufferView* a,
                         const npukb::BufferView* b, const npukb::BufferView* bias, const void* params, int sparse);
// Fixpipe, from L0C to a GlobalTensor or, with kStoreLocal, to L1. `scales` in L1 may be null.
void npukb_cube_fixpipe(uint32_t types, uint32_t flags, const void* dst, const npukb::BufferView* src,
                        const npukb::BufferView* scales, const void* params);
// DataCopy from L0C: scales and the shape of matrices come from registers.
void npukb_cube_copy_out(uint32_t types, uint32_t flags, const void* dst, const npukb::BufferView* src,
                         const void* params);
// DataCopy between tensors of two element types: from L1 to the bias table.
void npukb_cube_copy_convert(uint32_t types, const npukb::BufferView* dst, const npukb::BufferView* src,
                             const void* params);
void npukb_cube_register(npukb::CubeRegister which, uint64_t value);
void npukb_cube_fixpipe_config(const npukb::BufferView* scales, int clear_unit_flags);
void npukb_cube_feature_map(uint32_t height, uint32_t width, const uint8_t* padding, int right);
void npukb_cube_load_repeat(uint32_t stride, uint32_t times, uint32_t mode);
}
#pragma GCC visibility pop
