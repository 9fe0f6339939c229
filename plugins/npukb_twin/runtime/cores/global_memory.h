// Global memory of one launch: the buffers a kernel may touch, and how far.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "check/coverage.h"
#include "time/write_times.h"

namespace twin {

struct GlobalBuffer {
    char name[64];
    uint8_t* address;
    uint64_t bytes;      // what the kernel owns
    uint64_t reachable;  // rounded up to the allocation granule; touching the difference is only risky
    uint64_t mapped;     // up to where a device reads without a fault: `reachable`, or the end of a pool's segment
    uint64_t revealed;   // what of it can be read here
    bool writable;
    bool fresh;       // holds nothing of the program when the kernel begins
    uint64_t device;  // where it lies on the device: the same in every run
    Coverage coverage;
    WriteTimes writes;   // of what several cores may write
    uint8_t* undefined;  // one bit per byte: holds nothing that the program put there; null when there is no such byte
};

// How far an allocation of so many bytes reaches.
struct Extent {
    uint64_t reachable;
    uint64_t mapped;
};
// As documented: a multiple of 32 bytes, and 32 bytes more.
Extent ExactExtent(uint64_t bytes);
// As PyTorch's caching allocators do it: in granules of 512 bytes, cut out of segments of 2 MiB (up to 1 MiB), 20 MiB
// (up to 10 MiB) or a multiple of 2 MiB. Where in its segment an allocation lies is not known; here it is at the
// beginning.
Extent PooledExtent(uint64_t bytes);

class GlobalMemory {
  public:
    bool Add(const char* name, uint8_t* address, uint64_t bytes, Extent extent, bool writable, uint64_t revealed);
    // The buffer that holds `address` or lies just before it, so that an overrun is named; null when there is none
    // near.
    const GlobalBuffer* Nearest(const void* address) const;
    // The buffer that holds `address`; null when none does.
    const GlobalBuffer* Holding(const void* address) const;
    // Whether any byte of [begin, end) is marked as undefined, and marking. Blocks on several threads may do so at
    // once.
    static bool AnyUndefined(const GlobalBuffer& buffer, uint64_t begin, uint64_t end);
    void Mark(GlobalBuffer* buffer, uint64_t begin, uint64_t end, bool undefined);
    // Makes what a segment holds behind its buffer readable up to `end`: noise that depends on the seed and the place.
    void Reveal(const GlobalBuffer* buffer, uint64_t end, uint64_t seed);
    // What a kernel reads or writes: so many bytes at `address`, of which those in the buffer count.
    static void Cover(const GlobalBuffer& buffer, const void* address, uint64_t bytes, bool write);
    // Notes from now on who writes what.
    void Share(GlobalBuffer* buffer) { buffer->writes.Open(buffer->mapped); }
    // Nothing has been written to this buffer yet.
    void MarkFresh(GlobalBuffer* buffer);
    // Where `address` would lie on the device; 0 when it is in no buffer.
    uint64_t DeviceAddress(const void* address) const;
    uint64_t DeviceEnd() const { return device_end_; }
    // Name of the buffer that holds `address`, and where in it that is.
    const char* NameOf(const void* address) const;
    uint64_t OffsetOf(const void* address) const;
    int size() const { return size_; }
    GlobalBuffer& operator[](int i) { return buffers_[i]; }
    const GlobalBuffer& operator[](int i) const { return buffers_[i]; }
    int IndexOf(const GlobalBuffer* buffer) const { return static_cast<int>(buffer - buffers_); }

  private:
    static constexpr int kMaxBuffers = 1024;
    GlobalBuffer* buffers_ = nullptr;  // room for the most of them, touched as they are added
    int size_ = 0;
    uint64_t device_end_ = kDeviceAlignment;
    static constexpr uint64_t kDeviceAlignment = 512;
    uint8_t* MapBits(GlobalBuffer* buffer);
};

}  // namespace twin
