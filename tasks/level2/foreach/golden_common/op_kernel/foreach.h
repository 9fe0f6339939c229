// The walk over lists of tensors that all Foreach operators share. An operator adds its arithmetic.
//
// Every tensor is cut into shares of whole 512-byte granules, the unit in which global memory is served, one share for
// each core at most; a core walks through its share in tiles. A short tensor has fewer shares than there are cores: the
// next tensor begins with the core after the last one served. Two buffers per queue let copies run beside computation.
#ifndef FOREACH_H
#define FOREACH_H
#include "kernel_operator.h"

namespace foreach {
using namespace AscendC;

constexpr uint32_t GRANULE_BYTES = 512;
// What queues and buffers may take of the 192 KiB of a core. In the rest the library finds scratch.
constexpr uint32_t BUFFER_BYTES = 128 * 1024;

// The vector unit has no bfloat16 arithmetic: such tensors are widened to float, and rounded once at the end.
template <typename T>
using Native = typename std::conditional<std::is_same<T, bfloat16_t>::value, float, T>::type;

// For several roundings in a row, and for functions that are not exact: both 16-bit types are widened to float.
template <typename T>
using Wide = typename std::conditional<std::is_same<T, half>::value, float, Native<T>>::type;

// The address of tensor k of a list: the list begins with the distance in bytes to its table of addresses.
template <typename T>
__aicore__ inline __gm__ T* TensorOf(GM_ADDR list, uint32_t k) {
    __gm__ uint64_t* words = (__gm__ uint64_t*)list;
    return (__gm__ T*)words[words[0] / sizeof(uint64_t) + k];
}

// Number k of a tensor of scalars.
template <typename To, typename From>
__aicore__ inline To ScalarOf(GM_ADDR scalars, uint32_t k) {
    GlobalTensor<From> values;
    values.SetGlobalBuffer((__gm__ From*)scalars + k, 1);
    const From value = values.GetValue(0);
    if constexpr (std::is_same<From, bfloat16_t>::value) {
        return ToFloat(value);
    } else {
        return static_cast<To>(value);
    }
}

// Calls worker.Serve(k, begin, count) for this core's share of every tensor k of which it has one.
template <typename T, typename Worker>
__aicore__ inline void ServeShares(const ForeachTilingData& sizes, Worker& worker) {
    constexpr uint64_t GRANULE = GRANULE_BYTES / sizeof(T);
    const uint64_t cores = GetBlockNum();
    const uint64_t stripe = cores * GRANULE;
    uint64_t first = 0;  // the core that takes the tensor's first share
    for (uint32_t k = 0; k < sizes.count; ++k) {
        const uint64_t total = sizes.sizes[k];
        if (total == 0) {
            continue;
        }
        const uint64_t share = (total + stripe - 1) / stripe * GRANULE;
        const uint64_t begin = (GetBlockIdx() + cores - first) % cores * share;
        if (begin < total) {
            worker.Serve(k, begin, total - begin < share ? total - begin : share);
        }
        first = (first + (total + share - 1) / share) % cores;
    }
}

// What an operation of one tile tells the walker, unless it says otherwise. It also has
// Compute(y, x1, …, scratch, length), which may overwrite its inputs.
template <typename C, uint32_t inputs>
struct Operation {
    using Type = C;                           // what it computes in
    static constexpr uint32_t INPUTS = inputs;
    static constexpr uint32_t SCRATCH = 0;    // tiles it wants besides inputs and result
    __aicore__ inline void Select(uint32_t k, const LocalTensor<C>& scratch) {}  // tensor k comes next
};

// The same with a scalar of type S: one for the list, or one for each tensor of it.
template <typename C, typename S, uint32_t inputs, bool each>
struct ScalarOperation : Operation<C, inputs> {
    __aicore__ inline void Init(GM_ADDR address) {
        scalars = address;
        scalar = ScalarOf<C, S>(scalars, 0);
    }

    __aicore__ inline void Select(uint32_t k, const LocalTensor<C>& scratch) {
        if constexpr (each) {
            scalar = ScalarOf<C, S>(scalars, k);
        }
    }

    GM_ADDR scalars = nullptr;
    C scalar{};
};

// Applies an operation, element by element, to lists of tensors of type T.
template <typename T, typename Op>
class Walker {
    using C = typename Op::Type;

  public:
    __aicore__ inline void Init(TPipe* pipe, Op* operation, GM_ADDR y, GM_ADDR x1, GM_ADDR x2 = nullptr,
                                GM_ADDR x3 = nullptr) {
        op = operation;
        yList = y;
        xLists[0] = x1;
        xLists[1] = x2;
        xLists[2] = x3;
        pipe->InitBuffer(xQueue, 2, INPUTS * TILE * sizeof(T));
        pipe->InitBuffer(yQueue, 2, TILE * sizeof(T));
        if constexpr (WIDENS) {
            pipe->InitBuffer(wideBuffer, (INPUTS + 1) * TILE * sizeof(C));
        }
        if constexpr (Op::SCRATCH > 0) {
            pipe->InitBuffer(scratchBuffer, Op::SCRATCH * TILE * sizeof(C));
            scratch = scratchBuffer.template Get<C>();
        }
    }

    __aicore__ inline void Serve(uint32_t k, uint64_t begin, uint64_t count) {
        op->Select(k, scratch);
        for (uint32_t i = 0; i < INPUTS; ++i) {
            xGlobal[i].SetGlobalBuffer(TensorOf<T>(xLists[i], k) + begin, count);
        }
        yGlobal.SetGlobalBuffer(TensorOf<T>(yList, k) + begin, count);
        for (uint64_t offset = 0; offset < count; offset += TILE) {
            const uint32_t length = count - offset < TILE ? count - offset : TILE;
            CopyIn(offset, length);
            Compute(length);
            CopyOut(offset, length);
        }
    }

  private:
    __aicore__ inline void CopyIn(uint64_t offset, uint32_t length) {
        const DataCopyExtParams copy{1, static_cast<uint32_t>(length * sizeof(T)), 0, 0, 0};
        LocalTensor<T> x = xQueue.template AllocTensor<T>();
        for (uint32_t i = 0; i < INPUTS; ++i) {
            DataCopyPad(x[i * TILE], xGlobal[i][offset], copy, DataCopyPadExtParams<T>());
        }
        xQueue.EnQue(x);
    }

    __aicore__ inline void Compute(uint32_t length) {
        LocalTensor<T> x = xQueue.template DeQue<T>();
        LocalTensor<T> y = yQueue.template AllocTensor<T>();
        if constexpr (WIDENS) {
            LocalTensor<C> wide = wideBuffer.template Get<C>();
            LocalTensor<C> result = wide[INPUTS * TILE];
            for (uint32_t i = 0; i < INPUTS; ++i) {
                Cast(wide[i * TILE], x[i * TILE], WIDENING, length);
            }
            Operate(result, wide, length);
            Cast(y, result, RoundMode::CAST_RINT, length);
        } else {
            Operate(y, x, length);
        }
        yQueue.EnQue(y);
        xQueue.FreeTensor(x);
    }

    __aicore__ inline void Operate(const LocalTensor<C>& y, const LocalTensor<C>& x, uint32_t length) {
        if constexpr (INPUTS == 1) {
            op->Compute(y, x, scratch, length);
        } else if constexpr (INPUTS == 2) {
            op->Compute(y, x, x[TILE], scratch, length);
        } else {
            op->Compute(y, x, x[TILE], x[2 * TILE], scratch, length);
        }
    }

    __aicore__ inline void CopyOut(uint64_t offset, uint32_t length) {
        const DataCopyExtParams copy{1, static_cast<uint32_t>(length * sizeof(T)), 0, 0, 0};
        LocalTensor<T> y = yQueue.template DeQue<T>();
        DataCopyPad(yGlobal[offset], y, copy);
        yQueue.FreeTensor(y);
    }

    static constexpr uint32_t INPUTS = Op::INPUTS;
    static constexpr bool WIDENS = !std::is_same<T, C>::value;
    // Only a type that is no wider than what it came from can be off.
    static constexpr RoundMode WIDENING = sizeof(T) < sizeof(C) ? RoundMode::CAST_NONE : RoundMode::CAST_RINT;
    // Bytes that an element of a tile takes in all buffers together, and the elements for which there is room.
    static constexpr uint32_t ELEMENT_BYTES =
        2 * (INPUTS + 1) * sizeof(T) + ((WIDENS ? INPUTS + 1 : 0) + Op::SCRATCH) * sizeof(C);
    static constexpr uint32_t TILE = BUFFER_BYTES / ELEMENT_BYTES / GRANULE_BYTES * GRANULE_BYTES;

    TQue<TPosition::VECIN, 1> xQueue;  // a buffer holds a tile of every input
    TQue<TPosition::VECOUT, 1> yQueue;
    TBuf<TPosition::VECCALC> wideBuffer, scratchBuffer;
    LocalTensor<C> scratch;
    GlobalTensor<T> xGlobal[INPUTS], yGlobal;
    GM_ADDR xLists[3] = {};
    GM_ADDR yList = nullptr;
    Op* op = nullptr;
};

template <typename T, typename Op>
__aicore__ inline void Apply(Op& operation, const ForeachTilingData& sizes, GM_ADDR y, GM_ADDR x1,
                             GM_ADDR x2 = nullptr, GM_ADDR x3 = nullptr) {
    TPipe pipe;
    Walker<T, Op> walker;
    walker.Init(&pipe, &operation, y, x1, x2, x3);
    ServeShares<T>(sizes, walker);
}
}  // namespace foreach
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
