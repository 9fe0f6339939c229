// Reductions of the high-level library: rows and axes of matrices, cumulative sums, and selection by bytes.
#include "../../include/twin/library/abi.h"
#include "library/call.h"
#include "semantics/numeric.h"

namespace twin {
namespace {

using npukb::BufferView;
using npukb::DType;
using npukb::Reduction;

uint32_t BytesOf(DType type) { return npukb::kDTypeBytes[static_cast<int>(type)]; }

[[noreturn]] void BadShape(const Library& call, const char* what, uint64_t value, const char* limit) {
    call.core().Violate("bad_shape", call.pc(), "Pass the shape as the documentation of the function wants it.",
                        "%s: %s is %llu, %s", call.name(), what, static_cast<unsigned long long>(value), limit);
}

void WantBlocks(const Library& call, const char* what, uint64_t elements, uint32_t bytes) {
    if (elements * bytes % 32 == 0) return;
    call.core().Violate("bad_shape", call.pc(), "Pad rows to whole blocks of 32 bytes.",
                        "%s: %s is %llu elements of %u bytes, not a multiple of 32 bytes", call.name(), what,
                        static_cast<unsigned long long>(elements), bytes);
}

struct Matrix {
    uint32_t rows, columns, stride;
};

// Any and All take zeros and ones.
void WantTruth(const Library& call, const void* data, DType type, const Matrix& m) {
    for (uint64_t r = 0; r < m.rows; ++r) {
        for (uint64_t c = 0; c < m.columns; ++c) {
            uint64_t at = r * m.stride + c;
            double x = type == DType::F32 ? static_cast<double>(static_cast<const float*>(data)[at])
                                          : static_cast<double>(static_cast<const uint8_t*>(data)[at]);
            if (x == 0 || x == 1) continue;
            call.core().Warn("out_of_domain", call.pc(), "Turn the input into zeros and ones first.",
                             "%s: src[%llu][%llu] is %g; the result is invalid on the device", call.name(),
                             static_cast<unsigned long long>(r), static_cast<unsigned long long>(c), x);
            return;
        }
    }
}

// The sum of a row in the order of ReduceSum: a binary tree within each repeat, repeats one after the other, every
// addition rounded to the type that sums are made in.
template <typename A, typename T>
A RowSum(const T* row, uint32_t n) {
    constexpr uint32_t kLanes = 256 / sizeof(A);
    A total{};
    for (uint32_t first = 0; first < n; first += kLanes) {
        A values[kLanes];
        uint32_t here = n - first < kLanes ? n - first : kLanes;
        for (uint32_t i = 0; i < kLanes; ++i) values[i] = i < here ? static_cast<A>(row[first + i]) : A(0);
        for (uint32_t width = kLanes; width > 1; width /= 2) {
            for (uint32_t i = 0; i < width / 2; ++i) values[i] = static_cast<A>(values[2 * i] + values[2 * i + 1]);
        }
        total = first == 0 ? values[0] : static_cast<A>(total + values[0]);
    }
    return total;
}

template <typename A, typename T>
void RowSums(T* d, const T* a, const AscendC::SumParams& p, bool mean) {
    for (uint32_t row = 0; row < p.outter; ++row) {
        A sum = RowSum<A>(a + static_cast<uint64_t>(row) * p.inner, p.n);
        if (mean) sum = static_cast<A>(static_cast<float>(sum) / static_cast<float>(p.n));
        d[row] = static_cast<T>(sum);
    }
}

// What one element does to the accumulator of a reduction over axes.
template <typename T>
T Start(Reduction reduction, T first) {
    if (reduction == Reduction::Any || reduction == Reduction::All) return first != T(0) ? T(1) : T(0);
    return first;
}
template <typename T>
T Step(Reduction reduction, T acc, T x) {
    switch (reduction) {
        case Reduction::Max: return x > acc || x != x ? x : acc;
        case Reduction::Min: return x < acc || x != x ? x : acc;
        case Reduction::Prod: return static_cast<T>(acc * x);
        case Reduction::Any: return acc != T(0) || x != T(0) ? T(1) : T(0);
        case Reduction::All: return acc != T(0) && x != T(0) ? T(1) : T(0);
        default: return static_cast<T>(acc + x);
    }
}

template <typename T>
void ReduceLast(T* d, const T* a, const Matrix& m, Reduction reduction) {
    bool sum = reduction == Reduction::Sum || reduction == Reduction::Mean;
    for (uint32_t r = 0; r < m.rows; ++r, a += m.stride) {
        T acc = sum ? RowSum<T>(a, m.columns) : Start(reduction, a[0]);
        for (uint32_t c = 1; c < m.columns && !sum; ++c) acc = Step(reduction, acc, a[c]);
        d[r] = reduction == Reduction::Mean ? static_cast<T>(acc / static_cast<T>(m.columns)) : acc;
    }
}

template <typename T>
void ReduceFirst(T* d, const T* a, const Matrix& m, Reduction reduction) {
    for (uint32_t c = 0; c < m.columns; ++c) d[c] = Start(reduction, a[c]);
    for (uint32_t r = 1; r < m.rows; ++r) {
        const T* row = a + static_cast<uint64_t>(r) * m.stride;
        for (uint32_t c = 0; c < m.columns; ++c) d[c] = Step(reduction, d[c], row[c]);
    }
    if (reduction != Reduction::Mean) return;
    for (uint32_t c = 0; c < m.columns; ++c) d[c] = static_cast<T>(d[c] / static_cast<T>(m.rows));
}

// Running sums, made in float and rounded when they are written.
template <typename T>
void CumulativeSums(T* d, const T* a, uint32_t rows, uint32_t columns, bool along_rows) {
    for (uint32_t i = 0; i < (along_rows ? rows : columns); ++i) {
        float sum = 0;
        for (uint32_t j = 0; j < (along_rows ? columns : rows); ++j) {
            uint64_t at = along_rows ? static_cast<uint64_t>(i) * columns + j : static_cast<uint64_t>(j) * columns + i;
            sum = j == 0 ? static_cast<float>(a[at]) : sum + static_cast<float>(a[at]);
            d[at] = static_cast<T>(sum);
        }
    }
}

bool MaskOn(const uint8_t* mask, uint64_t index, uint32_t bytes) {
    for (uint32_t i = 0; i < bytes; ++i) {
        if (mask[index * bytes + i] != 0) return true;
    }
    return false;
}

template <typename T>
void SelectBytes(T* d, const T* a, T scalar, const uint8_t* mask, uint32_t mask_bytes, bool swapped,
                 const AscendC::SelectWithBytesMaskShapeInfo& info) {
    for (uint64_t r = 0; r < info.firstAxis; ++r) {
        for (uint64_t c = 0; c < info.srcLastAxis; ++c) {
            bool second = MaskOn(mask, r * info.maskLastAxis + c, mask_bytes);
            uint64_t at = r * info.srcLastAxis + c;
            d[at] = second != swapped ? scalar : a[at];
        }
    }
}

}  // namespace
}  // namespace twin

using namespace twin;

void npukb_library_row_sum(uint32_t types, bool mean, const BufferView* dst, const BufferView* src,
                           const BufferView* tmp, const void* params) {
    // SumParams and MeanParams are alike.
    AscendC::SumParams p;
    __builtin_memcpy(&p, params, sizeof p);
    auto type = static_cast<DType>(types & 0xff);
    auto wide = static_cast<DType>(types >> 8 & 0xff);
    Library call(mean ? "Mean" : "Sum", NPUKB_PC);
    if (p.n == 0 || p.n > p.inner) BadShape(call, "n", p.n, "and has to be between 1 and inner");
    WantBlocks(call, "inner", p.inner, BytesOf(type));
    auto elements = static_cast<uint64_t>(Area(p.outter, p.inner));
    const void* a = call.Read<uint8_t>(src, static_cast<int64_t>(elements * BytesOf(type)), "src");
    void* d = call.Write<uint8_t>(dst, static_cast<int64_t>(p.outter) * BytesOf(type), "dst");
    call.Apart();
    call.ScratchFor(tmp, static_cast<uint64_t>(p.inner) * BytesOf(type));
    if (type == DType::F32) {
        RowSums<float>(static_cast<float*>(d), static_cast<const float*>(a), p, mean);
    } else if (wide == DType::F32) {
        RowSums<float>(static_cast<half*>(d), static_cast<const half*>(a), p, mean);
    } else {
        RowSums<half>(static_cast<half*>(d), static_cast<const half*>(a), p, mean);
    }
    call.Charge(wide, static_cast<int64_t>(elements), mean ? 8 : 7);
}

void npukb_library_reduce(DType type, Reduction reduction, bool last, const BufferView* dst, const BufferView* src,
                          const BufferView* tmp, const uint32_t* shape, uint32_t flags) {
    static constexpr const char* kNames[] = {"ReduceSum",  "ReduceMean", "ReduceMax", "ReduceMin",
                                             "ReduceProd", "ReduceAny",  "ReduceAll"};
    Library call(kNames[static_cast<size_t>(reduction) % (sizeof kNames / sizeof *kNames)], NPUKB_PC);
    uint32_t bytes = BytesOf(type);
    Matrix m{shape[0], shape[1], shape[1]};
    if (m.rows == 0) BadShape(call, "srcShape[0]", m.rows, "and has to be at least 1");
    if (m.columns == 0) BadShape(call, "srcShape[1]", m.columns, "and has to be at least 1");
    if ((flags & 1) == 0) BadShape(call, "srcInnerPad", 0, "and this core takes only true: rows padded to 32 bytes");
    m.stride = (m.columns * bytes + 31) / 32 * 32 / bytes;
    auto read = static_cast<uint64_t>(Area(Area(m.rows - 1, m.stride) + m.columns, bytes));
    uint64_t written = static_cast<uint64_t>(last ? m.rows : m.columns) * bytes;
    const void* a = call.Read<uint8_t>(src, static_cast<int64_t>(read), "src");
    void* d = call.Write<uint8_t>(dst, static_cast<int64_t>(written), "dst");
    call.Apart();
    call.ScratchFor(tmp, read);
    auto reduce = [&](auto* out, auto* in) {
        last ? ReduceLast(out, in, m, reduction) : ReduceFirst(out, in, m, reduction);
    };
    if (reduction == Reduction::Any || reduction == Reduction::All) WantTruth(call, a, type, m);
    switch (type) {
        case DType::F16: reduce(static_cast<half*>(d), static_cast<const half*>(a)); break;
        case DType::F32: reduce(static_cast<float*>(d), static_cast<const float*>(a)); break;
        default: reduce(static_cast<uint8_t*>(d), static_cast<const uint8_t*>(a)); break;
    }
    if ((flags & npukb::kReuse) != 0) call.Spoil(src, read, dst);
    call.Charge(type, static_cast<int64_t>(m.rows) * m.stride, last ? 7 : 1);
}

void npukb_library_cumsum(DType type, const AscendC::CumSumConfig* config, const BufferView* dst,
                          const BufferView* last_row, const BufferView* src, const BufferView* tmp,
                          const AscendC::CumSumInfo* info) {
    Library call("CumSum", NPUKB_PC);
    const AscendC::CumSumInfo own = *info;
    info = &own;
    uint32_t bytes = BytesOf(type);
    if (info->outter == 0) BadShape(call, "outter", 0, "and has to be at least 1");
    if (info->inner == 0) BadShape(call, "inner", 0, "and has to be at least 1");
    WantBlocks(call, "inner", info->inner, bytes);
    auto size = static_cast<uint64_t>(Area(Area(info->outter, info->inner), bytes));
    uint64_t row = static_cast<uint64_t>(info->inner) * bytes;
    const void* a = call.Read<uint8_t>(src, static_cast<int64_t>(size), "src");
    auto* d = call.Write<uint8_t>(dst, static_cast<int64_t>(size), "dst");
    call.Apart(true);
    call.ScratchFor(tmp, size);
    if (type == DType::F16) {
        CumulativeSums(reinterpret_cast<half*>(d), static_cast<const half*>(a), info->outter, info->inner,
                       config->isLastAxis);
    } else {
        CumulativeSums(reinterpret_cast<float*>(d), static_cast<const float*>(a), info->outter, info->inner,
                       config->isLastAxis);
    }
    if (config->outputLastRow) {
        auto* out = call.Write<uint8_t>(last_row, static_cast<int64_t>(row), "lastRow");
        __builtin_memcpy(out, d + (size - row), row);
    }
    call.Charge(type, static_cast<int64_t>(info->outter) * info->inner, config->isLastAxis ? 12 : 2);
}

void npukb_library_select_bytes(uint32_t types, bool swapped, const BufferView* dst, const BufferView* src,
                                const void* scalar, const BufferView* mask, const BufferView* tmp,
                                const AscendC::SelectWithBytesMaskShapeInfo* info) {
    auto type = static_cast<DType>(types & 0xff);
    auto mask_type = static_cast<DType>(types >> 8 & 0xff);
    Library call("SelectWithBytesMask", NPUKB_PC);
    const AscendC::SelectWithBytesMaskShapeInfo own = *info;
    info = &own;
    uint32_t bytes = BytesOf(type), mask_bytes = BytesOf(mask_type);
    if (info->maskLastAxis < info->srcLastAxis) {
        BadShape(call, "maskLastAxis", info->maskLastAxis, "and has to be at least srcLastAxis");
    }
    WantBlocks(call, "srcLastAxis", info->srcLastAxis, bytes);
    WantBlocks(call, "maskLastAxis", info->maskLastAxis, mask_bytes);
    auto elements = static_cast<uint64_t>(Area(info->firstAxis, info->srcLastAxis));
    auto mask_elements = static_cast<uint64_t>(Area(info->firstAxis, info->maskLastAxis));
    const void* a = call.Read<uint8_t>(src, static_cast<int64_t>(elements * bytes), swapped ? "src1" : "src0");
    auto* m = call.Read<uint8_t>(mask, static_cast<int64_t>(mask_elements * mask_bytes), "mask");
    void* d = call.Write<uint8_t>(dst, static_cast<int64_t>(elements * bytes), "dst");
    call.Apart(true);
    call.ScratchFor(tmp, elements * bytes);
    if (bytes == 2) {
        uint16_t value;
        __builtin_memcpy(&value, scalar, sizeof value);
        SelectBytes(static_cast<uint16_t*>(d), static_cast<const uint16_t*>(a), value, m, mask_bytes, swapped, *info);
    } else {
        uint32_t value;
        __builtin_memcpy(&value, scalar, sizeof value);
        SelectBytes(static_cast<uint32_t*>(d), static_cast<const uint32_t*>(a), value, m, mask_bytes, swapped, *info);
    }
    if ((types & npukb::kReuse) != 0 && info->maskLastAxis != info->srcLastAxis) {
        // The function gathers the part of the mask that it needs, in place.
        auto* gathered = call.Write<uint8_t>(mask, static_cast<int64_t>(elements * mask_bytes), "mask");
        uint64_t row = static_cast<uint64_t>(info->srcLastAxis) * mask_bytes;
        for (uint64_t r = 1; r < info->firstAxis; ++r) {
            __builtin_memmove(gathered + r * row, m + r * info->maskLastAxis * mask_bytes, row);
        }
    }
    call.Charge(type, static_cast<int64_t>(elements), 4);
}
