#include "call.h"

namespace optiling {

namespace {
TilingDef* Nested(const TilingDef* owner, const npukb_host::TilingMember& member) {
    return reinterpret_cast<TilingDef*>(const_cast<char*>(reinterpret_cast<const char*>(owner)) + member.nested);
}
}  // namespace

TilingDef::TilingDef(const char* class_name) : class_name_(class_name) {}

// Nested objects are members of the derived class and copy themselves.
TilingDef::TilingDef(const TilingDef& other)
    : class_name_(other.class_name_), members_(other.members_), own_(other.data_, other.data_ + other.end_), end_(other.end_),
      alignment_(other.alignment_) {
    own_.reserve(own_.size() + 1);
    data_ = own_.data();
}

TilingDef& TilingDef::operator=(const TilingDef& other) {
    if (this != &other && end_ != 0 && other.end_ == end_) memmove(data_, other.data_, end_);
    return *this;
}

TilingDef::~TilingDef() = default;

size_t TilingDef::Append(const char* name, const char* type, size_t bytes, size_t alignment, size_t count) {
    size_t offset = (end_ + alignment - 1) / alignment * alignment;
    alignment_ = std::max(alignment_, alignment);
    end_ = offset + bytes;
    own_.resize(end_, 0);
    data_ = own_.data();
    members_.push_back({name, type, offset, bytes, count, 0});
    return offset;
}

size_t TilingDef::AppendNested(const char* name, const TilingDef& nested) {
    size_t offset = Append(name, nested.GetTilingClassName(), nested.GetDataSize(), nested.Alignment(), 0);
    members_.back().nested = reinterpret_cast<const char*>(&nested) - reinterpret_cast<const char*>(this);
    return offset;
}

size_t TilingDef::GetDataSize() const { return (end_ + alignment_ - 1) / alignment_ * alignment_; }

void TilingDef::SaveToBuffer(void* data, size_t capacity) {
    if (data == nullptr || GetDataSize() > capacity) {
        fprintf(stderr, "error: tiling data %s of %zu bytes does not fit into a buffer of %zu\n", class_name_, GetDataSize(), capacity);
        return;
    }
    auto* bytes = static_cast<unsigned char*>(data);
    if (bytes != data_) {
        memset(bytes, 0, GetDataSize());
        memcpy(bytes, data_, end_);
    }
    for (const auto& member : members_) {
        if (member.nested != 0) Nested(this, member)->SaveToBuffer(bytes + member.offset, member.bytes);
    }
}

void TilingDef::SetDataPtr(void* data) {
    data_ = static_cast<unsigned char*>(data);
    for (const auto& member : members_) {
        if (member.nested != 0) Nested(this, member)->SetDataPtr(data_ + member.offset);
    }
}

}  // namespace optiling

namespace npukb_host {

namespace {

struct Row {
    uint32_t times;
    uint32_t extra;
    bool whole;
};
constexpr Row kRows[] = {
#define NPUKB_SCRATCH(name, times, extra) {times, extra, false},
#define NPUKB_SCRATCH_WHOLE(name, times, extra) {times, extra, true},
#include "../include/twin/scratch.def"
#undef NPUKB_SCRATCH
#undef NPUKB_SCRATCH_WHOLE
};
constexpr uint64_t kRepeat = 256;
constexpr uint64_t kBlock = 32;

const Row& RowOf(ScratchKind kind) { return kRows[static_cast<size_t>(kind)]; }

uint32_t Clamped(uint64_t bytes) { return static_cast<uint32_t>(std::min<uint64_t>(bytes, UINT32_MAX / kBlock * kBlock)); }

}  // namespace

uint64_t Bytes(const ge::Shape& shape, uint32_t type_size) {
    uint64_t bytes = type_size;
    for (size_t i = 0; i < shape.GetDimNum(); ++i) bytes *= static_cast<uint64_t>(std::max<int64_t>(shape.GetDim(i), 0));
    return bytes;
}

void ScratchSizes(ScratchKind kind, uint64_t data, uint32_t& most, uint32_t& least) {
    const Row& row = RowOf(kind);
    uint64_t rounded = (data + kBlock - 1) / kBlock * kBlock;
    if (row.whole) {
        most = least = Clamped(row.extra + row.times * rounded);
        return;
    }
    least = Clamped(row.extra + row.times * kRepeat);
    most = Clamped(row.extra + row.times * std::max(kRepeat, rounded));
}

void ScratchFactors(ScratchKind kind, uint32_t& times, uint32_t& extra) {
    times = RowOf(kind).times;
    extra = RowOf(kind).extra;
}

}  // namespace npukb_host

namespace AscendC {
namespace {

using npukb_host::Bytes;
using npukb_host::ScratchKind;
using npukb_host::ScratchSizes;

uint32_t Least(ScratchKind kind, uint64_t data) {
    uint32_t most, least;
    ScratchSizes(kind, data, most, least);
    return least;
}

uint32_t Most(ScratchKind kind, uint64_t data) {
    uint32_t most, least;
    ScratchSizes(kind, data, most, least);
    return most;
}

// A softmax works on rows: the input's last axis, all others together being the number of rows.
struct Rows {
    uint32_t count = 1;
    uint32_t length = 1;
};

Rows RowsOf(const ge::Shape& shape) {
    Rows rows;
    for (size_t i = 0; i + 1 < shape.GetDimNum(); ++i) rows.count *= static_cast<uint32_t>(shape.GetDim(i));
    if (shape.GetDimNum() > 0) rows.length = static_cast<uint32_t>(shape.GetDim(shape.GetDimNum() - 1));
    return rows;
}

constexpr uint32_t kBlockBytes = 32;

// The least space keeps one row.
uint64_t RowBytes(const ge::Shape& shape, uint32_t type_size) { return uint64_t{RowsOf(shape).length} * std::max(type_size, 4u); }
uint64_t AllBytes(const ge::Shape& shape, uint32_t type_size) {
    Rows rows = RowsOf(shape);
    return uint64_t{rows.count} * rows.length * std::max(type_size, 4u);
}

// Rows are taken in groups of splitM that fit into the space; the last group has tailM.
template <class Set>
void Split(const ge::Shape& shape, uint32_t type_size, uint32_t space, ScratchKind kind, Set set) {
    Rows rows = RowsOf(shape);
    uint32_t lanes = kBlockBytes / std::max(type_size, 1u);
    uint32_t row = Least(kind, RowBytes(shape, type_size));
    uint32_t group = std::min(std::max(row == 0 ? 1 : space / row, 1u), std::max(rows.count, 1u));
    uint32_t tail = rows.count % group;
    set(rows, lanes, group, tail);
}

void Fill(optiling::SoftMaxTiling& t, const Rows& rows, uint32_t lanes, uint32_t group, uint32_t tail) {
    t.set_srcM(rows.count), t.set_srcK(rows.length), t.set_srcSize(rows.count * rows.length);
    t.set_outMaxM(rows.count), t.set_outMaxK(lanes), t.set_outMaxSize(rows.count * lanes);
    t.set_splitM(group), t.set_splitK(rows.length), t.set_splitSize(group * rows.length);
    t.set_reduceM(group), t.set_reduceK(lanes), t.set_reduceSize(group * lanes);
    t.set_rangeM(rows.count / group), t.set_tailM(tail);
    t.set_tailSplitSize(tail * rows.length), t.set_tailReduceSize(tail * lanes);
}

void Fill(tiling::SoftMaxTiling& t, const Rows& rows, uint32_t lanes, uint32_t group, uint32_t tail) {
    t = {rows.count, rows.length, rows.count * rows.length, rows.count, lanes, rows.count * lanes, group, rows.length,
         group * rows.length, group, lanes, group * lanes, rows.count / group, tail, tail * rows.length, tail * lanes};
}

uint32_t Length(optiling::SoftMaxTiling& t) { return t.get_srcK(); }
uint32_t Length(tiling::SoftMaxTiling& t) { return t.srcK; }
uint32_t Count(optiling::SoftMaxTiling& t) { return t.get_srcM(); }
uint32_t Count(tiling::SoftMaxTiling& t) { return t.srcM; }

}  // namespace

void GetSiluTmpSize(const ge::Shape& shape, const uint32_t type_size, const bool, uint32_t& most, uint32_t& least) {
    ScratchSizes(ScratchKind::Silu, Bytes(shape, type_size), most, least);
}
void GetSwishTmpSize(const ge::Shape& shape, const uint32_t type_size, const bool, uint32_t& most, uint32_t& least) {
    ScratchSizes(ScratchKind::Swish, Bytes(shape, type_size), most, least);
}
void GetSwiGLUMaxMinTmpSize(const ge::Shape& shape, const uint32_t type_size, uint32_t& most, uint32_t& least, const bool) {
    ScratchSizes(ScratchKind::SwiGLU, Bytes(shape, type_size), most, least);
}
void GetGeluMaxMinTmpSize(const ge::Shape& shape, const uint32_t type_size, uint32_t& most, uint32_t& least) {
    ScratchSizes(ScratchKind::Gelu, Bytes(shape, type_size), most, least);
}
void GetCumSumMaxMinTmpSize(const ge::Shape& shape, const uint32_t type_size, const bool, const bool, uint32_t& most, uint32_t& least) {
    ScratchSizes(ScratchKind::CumSum, Bytes(shape, type_size), most, least);
}
void GetBroadCastMaxMinTmpSize(const platform_ascendc::PlatformAscendC&, const ge::Shape&, const ge::Shape& to, uint32_t type_size,
                               const bool, uint32_t& most, uint32_t& least) {
    ScratchSizes(ScratchKind::BroadCast, Bytes(to, type_size), most, least);
}
void GetSumMaxMinTmpSize(const uint32_t n, const uint32_t type_size, const bool, uint32_t& most, uint32_t& least) {
    ScratchSizes(ScratchKind::Sum, uint64_t{n} * type_size, most, least);
}
void GetMeanMaxMinTmpSize(const uint32_t n, const uint32_t type_size, const uint32_t sum_type_size, const bool, uint32_t& most, uint32_t& least) {
    ScratchSizes(ScratchKind::Mean, uint64_t{n} * std::max(type_size, sum_type_size), most, least);
}

uint32_t GetSoftMaxMaxTmpSize(const ge::Shape& shape, const uint32_t type_size, const bool) {
    return Most(ScratchKind::SoftMax, AllBytes(shape, type_size));
}
uint32_t GetSoftMaxMinTmpSize(const ge::Shape& shape, const uint32_t type_size, const bool) {
    return Least(ScratchKind::SoftMax, RowBytes(shape, type_size));
}
uint32_t GetSoftMaxGradMaxTmpSize(const ge::Shape& shape, const uint32_t type_size, const bool, const bool) {
    return Most(ScratchKind::SoftMaxGrad, AllBytes(shape, type_size));
}
uint32_t GetSoftMaxGradMinTmpSize(const ge::Shape& shape, const uint32_t type_size, const bool, const bool) {
    return Least(ScratchKind::SoftMaxGrad, RowBytes(shape, type_size));
}
uint32_t GetSoftMaxFlashMaxTmpSize(const ge::Shape& shape, const uint32_t type_size, const bool, const bool) {
    return Most(ScratchKind::SoftMaxFlash, AllBytes(shape, type_size));
}
uint32_t GetSoftMaxFlashMinTmpSize(const ge::Shape& shape, const uint32_t type_size, const bool, const bool) {
    return Least(ScratchKind::SoftMaxFlash, RowBytes(shape, type_size));
}
uint32_t GetSoftMaxFlashV2MaxTmpSize(const ge::Shape& shape, const uint32_t type_size, const uint32_t sum_type_size, const bool, const bool,
                                     const bool) {
    return Most(ScratchKind::SoftMaxFlashV2, AllBytes(shape, std::max(type_size, sum_type_size)));
}
uint32_t GetSoftMaxFlashV2MinTmpSize(const ge::Shape& shape, const uint32_t type_size, const uint32_t sum_type_size, const bool, const bool,
                                     const bool) {
    return Least(ScratchKind::SoftMaxFlashV2, RowBytes(shape, std::max(type_size, sum_type_size)));
}

#define NPUKB_FILL \
    [&out](const Rows& rows, uint32_t lanes, uint32_t group, uint32_t tail) { Fill(out, rows, lanes, group, tail); }
#define NPUKB_DEFINE(Tiling)                                                                                                            \
    void SoftMaxTilingFunc(const ge::Shape& shape, const uint32_t type_size, const uint32_t space, Tiling& out) {                       \
        Split(shape, type_size, space, ScratchKind::SoftMax, NPUKB_FILL);                                                               \
    }                                                                                                                                   \
    void SoftMaxGradTilingFunc(const ge::Shape& shape, const uint32_t type_size, const uint32_t space, Tiling& out, const bool) {       \
        Split(shape, type_size, space, ScratchKind::SoftMaxGrad, NPUKB_FILL);                                                           \
    }                                                                                                                                   \
    void SoftMaxFlashTilingFunc(const ge::Shape& shape, const uint32_t type_size, const uint32_t space, Tiling& out, const bool) {      \
        Split(shape, type_size, space, ScratchKind::SoftMaxFlash, NPUKB_FILL);                                                          \
    }                                                                                                                                   \
    void SoftMaxFlashV2TilingFunc(const ge::Shape& shape, const uint32_t, const uint32_t sum_type_size, const uint32_t space,           \
                                  Tiling& out, const bool, const bool, const bool) {                                                    \
        Split(shape, sum_type_size, space, ScratchKind::SoftMaxFlashV2, NPUKB_FILL);                                                    \
    }                                                                                                                                   \
    bool IsBasicBlockInSoftMax(Tiling& in) {                                                                                            \
        uint32_t length = Length(in);                                                                                                   \
        return Count(in) % 8 == 0 && length % 64 == 0 && length < 2048 && length >= 64;                                                 \
    }
NPUKB_BOTH(NPUKB_DEFINE)

}  // namespace AscendC
