#include "memory.h"

#include <stdio.h>

namespace twin {

bool GlobalMemory::Add(const char* name, uint8_t* address, uint64_t bytes, uint64_t reachable, bool writable) {
    if (size_ == kMaxBuffers) return false;
    GlobalBuffer& b = buffers_[size_++];
    snprintf(b.name, sizeof b.name, "%s", name);
    b.address = address;
    b.bytes = bytes;
    b.reachable = reachable;
    b.writable = writable;
    return true;
}

const GlobalBuffer* GlobalMemory::Nearest(const void* address) const {
    auto at = reinterpret_cast<uint64_t>(address);
    const GlobalBuffer* best = nullptr;
    uint64_t best_distance = 1ull << 40;
    for (int i = 0; i < size_; ++i) {
        auto begin = reinterpret_cast<uint64_t>(buffers_[i].address);
        uint64_t end = begin + buffers_[i].reachable;
        uint64_t distance = at < begin ? begin - at : (at >= end ? at - end + 1 : 0);
        if (distance < best_distance) {
            best_distance = distance;
            best = &buffers_[i];
        }
    }
    return best;
}

}  // namespace twin
