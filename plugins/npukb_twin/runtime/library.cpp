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

void Library::Scratch(const npukb::BufferView* view, uint64_t bytes) const {
    if (view == nullptr || bytes == 0) return;
    if (view->bytes < bytes) {
        core_.Violate("scratch_too_small", pc_, "Ask the matching Get…TmpSize function how large the buffer has to be.",
                      "%s: sharedTmpBuffer has %u bytes and needs %llu", name_, view->bytes,
                      static_cast<unsigned long long>(bytes));
    }
    CheckLocal(core_, {name_, "sharedTmpBuffer", view->address, bytes, view->bytes, 32, true}, pc_);
}

void Library::Charge(npukb::DType dtype, int64_t elements, double passes) const {
    const Machine& m = core_.launch->machine;
    uint32_t bytes = npukb::kDTypeBytes[static_cast<int>(dtype)];
    double repeats = static_cast<double>((elements * bytes + 255) / 256);
    core_.time.Issue(m, Pipe::V, passes * (m.vector_head_cycles + repeats));
}

}  // namespace twin
