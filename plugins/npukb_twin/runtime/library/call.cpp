// What every function of the library checks the same way: operands, sharing, scratch as scratch.def sizes it, and the
// time it takes.
#include "library/call.h"

namespace twin {

// Results that lie in the scratch buffer are lost with it.
Library::~Library() {
    for (int i = 0; i < span_count_; ++i) {
        const Span& own = spans_[i];
        if (exclusive_ && own.write && Shared(own))
            __builtin_memset(reinterpret_cast<void*>(own.begin), 0xff, own.end - own.begin);
        uint64_t from = scratch_.begin > spans_[i].begin ? scratch_.begin : spans_[i].begin;
        uint64_t to = scratch_.end < spans_[i].end ? scratch_.end : spans_[i].end;
        if (spans_[i].write && from < to) __builtin_memset(reinterpret_cast<void*>(from), 0xff, to - from);
    }
}

void* Library::Check(const npukb::BufferView* view, int64_t elements, uint32_t element_bytes, const char* role,
                     uint32_t alignment, bool write) const {
    if (elements < 0) {
        core_.Violate("bad_count", pc_, "Compute the count so that it cannot be negative.", "%s: %lld elements of %s",
                      name_, static_cast<long long>(elements), role);
    }
    auto bytes = static_cast<uint64_t>(Area(static_cast<uint64_t>(elements), element_bytes));
    void* address = view->address;  // read once: another block may change the view meanwhile
    CheckLocal(core_, {name_, role, address, bytes, view->bytes, alignment, write}, pc_);
    auto begin = reinterpret_cast<uint64_t>(address);
    if (span_count_ == kMaxSpans || bytes == 0) return address;
    const Span& span = spans_[span_count_++] = {role, begin, begin + bytes, write};
    if (scratch_.begin < span.end && span.begin < scratch_.end) WarnShared(scratch_, span);
    return address;
}

namespace {

struct ScratchRow {
    const char* name;
    uint32_t times;
    uint32_t extra;
    bool whole;
};

constexpr ScratchRow kScratch[] = {
#define NPUKB_SCRATCH(name, times, extra) {#name, times, extra, false},
#define NPUKB_SCRATCH_WHOLE(name, times, extra) {#name, times, extra, true},
#include "../../include/twin/scratch.def"
#undef NPUKB_SCRATCH
#undef NPUKB_SCRATCH_WHOLE
};

constexpr const char* kScratchRemedy = "Ask the matching Get...MaxMinTmpSize function how large the buffer has to be.";

uint64_t LeastScratch(const char* name, uint64_t data_bytes) {
    for (const ScratchRow& row : kScratch) {
        if (__builtin_strcmp(row.name, name) == 0) {
            return row.extra + row.times * (row.whole ? (data_bytes + 31) / 32 * 32 : 256);
        }
    }
    return 0;
}

}  // namespace

void Library::WarnShared(const Span& a, const Span& b) const {
    core_.Warn("overlap", pc_, "Give each operand memory of its own.",
               "%s: %s and %s share memory (UB offsets %u and %u), which this function does not allow", name_, a.role,
               b.role, core_.UbOffset(reinterpret_cast<const void*>(a.begin)),
               core_.UbOffset(reinterpret_cast<const void*>(b.begin)));
}

void Library::Apart(bool same) const {
    for (int i = 0; i < span_count_; ++i) {
        const Span& d = spans_[i];
        if (!d.write) continue;
        for (int j = 0; j < span_count_; ++j) {
            const Span& s = spans_[j];
            if (s.write || d.end <= s.begin || s.end <= d.begin || (same && d.begin == s.begin)) continue;
            WarnShared(d, s);
        }
    }
}

bool Library::Shared(const Span& result) const {
    for (int i = 0; i < span_count_; ++i) {
        const Span& s = spans_[i];
        if (!s.write && result.begin < s.end && s.begin < result.end) return true;
    }
    return false;
}

void Library::Exclusive() const {
    Apart();
    exclusive_ = true;
}

void Library::ScratchFor(const npukb::BufferView* view, uint64_t data_bytes) const {
    if (view == nullptr) return;
    uint64_t bytes = LeastScratch(name_, data_bytes);
    if (view->bytes < 32) {
        core_.Violate("scratch_too_small", pc_, kScratchRemedy, "%s: sharedTmpBuffer has %u bytes, not even one block",
                      name_, view->bytes);
    }
    if (view->bytes < bytes) {
        core_.Warn("scratch_too_small", pc_, kScratchRemedy, "%s: sharedTmpBuffer has %u bytes, and %llu are asked for",
                   name_, view->bytes, static_cast<unsigned long long>(bytes));
        bytes = view->bytes;
    }
    Scratch(view, bytes);
}

void Library::Scratch(const npukb::BufferView* view, uint64_t bytes) const {
    if (view == nullptr) return;
    if (bytes == 0) bytes = view->bytes < 32 ? view->bytes : 32;  // nobody says how much of it is used
    if (view->bytes < bytes) {
        core_.Violate("scratch_too_small", pc_, kScratchRemedy, "%s: sharedTmpBuffer has %u bytes and needs %llu",
                      name_, view->bytes, static_cast<unsigned long long>(bytes));
    }
    CheckLocal(core_, {name_, "sharedTmpBuffer", view->address, bytes, view->bytes, 32, true}, pc_);
    auto begin = reinterpret_cast<uint64_t>(view->address);
    scratch_ = {"sharedTmpBuffer", begin, begin + bytes, true};
    for (int i = 0; i < span_count_; ++i) {
        if (scratch_.begin < spans_[i].end && spans_[i].begin < scratch_.end) WarnShared(scratch_, spans_[i]);
    }
    __builtin_memset(reinterpret_cast<void*>(begin), 0xff, bytes);
}

void Library::Spoil(const npukb::BufferView* source, uint64_t bytes, const npukb::BufferView* dst) const {
    void* address = source->address;
    if (address == dst->address) return;
    CheckLocal(core_, {name_, "src", address, bytes, source->bytes, 1, true}, pc_);
    __builtin_memset(address, 0xff, bytes);
}

void Library::Charge(npukb::DType dtype, int64_t elements, double passes) const {
    const Machine& m = core_.launch->machine;
    uint32_t bytes = npukb::kDTypeBytes[static_cast<int>(dtype)];
    double repeats = static_cast<double>((elements * bytes + 255) / 256);
    core_.time.Issue(m, Pipe::V, passes * (m.vector_head_cycles + repeats));
}

}  // namespace twin
