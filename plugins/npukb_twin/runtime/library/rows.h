// Rows of a tensor inside a library function: read in any float type, computed in float, rounded once on the way out.
#pragma once
#include <stdlib.h>
#include <string.h>

#include "library/call.h"
#include "semantics/numeric.h"

namespace twin {

// Host memory for the rows of one call. Made after the operands are checked: a violation never returns to free it.
class Rows {
  public:
    explicit Rows(int64_t length, int slots = 1)
        : length_(length), data_(static_cast<float*>(malloc(static_cast<size_t>(length * slots) * sizeof(float)))) {}
    Rows(const Rows&) = delete;
    Rows& operator=(const Rows&) = delete;
    ~Rows() { free(data_); }
    float* operator[](int slot) { return data_ + slot * length_; }

  private:
    int64_t length_;
    float* data_;
};

inline float ToFloat(half x) { return static_cast<float>(x); }
inline float ToFloat(float x) { return x; }
inline float ToFloat(bfloat16_t x) { return static_cast<float>(x); }

// Calls f with a zero of the type of elements that are halves or floats.
template <typename F>
void WithFloat(uint32_t element_bytes, F f) {
    if (element_bytes == 2)
        f(half{});
    else
        f(float{});
}

template <typename T>
void LoadRow(float* row, const T* src, int64_t n) {
    for (int64_t i = 0; i < n; ++i) row[i] = ToFloat(src[i]);
}

template <typename T>
void StoreRow(T* dst, const float* row, int64_t n) {
    for (int64_t i = 0; i < n; ++i) dst[i] = static_cast<T>(row[i]);
}

// 64 partial sums, one per lane, then neighbours pairwise: the order in which the vector unit adds up a long row.
inline float RowSum(const float* row, int64_t n) {
    constexpr int kLanes = 64;
    float lane[kLanes] = {};
    int64_t whole = n / kLanes * kLanes;
    for (int64_t i = 0; i < whole; i += kLanes) {
        for (int l = 0; l < kLanes; ++l) lane[l] += row[i + l];
    }
    for (int64_t i = whole; i < n; ++i) lane[i - whole] += row[i];
    for (int width = kLanes; width > 1; width /= 2) {
        for (int l = 0; l < width / 2; ++l) lane[l] = lane[2 * l] + lane[2 * l + 1];
    }
    return lane[0];
}

// The largest element; NaN if there is one.
inline float RowMax(const float* row, int64_t n) {
    float largest = row[0];
    bool nan = false;
    for (int64_t i = 0; i < n; ++i) {
        largest = row[i] > largest ? row[i] : largest;
        nan |= row[i] != row[i];
    }
    return nan ? Bits<float>(0x7fc00000u) : largest;
}

inline float RsqrtFloat(float x) { return static_cast<float>(1.0 / __builtin_sqrt(static_cast<double>(x))); }

// Ends the block unless a row of `elements` is a whole number of 32-byte blocks.
inline void CheckRow(const Library& call, int64_t elements, uint32_t element_bytes, const char* what) {
    if (elements * element_bytes % 32 == 0 && elements > 0) return;
    call.core().Violate("bad_shape", call.pc(), "Pad each row to a multiple of 32 bytes.",
                        "%s: %s is %lld elements of %u bytes, which is not a multiple of 32 bytes", call.name(), what,
                        static_cast<long long>(elements), element_bytes);
}

}  // namespace twin
