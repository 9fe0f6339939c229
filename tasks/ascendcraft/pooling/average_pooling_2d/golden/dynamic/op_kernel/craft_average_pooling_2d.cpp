// CraftAveragePooling2d: means of windows over the last 2 axes.
//
// The lines that a row of windows covers are added up first, then their columns are gathered. Elements outside count
// as zeros.
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

__aicore__ inline int64_t CeilDiv(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}

__aicore__ inline int64_t RoundUp(int64_t a, int64_t b) {
    return (a + b - 1) / b * b;
}

// Bytes of so many elements, in whole repeats of the vector unit.
template <typename T>
__aicore__ inline uint32_t Bytes(int64_t elements) {
    return static_cast<uint32_t>((elements * sizeof(T) + 255) / 256 * 256);
}
}  // namespace

class KernelCraftAveragePooling2d {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR x, GM_ADDR y, const CraftAveragePooling2dTilingData& numbers) {
        kernel_size = numbers.kernel_size;
        stride = numbers.stride;
        padding = numbers.padding;
        rows_ = numbers.rows;
        share = numbers.share;
        tile = numbers.tile;
        segment = numbers.segment;
        width = numbers.width;
        width_out = numbers.width_out;
        height = numbers.height;
        height_out = numbers.height_out;
        share_of_one = numbers.share_of_one;
        xGlobal.SetGlobalBuffer((__gm__ float*)x);
        yGlobal.SetGlobalBuffer((__gm__ float*)y);
        pipe->InitBuffer(x_lineQueue, 2, Bytes<float>(segment));
        pipe->InitBuffer(linesBuffer, Bytes<float>(segment));
        pipe->InitBuffer(placesBuffer, Bytes<int32_t>(tile));
        pipe->InitBuffer(wantedBuffer, Bytes<float>(tile));
        pipe->InitBuffer(partBuffer, Bytes<float>(tile));
        pipe->InitBuffer(resultQueue, 2, Bytes<float>(tile));
        pipe->InitBuffer(temporary0Buffer, Greatest<uint32_t>(Bytes<int32_t>(tile), Bytes<uint8_t>(CeilDiv(tile, 8))));
        pipe->InitBuffer(temporary1Buffer, Greatest<uint32_t>(Bytes<float>(tile), Bytes<uint8_t>(CeilDiv(tile, 8))));
    }

    __aicore__ inline void Process() {
        const int64_t first = static_cast<int64_t>(GetBlockIdx()) * share;
        for (int64_t row = first; row < Least<int64_t>(first + share, rows_); ++row) {
            const int64_t plane = row / height_out;
            const int64_t top = row % height_out * stride - padding;
            for (int64_t begin = 0; begin < width_out; begin += tile) {
                const int64_t count_ = Least<int64_t>(tile, width_out - begin);
                const int64_t left = Greatest<int64_t>(begin * stride - padding, 0);
                const int64_t span = Least<int64_t>((begin + count_ - 1) * stride - padding + kernel_size,
                    width) - left;
                StartLines(span);
                for (int64_t h = Greatest<int64_t>(top, 0); h < Least<int64_t>(top + kernel_size, height); ++h) {
                    CopyIn(plane, h, left, span);
                    AddLine(span);
                }
                GatherColumns(count_, begin, left, span);
                CopyOut(row, begin, count_);
            }
        }
    }

  private:
    __aicore__ inline void StartLines(int64_t span) {
        const uint32_t count = static_cast<uint32_t>(span);
        LocalTensor<float> lines = linesBuffer.Get<float>();
        Duplicate(lines, 0.0f, count);
    }

    __aicore__ inline void CopyIn(int64_t plane, int64_t h, int64_t left, int64_t span) {
        LocalTensor<float> x_line = x_lineQueue.AllocTensor<float>();
        const DataCopyExtParams copy{1, static_cast<uint32_t>(span * sizeof(float)), 0, 0, 0};
        DataCopyPad(x_line, xGlobal[(plane * height + h) * width + left], copy, DataCopyPadExtParams<float>{false, 0,
            0, 0});
        x_lineQueue.EnQue(x_line);
    }

    __aicore__ inline void AddLine(int64_t span) {
        const uint32_t count = static_cast<uint32_t>(span);
        LocalTensor<float> lines = linesBuffer.Get<float>();
        LocalTensor<float> x_line = x_lineQueue.DeQue<float>();
        Add(lines, lines, x_line, count);
        x_lineQueue.FreeTensor(x_line);
    }

    __aicore__ inline void GatherColumns(int64_t count_, int64_t begin, int64_t left, int64_t span) {
        const uint32_t count = static_cast<uint32_t>(count_);
        LocalTensor<int32_t> places = placesBuffer.Get<int32_t>();
        LocalTensor<float> lines = linesBuffer.Get<float>();
        LocalTensor<float> result = resultQueue.AllocTensor<float>();
        LocalTensor<float> wanted = wantedBuffer.Get<float>();
        LocalTensor<float> part = partBuffer.Get<float>();
        LocalTensor<int32_t> temporary0Int = temporary0Buffer.Get<int32_t>();
        LocalTensor<uint8_t> temporary0Mask = temporary0Buffer.Get<uint8_t>();
        LocalTensor<float> temporary1 = temporary1Buffer.Get<float>();
        LocalTensor<uint8_t> temporary1Mask = temporary1Buffer.Get<uint8_t>();
        CreateVecIndex(places, static_cast<int32_t>(0), count);
        Muls(places, places, static_cast<int32_t>(stride), count);
        Duplicate(result, 0.0f, count);
        for (int64_t u = 0; u < kernel_size; ++u) {
            const int64_t column = begin * stride - padding + u;
            Cast(wanted, places, RoundMode::CAST_RINT, count);
            Adds(wanted, wanted, static_cast<float>(column), count);
            Adds(temporary0Int, places, static_cast<int32_t>(column - left), count);
            Maxs(temporary0Int, temporary0Int, static_cast<int32_t>(0), count);
            Mins(temporary0Int, temporary0Int, static_cast<int32_t>(span - 1), count);
            Muls(temporary0Int, temporary0Int, static_cast<int32_t>(4), count);
            Gather(part, lines, temporary0Int.ReinterpretCast<uint32_t>(), 0, count);
            CompareScalar(temporary0Mask, wanted, 0.0f, CMPMODE::GE, RoundUp(count, 64));
            CompareScalar(temporary1Mask, wanted, static_cast<float>(width), CMPMODE::LT, RoundUp(count, 64));
            And(temporary0Mask.ReinterpretCast<uint16_t>(), temporary0Mask.ReinterpretCast<uint16_t>(),
                temporary1Mask.ReinterpretCast<uint16_t>(), CeilDiv(count, 16));
            Select(temporary1, temporary0Mask, part, 0.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, count);
            Add(result, result, temporary1, count);
        }
        Muls(result, result, share_of_one, count);
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
    TBuf<TPosition::VECCALC> wantedBuffer;
    TBuf<TPosition::VECCALC> partBuffer;
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
    int64_t height;
    int64_t height_out;
    float share_of_one;
};

extern "C" __global__ __aicore__ void craft_average_pooling_2d(GM_ADDR x, GM_ADDR y, GM_ADDR workspace,
    GM_ADDR tiling) {
    GET_TILING_DATA(numbers, tiling);
    TPipe pipe;
    KernelCraftAveragePooling2d op;
    op.Init(&pipe, x, y, numbers);
    op.Process();
}
