#include "library.h"

namespace twin {

void* Library::Check(const npukb::BufferView* view, int64_t elements, uint32_t element_bytes, const char* role,
                     uint32_t alignment, bool write) const {
    if (elements < 0) {
        core_.Violate("bad_count", pc_, "Compute the count so that it cannot be negative.", "%s: %lld elements of %s", name_,
                      static_cast<long long>(elements), role);
    }
    uint64_t bytes = static_cast<uint64_t>(elements) * element_bytes;
    CheckLocal(core_, {name_, role, view->address, bytes, view->bytes, alignment, write}, pc_);
    return view->address;
}

namespace {

struct ScratchNeed {
    const char* name;
    uint32_t minimum;
};

constexpr ScratchNeed kScratch[] = {
#define NPUKB_SCRATCH(name, times_data_bytes, fixed_bytes) {#name, fixed_bytes},
#include "../include/twin/scratch.def"
};

uint32_t MinimumScratch(const char* name) {
    for (const ScratchNeed& need : kScratch) {
        if (__builtin_strcmp(need.name, name) == 0) return need.minimum;
    }
    return 0;
}

}  // namespace

void Library::Scratch(const npukb::BufferView* view) const {
    if (view != nullptr) Scratch(view, MinimumScratch(name_));
}

void Library::Scratch(const npukb::BufferView* view, uint64_t bytes) const {
    if (view == nullptr || bytes == 0) return;
    constexpr const char* remedy = "Ask the matching Get…TmpSize function how large the buffer has to be.";
    if (view->bytes < 32) {
        core_.Violate("scratch_too_small", pc_, remedy, "%s: sharedTmpBuffer has %u bytes, not even one block", name_,
                      view->bytes);
    }
    if (view->bytes < bytes) {
        core_.Warn("scratch_too_small", pc_, remedy, "%s: sharedTmpBuffer has %u bytes, and %llu are asked for", name_,
                   view->bytes, static_cast<unsigned long long>(bytes));
        bytes = view->bytes;
    }
    CheckLocal(core_, {name_, "sharedTmpBuffer", view->address, bytes, view->bytes, 32, true}, pc_);
}

void Library::Apart(const npukb::BufferView* dst, uint64_t dst_bytes, const npukb::BufferView* src, uint64_t src_bytes,
                    const char* role) const {
    auto d = reinterpret_cast<uint64_t>(dst->address);
    auto s = reinterpret_cast<uint64_t>(src->address);
    if (dst_bytes == 0 || src_bytes == 0 || d + dst_bytes <= s || s + src_bytes <= d) return;
    core_.Warn("overlap", pc_, "Write the result into a buffer of its own.",
               "%s: dst and %s share memory (UB offsets %u and %u), which this function does not allow", name_, role,
               core_.UbOffset(dst->address), core_.UbOffset(src->address));
}

void Library::Charge(npukb::DType dtype, int64_t elements, double passes) const {
    const Machine& m = core_.launch->machine;
    uint32_t bytes = npukb::kDTypeBytes[static_cast<int>(dtype)];
    double repeats = static_cast<double>((elements * bytes + 255) / 256);
    core_.time.Issue(m, Pipe::V, passes * (m.vector_head_cycles + repeats));
}

}  // namespace twin
