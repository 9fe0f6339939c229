// The ways of matrices through a cube core that computes attention.
#ifndef ATTENTION_MATRICES_H
#define ATTENTION_MATRICES_H
#include "attention_exchange.h"

// Matrices lie in L1 as columns of fractals, 16 elements wide and as high as the matrix. Pieces of at most 128 columns,
// and as many rows, fit into half of L0A and L0B.
template <typename T>
class AttentionMatrices {
  public:
    static constexpr uint32_t PIECE = 128;

    // Of tiles of so many rows L0C holds up to four pieces: products go on while those before them are stored.
    __aicore__ inline void Init(AscendC::TPipe* pipe, uint32_t tileRows) {
        const uint32_t piece = tileRows * PIECE * sizeof(float), pieces = 128 * 1024 / piece;
        pipe->InitBuffer(leftQueue, 2, 32 * 1024);
        pipe->InitBuffer(rightQueue, 2, 32 * 1024);
        pipe->InitBuffer(sumsQueue, pieces < 4 ? pieces : 4, piece);
    }

    // Rows of global memory that begin every `pitch` elements become rows of a matrix in L1 that has `height`.
    __aicore__ inline static void CopyRows(const AscendC::LocalTensor<T>& to, const AscendC::GlobalTensor<T>& from,
                                           uint32_t rows, uint32_t columns, uint32_t pitch, uint32_t height) {
        AscendC::Nd2NzParams load;
        load.ndNum = 1;
        load.nValue = rows;
        load.dValue = columns;
        load.srcNdMatrixStride = 0;
        load.srcDValue = pitch;
        load.dstNzC0Stride = height;
        load.dstNzNStride = 1;
        load.dstNzMatrixStride = 0;
        AscendC::DataCopy(to, from, load);
    }

    template <typename Queue>
    __aicore__ inline static void LoadRows(Queue& queue, const AscendC::GlobalTensor<T>& from, uint32_t rows,
                                           uint32_t columns, uint32_t pitch) {
        AscendC::LocalTensor<T> tensor = queue.template AllocTensor<T>();
        CopyRows(tensor, from, rows, columns, pitch, Up(rows, SIDE));
        queue.EnQue(tensor);
    }

    // Rows of fractals in L0A out of columns of fractals in L1; to be freed with FreeLeft.
    __aicore__ inline AscendC::LocalTensor<T> LoadLeft(const AscendC::LocalTensor<T>& from, uint32_t rows,
                                                       uint32_t columns) {
        AscendC::LocalTensor<T> left = leftQueue.AllocTensor<T>();
        AscendC::LoadData2DParams load;
        load.repeatTimes = columns / SIDE;
        load.srcStride = rows / SIDE;
        for (uint32_t row = 0; row < rows; row += SIDE) {
            AscendC::LoadData(left[row * columns], from[row * SIDE], load);
        }
        leftQueue.EnQue(left);
        return leftQueue.DeQue<T>();
    }

    __aicore__ inline void FreeLeft(AscendC::LocalTensor<T>& left) { leftQueue.FreeTensor(left); }

    // The transpose of keys. A fractal of keys is one of it, column by column, and fractals follow each other as
    // needed.
    __aicore__ inline void LoadKeys(const AscendC::LocalTensor<T>& from, uint32_t keys, uint32_t depth) {
        AscendC::LocalTensor<T> right = rightQueue.AllocTensor<T>();
        AscendC::LoadData2DParams load;
        load.repeatTimes = depth / SIDE * (keys / SIDE);
        load.srcStride = 1;
        AscendC::LoadData(right, from, load);
        rightQueue.EnQue(right);
    }

    // `columns` columns of values for `keys` keys.
    __aicore__ inline void LoadValues(const AscendC::LocalTensor<T>& from, uint32_t keys, uint32_t columns) {
        AscendC::LocalTensor<T> right = rightQueue.AllocTensor<T>();
        AscendC::LoadData2DParams load;
        load.repeatTimes = columns / SIDE;
        load.srcStride = keys / SIDE;
        load.ifTranspose = true;
        for (uint32_t key = 0; key < keys; key += SIDE) {
            AscendC::LoadData(right[key * columns], from[key * SIDE], load);
        }
        rightQueue.EnQue(right);
    }

    __aicore__ inline AscendC::LocalTensor<float> Sums() { return sumsQueue.AllocTensor<float>(); }

    // Whole fractals of rows: a single row would be multiplied as a vector, which lies differently.
    __aicore__ inline void Multiply(const AscendC::LocalTensor<float>& sums, const AscendC::LocalTensor<T>& left,
                                    uint32_t rows, uint32_t columns, uint32_t depth, bool fresh) {
        AscendC::LocalTensor<T> right = rightQueue.DeQue<T>();
        AscendC::MmadParams multiply;
        multiply.m = rows;
        multiply.n = columns;
        multiply.k = depth;
        multiply.cmatrixInitVal = fresh;
        AscendC::Mmad(sums, left, right, multiply);
        AscendC::PipeBarrier<PIPE_M>();
        rightQueue.FreeTensor(right);
    }

    // sums += or = left @ transpose(keys) for `depth` columns of both.
    __aicore__ inline void AddScores(const AscendC::LocalTensor<float>& sums, const AscendC::LocalTensor<T>& queries,
                                     const AscendC::LocalTensor<T>& keys, uint32_t rows, uint32_t columns,
                                     uint32_t depth, bool fresh) {
        AscendC::LocalTensor<T> left = LoadLeft(queries, rows, Up(depth, SIDE));
        LoadKeys(keys, columns, Up(depth, SIDE));
        Multiply(sums, left, rows, columns, depth, fresh);
        FreeLeft(left);
    }

    // to = powers @ values, in pieces of `pitch` columns; the powers of `rows` rows are in L1 as `keys` values are.
    __aicore__ inline void Weigh(const AscendC::GlobalTensor<float>& to, const AscendC::LocalTensor<T>& powers,
                                 const AscendC::LocalTensor<T>& values, uint32_t rows, uint32_t keys, uint32_t pitch) {
        const uint32_t height = Up(rows, SIDE), depth = Up(keys, SIDE);
        AscendC::LocalTensor<T> left = LoadLeft(powers, height, depth);
        for (uint32_t begin = 0; begin < pitch; begin += PIECE) {
            const uint32_t columns = pitch - begin < PIECE ? pitch - begin : PIECE;
            LoadValues(values[begin * depth], depth, columns);
            const AscendC::LocalTensor<float> sums = Sums();
            Multiply(sums, left, height, columns, keys, true);
            Store(to[begin], sums, rows, columns, pitch);
        }
        FreeLeft(left);
    }

    __aicore__ inline void Store(const AscendC::GlobalTensor<float>& to, AscendC::LocalTensor<float> sums,
                                 uint32_t rows, uint32_t columns, uint32_t pitch) {
        sumsQueue.EnQue(sums);
        sums = sumsQueue.DeQue<float>();
        AscendC::FixpipeParamsV220 store;
        store.nSize = columns;
        store.mSize = rows;
        store.srcStride = Up(rows, SIDE);
        store.dstStride = pitch;
        AscendC::Fixpipe<float, float, AscendC::CFG_ROW_MAJOR>(to, sums, store);
        sumsQueue.FreeTensor(sums);
    }

  private:
    AscendC::TQue<AscendC::TPosition::A2, 1> leftQueue;
    AscendC::TQue<AscendC::TPosition::B2, 1> rightQueue;
    AscendC::TQue<AscendC::TPosition::CO1, 1> sumsQueue;
};
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
