// Which tensors in global memory go past the L2 cache, as SetL2CacheHint said. A tensor is known by where it begins.
#pragma once
#include <stdint.h>

namespace twin {

class CacheHints {
  public:
    // `which`: 1 for reads, 2 for writes, 3 for both.
    void Set(const void* origin, int which, bool bypass) {
        int i = 0;
        while (i < count_ && rows_[i].origin != origin) ++i;
        if (i == kMost) return;
        if (i == count_) rows_[count_++] = {origin, 0};
        auto bits = static_cast<uint8_t>(which);
        rows_[i].bypassed = static_cast<uint8_t>(bypass ? rows_[i].bypassed | bits : rows_[i].bypassed & ~bits);
    }
    bool Bypasses(const void* origin, bool write) const {
        for (int i = 0; i < count_; ++i) {
            if (rows_[i].origin == origin) return rows_[i].bypassed & (write ? 2 : 1);
        }
        return false;
    }

  private:
    static constexpr int kMost = 32;
    struct Row {
        const void* origin;
        uint8_t bypassed;
    } rows_[kMost];
    int count_;
};

}  // namespace twin
