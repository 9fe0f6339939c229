// Equal: y = (x1 == x2), one byte per element.
#include "comparison.h"

extern "C" __global__ __aicore__ void equal(GM_ADDR x1, GM_ADDR x2, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    Comparison<DTYPE_X1, CMPMODE::EQ> op;
    RunElementwise(op, {x1, x2}, y, sizes);
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
