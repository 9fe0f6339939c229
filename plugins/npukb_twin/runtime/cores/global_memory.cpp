// A launch has few buffers: they are looked through one by one. How far each reaches is computed once, when it is made.
#include "cores/global_memory.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

namespace twin {

namespace {
constexpr uint64_t kPage = 4096;
constexpr uint64_t kMiB = 1ull << 20;

uint64_t RoundUp(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }

uint64_t Scramble(uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}
}  // namespace

Extent ExactExtent(uint64_t bytes) {
    uint64_t reachable = RoundUp(bytes, 32) + 32;
    return {reachable, reachable};
}

Extent PooledExtent(uint64_t bytes) {
    uint64_t granules = RoundUp(bytes + 32, 512);
    if (granules <= kMiB) return {granules, 2 * kMiB};
    if (granules < 10 * kMiB) return {granules, 20 * kMiB};
    return {granules, RoundUp(granules, 2 * kMiB)};
}

bool GlobalMemory::Add(const char* name, uint8_t* address, uint64_t bytes, Extent extent, bool writable,
                       uint64_t revealed) {
    if (size_ == kMaxBuffers) return false;
    if (buffers_ == nullptr) {
        buffers_ = static_cast<GlobalBuffer*>(calloc(kMaxBuffers, sizeof(GlobalBuffer)));
        if (buffers_ == nullptr) abort();
    }
    GlobalBuffer& b = buffers_[size_++];
    snprintf(b.name, sizeof b.name, "%s", name);
    b.address = address;
    b.bytes = bytes;
    b.reachable = extent.reachable;
    b.mapped = extent.mapped;
    b.revealed = revealed;
    b.writable = writable;
    b.fresh = false;
    b.undefined = nullptr;
    b.coverage.Open(bytes);
    b.device = device_end_;
    device_end_ += (b.reachable + kDeviceAlignment - 1) / kDeviceAlignment * kDeviceAlignment;
    return true;
}

const GlobalBuffer* GlobalMemory::Nearest(const void* address) const {
    if (const GlobalBuffer* exact = Holding(address)) return exact;
    auto at = reinterpret_cast<uint64_t>(address);
    const GlobalBuffer* best = nullptr;
    uint64_t best_distance = 1ull << 40;
    for (int i = 0; i < size_; ++i) {
        auto begin = reinterpret_cast<uint64_t>(buffers_[i].address);
        uint64_t end = begin + buffers_[i].mapped;
        uint64_t distance = at < begin ? begin - at : (at >= end ? at - end + 1 : 0);
        if (distance < best_distance) {
            best_distance = distance;
            best = &buffers_[i];
        }
    }
    return best;
}

const GlobalBuffer* GlobalMemory::Holding(const void* address) const {
    auto* at = static_cast<const uint8_t*>(address);
    static thread_local int last = 0;
    if (last < size_ && at >= buffers_[last].address && at < buffers_[last].address + buffers_[last].mapped)
        return &buffers_[last];
    for (int i = 0; i < size_; ++i) {
        if (at < buffers_[i].address || at >= buffers_[i].address + buffers_[i].mapped) continue;
        last = i;
        return &buffers_[i];
    }
    return nullptr;
}

uint64_t GlobalMemory::DeviceAddress(const void* address) const {
    const GlobalBuffer* b = Holding(address);
    return b == nullptr ? 0 : b->device + static_cast<uint64_t>(static_cast<const uint8_t*>(address) - b->address);
}

const char* GlobalMemory::NameOf(const void* address) const {
    const GlobalBuffer* buffer = Nearest(address);
    return buffer == nullptr ? "?" : buffer->name;
}

uint64_t GlobalMemory::OffsetOf(const void* address) const {
    const GlobalBuffer* buffer = Nearest(address);
    return buffer == nullptr ? 0 : reinterpret_cast<uint64_t>(address) - reinterpret_cast<uint64_t>(buffer->address);
}

uint8_t* GlobalMemory::MapBits(GlobalBuffer* buffer) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    uint8_t* bits = __atomic_load_n(&buffer->undefined, __ATOMIC_ACQUIRE);
    if (bits == nullptr) {
        void* mapped = mmap(nullptr, buffer->mapped / 8 + 64, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (mapped == MAP_FAILED) abort();
        bits = static_cast<uint8_t*>(mapped);
        __atomic_store_n(&buffer->undefined, bits, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
    return bits;
}

void GlobalMemory::Mark(GlobalBuffer* buffer, uint64_t begin, uint64_t end, bool undefined) {
    uint8_t* bits = __atomic_load_n(&buffer->undefined, __ATOMIC_ACQUIRE);
    if (bits == nullptr && !undefined) return;
    if (bits == nullptr) bits = MapBits(buffer);
    while (begin < end) {
        uint64_t byte = begin / 8;
        if (begin % 8 == 0 && end - begin >= 8) {
            uint64_t whole = (end - begin) / 8;
            memset(bits + byte, undefined ? 0xff : 0, whole);
            begin += whole * 8;
            continue;
        }
        uint64_t stop = end < (byte + 1) * 8 ? end : (byte + 1) * 8;
        auto mask = static_cast<uint8_t>(((1u << (stop - begin)) - 1) << (begin % 8));
        if (undefined) {
            __atomic_fetch_or(bits + byte, mask, __ATOMIC_RELAXED);
        } else {
            __atomic_fetch_and(bits + byte, static_cast<uint8_t>(~mask), __ATOMIC_RELAXED);
        }
        begin = stop;
    }
}

bool GlobalMemory::AnyUndefined(const GlobalBuffer& buffer, uint64_t begin, uint64_t end) {
    const uint8_t* bits = __atomic_load_n(&buffer.undefined, __ATOMIC_ACQUIRE);
    if (bits == nullptr) return false;
    for (; begin < end && begin % 8 != 0; ++begin) {
        if (bits[begin / 8] >> (begin % 8) & 1) return true;
    }
    for (; begin + 8 <= end; begin += 8) {
        if (bits[begin / 8] != 0) return true;
    }
    for (; begin < end; ++begin) {
        if (bits[begin / 8] >> (begin % 8) & 1) return true;
    }
    return false;
}

void GlobalMemory::Reveal(const GlobalBuffer* buffer, uint64_t end, uint64_t seed) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    GlobalBuffer& own = buffers_[IndexOf(buffer)];
    end = RoundUp(end, kPage);
    if (__atomic_load_n(&own.revealed, __ATOMIC_ACQUIRE) >= end) return;
    pthread_mutex_lock(&lock);
    if (own.revealed < end) {
        if (mprotect(own.address + own.revealed, end - own.revealed, PROT_READ | PROT_WRITE) != 0) abort();
        auto* words = reinterpret_cast<uint64_t*>(own.address);
        uint64_t salt = Scramble(seed ^ static_cast<uint64_t>(IndexOf(buffer)) << 48);
        for (uint64_t i = own.revealed / 8; i < end / 8; ++i) words[i] = Scramble(salt + i);
        __atomic_store_n(&own.revealed, end, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
}

void GlobalMemory::Cover(const GlobalBuffer& buffer, const void* address, uint64_t bytes, bool write) {
    auto begin = static_cast<uint64_t>(static_cast<const uint8_t*>(address) - buffer.address);
    uint64_t end = begin + bytes < buffer.bytes ? begin + bytes : buffer.bytes;
    Coverage::Note(write ? buffer.coverage.written : buffer.coverage.read, begin, end);
}

void GlobalMemory::MarkFresh(GlobalBuffer* buffer) { Mark(buffer, 0, buffer->bytes, true); }

}  // namespace twin
