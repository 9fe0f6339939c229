// The high-level library: activation functions. Sigmoid, GeGLU and ReGlu have the usual forms (library.def).
#pragma once
#include "math.h"

namespace AscendC {

// Options for precision or speed change nothing here: results are as exact as the element type allows.
#define NPUKB_GELU(name)                                                                                           \
    template <typename T, bool highPrecision = false, bool highPerformance = false>                                \
    NPUKB_API void name(const LocalTensor<T>& dstLocal, const LocalTensor<T>& srcLocal,                            \
                        const LocalTensor<uint8_t>& sharedTmpBuffer, const uint32_t dataSize) {                    \
        NPUKB_LIBRARY_TAKES(name, F16 | F32, T);                                                                   \
        npukb_library_unary(npukb::kLibraryCode<npukb::LibraryOp::name, npukb::DTypeOf<T>::value>, dataSize,       \
                            &dstLocal.npukb_view, &srcLocal.npukb_view, &sharedTmpBuffer.npukb_view);              \
    }                                                                                                              \
    template <typename T, bool highPrecision = false, bool highPerformance = false>                                \
    NPUKB_API void name(const LocalTensor<T>& dstLocal, const LocalTensor<T>& srcLocal, const uint32_t dataSize) { \
        NPUKB_LIBRARY_TAKES(name, F16 | F32, T);                                                                   \
        npukb_library_unary(npukb::kLibraryCode<npukb::LibraryOp::name, npukb::DTypeOf<T>::value>, dataSize,       \
                            &dstLocal.npukb_view, &srcLocal.npukb_view, nullptr);                                  \
    }
NPUKB_GELU(Gelu)
NPUKB_GELU(FasterGelu)
NPUKB_GELU(FasterGeluV2)
#undef NPUKB_GELU

template <typename T, bool isReuseSource = false>
NPUKB_API void Silu(const LocalTensor<T>& dstLocal, const LocalTensor<T>& srcLocal, uint32_t dataSize) {
    NPUKB_LIBRARY_TAKES(Silu, F16 | F32, T);
    npukb_library_unary(npukb::kLibraryCode<npukb::LibraryOp::Silu, npukb::DTypeOf<T>::value>, dataSize,
                        &dstLocal.npukb_view, &srcLocal.npukb_view, nullptr);
}

template <typename T, bool isReuseSource = false>
NPUKB_API void Swish(const LocalTensor<T>& dstLocal, const LocalTensor<T>& srcLocal, uint32_t dataSize,
                     const T scalarValue) {
    NPUKB_LIBRARY_TAKES(Swish, F16 | F32, T);
    npukb_library_elementwise(npukb::kLibraryCode<npukb::LibraryOp::Swish, npukb::DTypeOf<T>::value>, dataSize,
                              &dstLocal.npukb_view, &srcLocal.npukb_view, nullptr, nullptr, &scalarValue);
}

#define NPUKB_SWIGLU(parameters, count, scratch)                                                                  \
    template <typename T, bool isReuseSource = false>                                                             \
    NPUKB_API void SwiGLU(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor0,                      \
                          const LocalTensor<T>& srcTensor1, const float& scalarValue parameters) {                \
        NPUKB_LIBRARY_TAKES(SwiGLU, F16 | F32, T);                                                                \
        npukb_library_elementwise(npukb::kLibraryCode<npukb::LibraryOp::SwiGLU, npukb::DTypeOf<T>::value>, count, \
                                  &dstTensor.npukb_view, &srcTensor0.npukb_view, &srcTensor1.npukb_view, scratch, \
                                  &scalarValue);                                                                  \
    }
#define NPUKB_MORE(...) , __VA_ARGS__
NPUKB_SWIGLU(NPUKB_MORE(const LocalTensor<uint8_t>& sharedTmpBuffer, const uint32_t calCount), calCount,
             &sharedTmpBuffer.npukb_view)
NPUKB_SWIGLU(NPUKB_MORE(const LocalTensor<uint8_t>& sharedTmpBuffer), npukb::kWhole, &sharedTmpBuffer.npukb_view)
NPUKB_SWIGLU(NPUKB_MORE(const uint32_t calCount), calCount, nullptr)
NPUKB_SWIGLU(, npukb::kWhole, nullptr)
#undef NPUKB_MORE
#undef NPUKB_SWIGLU

}  // namespace AscendC

#undef NPUKB_LIBRARY_CALL_UNARY
#undef NPUKB_LIBRARY_TAKES
