// Large pages for the heap, and for the state of a launch's cores.
#include "process/huge_pages.h"

#include <fcntl.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace twin {
namespace {

constexpr uint64_t kHuge = 2u << 20;
constexpr uint64_t kHeap = 8 * kHuge;
constexpr uint64_t kHeader = 4096;  // what malloc writes behind its first piece must not lie in the first large page
constexpr int kShared = 512 << 10;  // larger pieces are mapped for themselves where the heap has no room left

uint64_t Up(uint64_t address) { return (address + kHuge - 1) / kHuge * kHuge; }

void* Mapped(uint64_t bytes) {
    void* mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return mapped == MAP_FAILED ? nullptr : mapped;
}

// Whether a program gets large pages where it asks for them.
bool Given() {
    char text[64];
    int file = open("/sys/kernel/mm/transparent_hugepage/enabled", O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? -1 : read(file, text, sizeof text);
    if (file >= 0) close(file);
    return length > 0 && memmem(text, static_cast<size_t>(length), "[never]", 7) == nullptr &&
           prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) == 0;
}

}  // namespace

void BeginHeap() {
    auto at = reinterpret_cast<uint64_t>(sbrk(0));
    uint64_t begin = Up(at + kHeader);
    if (!Given() || sbrk(static_cast<intptr_t>(begin - kHeader - at)) == reinterpret_cast<void*>(-1)) return;
    mallopt(M_ARENA_MAX, 1);  // threads share it
    mallopt(M_MMAP_THRESHOLD, kShared);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    mallopt(M_TOP_PAD, kHeap);
    void* volatile first = malloc(1);  // the heap is there once something of it is
    free(first);
    madvise(reinterpret_cast<void*>(begin), kHeap, MADV_HUGEPAGE);
}

void* HugeZeros(size_t bytes) {
    void* mapped = Mapped(Up(bytes) + kHuge);
    if (mapped == nullptr) return nullptr;
    uint64_t begin = Up(reinterpret_cast<uint64_t>(mapped));
    madvise(reinterpret_cast<void*>(begin), Up(bytes), MADV_HUGEPAGE);
    return reinterpret_cast<void*>(begin);
}

void* LazyZeros(size_t bytes) { return Mapped(bytes); }

}  // namespace twin
