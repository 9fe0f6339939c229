// The high-level library: mathematics. Each function comes with and without scratch, with and without a count.
#pragma once
#include "abi.h"
#include "../tensor.h"

namespace AscendC {

#define NPUKB_LIBRARY_TAKES(name, set, type) \
    using namespace npukb::types;            \
    static_assert((npukb::kSetOf<type> & (set)) != 0, #name " is not available for this element type; it takes " #set)

// One call: `count` elements of the tensors named, scratch or null.
#define NPUKB_LIBRARY_CALL_UNARY(name, set, count, scratch)                                           \
    NPUKB_LIBRARY_TAKES(name, set, T);                                                                \
    npukb_library_unary(npukb::kLibraryCode<npukb::LibraryOp::name, npukb::DTypeOf<T>::value>, count, \
                        &dstTensor.npukb_view, &srcTensor.npukb_view, scratch)

#define NPUKB_LIBRARY_UNARY(name, set, passes, sharing)                                                              \
    template <typename T, bool isReuseSource = false>                                                                \
    NPUKB_API void name(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor,                            \
                        const LocalTensor<uint8_t>& sharedTmpBuffer, const uint32_t calCount) {                      \
        NPUKB_LIBRARY_CALL_UNARY(name, set, calCount, &sharedTmpBuffer.npukb_view);                                  \
    }                                                                                                                \
    template <typename T, bool isReuseSource = false>                                                                \
    NPUKB_API void name(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor,                            \
                        const LocalTensor<uint8_t>& sharedTmpBuffer) {                                               \
        NPUKB_LIBRARY_CALL_UNARY(name, set, npukb::kWhole, &sharedTmpBuffer.npukb_view);                             \
    }                                                                                                                \
    template <typename T, bool isReuseSource = false>                                                                \
    NPUKB_API void name(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor, const uint32_t calCount) { \
        NPUKB_LIBRARY_CALL_UNARY(name, set, calCount, nullptr);                                                      \
    }                                                                                                                \
    template <typename T, bool isReuseSource = false>                                                                \
    NPUKB_API void name(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor) {                          \
        NPUKB_LIBRARY_CALL_UNARY(name, set, npukb::kWhole, nullptr);                                                 \
    }

// The four forms of a function with more operands: `operands` are its parameters, `first`, `second` the tensors or
// null.
#define NPUKB_LIBRARY_FORMS(name, set, operands, first, second, scalar)                                             \
    template <typename T, bool isReuseSource = false>                                                               \
    NPUKB_API void name(operands, const LocalTensor<uint8_t>& sharedTmpBuffer, const uint32_t calCount) {           \
        NPUKB_LIBRARY_TAKES(name, set, T);                                                                          \
        npukb_library_elementwise(npukb::kLibraryCode<npukb::LibraryOp::name, npukb::DTypeOf<T>::value>, calCount,  \
                                  &dstTensor.npukb_view, first, second, &sharedTmpBuffer.npukb_view, scalar);       \
    }                                                                                                               \
    template <typename T, bool isReuseSource = false>                                                               \
    NPUKB_API void name(operands, const LocalTensor<uint8_t>& sharedTmpBuffer) {                                    \
        NPUKB_LIBRARY_TAKES(name, set, T);                                                                          \
        npukb_library_elementwise(npukb::kLibraryCode<npukb::LibraryOp::name, npukb::DTypeOf<T>::value>,            \
                                  npukb::kWhole, &dstTensor.npukb_view, first, second, &sharedTmpBuffer.npukb_view, \
                                  scalar);                                                                          \
    }                                                                                                               \
    template <typename T, bool isReuseSource = false>                                                               \
    NPUKB_API void name(operands, const uint32_t calCount) {                                                        \
        NPUKB_LIBRARY_TAKES(name, set, T);                                                                          \
        npukb_library_elementwise(npukb::kLibraryCode<npukb::LibraryOp::name, npukb::DTypeOf<T>::value>, calCount,  \
                                  &dstTensor.npukb_view, first, second, nullptr, scalar);                           \
    }                                                                                                               \
    template <typename T, bool isReuseSource = false>                                                               \
    NPUKB_API void name(operands) {                                                                                 \
        NPUKB_LIBRARY_TAKES(name, set, T);                                                                          \
        npukb_library_elementwise(npukb::kLibraryCode<npukb::LibraryOp::name, npukb::DTypeOf<T>::value>,            \
                                  npukb::kWhole, &dstTensor.npukb_view, first, second, nullptr, scalar);            \
    }
#define NPUKB_MATH_LIST(...) __VA_ARGS__

#define NPUKB_LIBRARY_BINARY(name, set, passes, sharing)                                                   \
    NPUKB_LIBRARY_FORMS(name, set,                                                                         \
                        NPUKB_MATH_LIST(const LocalTensor<T>& dstTensor, const LocalTensor<T>& src0Tensor, \
                                        const LocalTensor<T>& src1Tensor),                                 \
                        &src0Tensor.npukb_view, &src1Tensor.npukb_view, nullptr)
#include "../library.def"

NPUKB_LIBRARY_FORMS(Power, F16 | F32 | I32,
                    NPUKB_MATH_LIST(const LocalTensor<T>& dstTensor, const LocalTensor<T>& src0Tensor,
                                    const LocalTensor<T>& src1Tensor),
                    &src0Tensor.npukb_view, &src1Tensor.npukb_view, nullptr)
NPUKB_LIBRARY_FORMS(Power, F16 | F32 | I32,
                    NPUKB_MATH_LIST(const LocalTensor<T>& dstTensor, const LocalTensor<T>& src0Tensor,
                                    const T& src1Scalar),
                    &src0Tensor.npukb_view, nullptr, &src1Scalar)
NPUKB_LIBRARY_FORMS(Power, F16 | F32 | I32,
                    NPUKB_MATH_LIST(const LocalTensor<T>& dstTensor, const T& src0Scalar,
                                    const LocalTensor<T>& src1Tensor),
                    nullptr, &src1Tensor.npukb_view, &src0Scalar)

// Exp with a Taylor series for the fraction. The twin's exponential is correctly rounded at every level.
#define NPUKB_LIBRARY_EXP(scratch)                                                                              \
    NPUKB_LIBRARY_TAKES(Exp, F16 | F32, T);                                                                     \
    constexpr uint32_t reuse = isReuseSource && npukb::kSame<T, float> ? npukb::kReuse : 0;                     \
    npukb_library_unary(npukb::kLibraryCode<npukb::LibraryOp::Exp, npukb::DTypeOf<T>::value> | reuse, calCount, \
                        &dstTensor.npukb_view, &srcTensor.npukb_view, scratch)
template <typename T, uint8_t taylorExpandLevel, bool isReuseSource = false>
NPUKB_API void Exp(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor,
                   const LocalTensor<uint8_t>& sharedTmpBuffer, const uint32_t calCount) {
    NPUKB_LIBRARY_EXP(&sharedTmpBuffer.npukb_view);
}
template <typename T, uint8_t taylorExpandLevel, bool isReuseSource = false>
NPUKB_API void Exp(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor, const uint32_t calCount) {
    NPUKB_LIBRARY_EXP(nullptr);
}
#undef NPUKB_LIBRARY_EXP

#define NPUKB_CLAMP(name)                                                                                             \
    template <typename T, bool isReuseSource = false>                                                                 \
    NPUKB_API void name(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor,                             \
                        const LocalTensor<uint8_t>& sharedTmpBuffer, const T scalar, const uint32_t calCount) {       \
        NPUKB_LIBRARY_TAKES(name, F16 | F32, T);                                                                      \
        npukb_library_elementwise(npukb::kLibraryCode<npukb::LibraryOp::name, npukb::DTypeOf<T>::value>, calCount,    \
                                  &dstTensor.npukb_view, &srcTensor.npukb_view, nullptr, &sharedTmpBuffer.npukb_view, \
                                  &scalar);                                                                           \
    }                                                                                                                 \
    template <typename T, bool isReuseSource = false>                                                                 \
    NPUKB_API void name(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor, const T scalar,             \
                        const uint32_t calCount) {                                                                    \
        NPUKB_LIBRARY_TAKES(name, F16 | F32, T);                                                                      \
        npukb_library_elementwise(npukb::kLibraryCode<npukb::LibraryOp::name, npukb::DTypeOf<T>::value>, calCount,    \
                                  &dstTensor.npukb_view, &srcTensor.npukb_view, nullptr, nullptr, &scalar);           \
    }
NPUKB_CLAMP(ClampMax)
NPUKB_CLAMP(ClampMin)
#undef NPUKB_CLAMP

// Axpy as a multiplication and an addition, each rounded: the form with scratch.
template <typename T, typename U, bool isReuseSource = false>
NPUKB_API void Axpy(const LocalTensor<T>& dstTensor, const LocalTensor<U>& srcTensor, const U scalarValue,
                    const LocalTensor<uint8_t>& sharedTmpBuffer, const uint32_t calCount) {
    static_assert((npukb::kSame<T, U> && (npukb::kSame<T, half> || npukb::kSame<T, float>)) ||
                      (npukb::kSame<T, float> && npukb::kSame<U, half>),
                  "Axpy takes half or float for both tensors, or a float dst and a half src");
    npukb_library_axpy(npukb::kLibraryCode<npukb::LibraryOp::Axpy, npukb::DTypeOf<T>::value> |
                           static_cast<uint32_t>(npukb::DTypeOf<U>::value) << 24,
                       calCount, &dstTensor.npukb_view, &srcTensor.npukb_view, &sharedTmpBuffer.npukb_view,
                       &scalarValue);
}

// A byte of the mask per element: src0 where it is 0, src1 elsewhere; one of the two is a scalar.
#define NPUKB_SELECT_BYTES(scalar_first, tensor, scalar)                                                     \
    using namespace npukb::types;                                                                            \
    static_assert((npukb::kSetOf<T> & (F16 | F32)) != 0, "SelectWithBytesMask takes half or float");         \
    static_assert((npukb::kSetOf<U> & (I8 | U8 | I16 | U16 | I32 | U32)) != 0,                               \
                  "SelectWithBytesMask takes a mask of bool or of integers of up to 32 bits");               \
    npukb_library_select_bytes(static_cast<uint32_t>(npukb::DTypeOf<T>::value) |                             \
                                   static_cast<uint32_t>(npukb::DTypeOf<U>::value) << 8 |                    \
                                   (isReuseMask ? npukb::kReuse : 0),                                        \
                               scalar_first, &dst.npukb_view, &tensor.npukb_view, &scalar, &mask.npukb_view, \
                               &sharedTmpBuffer.npukb_view, &info)
template <typename T, typename U, bool isReuseMask = true>
NPUKB_API void SelectWithBytesMask(const LocalTensor<T>& dst, const LocalTensor<T>& src0, T src1,
                                   const LocalTensor<U>& mask, const LocalTensor<uint8_t>& sharedTmpBuffer,
                                   const SelectWithBytesMaskShapeInfo& info) {
    NPUKB_SELECT_BYTES(false, src0, src1);
}
template <typename T, typename U, bool isReuseMask = true>
NPUKB_API void SelectWithBytesMask(const LocalTensor<T>& dst, T src0, const LocalTensor<T>& src1,
                                   const LocalTensor<U>& mask, const LocalTensor<uint8_t>& sharedTmpBuffer,
                                   const SelectWithBytesMaskShapeInfo& info) {
    NPUKB_SELECT_BYTES(true, src1, src0);
}
#undef NPUKB_SELECT_BYTES
// The same under the name that newer releases give it.
template <typename T, typename U, bool isReuseMask = true>
NPUKB_API void Select(const LocalTensor<T>& dst, const LocalTensor<T>& src0, T src1, const LocalTensor<U>& mask,
                      const LocalTensor<uint8_t>& sharedTmpBuffer, const SelectWithBytesMaskShapeInfo& info) {
    SelectWithBytesMask<T, U, isReuseMask>(dst, src0, src1, mask, sharedTmpBuffer, info);
}
template <typename T, typename U, bool isReuseMask = true>
NPUKB_API void Select(const LocalTensor<T>& dst, T src0, const LocalTensor<T>& src1, const LocalTensor<U>& mask,
                      const LocalTensor<uint8_t>& sharedTmpBuffer, const SelectWithBytesMaskShapeInfo& info) {
    SelectWithBytesMask<T, U, isReuseMask>(dst, src0, src1, mask, sharedTmpBuffer, info);
}

}  // namespace AscendC

#undef NPUKB_LIBRARY_FORMS
#undef NPUKB_MATH_LIST
