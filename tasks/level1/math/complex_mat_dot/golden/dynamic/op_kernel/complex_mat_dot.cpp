// ComplexMatDot: result = matx * maty, element by element, of complex numbers that lie as pairs of floats.
//
// Real and imaginary parts are taken apart, multiplied as vectors, and gathered into pairs again.
#include "elementwise.h"

class ComplexProduct {
  public:
    using In = float;
    using Out = float;
    static constexpr uint32_t INPUTS = 2;

    __aicore__ inline void Init(TPipe* pipe, const ElementwiseTilingData& sizes) {
        half = sizes.tile / 2;
        pipe->InitBuffer(xBuffer, sizes.tile * sizeof(float));
        pipe->InitBuffer(yBuffer, sizes.tile * sizeof(float));
        pipe->InitBuffer(partsBuffer, sizes.tile * sizeof(float));
        pipe->InitBuffer(productBuffer, half * sizeof(float));
        pipe->InitBuffer(placesBuffer, sizes.tile * sizeof(int32_t));
        FindPlaces(sizes.tile);
    }

    __aicore__ inline void Compute(const LocalTensor<float>& result, const LocalTensor<float> (&factors)[INPUTS],
                                   uint32_t length) {
        LocalTensor<float> x = xBuffer.Get<float>();
        LocalTensor<float> y = yBuffer.Get<float>();
        LocalTensor<float> parts = partsBuffer.Get<float>();
        LocalTensor<float> product = productBuffer.Get<float>();
        const uint32_t pairs = length / 2;
        TakeApart(x, factors[0], length);
        TakeApart(y, factors[1], length);
        Mul(parts, x, y, pairs);
        Mul(product, x[half], y[half], pairs);
        Sub(parts, parts, product, pairs);
        Mul(parts[half], x, y[half], pairs);
        Mul(product, x[half], y, pairs);
        Add(parts[half], parts[half], product, pairs);
        Gather(result, parts, placesBuffer.Get<uint32_t>(), 0, length);
    }

  private:
    // Real parts at the beginning of `apart`, imaginary ones from its middle on.
    __aicore__ inline void TakeApart(const LocalTensor<float>& apart, const LocalTensor<float>& pairs,
                                     uint32_t length) {
        constexpr uint8_t FIRST_OF_TWO = 1, SECOND_OF_TWO = 2;
        uint64_t taken = 0;
        GatherMask(apart, pairs, FIRST_OF_TWO, true, length, {1, 1, 8, 0}, taken);
        GatherMask(apart[half], pairs, SECOND_OF_TWO, true, length, {1, 1, 8, 0}, taken);
    }

    // In bytes, where the float i of a pair comes from: i / 2 floats from the beginning or the middle.
    __aicore__ inline void FindPlaces(uint32_t tile) {
        LocalTensor<int32_t> places = placesBuffer.Get<int32_t>();
        LocalTensor<int32_t> pair = xBuffer.Get<int32_t>();
        const int32_t distance = half * sizeof(float);
        CreateVecIndex(places, 0, tile);
        ShiftRight(pair, places, 1, tile);
        Muls(places, places, distance, tile);
        Muls(pair, pair, static_cast<int32_t>(2 * distance - sizeof(float)), tile);
        Sub(places, places, pair, tile);
    }

    TBuf<TPosition::VECCALC> xBuffer, yBuffer, partsBuffer, productBuffer, placesBuffer;
    uint32_t half = 0;  // of a tile
};

extern "C" __global__ __aicore__ void complex_mat_dot(GM_ADDR matx, GM_ADDR maty, GM_ADDR result, GM_ADDR workspace,
                                                      GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    ComplexProduct op;
    RunElementwise(op, {matx, maty}, result, sizes);
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
