#include "memory.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

namespace twin {

bool GlobalMemory::Add(const char* name, uint8_t* address, uint64_t bytes, uint64_t reachable, bool writable) {
    if (size_ == kMaxBuffers) return false;
    GlobalBuffer& b = buffers_[size_++];
    snprintf(b.name, sizeof b.name, "%s", name);
    b.address = address;
    b.bytes = bytes;
    b.reachable = reachable;
    b.writable = writable;
    b.undefined = nullptr;
    return true;
}

const GlobalBuffer* GlobalMemory::Nearest(const void* address) const {
    if (const GlobalBuffer* exact = Holding(address)) return exact;
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

const GlobalBuffer* GlobalMemory::Holding(const void* address) const {
    auto* at = static_cast<const uint8_t*>(address);
    static thread_local int last = 0;
    if (last < size_ && at >= buffers_[last].address && at < buffers_[last].address + buffers_[last].reachable) return &buffers_[last];
    for (int i = 0; i < size_; ++i) {
        if (at < buffers_[i].address || at >= buffers_[i].address + buffers_[i].reachable) continue;
        last = i;
        return &buffers_[i];
    }
    return nullptr;
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
        void* mapped = mmap(nullptr, buffer->reachable / 8 + 64, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
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

void GlobalMemory::MarkFresh(GlobalBuffer* buffer) { Mark(buffer, 0, buffer->bytes, true); }

}  // namespace twin
