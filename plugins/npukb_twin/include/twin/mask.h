// The mask register, for instructions with isSetMask = false and for intrinsics.
#pragma once
#include "vector.h"

namespace AscendC {

NPUKB_API void SetMaskCount() { npukb_mask_mode(1); }
NPUKB_API void SetMaskNorm() { npukb_mask_mode(0); }
NPUKB_API void ResetMask() { npukb_mask_set(~0ull, ~0ull); }

}  // namespace AscendC

namespace npukb {

// Bits for the first lanes of a repeat.
template <typename T>
NPUKB_API void MaskLeading(int64_t length) {
    constexpr int64_t lanes = 256 / sizeof(T);
    int64_t n = length < 0 ? 0 : (length < lanes ? length : lanes);
    npukb_mask_set(n <= 64 ? 0 : (n >= 128 ? ~0ull : (1ull << (n - 64)) - 1), n >= 64 ? ~0ull : (1ull << n) - 1);
}

}  // namespace npukb

namespace AscendC {

template <typename T, MaskMode mode = MaskMode::NORMAL>
NPUKB_API void SetVectorMask(const uint64_t maskHigh, const uint64_t maskLow) {
    if constexpr (mode == MaskMode::COUNTER) {
        npukb_mask_count(maskLow);
    } else {
        npukb_mask_set(maskHigh, maskLow);
    }
}
template <typename T, MaskMode mode = MaskMode::NORMAL>
NPUKB_API void SetVectorMask(int32_t length) {
    if constexpr (mode == MaskMode::COUNTER) {
        npukb_mask_count(static_cast<uint64_t>(length));
    } else {
        npukb::MaskLeading<T>(length);
    }
}

// The older spelling of the same.
class AscendCUtils {
  public:
    template <typename T>
    NPUKB_API static void SetMask(const uint64_t& maskHigh, const uint64_t& maskLow) {
        npukb_mask_set(maskHigh, maskLow);
    }
    template <typename T>
    NPUKB_API static void SetMask(int32_t length) {
        npukb::MaskLeading<T>(length);
    }
    template <typename T>
    NPUKB_API static void SetMaskCount() {
        npukb_mask_mode(1);
    }
    template <typename T>
    NPUKB_API static void SetMaskNorm() {
        npukb_mask_mode(0);
    }
    NPUKB_API static void ResetMask() { npukb_mask_set(~0ull, ~0ull); }
    // Elements of a 32-byte block.
    NPUKB_API static int32_t GetC0Count(const int32_t typeBytes) { return 32 / typeBytes; }
    NPUKB_API static int32_t GetC0Size() { return 32; }
    // No page describes these two: the bits of a type of so many bytes, and bit 48 of the control register (cast.h).
    NPUKB_API static constexpr int32_t GetBitSize(int32_t typeBytes) { return 8 * typeBytes; }
    NPUKB_API static void SetOverflow(uint64_t mode) { npukb_saturation(1, mode == 0); }
};

}  // namespace AscendC

NPUKB_API void set_mask_count() { npukb_mask_mode(1); }
NPUKB_API void set_mask_norm() { npukb_mask_mode(0); }
NPUKB_API void set_vector_mask(uint64_t maskHigh, uint64_t maskLow) { npukb_mask_set(maskHigh, maskLow); }
