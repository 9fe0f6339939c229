// ForeachNonFiniteCheckAndUnscale: every tensor of a list times inv_scale, in place; found_inf = 1 if an element is
// infinite or NaN.
//
// Zero times an infinity or NaN is NaN, zero times anything else is zero: sums of such products, lane by lane, remember
// whether there was one. A core that finds NaN at the end raises the flag, which is 0 or 1, by an atomic maximum: cores
// need not wait for each other. Lists and flag are updated where they lie; no core reads what another one writes.
#include "foreach.h"

using namespace AscendC;

template <typename T>
struct KernelUnscale : foreach::ScalarOperation<float, float, 1, false> {
    static constexpr uint32_t SCRATCH = 2;

    __aicore__ inline void Select(uint32_t k, const LocalTensor<float>& scratch) {
        if (!hasBegun) {
            tile = scratch.GetSize() / 2;
            sums = scratch;
            Duplicate(sums, 0.0f, tile);
            hasBegun = true;
        }
    }

    __aicore__ inline void Compute(const LocalTensor<float>& y, const LocalTensor<float>& x,
                                   const LocalTensor<float>& scratch, uint32_t length) {
        LocalTensor<float> products = scratch[tile];
        Muls(products, x, 0.0f, length);
        Add(sums, sums, products, length);
        Muls(y, x, scalar, length);
    }

    __aicore__ inline void Finish(TPipe* pipe, GM_ADDR found) {
        if (!hasBegun) {
            return;  // more cores than shares
        }
        LocalTensor<float> total = sums[tile];
        ReduceSum(total, sums, total[64], tile);
        const event_t added = static_cast<event_t>(pipe->FetchEventID(HardEvent::V_S));
        SetFlag<HardEvent::V_S>(added);
        WaitFlag<HardEvent::V_S>(added);
        const float sum = total.GetValue(0);
        if (sum != sum) {
            Raise(pipe, found);
        }
    }

  private:
    __aicore__ inline void Raise(TPipe* pipe, GM_ADDR found) {
        TQue<TPosition::VECOUT, 1> flagQueue;
        pipe->InitBuffer(flagQueue, 1, 32);
        LocalTensor<float> flag = flagQueue.AllocTensor<float>();
        Duplicate(flag, 1.0f, 1);
        flagQueue.EnQue(flag);
        flag = flagQueue.DeQue<float>();
        GlobalTensor<float> foundGlobal;
        foundGlobal.SetGlobalBuffer((__gm__ float*)found, 1);
        const DataCopyExtParams one{1, sizeof(float), 0, 0, 0};
        SetAtomicMax<float>();
        DataCopyPad(foundGlobal, flag, one);
        SetAtomicNone();
        flagQueue.FreeTensor(flag);
    }

    LocalTensor<float> sums;  // scratch: a tile of sums, a tile of products
    uint32_t tile = 0;
    bool hasBegun = false;
};

extern "C" __global__ __aicore__ void foreach_non_finite_check_and_unscale(GM_ADDR scaled_grads, GM_ADDR found_inf,
                                                                           GM_ADDR inv_scale, GM_ADDR scaled_grads_ref,
                                                                           GM_ADDR found_inf_ref, GM_ADDR workspace,
                                                                           GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    using T = DTYPE_SCALED_GRADS;
    TPipe pipe;
    KernelUnscale<T> unscale;
    foreach::Walker<T, KernelUnscale<T>> walker;
    unscale.Init(inv_scale);
    walker.Init(&pipe, &unscale, scaled_grads_ref, scaled_grads);
    foreach::ServeShares<T>(sizes, walker);
    unscale.Finish(&pipe, found_inf_ref);
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
