// Tiling data as host code builds it: fields at the places that the structure on the device has, and the size queries
// of the library.
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
    : class_name_(other.class_name_),
      members_(other.members_),
      own_(other.data_, other.data_ + other.end_),
      end_(other.end_),
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
        fprintf(stderr, "error: tiling data %s of %zu bytes does not fit into a buffer of %zu\n", class_name_,
                GetDataSize(), capacity);
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

void TilingDef::NpukbAssign(const void* data, size_t bytes) { memcpy(data_, data, std::min(bytes, end_)); }

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

uint32_t Clamped(uint64_t bytes) {
    return static_cast<uint32_t>(std::min<uint64_t>(bytes, UINT32_MAX / kBlock * kBlock));
}

}  // namespace

uint64_t Bytes(const ge::Shape& shape, uint32_t type_size) {
    uint64_t bytes = type_size;
    for (size_t i = 0; i < shape.GetDimNum(); ++i)
        bytes *= static_cast<uint64_t>(std::max<int64_t>(shape.GetDim(i), 0));
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
uint64_t RowBytes(const ge::Shape& shape, uint32_t type_size) {
    return uint64_t{RowsOf(shape).length} * std::max(type_size, 4u);
}
uint64_t AllBytes(const ge::Shape& shape, uint32_t type_size) {
    Rows rows = RowsOf(shape);
    return uint64_t{rows.count} * rows.length * std::max(type_size, 4u);
}

}  // namespace

void GetSiluTmpSize(const ge::Shape& shape, const uint32_t type_size, const bool, uint32_t& most, uint32_t& least) {
    ScratchSizes(ScratchKind::Silu, Bytes(shape, type_size), most, least);
}
void GetSwishTmpSize(const ge::Shape& shape, const uint32_t type_size, const bool, uint32_t& most, uint32_t& least) {
    ScratchSizes(ScratchKind::Swish, Bytes(shape, type_size), most, least);
}
void GetSwiGLUMaxMinTmpSize(const ge::Shape& shape, const uint32_t type_size, uint32_t& most, uint32_t& least,
                            const bool) {
    ScratchSizes(ScratchKind::SwiGLU, Bytes(shape, type_size), most, least);
}
void GetPowerMaxMinTmpSize(const ge::Shape& base, const ge::Shape& exponent, const bool, const uint32_t type_size,
                           const bool, uint32_t& most, uint32_t& least) {
    ScratchSizes(ScratchKind::Power, std::max(Bytes(base, type_size), Bytes(exponent, type_size)), most, least);
}
void GetReduceXorSumMaxMinTmpSize(const ge::Shape& shape, const uint32_t type_size, const bool, uint32_t& most,
                                  uint32_t& least) {
    ScratchSizes(ScratchKind::ReduceXorSum, Bytes(shape, type_size), most, least);
}
void GetGeluMaxMinTmpSize(const ge::Shape& shape, const uint32_t type_size, uint32_t& most, uint32_t& least) {
    ScratchSizes(ScratchKind::Gelu, Bytes(shape, type_size), most, least);
}
void GetCumSumMaxMinTmpSize(const ge::Shape& shape, const uint32_t type_size, const bool, const bool, uint32_t& most,
                            uint32_t& least) {
    ScratchSizes(ScratchKind::CumSum, Bytes(shape, type_size), most, least);
}
void GetBroadCastMaxMinTmpSize(const platform_ascendc::PlatformAscendC&, const ge::Shape&, const ge::Shape& to,
                               uint32_t type_size, const bool, uint32_t& most, uint32_t& least) {
    ScratchSizes(ScratchKind::BroadCast, Bytes(to, type_size), most, least);
}
void GetSumMaxMinTmpSize(const uint32_t n, const uint32_t type_size, const bool, uint32_t& most, uint32_t& least) {
    ScratchSizes(ScratchKind::Sum, uint64_t{n} * type_size, most, least);
}
void GetMeanMaxMinTmpSize(const uint32_t n, const uint32_t type_size, const uint32_t sum_type_size, const bool,
                          uint32_t& most, uint32_t& least) {
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
uint32_t GetLogSoftMaxMaxTmpSize(const ge::Shape& shape, const uint32_t type_size, const bool) {
    return Most(ScratchKind::LogSoftMax, AllBytes(shape, type_size));
}
uint32_t GetLogSoftMaxMinTmpSize(const ge::Shape& shape, const uint32_t type_size, const bool) {
    return Least(ScratchKind::LogSoftMax, RowBytes(shape, type_size));
}
uint32_t GetSoftMaxFlashMaxTmpSize(const ge::Shape& shape, const uint32_t type_size, const bool, const bool) {
    return Most(ScratchKind::SoftMaxFlash, AllBytes(shape, type_size));
}
uint32_t GetSoftMaxFlashMinTmpSize(const ge::Shape& shape, const uint32_t type_size, const bool, const bool) {
    return Least(ScratchKind::SoftMaxFlash, RowBytes(shape, type_size));
}
uint32_t GetSoftMaxFlashV2MaxTmpSize(const ge::Shape& shape, const uint32_t type_size, const uint32_t sum_type_size,
                                     const bool, const bool, const bool) {
    return Most(ScratchKind::SoftMaxFlashV2, AllBytes(shape, std::max(type_size, sum_type_size)));
}
uint32_t GetSoftMaxFlashV2MinTmpSize(const ge::Shape& shape, const uint32_t type_size, const uint32_t sum_type_size,
                                     const bool, const bool, const bool) {
    return Least(ScratchKind::SoftMaxFlashV2, RowBytes(shape, std::max(type_size, sum_type_size)));
}

namespace {
bool IsBasicBlock(uint32_t rows, uint32_t length) {
    return rows % 8 == 0 && length % 64 == 0 && length < 2048 && length >= 64;
}
}  // namespace
bool IsBasicBlockInSoftMax(optiling::SoftMaxTiling& tiling) {
    return IsBasicBlock(tiling.get_srcM(), tiling.get_srcK());
}
bool IsBasicBlockInSoftMax(tiling::SoftMaxTiling& tiling) { return IsBasicBlock(tiling.srcM, tiling.srcK); }

void GetLayerNormMaxMinTmpSize(const ge::Shape& shape, const uint32_t type_size, const bool, uint32_t& most,
                               uint32_t& least) {
    ScratchSizes(ScratchKind::LayerNorm, Bytes(shape, type_size), most, least);
}
void GetLayerNormMaxMinTmpSize(const ge::Shape& shape, const uint32_t type_size, const bool reuse, const bool,
                               const bool, uint32_t& most, uint32_t& least) {
    GetLayerNormMaxMinTmpSize(shape, type_size, reuse, most, least);
}
void GetLayerNormGradMaxMinTmpSize(const ge::Shape& shape, const uint32_t type_size, const bool, uint32_t& most,
                                   uint32_t& least) {
    ScratchSizes(ScratchKind::LayerNormGrad, Bytes(shape, type_size), most, least);
}
void GetLayerNormGradBetaMaxMinTmpSize(const ge::Shape& shape, const uint32_t type_size, const bool, uint32_t& most,
                                       uint32_t& least) {
    ScratchSizes(ScratchKind::LayerNormGradBeta, Bytes(shape, type_size), most, least);
}
bool GetRmsNormMaxMinTmpSize(const ge::Shape& shape, const uint32_t type_size, uint32_t& most, uint32_t& least,
                             const bool) {
    ScratchSizes(ScratchKind::RmsNorm, Bytes(shape, type_size), most, least);
    return true;
}
bool GetBatchNormMaxMinTmpSize(const ge::Shape& shape, const ge::Shape&, const uint32_t type_size, const bool,
                               uint32_t& most, uint32_t& least, const bool) {
    ScratchSizes(ScratchKind::BatchNorm, Bytes(shape, type_size), most, least);
    return true;
}
bool GetDeepNormMaxMinTmpSize(const ge::Shape& shape, const uint32_t type_size, const bool, const bool, uint32_t& most,
                              uint32_t& least) {
    ScratchSizes(ScratchKind::DeepNorm, Bytes(shape, type_size), most, least);
    return true;
}
void GetGroupNormMaxMinTmpSize(const ge::Shape& shape, const uint32_t type_size, const bool, const uint32_t,
                               uint32_t& most, uint32_t& least) {
    ScratchSizes(ScratchKind::GroupNorm, Bytes(shape, type_size), most, least);
}

void GetNormalizeMaxMinTmpSize(const ge::Shape& shape, const uint32_t statistic_size, const uint32_t type_size,
                               const bool, const bool, const bool, uint32_t& most, uint32_t& least) {
    ScratchSizes(ScratchKind::Normalize, Bytes(shape, std::max(type_size, statistic_size)), most, least);
}
void GetWelfordUpdateMaxMinTmpSize(const ge::Shape& shape, const uint32_t type_size, const uint32_t statistic_size,
                                   const bool, const bool, uint32_t& most, uint32_t& least) {
    ScratchSizes(ScratchKind::WelfordUpdate, Bytes(shape, std::max(type_size, statistic_size)), most, least);
}
void GetWelfordFinalizeMaxMinTmpSize(const ge::Shape& shape, const uint32_t type_size, const bool, uint32_t& most,
                                     uint32_t& least) {
    ScratchSizes(ScratchKind::WelfordFinalize, Bytes(shape, type_size), most, least);
}

namespace {
constexpr uint64_t kRecordBytes = 8;  // a value and its index
uint64_t RecordBytes(uint64_t elements) { return (elements + 31) / 32 * 32 * kRecordBytes; }
}  // namespace

bool GetTopKMaxMinTmpSize(const platform_ascendc::PlatformAscendC&, const int32_t inner, const int32_t, const bool,
                          const bool, TopKMode, const bool, const uint32_t, uint32_t& most, uint32_t& least) {
    ScratchSizes(ScratchKind::TopK, RecordBytes(static_cast<uint64_t>(std::max(inner, 0))), most, least);
    return inner > 0;
}
uint32_t GetSortTmpSize(const platform_ascendc::PlatformAscendC&, const uint32_t elements, const uint32_t) {
    return Least(ScratchKind::Sort, RecordBytes(elements));
}
uint32_t GetConcatTmpSize(const platform_ascendc::PlatformAscendC&, const uint32_t elements, const uint32_t) {
    return Least(ScratchKind::Concat, RecordBytes(elements));
}

}  // namespace AscendC

namespace npukb_host {

RowGroups GroupRows(ScratchKind kind, const ge::Shape& shape, uint32_t type_size, uint32_t space) {
    const AscendC::Rows rows = AscendC::RowsOf(shape);
    RowGroups g{rows.count, rows.length, AscendC::kBlockBytes / std::max(type_size, 1u), 0, 0, 0};
    uint32_t row = AscendC::Least(kind, AscendC::RowBytes(shape, type_size));
    g.group = std::min(std::max(row == 0 ? 1 : space / row, 1u), std::max(rows.count, 1u));
    g.loops = rows.count / g.group;
    g.tail = rows.count % g.group;
    return g;
}

Volume VolumeOf(const ge::Shape& shape, const ge::Shape& original) {
    auto dim = [](const ge::Shape& of, size_t from_end) {
        size_t rank = of.GetDimNum();
        return rank < from_end ? 1u : static_cast<uint32_t>(of.GetDim(rank - from_end));
    };
    Volume v{1, dim(shape, 2), dim(shape, 1), dim(original, 1)};
    for (size_t i = 3; i <= shape.GetDimNum(); ++i) v.b *= dim(shape, i);
    return v;
}

}  // namespace npukb_host
