// CraftMaxPooling1d: largest elements of windows over the last axis.
//
// The lines that a row of windows covers are compared first, then their columns are gathered. Places outside are
// moved to the border, which lies in the same window.
//
// Lowered from a tile program.

#include "kernel_operator.h"

using namespace AscendC;

namespace {
template <typename T>
__aicore__ inline T Least(T a, T b) {
    return a < b ? a : b;
}

template <typename T>
__aicore__ inline T Greatest(T a, T b) {
    return a > b ? a : b;
}

constexpr float INFINITE = __builtin_inff();

// Bytes of so many elements, in whole repeats of the vector unit.
template <typename T>
__aicore__ inline uint32_t Bytes(int64_t elements) {
    return static_cast<uint32_t>((elements * sizeof(T) + 255) / 256 * 256);
}
}  // namespace

class KernelCraftMaxPooling1d {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR x, GM_ADDR y, const CraftMaxPooling1dTilingData& numbers) {
        kernel_size = numbers.kernel_size;
        stride = numbers.stride;
        padding = numbers.padding;
        rows_ = numbers.rows;
        share = numbers.share;
        tile = numbers.tile;
        segment = numbers.segment;
        width = numbers.width;
        width_out = numbers.width_out;
        xGlobal.SetGlobalBuffer((__gm__ float*)x);
        yGlobal.SetGlobalBuffer((__gm__ float*)y);
        pipe->InitBuffer(x_lineQueue, 2, Bytes<float>(segment));
        pipe->InitBuffer(linesBuffer, Bytes<float>(segment));
        pipe->InitBuffer(placesBuffer, Bytes<int32_t>(tile));
        pipe->InitBuffer(resultQueue, 2, Bytes<float>(tile));
        pipe->InitBuffer(temporary0Buffer, Bytes<int32_t>(tile));
        pipe->InitBuffer(temporary1Buffer, Bytes<float>(tile));
    }

    __aicore__ inline void Process() {
        const int64_t first = static_cast<int64_t>(GetBlockIdx()) * share;
        for (int64_t row = first; row < Least<int64_t>(first + share, rows_); ++row) {
            const int64_t plane = row;
            for (int64_t begin = 0; begin < width_out; begin += tile) {
                const int64_t count_ = Least<int64_t>(tile, width_out - begin);
                const int64_t left = Greatest<int64_t>(begin * stride - padding, 0);
                const int64_t span = Least<int64_t>((begin + count_ - 1) * stride - padding + kernel_size,
                    width) - left;
                StartLines(span);
                CopyIn(plane, left, span);
                CompareLine(span);
                GatherColumns(count_, begin, left, span);
                CopyOut(row, begin, count_);
            }
        }
    }

  private:
    __aicore__ inline void StartLines(int64_t span) {
        const uint32_t count = static_cast<uint32_t>(span);
        LocalTensor<float> lines = linesBuffer.Get<float>();
        Duplicate(lines, -INFINITE, count);
    }

    __aicore__ inline void CopyIn(int64_t plane, int64_t left, int64_t span) {
        LocalTensor<float> x_line = x_lineQueue.AllocTensor<float>();
        const DataCopyExtParams copy{1, static_cast<uint32_t>(span * sizeof(float)), 0, 0, 0};
        DataCopyPad(x_line, xGlobal[plane * width + left], copy, DataCopyPadExtParams<float>{false, 0, 0, 0});
        x_lineQueue.EnQue(x_line);
    }

    __aicore__ inline void CompareLine(int64_t span) {
        const uint32_t count = static_cast<uint32_t>(span);
        LocalTensor<float> lines = linesBuffer.Get<float>();
        LocalTensor<float> x_line = x_lineQueue.DeQue<float>();
        Max(lines, lines, x_line, count);
        x_lineQueue.FreeTensor(x_line);
    }

    __aicore__ inline void GatherColumns(int64_t count_, int64_t begin, int64_t left, int64_t span) {
        const uint32_t count = static_cast<uint32_t>(count_);
        LocalTensor<float> result = resultQueue.AllocTensor<float>();
        LocalTensor<float> lines = linesBuffer.Get<float>();
        LocalTensor<int32_t> places = placesBuffer.Get<int32_t>();
        LocalTensor<int32_t> temporary0Int = temporary0Buffer.Get<int32_t>();
        LocalTensor<float> temporary1 = temporary1Buffer.Get<float>();
        CreateVecIndex(places, static_cast<int32_t>(0), count);
        Muls(places, places, static_cast<int32_t>(stride), count);
        Duplicate(result, -INFINITE, count);
        for (int64_t u = 0; u < kernel_size; ++u) {
            const int64_t shift_by = begin * stride - padding + u - left;
            Adds(temporary0Int, places, static_cast<int32_t>(shift_by), count);
            Maxs(temporary0Int, temporary0Int, static_cast<int32_t>(0), count);
            Mins(temporary0Int, temporary0Int, static_cast<int32_t>(span - 1), count);
            Muls(temporary0Int, temporary0Int, static_cast<int32_t>(4), count);
            Gather(temporary1, lines, temporary0Int.ReinterpretCast<uint32_t>(), 0, count);
            Max(result, result, temporary1, count);
        }
        resultQueue.EnQue(result);
    }

    __aicore__ inline void CopyOut(int64_t row, int64_t begin, int64_t count_) {
        LocalTensor<float> result = resultQueue.DeQue<float>();
        const DataCopyExtParams copy{1, static_cast<uint32_t>(count_ * sizeof(float)), 0, 0, 0};
        DataCopyPad(yGlobal[row * width_out + begin], result, copy);
        resultQueue.FreeTensor(result);
    }

    GlobalTensor<float> xGlobal;
    GlobalTensor<float> yGlobal;
    TQue<TPosition::VECIN, 1> x_lineQueue;
    TBuf<TPosition::VECCALC> linesBuffer;
    TBuf<TPosition::VECCALC> placesBuffer;
    TQue<TPosition::VECOUT, 1> resultQueue;
    TBuf<TPosition::VECCALC> temporary0Buffer;
    TBuf<TPosition::VECCALC> temporary1Buffer;
    int64_t kernel_size;
    int64_t stride;
    int64_t padding;
    int64_t rows_;
    int64_t share;
    int64_t tile;
    int64_t segment;
    int64_t width;
    int64_t width_out;
};

extern "C" __global__ __aicore__ void craft_max_pooling_1d(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(numbers, tiling);
    TPipe pipe;
    KernelCraftMaxPooling1d op;
    op.Init(&pipe, x, y, numbers);
    op.Process();
}
