// A number for every byte of an image's code: looking one up is what kernels wait for.
#include "time/announcements.h"

#include <stdlib.h>

#include "cores/onchip.h"

namespace twin {
namespace {

Announcements g_announcements[kCoreKinds];
int g_images;

}  // namespace

Announcements* Announcements::Of(uint64_t begin, uint64_t end) {
    if (g_images == kCoreKinds) return nullptr;
    Announcements& one = g_announcements[g_images];
    one.begin_ = begin;
    one.end_ = end;
    one.behind_ = static_cast<uint32_t*>(calloc(end - begin + 1, sizeof(uint32_t)));
    if (one.behind_ == nullptr) abort();
    ++g_images;
    return &one;
}

uint32_t OperationsBehind(uint64_t pc) {
    for (int i = 0; i < g_images; ++i) {
        const Announcements& one = g_announcements[i];
        if (pc < one.begin_ || pc >= one.end_) continue;
        uint32_t known = one.behind_[pc - one.begin_];
        return known == 0 ? 1 : known - 1;
    }
    return 1;
}

}  // namespace twin
