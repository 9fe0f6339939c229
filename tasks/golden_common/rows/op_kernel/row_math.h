// Sums of rows, and rows multiplied by a number each. Rows begin at multiples of 8 floats, their pitch.
#ifndef ROW_MATH_H
#define ROW_MATH_H
#include "kernel_operator.h"

constexpr uint32_t REPEAT = 64;          // floats an instruction works on at a time, eight blocks of eight
constexpr uint32_t MAX_ROWS = 248;       // repeats of an instruction: at most 255, here also a multiple of 8 for Brcb
constexpr uint32_t MAX_PITCH = 255 * 8;  // the longest distance of repeats, in floats

// sum[r] = the sum of row r. `eighths` has room for an eighth of x, which is overwritten.
//
// Short rows: one repeat sums one row. Long ones that consist of whole repeats are first cut to an eighth, all rows at
// once; what is still long is summed row by row, as are ragged rows.
__aicore__ inline void SumRows(const AscendC::LocalTensor<float>& sum, const AscendC::LocalTensor<float>& x,
                               const AscendC::LocalTensor<float>& eighths, uint32_t rows, uint32_t columns,
                               uint32_t pitch) {
    const uint32_t eighth = columns / 8;
    const uint32_t repeats = rows * eighth / 8;
    if (columns <= REPEAT) {
        AscendC::WholeReduceSum(sum, x, columns, rows, 1, 1, pitch / 8);
    } else if (columns % REPEAT == 0 && pitch == columns && repeats <= 255) {
        AscendC::BlockReduceSum(eighths, x, repeats, REPEAT, 1, 1, 8);
        if (eighth <= REPEAT) {
            AscendC::WholeReduceSum(sum, eighths, eighth, rows, 1, 1, eighth / 8);
        } else {
            for (uint32_t r = 0; r < rows; ++r) {
                AscendC::ReduceSum(sum[r], eighths[r * eighth], x, eighth);
            }
        }
    } else {
        for (uint32_t r = 0; r < rows; ++r) {
            AscendC::ReduceSum(sum[r], x[r * pitch], eighths, columns);
        }
    }
}

// The sum of `length` lanes, a multiple of 64 up to 255 * 64. x is overwritten.
__aicore__ inline void SumLanes(const AscendC::LocalTensor<float>& sum, const AscendC::LocalTensor<float>& x,
                                const AscendC::LocalTensor<float>& eighths, uint32_t length) {
    AscendC::BlockReduceSum(eighths, x, length / REPEAT, REPEAT, 1, 1, 8);
    AscendC::ReduceSum(sum, eighths, x, length / 8);
}

// The instructions that combine rows with something.
struct Plus {
    template <typename... Arguments>
    __aicore__ static inline void Do(const Arguments&... arguments) {
        AscendC::Add(arguments...);
    }
};

struct Minus {
    template <typename... Arguments>
    __aicore__ static inline void Do(const Arguments&... arguments) {
        AscendC::Sub(arguments...);
    }
};

struct Times {
    template <typename... Arguments>
    __aicore__ static inline void Do(const Arguments&... arguments) {
        AscendC::Mul(arguments...);
    }
};

// y = x combined with a number per row, in place if wanted; blocks[8 * r] to blocks[8 * r + 7] hold that of row r, as
// Brcb lays it. Repeats run down the rows as far as their distance allows, else along them.
template <typename Operation>
__aicore__ inline void WithRows(const AscendC::LocalTensor<float>& y, const AscendC::LocalTensor<float>& x,
                                const AscendC::LocalTensor<float>& blocks, uint32_t rows, uint32_t columns,
                                uint32_t pitch) {
    if (pitch <= MAX_PITCH && rows * REPEAT >= columns) {
        const uint8_t distance = pitch / 8;
        const AscendC::BinaryRepeatParams down(1, 1, 0, distance, distance, 1);
        for (uint32_t column = 0; column < columns; column += REPEAT) {
            const uint32_t lanes = columns - column < REPEAT ? columns - column : REPEAT;
            Operation::Do(y[column], x[column], blocks, lanes, rows, down);
        }
    } else {
        const uint32_t whole = columns / REPEAT * REPEAT;
        const AscendC::BinaryRepeatParams along(1, 1, 0, 8, 8, 0);
        for (uint32_t row = 0; row < rows; ++row) {
            const uint32_t begin = row * pitch;
            Operation::Do(y[begin], x[begin], blocks[row * 8], REPEAT, columns / REPEAT, along);
            if (whole < columns) {
                Operation::Do(y[begin + whole], x[begin + whole], blocks[row * 8], columns - whole, 1, along);
            }
        }
    }
}

// y = x combined with one vector, the same for every row.
template <typename Operation>
__aicore__ inline void WithColumns(const AscendC::LocalTensor<float>& y, const AscendC::LocalTensor<float>& x,
                                   const AscendC::LocalTensor<float>& vector, uint32_t rows, uint32_t columns,
                                   uint32_t pitch) {
    if (pitch <= MAX_PITCH && rows * REPEAT >= columns) {
        const uint8_t distance = pitch / 8;
        const AscendC::BinaryRepeatParams down(1, 1, 1, distance, distance, 0);
        for (uint32_t column = 0; column < columns; column += REPEAT) {
            const uint32_t lanes = columns - column < REPEAT ? columns - column : REPEAT;
            Operation::Do(y[column], x[column], vector[column], lanes, rows, down);
        }
    } else {
        for (uint32_t row = 0; row < rows; ++row) {
            Operation::Do(y[row * pitch], x[row * pitch], vector, columns);
        }
    }
}

__aicore__ inline void MulRows(const AscendC::LocalTensor<float>& y, const AscendC::LocalTensor<float>& x,
                               const AscendC::LocalTensor<float>& blocks, uint32_t rows, uint32_t columns,
                               uint32_t pitch) {
    WithRows<Times>(y, x, blocks, rows, columns, pitch);
}

__aicore__ inline void MulColumns(const AscendC::LocalTensor<float>& y, const AscendC::LocalTensor<float>& x,
                                  const AscendC::LocalTensor<float>& vector, uint32_t rows, uint32_t columns,
                                  uint32_t pitch) {
    WithColumns<Times>(y, x, vector, rows, columns, pitch);
}
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
