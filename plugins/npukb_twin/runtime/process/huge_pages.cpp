// Large pages for the heap, and for the state of a launch's cores.
#include "process/huge_pages.h"

#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

namespace twin {
namespace {

constexpr uint64_t kHuge = 2u << 20;
constexpr uint64_t kHeap = 2 * kHuge;
constexpr uint64_t kHeader = 4096;  // what malloc writes behind its last piece must not lie in the first page

uint64_t Up(uint64_t address) { return (address + kHuge - 1) / kHuge * kHuge; }

}  // namespace

void BeginHeap() {
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_MMAP_THRESHOLD, 512 << 10);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    mallopt(M_TOP_PAD, kHeap);
    auto at = reinterpret_cast<uint64_t>(sbrk(0));
    uint64_t begin = Up(at + kHeader);
    if (sbrk(static_cast<intptr_t>(begin - kHeader - at)) == reinterpret_cast<void*>(-1)) return;
    void* volatile first = malloc(1);  // the heap is there once something of it is
    free(first);
    madvise(reinterpret_cast<void*>(begin), kHeap, MADV_HUGEPAGE);
}

void* HugeZeros(size_t bytes) {
    uint64_t room = Up(bytes) + kHuge;
    void* mapped = mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) return nullptr;
    uint64_t begin = Up(reinterpret_cast<uint64_t>(mapped));
    madvise(reinterpret_cast<void*>(begin), Up(bytes), MADV_HUGEPAGE);
    return reinterpret_cast<void*>(begin);
}

}  // namespace twin
