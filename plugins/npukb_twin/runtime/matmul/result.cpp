// Sums of a block on their way out: scaled, rounded to the result's type, put where they belong.
#include <string.h>

#include "semantics/atomic.h"
#include "matmul/panels.h"
#include "semantics/numeric.h"

namespace twin {
namespace {

constexpr int64_t kLine = 512;  // elements that are converted at a time

// A factor as documented: a float of 19 bits in the low word; bits 37 to 45 an offset; bit 46 says that results are
// signed.
struct Factor {
    float scale;
    int offset;
    bool is_signed;
};

Factor FactorOf(uint64_t bits) {
    uint32_t low = static_cast<uint32_t>(bits) & 0xffffe000u;
    int offset = static_cast<int>(bits >> 37 & 0x1ff);
    return {Bits<float>(low), offset < 256 ? offset : offset - 512, (bits >> 46 & 1) != 0};
}

int8_t ToByte(float value, const Factor& f) {
    if (value != value) value = 0;
    value = value < -256 ? -256.0f : value > 255 ? 255.0f : value;  // nine bits wide until the offset is added
    int shifted = static_cast<int>(__builtin_rintf(value)) + f.offset;
    int least = f.is_signed ? -128 : 0, most = f.is_signed ? 127 : 255;
    return static_cast<int8_t>(shifted < least ? least : shifted > most ? most : shifted);
}

// One line of results.
struct Line {
    alignas(32) uint8_t bytes[kLine * 4];
};

template <typename Sum>
void Convert(const Sum* sums, int64_t count, DType type, const Scaling& scaling, int64_t column, Line& line) {
    if (sizeof(Sum) == 4 && !scaling.on && (type == DType::F32 || type == DType::I32)) {
        memcpy(line.bytes, sums, static_cast<size_t>(count) * 4);
        return;
    }
    for (int64_t i = 0; i < count; ++i) {
        float value = static_cast<float>(sums[i]);
        Factor factor{1, 0, true};
        if (scaling.on) {
            factor = FactorOf(scaling.factors[scaling.per_column ? column + i : 0]);
            value *= factor.scale;
        }
        if (type == DType::F16) {
            half narrow = static_cast<half>(value);
            memcpy(line.bytes + 2 * i, &narrow, 2);
        } else if (type == DType::BF16) {
            uint16_t narrow = BrainFromFloat(value);
            memcpy(line.bytes + 2 * i, &narrow, 2);
        } else if (type == DType::I8) {
            int8_t narrow = ToByte(value, factor);
            memcpy(line.bytes + i, &narrow, 1);
        } else {
            memcpy(line.bytes + 4 * i, &value, 4);
        }
    }
}

void Move(Core& core, const Placed& to, uint8_t* address, const uint8_t* from, uint64_t bytes, const void* pc) {
    if (to.atomic == npukb::AtomicMode::None) {
        memcpy(address, from, bytes);
        return;
    }
    const auto mode = core.atomic_mode;
    const auto type = core.atomic_type;
    core.atomic_mode = to.atomic;
    core.atomic_type = to.type;
    AtomicMove(core, address, from, bytes, pc);
    core.atomic_mode = mode;
    core.atomic_type = type;
}

void Put(Core& core, const Placed& to, const Line& line, int64_t row, int64_t column, int64_t count, const void* pc) {
    const int64_t size = BytesOfType(to.type, 1);
    if (!to.fractal) {
        return Move(core, to, to.address + to.At(row, column) * size, line.bytes, static_cast<uint64_t>(count * size),
                    pc);
    }
    for (int64_t i = 0; i < count;) {
        int64_t at = column + i, in = at % to.lanes, piece = to.lanes - in < count - i ? to.lanes - in : count - i;
        Move(core, to, to.address + to.At(row, at) * size, line.bytes + i * size, static_cast<uint64_t>(piece * size),
             pc);
        i += piece;
    }
}

}  // namespace

void Place(Core& core, const Placed& to, const void* sums, bool integers, int64_t width, int64_t row, int64_t column,
           int64_t rows, int64_t columns, const Scaling& scaling, const void* pc) {
    if (to.atomic != npukb::AtomicMode::None) WaitForTurn(core);
    Line line;
    for (int64_t r = 0; r < rows; ++r) {
        for (int64_t c = 0; c < columns; c += kLine) {
            int64_t count = columns - c < kLine ? columns - c : kLine;
            if (integers)
                Convert(static_cast<const int32_t*>(sums) + r * width + c, count, to.type, scaling, column + c, line);
            else
                Convert(static_cast<const float*>(sums) + r * width + c, count, to.type, scaling, column + c, line);
            Put(core, to, line, row + r, column + c, count, pc);
        }
    }
}

}  // namespace twin
