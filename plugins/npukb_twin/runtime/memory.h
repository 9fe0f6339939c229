// Global memory of one launch: the buffers a kernel may touch, and how far.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace twin {

struct GlobalBuffer {
    char name[64];
    uint8_t* address;
    uint64_t bytes;     // what the kernel owns
    uint64_t reachable; // rounded up to the allocation granule; touching the difference is only risky
    bool writable;
};

class GlobalMemory {
  public:
    bool Add(const char* name, uint8_t* address, uint64_t bytes, uint64_t reachable, bool writable);
    // The buffer that holds `address` or lies just before it, so that an overrun is named; null when there is none near.
    const GlobalBuffer* Nearest(const void* address) const;
    int size() const { return size_; }
    const GlobalBuffer& operator[](int i) const { return buffers_[i]; }

  private:
    static constexpr int kMaxBuffers = 1024;
    GlobalBuffer buffers_[kMaxBuffers];
    int size_ = 0;
};

}  // namespace twin
