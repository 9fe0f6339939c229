// NonFiniteCheckOp: found_flag = 1 if some element of some tensor of a list is infinite or NaN.
//
// Zero times an infinity or NaN is NaN, zero times anything else is zero: sums of such products, lane by lane, remember
// whether there was one. The callers have cleared the flag; a core that finds NaN at the end raises it by an atomic
// maximum, so that cores need not wait for each other.
#include "foreach.h"

using namespace AscendC;

template <typename T>
class KernelNonFiniteCheck {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR tensors, GM_ADDR flag) {
        this->pipe = pipe;
        list = tensors;
        flagGlobal.SetGlobalBuffer((__gm__ float*)flag, 1);
        pipe->InitBuffer(xQueue, 2, TILE * sizeof(T));
        pipe->InitBuffer(wideBuffer, TILE * sizeof(float));
        pipe->InitBuffer(sumsBuffer, TILE * sizeof(float));
        pipe->InitBuffer(totalBuffer, 32);
        pipe->InitBuffer(flagQueue, 1, 32);
    }

    // This core's share of tensor k.
    __aicore__ inline void Serve(uint32_t k, uint64_t begin, uint64_t count) {
        xGlobal.SetGlobalBuffer(foreach::TensorOf<T>(list, k) + begin, count);
        for (uint64_t offset = 0; offset < count; offset += TILE) {
            const uint32_t length = count - offset < TILE ? count - offset : TILE;
            LocalTensor<T> x = xQueue.template AllocTensor<T>();
            const DataCopyExtParams copy{1, static_cast<uint32_t>(length * sizeof(T)), 0, 0, 0};
            DataCopyPad(x, xGlobal[offset], copy, DataCopyPadExtParams<T>());
            xQueue.EnQue(x);
            AddZeros(length);
        }
    }

    __aicore__ inline void Finish() {
        if (used == 0) {
            return;  // more cores than shares
        }
        LocalTensor<float> total = totalBuffer.Get<float>();
        ReduceSum(total, sumsBuffer.Get<float>(), wideBuffer.Get<float>(), used);
        const event_t added = static_cast<event_t>(pipe->FetchEventID(HardEvent::V_S));
        SetFlag<HardEvent::V_S>(added);
        WaitFlag<HardEvent::V_S>(added);
        const float sum = total.GetValue(0);
        if (sum != sum) {
            Raise();
        }
    }

  private:
    __aicore__ inline void AddZeros(uint32_t length) {
        LocalTensor<T> x = xQueue.template DeQue<T>();
        LocalTensor<float> sums = sumsBuffer.Get<float>();
        LocalTensor<float> wide = wideBuffer.Get<float>();
        if (length > used) {
            const uint32_t whole = (length + 63) / 64 * 64;
            Duplicate(sums[used], 0.0f, whole - used);  // lanes that no tile had before
            used = whole;
        }
        if constexpr (std::is_same<T, float>::value) {
            Muls(wide, x, 0.0f, length);
        } else {
            Cast(wide, x, RoundMode::CAST_NONE, length);
            Muls(wide, wide, 0.0f, length);
        }
        Add(sums, sums, wide, length);
        xQueue.FreeTensor(x);
    }

    __aicore__ inline void Raise() {
        LocalTensor<float> flag = flagQueue.AllocTensor<float>();
        Duplicate(flag, 1.0f, 1);
        flagQueue.EnQue(flag);
        flag = flagQueue.DeQue<float>();
        const DataCopyExtParams one{1, sizeof(float), 0, 0, 0};
        SetAtomicMax<float>();
        DataCopyPad(flagGlobal, flag, one);
        SetAtomicNone();
        flagQueue.FreeTensor(flag);
    }

    static constexpr uint32_t TILE = 8192;
    TPipe* pipe = nullptr;
    TQue<TPosition::VECIN, 1> xQueue;
    TQue<TPosition::VECOUT, 1> flagQueue;
    TBuf<TPosition::VECCALC> wideBuffer, sumsBuffer, totalBuffer;
    GlobalTensor<T> xGlobal;
    GlobalTensor<float> flagGlobal;
    GM_ADDR list = nullptr;
    uint32_t used = 0;  // lanes of the sums, whole repeats
};

extern "C" __global__ __aicore__ void non_finite_check_op(GM_ADDR tensor_list, GM_ADDR found_flag, GM_ADDR workspace,
                                                          GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    TPipe pipe;
    KernelNonFiniteCheck<DTYPE_TENSOR_LIST> check;
    check.Init(&pipe, tensor_list, found_flag);
    foreach::ServeShares<DTYPE_TENSOR_LIST>(sizes, check);
    check.Finish();
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
