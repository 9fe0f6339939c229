// ForeachSign: y[k] = -1, 0 or 1 for every element of every tensor k of a list.
//
// The sign of an integer is the integer itself, clipped to [-1, 1].
#include "foreach.h"

using namespace AscendC;

// What signs are taken in. int32 and floats have instructions; int8 is exact in half, and an int64 keeps its sign in
// float, where it is zero only if it was.
template <typename T>
struct SignType {
    using Type = foreach::Native<T>;
};
template <>
struct SignType<int8_t> {
    using Type = half;
};
template <>
struct SignType<int64_t> {
    using Type = float;
};

template <typename T>
struct KernelForeachSign : foreach::Operation<typename SignType<T>::Type, 1> {
    using C = typename SignType<T>::Type;
    __aicore__ inline void Compute(const LocalTensor<C>& y, const LocalTensor<C>& x, const LocalTensor<C>& scratch,
                                   uint32_t length) {
        if constexpr (IS_INTEGER) {
            Maxs(y, x, static_cast<C>(-1), length);
            Mins(y, y, static_cast<C>(1), length);
        } else {
            Sign(y, x, length);
        }
    }

    static constexpr bool IS_INTEGER =
        std::is_same<T, int8_t>::value || std::is_same<T, int32_t>::value || std::is_same<T, int64_t>::value;
};

extern "C" __global__ __aicore__ void foreach_sign(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    KernelForeachSign<DTYPE_X> operation;
    foreach::Apply<DTYPE_X>(operation, sizes, y, x);
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
