// Cross: vector products of tensors [outer, 3, inner]: y_c = u_(c+1) * v_(c+2) - u_(c+2) * v_(c+1), indices modulo 3.
//
// Tiles are dealt out to the cores in turn. Two buffers per queue let the copies of one tile run beside the
// computation of another. half is computed in float, so that only the result is rounded, and int8_t in half, which
// holds its products.
#include "kernel_operator.h"

using namespace AscendC;

// What both forms share: queues, and tiles in the type that is computed in.
template <typename T>
class CrossBase {
  public:
    __aicore__ inline CrossBase(const CrossTilingData& sizes) : sizes(sizes) {}

  protected:
    using WideOfByte = typename std::conditional<std::is_same<T, int8_t>::value, half, T>::type;
    using Number = typename std::conditional<std::is_same<T, half>::value, float, WideOfByte>::type;
    static constexpr bool WIDENED = !std::is_same<T, Number>::value;

    __aicore__ inline void InitBase(TPipe* pipe, GM_ADDR x1, GM_ADDR x2, GM_ADDR y, uint32_t tileElements) {
        const uint64_t total = sizes.outer * 3 * sizes.inner;
        x1Global.SetGlobalBuffer((__gm__ T*)x1, total);
        x2Global.SetGlobalBuffer((__gm__ T*)x2, total);
        yGlobal.SetGlobalBuffer((__gm__ T*)y, total);
        const uint32_t bytes = (tileElements * sizeof(T) + 31) / 32 * 32;
        pipe->InitBuffer(x1Queue, 2, bytes);
        pipe->InitBuffer(x2Queue, 2, bytes);
        pipe->InitBuffer(yQueue, 2, bytes);
        if constexpr (WIDENED) {
            const uint32_t wideBytes = (tileElements * sizeof(Number) + 31) / 32 * 32;
            pipe->InitBuffer(uBuffer, wideBytes);
            pipe->InitBuffer(vBuffer, wideBytes);
            pipe->InitBuffer(resultBuffer, wideBytes);
        }
    }

    __aicore__ inline static LocalTensor<Number> Widened(const LocalTensor<T>& x, TBuf<TPosition::VECCALC>& buffer,
                                                         uint32_t length) {
        if constexpr (WIDENED) {
            LocalTensor<Number> wide = buffer.Get<Number>();
            Cast(wide, x, RoundMode::CAST_NONE, length);
            return wide;
        } else {
            return x;
        }
    }

    __aicore__ inline LocalTensor<Number> Result(const LocalTensor<T>& y) {
        if constexpr (WIDENED) {
            return resultBuffer.template Get<Number>();
        } else {
            return y;
        }
    }

    __aicore__ inline static void Round(const LocalTensor<T>& y, const LocalTensor<Number>& result, uint32_t length) {
        if constexpr (WIDENED) {
            Cast(y, result, RoundMode::CAST_RINT, length);
        }
    }

    CrossTilingData sizes;
    TQue<TPosition::VECIN, 1> x1Queue, x2Queue;
    TQue<TPosition::VECOUT, 1> yQueue;
    TBuf<TPosition::VECCALC> uBuffer, vBuffer, resultBuffer;
    GlobalTensor<T> x1Global, x2Global, yGlobal;
};

// Long rows: a tile holds rows of the first component, then those of the second and of the third.
template <typename T>
class CrossRows : public CrossBase<T> {
  public:
    using Base = CrossBase<T>;
    using Number = typename Base::Number;
    using Base::sizes;

    __aicore__ inline CrossRows(const CrossTilingData& sizes) : Base(sizes) {}

    __aicore__ inline void Init(TPipe* pipe, GM_ADDR x1, GM_ADDR x2, GM_ADDR y) {
        part = sizes.tileOuter * sizes.pitch;
        Base::InitBase(pipe, x1, x2, y, 3 * part);
        pipe->InitBuffer(productBuffer, part * sizeof(Number));
    }

    __aicore__ inline void Process() {
        for (uint64_t tile = GetBlockIdx(); tile < sizes.tiles; tile += GetBlockNum()) {
            const uint64_t row = tile / sizes.pieces * sizes.tileOuter;
            const uint64_t column = tile % sizes.pieces * sizes.tileInner;
            rows = sizes.outer - row < sizes.tileOuter ? sizes.outer - row : sizes.tileOuter;
            columns = sizes.inner - column < sizes.tileInner ? sizes.inner - column : sizes.tileInner;
            first = row * 3 * sizes.inner + column;
            CopyIn(this->x1Queue, this->x1Global);
            CopyIn(this->x2Queue, this->x2Global);
            Compute();
            CopyOut();
        }
    }

  private:
    __aicore__ inline void CopyIn(TQue<TPosition::VECIN, 1>& queue, GlobalTensor<T>& global) {
        const uint32_t gap = (3 * sizes.inner - columns) * sizeof(T);
        const uint32_t bytes = columns * sizeof(T);
        const DataCopyExtParams copy{static_cast<uint16_t>(rows), bytes, gap, 0, 0};
        LocalTensor<T> x = queue.template AllocTensor<T>();
        for (uint32_t component = 0; component < 3; ++component) {
            DataCopyPad(x[component * part], global[first + component * sizes.inner], copy, DataCopyPadExtParams<T>());
        }
        queue.EnQue(x);
    }

    __aicore__ inline void Compute() {
        LocalTensor<T> x1 = this->x1Queue.template DeQue<T>();
        LocalTensor<T> x2 = this->x2Queue.template DeQue<T>();
        LocalTensor<T> y = this->yQueue.template AllocTensor<T>();
        LocalTensor<Number> u = Base::Widened(x1, this->uBuffer, 3 * part);
        LocalTensor<Number> v = Base::Widened(x2, this->vBuffer, 3 * part);
        LocalTensor<Number> result = Base::Result(y);
        LocalTensor<Number> product = productBuffer.template Get<Number>();
        const uint32_t length = (rows - 1) * sizes.pitch + columns;
        for (uint32_t component = 0; component < 3; ++component) {
            const uint32_t next = (component + 1) % 3 * part;
            const uint32_t last = (component + 2) % 3 * part;
            Mul(result[component * part], u[next], v[last], length);
            Mul(product, u[last], v[next], length);
            Sub(result[component * part], result[component * part], product, length);
        }
        Base::Round(y, result, 3 * part);
        this->yQueue.EnQue(y);
        this->x1Queue.FreeTensor(x1);
        this->x2Queue.FreeTensor(x2);
    }

    __aicore__ inline void CopyOut() {
        const uint32_t gap = (3 * sizes.inner - columns) * sizeof(T);
        const uint32_t bytes = columns * sizeof(T);
        const DataCopyExtParams copy{static_cast<uint16_t>(rows), bytes, 0, gap, 0};
        LocalTensor<T> y = this->yQueue.template DeQue<T>();
        for (uint32_t component = 0; component < 3; ++component) {
            DataCopyPad(this->yGlobal[first + component * sizes.inner], y[component * part], copy);
        }
        this->yQueue.FreeTensor(y);
    }

    TBuf<TPosition::VECCALC> productBuffer;
    uint32_t part = 0;  // elements of a component in a tile
    uint32_t rows = 0;
    uint32_t columns = 0;
    uint64_t first = 0;  // element of the tile
};

// Short rows: a tile holds whole vectors as they lie in memory. Gather brings the other two components of its vector to
// every element.
template <typename T>
class CrossGather : public CrossBase<T> {
  public:
    using Base = CrossBase<T>;
    using Number = typename Base::Number;
    using Base::sizes;

    __aicore__ inline CrossGather(const CrossTilingData& sizes) : Base(sizes) {}

    __aicore__ inline void Init(TPipe* pipe, GM_ADDR x1, GM_ADDR x2, GM_ADDR y) {
        most = sizes.tileOuter * 3 * sizes.inner;
        Base::InitBase(pipe, x1, x2, y, most);
        const uint32_t bytes = (most * sizeof(float) + 31) / 32 * 32;
        pipe->InitBuffer(aBuffer, bytes);
        pipe->InitBuffer(bBuffer, bytes);
        pipe->InitBuffer(nextBuffer, bytes);
        pipe->InitBuffer(lastBuffer, bytes);
        MakeOffsets();
    }

    __aicore__ inline void Process() {
        for (uint64_t tile = GetBlockIdx(); tile < sizes.tiles; tile += GetBlockNum()) {
            const uint64_t row = tile * sizes.tileOuter;
            const uint64_t rows = sizes.outer - row < sizes.tileOuter ? sizes.outer - row : sizes.tileOuter;
            const uint64_t first = row * 3 * sizes.inner;
            const uint32_t length = rows * 3 * sizes.inner;
            CopyIn(this->x1Queue, this->x1Global[first], length);
            CopyIn(this->x2Queue, this->x2Global[first], length);
            Compute(length);
            CopyOut(first, length);
        }
    }

  private:
    // Byte offsets of the next component and the one after it: for element t, whose component is c = t / inner % 3,
    // t + inner, less 3 * inner if c is 2, and t - inner, plus 3 * inner if c is 0. Quotients are those of element
    // centres, which no rounding takes past an integer.
    __aicore__ inline void MakeOffsets() {
        LocalTensor<float> centre = nextBuffer.template Get<float>();
        LocalTensor<int32_t> next = nextBuffer.template Get<int32_t>();
        LocalTensor<int32_t> last = lastBuffer.template Get<int32_t>();
        LocalTensor<int32_t> component = aBuffer.template Get<int32_t>();
        LocalTensor<int32_t> vector = bBuffer.template Get<int32_t>();
        const int32_t inner = sizes.inner;
        CreateVecIndex(centre, 0.5f, most);
        Muls(centre, centre, 1.0f / inner, most);
        Cast(component, centre, RoundMode::CAST_FLOOR, most);
        Muls(centre, centre, 1.0f / 3, most);
        Cast(vector, centre, RoundMode::CAST_FLOOR, most);
        Muls(vector, vector, 3, most);
        Sub(component, component, vector, most);

        Muls(last, component, -1, most);  // 1 - c, or 0: whether c is 0
        Adds(last, last, 1, most);
        Relu(last, last, most);
        Adds(component, component, -1, most);  // c - 1, or 0: whether c is 2
        Relu(component, component, most);
        CreateVecIndex(vector, 0, most);
        Muls(next, component, -3 * inner, most);
        Adds(next, next, inner, most);
        Add(next, next, vector, most);
        Muls(next, next, static_cast<int32_t>(sizeof(Number)), most);
        Muls(last, last, 3 * inner, most);
        Adds(last, last, -inner, most);
        Add(last, last, vector, most);
        Muls(last, last, static_cast<int32_t>(sizeof(Number)), most);
    }

    __aicore__ inline void CopyIn(TQue<TPosition::VECIN, 1>& queue, const GlobalTensor<T>& global, uint32_t length) {
        const DataCopyExtParams copy{1, static_cast<uint32_t>(length * sizeof(T)), 0, 0, 0};
        LocalTensor<T> x = queue.template AllocTensor<T>();
        DataCopyPad(x, global, copy, DataCopyPadExtParams<T>());
        queue.EnQue(x);
    }

    __aicore__ inline void Compute(uint32_t length) {
        LocalTensor<T> x1 = this->x1Queue.template DeQue<T>();
        LocalTensor<T> x2 = this->x2Queue.template DeQue<T>();
        LocalTensor<T> y = this->yQueue.template AllocTensor<T>();
        LocalTensor<Number> u = Base::Widened(x1, this->uBuffer, length);
        LocalTensor<Number> v = Base::Widened(x2, this->vBuffer, length);
        LocalTensor<Number> result = Base::Result(y);
        LocalTensor<Number> a = aBuffer.template Get<Number>();
        LocalTensor<Number> b = bBuffer.template Get<Number>();
        LocalTensor<uint32_t> next = nextBuffer.template Get<uint32_t>();
        LocalTensor<uint32_t> last = lastBuffer.template Get<uint32_t>();
        Gather(a, u, next, 0, length);
        Gather(b, v, last, 0, length);
        Mul(result, a, b, length);
        Gather(a, u, last, 0, length);
        Gather(b, v, next, 0, length);
        Mul(a, a, b, length);
        Sub(result, result, a, length);
        Base::Round(y, result, length);
        this->yQueue.EnQue(y);
        this->x1Queue.FreeTensor(x1);
        this->x2Queue.FreeTensor(x2);
    }

    __aicore__ inline void CopyOut(uint64_t first, uint32_t length) {
        const DataCopyExtParams copy{1, static_cast<uint32_t>(length * sizeof(T)), 0, 0, 0};
        LocalTensor<T> y = this->yQueue.template DeQue<T>();
        DataCopyPad(this->yGlobal[first], y, copy);
        this->yQueue.FreeTensor(y);
    }

    TBuf<TPosition::VECCALC> aBuffer, bBuffer, nextBuffer, lastBuffer;
    uint32_t most = 0;  // elements of a tile
};

extern "C" __global__ __aicore__ void cross(GM_ADDR x1, GM_ADDR x2, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    TPipe pipe;
    if (TILING_KEY_IS(0)) {
        CrossRows<DTYPE_X1> op(sizes);
        op.Init(&pipe, x1, x2, y);
        op.Process();
    } else if (TILING_KEY_IS(1)) {
        CrossGather<DTYPE_X1> op(sizes);
        op.Init(&pipe, x1, x2, y);
        op.Process();
    }
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
