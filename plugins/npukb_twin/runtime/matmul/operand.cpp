// Operands of a multiplication as panels of floats.
#include <string.h>

#include "../../include/twin/types.h"
#include "matmul/panels.h"

namespace twin {
namespace {

// `count` elements from element `at` of a row.
void Widen(const uint8_t* row, DType type, int64_t at, int64_t count, float* to) {
    switch (type) {
        case DType::F16: {
            auto* from = reinterpret_cast<const half*>(row) + at;
            for (int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(from[i]);
            return;
        }
        case DType::BF16: {
            auto* from = reinterpret_cast<const uint16_t*>(row) + at;
            auto* bits = reinterpret_cast<uint32_t*>(to);
            for (int64_t i = 0; i < count; ++i) {
                uint32_t wide = static_cast<uint32_t>(from[i]) << 16;
                memcpy(bits + i, &wide, sizeof wide);
            }
            return;
        }
        case DType::I8: {
            auto* from = reinterpret_cast<const int8_t*>(row) + at;
            for (int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(from[i]);
            return;
        }
        case DType::I4:
            for (int64_t i = 0; i < count; ++i) {
                int nibble = row[(at + i) / 2] >> ((at + i) % 2 * 4) & 15;
                to[i] = static_cast<float>(nibble < 8 ? nibble : nibble - 16);
            }
            return;
        default: memcpy(to, row + at * 4, static_cast<size_t>(count) * 4); return;
    }
}

// Part of a stored row, which lies in one piece or in one piece per column of fractals.
void StoredRow(const Stored& from, int64_t row, int64_t column, int64_t count, float* to) {
    if (!from.fractal) {
        if (from.type == DType::I4) return Widen(from.address, from.type, row * from.stride + column, count, to);
        return Widen(from.address + BytesOfType(from.type, row * from.stride), from.type, column, count, to);
    }
    const int64_t lanes = LanesOf(from.type);
    while (count > 0) {
        int64_t in = column % lanes, piece = lanes - in < count ? lanes - in : count;
        const uint8_t* line = from.address + (column / lanes * from.height + row) * 32;
        Widen(line, from.type, in, piece, to);
        to += piece;
        column += piece;
        count -= piece;
    }
}

constexpr int64_t kTurn = 16;

}  // namespace

void Unpack(const Stored& from, int64_t row, int64_t column, int64_t rows, int64_t columns, float* panel,
            int64_t width) {
    if (from.constant) {
        for (int64_t r = 0; r < rows; ++r) {
            for (int64_t c = 0; c < columns; ++c) panel[r * width + c] = from.value;
        }
        return;
    }
    if (!from.turned) {
        for (int64_t r = 0; r < rows; ++r) StoredRow(from, row + r, column, columns, panel + r * width);
        return;
    }
    // Stored rows are columns here: some at a time, in pieces that stay in the cache.
    constexpr int64_t kPiece = 256;
    float lines[kTurn][kPiece];
    for (int64_t c = 0; c < columns; c += kTurn) {
        int64_t some = columns - c < kTurn ? columns - c : kTurn;
        for (int64_t r = 0; r < rows; r += kPiece) {
            int64_t piece = rows - r < kPiece ? rows - r : kPiece;
            for (int64_t i = 0; i < some; ++i) StoredRow(from, column + c + i, row + r, piece, lines[i]);
            for (int64_t k = 0; k < piece; ++k) {
                for (int64_t i = 0; i < some; ++i) panel[(r + k) * width + c + i] = lines[i][k];
            }
        }
    }
}

}  // namespace twin
