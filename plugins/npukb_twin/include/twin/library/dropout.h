// DropOut: elements chosen by a mask of bytes or bits are divided by the probability of being kept, the others become
// zero.
#pragma once
#include "../tensor.h"

namespace AscendC {

struct DropOutShapeInfo {
    uint32_t firstAxis = 0;
    uint32_t srcLastAxis = 0;
    uint32_t maskLastAxis = 0;  // bytes of a row of the mask, padding included
};

}  // namespace AscendC

#pragma GCC visibility push(default)
extern "C" void npukb_drop_out(uint32_t element_bytes, uint32_t mode, const npukb::BufferView* dst,
                               const npukb::BufferView* src, const npukb::BufferView* mask,
                               const npukb::BufferView* tmp, float keep, const AscendC::DropOutShapeInfo* info);
#pragma GCC visibility pop

namespace AscendC {

// dropOutMode: 0 as the shapes suggest, 1 bytes with padding, 2 bytes, 3 bits, 4 bits with padding.
template <typename T, bool isInitBitMode = false, uint32_t dropOutMode = 0>
NPUKB_API void DropOut(const LocalTensor<T>& dstLocal, const LocalTensor<T>& srcLocal,
                       const LocalTensor<uint8_t>& maskLocal, const float keepProb, const DropOutShapeInfo& info) {
    static_assert(npukb::kSame<T, half> || npukb::kSame<T, float>, "DropOut takes half and float only");
    static_assert(dropOutMode <= 4, "DropOut has modes 0 to 4");
    npukb_drop_out(sizeof(T), dropOutMode, &dstLocal.npukb_view, &srcLocal.npukb_view, &maskLocal.npukb_view, nullptr,
                   keepProb, &info);
}
template <typename T, bool isInitBitMode = false, uint32_t dropOutMode = 0>
NPUKB_API void DropOut(const LocalTensor<T>& dstLocal, const LocalTensor<T>& srcLocal,
                       const LocalTensor<uint8_t>& maskLocal, const LocalTensor<uint8_t>& sharedTmpBuffer,
                       const float keepProb, const DropOutShapeInfo& info) {
    static_assert(npukb::kSame<T, half> || npukb::kSame<T, float>, "DropOut takes half and float only");
    static_assert(dropOutMode <= 4, "DropOut has modes 0 to 4");
    npukb_drop_out(sizeof(T), dropOutMode, &dstLocal.npukb_view, &srcLocal.npukb_view, &maskLocal.npukb_view,
                   &sharedTmpBuffer.npukb_view, keepProb, &info);
}

}  // namespace AscendC
