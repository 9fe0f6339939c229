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
    uint8_t* undefined;  // one bit per byte: holds nothing that the program put there; null when there is no such byte
};

class GlobalMemory {
  public:
    bool Add(const char* name, uint8_t* address, uint64_t bytes, uint64_t reachable, bool writable);
    // The buffer that holds `address` or lies just before it, so that an overrun is named; null when there is none near.
    const GlobalBuffer* Nearest(const void* address) const;
    // The buffer that holds `address`; null when none does.
    const GlobalBuffer* Holding(const void* address) const;
    // Whether any byte of [begin, end) is marked as undefined, and marking. Blocks on several threads may do so at once.
    static bool AnyUndefined(const GlobalBuffer& buffer, uint64_t begin, uint64_t end);
    void Mark(GlobalBuffer* buffer, uint64_t begin, uint64_t end, bool undefined);
    // Nothing has been written to this buffer yet.
    void MarkFresh(GlobalBuffer* buffer);
    // Name of the buffer that holds `address`, and where in it that is.
    const char* NameOf(const void* address) const;
    uint64_t OffsetOf(const void* address) const;
    int size() const { return size_; }
    GlobalBuffer& operator[](int i) { return buffers_[i]; }
    int IndexOf(const GlobalBuffer* buffer) const { return static_cast<int>(buffer - buffers_); }

  private:
    static constexpr int kMaxBuffers = 1024;
    GlobalBuffer buffers_[kMaxBuffers];
    int size_ = 0;
    uint8_t* MapBits(GlobalBuffer* buffer);
};

}  // namespace twin
