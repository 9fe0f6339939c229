// Rows of global memory in tiles of the unified buffer, where they begin at multiples of 16 elements.
#ifndef ROW_COPIES_H
#define ROW_COPIES_H
#include "kernel_operator.h"

__aicore__ inline uint32_t RowPitch(uint32_t length) { return (length + 15) / 16 * 16; }

// Blocks of 32 bytes between a row's last one and the next row.
template <typename T>
__aicore__ inline uint32_t RowGap(uint32_t length) {
    return RowPitch(length) * sizeof(T) / 32 - (length * sizeof(T) + 31) / 32;
}

// Rows of `length` elements that begin every `distance` elements. Rows that follow one another without gaps, here and
// there, are one piece.
template <typename T>
__aicore__ inline void CopyRowsIn(AscendC::TQue<AscendC::TPosition::VECIN, 1>& queue,
                                  const AscendC::GlobalTensor<T>& from, uint32_t rows, uint32_t length,
                                  uint64_t distance) {
    AscendC::LocalTensor<T> tensor = queue.AllocTensor<T>();
    const bool whole = distance == length && RowPitch(length) == length;
    const uint32_t skipped = (distance - length) * sizeof(T);
    const AscendC::DataCopyExtParams piece(1, rows * length * sizeof(T), 0, 0, 0);
    const AscendC::DataCopyExtParams pieces(rows, length * sizeof(T), skipped, RowGap<T>(length), 0);
    AscendC::DataCopyPad(tensor, from, whole ? piece : pieces, AscendC::DataCopyPadExtParams<T>());
    queue.EnQue(tensor);
}

template <typename T>
__aicore__ inline void CopyRowsOut(const AscendC::GlobalTensor<T>& to,
                                   AscendC::TQue<AscendC::TPosition::VECOUT, 1>& queue, uint32_t rows, uint32_t length,
                                   uint64_t distance) {
    AscendC::LocalTensor<T> tensor = queue.DeQue<T>();
    const bool whole = distance == length && RowPitch(length) == length;
    const uint32_t skipped = (distance - length) * sizeof(T);
    const AscendC::DataCopyExtParams piece(1, rows * length * sizeof(T), 0, 0, 0);
    const AscendC::DataCopyExtParams pieces(rows, length * sizeof(T), RowGap<T>(length), skipped, 0);
    AscendC::DataCopyPad(to, tensor, whole ? piece : pieces);
    queue.FreeTensor(tensor);
}
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
