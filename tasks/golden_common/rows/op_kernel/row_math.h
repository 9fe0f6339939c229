// Sums of rows, and rows multiplied by a number each. Rows begin at multiples of 8 floats, their pitch.
#ifndef ROW_MATH_H
#define ROW_MATH_H
#include "kernel_operator.h"

constexpr uint32_t REPEAT = 64;          // floats an instruction works on at a time, eight blocks of eight
constexpr uint32_t MAX_ROWS = 248;       // repeats of an instruction: at most 255, here also a multiple of 8 for Brcb
constexpr uint32_t MAX_PITCH = 255 * 8;  // the longest distance of repeats, in floats

// Zeros where rows of x that begin at whole repeats have no columns.
__aicore__ inline void ClearRests(const AscendC::LocalTensor<float>& x, uint32_t rows, uint32_t columns,
                                  uint32_t pitch) {
    const uint32_t whole = columns / REPEAT * REPEAT;
    uint64_t mask[2] = {~uint64_t(0) << (columns - whole), 0};
    if (pitch <= MAX_PITCH) {
        AscendC::Duplicate(x[whole], 0.0f, mask, rows, 1, pitch / 8);
        return;
    }
    for (uint32_t r = 0; r < rows; ++r) {
        AscendC::Duplicate(x[r * pitch + whole], 0.0f, mask, 1, 1, 8);
    }
}

// sum[r] = the sum of row r, whose pitch is a whole number of repeats up to an eighth of MAX_PITCH: all rows at once
// are cut to an eighth, which is folded to 64 lanes.
__aicore__ inline void SumWholeRows(const AscendC::LocalTensor<float>& sum, const AscendC::LocalTensor<float>& x,
                                    const AscendC::LocalTensor<float>& eighths, uint32_t rows, uint32_t pitch) {
    constexpr uint32_t MOST = 255;
    const uint32_t repeats = rows * pitch / REPEAT, eighth = pitch / 8;
    for (uint32_t at = 0; at < repeats; at += MOST) {
        const uint32_t some = repeats - at < MOST ? repeats - at : MOST;
        AscendC::BlockReduceSum(eighths[at * 8], x[at * REPEAT], some, REPEAT, 1, 1, 8);
    }
    const uint8_t distance = eighth / 8;
    const AscendC::BinaryRepeatParams fold(1, 1, 1, distance, distance, distance);
    for (uint32_t column = REPEAT; column < eighth; column += REPEAT) {
        const uint32_t lanes = eighth - column < REPEAT ? eighth - column : REPEAT;
        AscendC::Add(eighths, eighths, eighths[column], lanes, rows, fold);
    }
    AscendC::WholeReduceSum(sum, eighths, eighth < REPEAT ? eighth : REPEAT, rows, 1, 1, distance);
}

// sum[r] = the sum of row r. `eighths` has room for an eighth of x, which is overwritten.
//
// Short rows: one repeat sums one row. Long ones that begin at whole repeats are summed all at once, the others row by
// row.
__aicore__ inline void SumRows(const AscendC::LocalTensor<float>& sum, const AscendC::LocalTensor<float>& x,
                               const AscendC::LocalTensor<float>& eighths, uint32_t rows, uint32_t columns,
                               uint32_t pitch) {
    if (columns <= REPEAT) {
        AscendC::WholeReduceSum(sum, x, columns, rows, 1, 1, pitch / 8);
    } else if (pitch % REPEAT == 0 && pitch < columns + REPEAT && pitch <= 8 * MAX_PITCH) {
        if (columns < pitch) {
            ClearRests(x, rows, columns, pitch);
        }
        SumWholeRows(sum, x, eighths, rows, pitch);
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
