// Instructions that compute and convert in one: the sum, difference or product in the source's type, then the narrower
// type.
#include "semantics/lanes.h"
#include "library/call.h"
#include "semantics/rounding.h"

namespace twin {
namespace {

using npukb::DType;
using npukb::Op;

template <typename D, typename S, typename F>
void Each(const VectorInstruction& v, const Lanes& lanes, F f) {
    ForEachLane<D, S, S>(v, lanes, [f](D& d, const S& a, const S& b) { d = f(a, b); });
}

// max(0, x) that keeps NaN.
inline float Rectified(float x) { return x > 0.0f ? x : (x == x ? 0.0f : x); }

inline int8_t ClampedRelu(int x) { return static_cast<int8_t>(x > 127 ? 127 : (x < 0 ? 0 : x)); }

// src0 + src1 or src0 - src1, relu, then to half or int8_t.
void ReluCast(const VectorInstruction& v, const Lanes& lanes) {
    float sign = v.op == Op::SubReluCast ? -1.0f : 1.0f;
    switch (v.src0.dtype) {
        case DType::F32:
            return Each<half, float>(v, lanes,
                                     [sign](float a, float b) { return static_cast<half>(Rectified(a + sign * b)); });
        case DType::F16:
            return Each<int8_t, half>(v, lanes, [sign](half a, half b) {
                auto sum = static_cast<half>(static_cast<float>(a) + sign * static_cast<float>(b));
                return Saturated<int8_t>(Integral<Rounding::Nearest>(Rectified(static_cast<float>(sum))));
            });
        default: {
            int factor = v.op == Op::SubReluCast ? -1 : 1;
            return Each<int8_t, int16_t>(v, lanes,
                                         [factor](int16_t a, int16_t b) { return ClampedRelu(a + factor * b); });
        }
    }
}

template <typename D>
void Product(const VectorInstruction& v, const Lanes& lanes) {
    Each<D, half>(v, lanes, [](half a, half b) {
        auto product = static_cast<half>(static_cast<float>(a) * static_cast<float>(b));
        return Saturated<D>(Integral<Rounding::Nearest>(static_cast<float>(product)));
    });
}

double HalfScale(const Core& core) {
    return static_cast<double>(static_cast<float>(Bits<half>(static_cast<uint16_t>(core.vector.deq_scale))));
}

// Scale, offset and sign as DEQSCALE holds them. Of the scale the hardware sees sign, exponent and ten bits of the
// mantissa.
struct Quantiser {
    explicit Quantiser(uint64_t word)
        : scale(Bits<float>(static_cast<uint32_t>(word) & 0xffffe000u)),
          offset(static_cast<int>(word >> 37 & 0x1ff)),
          is_signed((word >> 46 & 1) != 0) {
        if (offset >= 256) offset -= 512;
    }
    uint8_t operator()(int16_t value) const {
        double x = __builtin_rint(static_cast<double>(value) * static_cast<double>(scale) + offset);
        double low = is_signed ? -128 : 0;
        double high = is_signed ? 127 : 255;
        x = x != x ? 0 : (x > high ? high : (x < low ? low : x));
        return static_cast<uint8_t>(static_cast<int>(x));
    }
    float scale;
    int offset;
    bool is_signed;
};

// Sixteen results fill one half of the block of the destination that belongs to their block of the source.
void Quantise(const Core& core, const VectorInstruction& v, const Lanes& lanes) {
    bool vector_scales = v.flags & npukb::VectorScales;
    uint32_t shift = v.flags & npukb::UpperHalf ? 16 : 0;
    uint64_t words[16];
    for (auto& word : words) word = core.vector.deq_scale;
    if (vector_scales) __builtin_memcpy(words, core.ub + (core.vector.deq_scale & 0x3fff) * 32, sizeof words);
    auto* d = static_cast<uint8_t*>(const_cast<void*>(v.dst.address));
    auto* s = static_cast<const uint8_t*>(v.src0.address);
    uint32_t repeats = lanes.contiguous ? 1 : lanes.repeats;
    uint32_t n = lanes.contiguous ? static_cast<uint32_t>(lanes.total) : lanes.per_repeat;
    for (uint32_t r = 0; r < repeats; ++r) {
        for (uint32_t lane = 0; lane < n; ++lane) {
            if (!lanes.contiguous && !lanes.On(r, lane)) continue;
            int16_t value;
            __builtin_memcpy(&value, s + ElementOffset(v.src0, r, lane, 2), 2);
            uint64_t at = (static_cast<uint64_t>(r) * v.dst.repeat_stride + lane / 16 * v.dst.block_stride) * 32 +
                          shift + lane % 16;
            d[at] = Quantiser(words[lane % 16])(value);
        }
    }
}

}  // namespace

void ExecuteFused(const Core& core, const VectorInstruction& v, const Lanes& lanes) {
    switch (v.op) {
        case Op::MulCast: return v.dst.dtype == DType::I8 ? Product<int8_t>(v, lanes) : Product<uint8_t>(v, lanes);
        case Op::AddDeqRelu: {
            double scale = HalfScale(core);
            return Each<half, int32_t>(v, lanes, [scale](int32_t a, int32_t b) {
                return static_cast<half>(Rectified(static_cast<float>(HalfFromDouble((a + b) * scale))));
            });
        }
        case Op::CastDequant: {
            if (v.src0.dtype == DType::I16) return Quantise(core, v, lanes);
            double scale = HalfScale(core);
            return Each<half, int32_t>(v, lanes, [scale](int32_t a, int32_t) { return HalfFromDouble(a * scale); });
        }
        default: return ReluCast(v, lanes);
    }
}

}  // namespace twin

extern "C" void npukb_bilinear(uint32_t shape, uint64_t lanes, const npukb::BufferView* const* tensors,
                               uint32_t repeats, uint32_t strides) {
    using namespace twin;
    constexpr uint32_t kLanes = 128;
    Library call("BilinearInterpolation", NPUKB_PC);
    uint32_t across = repeats & 0xff, down = repeats >> 8 & 0xff;
    bool each_block = repeats >> 16 & 1;
    uint32_t block_stride = strides & 0xffff, row_offset = strides >> 16;
    uint64_t mask[2] = {~0ull, ~0ull};
    if (static_cast<npukb::LaneSource>(shape) == npukb::LaneSource::Bits) {
        __builtin_memcpy(mask, reinterpret_cast<const void*>(lanes), sizeof mask);
    } else if (lanes < kLanes) {
        mask[0] = lanes >= 64 ? ~0ull : (1ull << lanes) - 1;
        mask[1] = lanes <= 64 ? 0 : (1ull << (lanes - 64)) - 1;
    }
    uint64_t rows = static_cast<uint64_t>(across) * down;
    if (rows == 0) return;
    if (row_offset < kLanes || row_offset % 16 != 0) {
        call.core().Violate("limit_exceeded", call.pc(), "Keep vROffset at 128 elements or more, in whole blocks.",
                            "BilinearInterpolation: vROffset is %u", row_offset);
    }
    auto* d =
        call.Write<half>(tensors[0], static_cast<int64_t>(down - 1) * row_offset + (7 * block_stride + 1) * 16, "dst");
    auto* offsets = call.Read<uint32_t>(tensors[2], static_cast<int64_t>(rows * 8), "src0Offset");
    auto* weights = call.Read<half>(tensors[3], static_cast<int64_t>(each_block ? rows * 8 : rows), "src1");
    call.Scratch(tensors[4], static_cast<uint64_t>(tensors[1]->bytes / 2 + tensors[3]->bytes / 2) * 32);
    for (uint32_t v = 0; v < down; ++v) {
        half sums[kLanes] = {};
        for (uint32_t h = 0; h < across; ++h) {
            uint64_t row = static_cast<uint64_t>(v) * across + h;
            for (uint32_t b = 0; b < 8; ++b) {
                npukb::BufferView block = *tensors[1];
                block.address = static_cast<uint8_t*>(block.address) + offsets[row * 8 + b];
                block.bytes = offsets[row * 8 + b] < block.bytes ? block.bytes - offsets[row * 8 + b] : 0;
                auto* s = call.Read<half>(&block, 16, "src0");
                auto weight = static_cast<float>(weights[each_block ? row * 8 + b : row]);
                for (uint32_t i = 0; i < 16; ++i) {
                    auto product = static_cast<half>(static_cast<float>(s[i]) * weight);
                    half& sum = sums[b * 16 + i];
                    sum = h == 0 ? product : static_cast<half>(static_cast<float>(sum) + static_cast<float>(product));
                }
            }
        }
        for (uint32_t lane = 0; lane < kLanes; ++lane) {
            if ((mask[lane >> 6] >> (lane & 63) & 1) == 0) continue;
            d[static_cast<uint64_t>(v) * row_offset + lane / 16 * block_stride * 16 + lane % 16] = sums[lane];
        }
    }
    call.Charge(npukb::DType::F16, static_cast<int64_t>(rows * kLanes), 4);
}
