// Pieces of each size that were given back, in lists through their first words; else the room's next pages.
#include "launcher/arena.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

namespace launcher {
namespace {

constexpr size_t kPage = 4096, kLargePage = 2 << 20, kRoom = 256 << 20, kMostPages = 32;

uint8_t *g_begin, *g_next, *g_end;
void* g_given[kMostPages + 1];

size_t Pages(size_t bytes) { return (bytes + kPage - 1) / kPage; }

}  // namespace

void OpenArena() {
    const int kind = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void* room = mmap(nullptr, kRoom + kLargePage, PROT_READ | PROT_WRITE, kind, -1, 0);
    if (room == MAP_FAILED) return;
    const auto begin = reinterpret_cast<uintptr_t>(room) + kLargePage - 1;
    g_begin = g_next = reinterpret_cast<uint8_t*>(begin / kLargePage * kLargePage);
    g_end = g_begin + kRoom;
    madvise(g_begin, kRoom, MADV_HUGEPAGE);
}

void* TakePages(size_t bytes) {
    const size_t pages = Pages(bytes);
    if (pages == 0 || pages > kMostPages) return nullptr;
    if (void* piece = g_given[pages]) {
        memcpy(&g_given[pages], piece, sizeof piece);
        return memset(piece, 0, pages * kPage);
    }
    if (static_cast<size_t>(g_end - g_next) < pages * kPage) return nullptr;
    void* piece = g_next;
    g_next += pages * kPage;
    return piece;
}

bool GivePages(void* address, size_t bytes) {
    auto* piece = static_cast<uint8_t*>(address);
    if (piece < g_begin || piece >= g_next) return false;
    const size_t pages = Pages(bytes);
    if (pages == 0 || pages > kMostPages) return false;
    memcpy(piece, &g_given[pages], sizeof piece);
    g_given[pages] = piece;
    return true;
}

}  // namespace launcher
