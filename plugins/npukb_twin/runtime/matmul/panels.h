// Multiplication of matrices by objects: operands of any place and layout as panels of floats, sums of a block, results
// on their way out.
#pragma once
#include "../../include/twin/matmul/abi.h"
#include "cores/core.h"

namespace twin {

using npukb::DType;

inline constexpr int64_t kFractalSide = 16;

constexpr bool IsInteger(DType type) { return type == DType::I8 || type == DType::I4; }
// Bits of an element, and elements in the 32 bytes of a fractal's row.
constexpr int64_t BitsOfType(DType type) {
    return type == DType::I4 ? 4 : 8 * static_cast<int64_t>(npukb::kDTypeBytes[static_cast<int>(type)]);
}
constexpr int64_t LanesOf(DType type) { return 256 / BitsOfType(type); }
constexpr int64_t BytesOfType(DType type, int64_t elements) { return (elements * BitsOfType(type) + 7) / 8; }
constexpr int64_t AlignUp(int64_t value, int64_t to) { return (value + to - 1) / to * to; }
constexpr int64_t PartsOf(int64_t value, int64_t by) { return (value + by - 1) / by; }

// A matrix of `rows` by `columns` as it is stored: rows one after the other, or columns of fractals.
struct Stored {
    const uint8_t* address;
    DType type;
    bool fractal;
    bool turned;     // stored as its transpose
    bool constant;   // one value everywhere
    int64_t stride;  // elements from row to row, of stored rows
    int64_t height;  // stored rows of a column of fractals
    int64_t lanes;   // elements in a row of a fractal
    float value;
};

// panel[r * width + c] = the element in row `row + r`, column `column + c`.
void Unpack(const Stored& from, int64_t row, int64_t column, int64_t rows, int64_t columns, float* panel,
            int64_t width);

// Where blocks of a result go.
struct Placed {
    uint8_t* address;
    DType type;
    bool fractal;
    int64_t stride;  // elements from row to row
    int64_t height;  // rows of a column of fractals
    int64_t lanes;   // elements in a row of a fractal
    npukb::AtomicMode atomic;
    // Elements before one.
    int64_t At(int64_t row, int64_t column) const {
        return fractal ? (column / lanes * height + row) * lanes + column % lanes : row * stride + column;
    }
};

// What is done to sums on their way out.
struct Scaling {
    bool on;
    const uint64_t* factors;  // one per column, or the same for all
    bool per_column;
};

// Sums (float, or int32_t for integers) of rows × columns as elements of the target's type, from (row, column) of the
// target on.
void Place(Core& core, const Placed& to, const void* sums, bool integers, int64_t width, int64_t row, int64_t column,
           int64_t rows, int64_t columns, const Scaling& scaling, const void* pc);

}  // namespace twin
