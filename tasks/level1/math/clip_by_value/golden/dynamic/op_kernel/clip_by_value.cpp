// ClipByValue: y = min(max(x, clip_value_min), clip_value_max), the limits read from global memory.
#include "elementwise.h"

template <typename T>
class Limitation {
  public:
    using In = T;
    using Out = T;
    static constexpr uint32_t INPUTS = 1;

    __aicore__ inline Limitation(GM_ADDR least, GM_ADDR greatest) {
        GlobalTensor<T> leastGlobal, greatestGlobal;
        leastGlobal.SetGlobalBuffer((__gm__ T*)least, 1);
        greatestGlobal.SetGlobalBuffer((__gm__ T*)greatest, 1);
        lower = leastGlobal.GetValue(0);
        upper = greatestGlobal.GetValue(0);
    }

    __aicore__ inline void Init(TPipe* pipe, const ElementwiseTilingData& sizes) {}

    __aicore__ inline void Compute(const LocalTensor<T>& y, const LocalTensor<T> (&x)[INPUTS], uint32_t length) {
        Maxs(y, x[0], lower, length);
        Mins(y, y, upper, length);
    }

  private:
    T lower, upper;
};

extern "C" __global__ __aicore__ void clip_by_value(GM_ADDR x, GM_ADDR clip_value_min, GM_ADDR clip_value_max,
                                                    GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    Limitation<DTYPE_X> op(clip_value_min, clip_value_max);
    RunElementwise(op, {x}, y, sizes);
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
