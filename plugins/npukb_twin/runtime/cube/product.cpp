// Tiles of the result are kept in vector registers while k runs; every element is summed in the order of k, whatever
// the host's registers hold.
#include "cube/product.h"

#include <string.h>

#include <algorithm>

namespace twin {
namespace {

#if defined(__AVX512F__)
constexpr int kLanes = 16;
constexpr int kRows = 12;
#else
constexpr int kLanes = 8;
constexpr int kRows = 6;
#endif
constexpr int kVectors = 32 / kLanes > 2 ? 2 : 32 / kLanes;  // of a row of the tile that stays in registers
constexpr int kColumns = kVectors * kLanes;
constexpr int64_t kDepth = 1024;  // sums of so many products of 8-bit integers are exact in single precision

typedef float Lanes __attribute__((vector_size(kLanes * 4), aligned(4)));

inline Lanes FusedMultiplyAdd(float a, Lanes b, Lanes c) {
#if defined(__clang__) && __has_builtin(__builtin_elementwise_fma)
    Lanes spread = a - Lanes{};
    return __builtin_elementwise_fma(spread, b, c);
#else
    Lanes r;
    for (int i = 0; i < kLanes; ++i) r[i] = __builtin_fmaf(a, b[i], c[i]);
    return r;
#endif
}

inline Lanes Load(const float* from) {
    Lanes v;
    memcpy(&v, from, sizeof v);
    return v;
}

// Where the vectors of a row begin, one after the other, and where the next row begins.
struct Layout {
    int64_t row;
    int64_t vector;
};

// `rows` rows and kVectors vectors of c stay in registers while p runs.
template <int rows, int vectors>
void Tile(float* c, Layout lc, const float* a, int64_t lda, const float* b, Layout lb, int64_t k) {
    Lanes sum[rows][vectors];
    for (int i = 0; i < rows; ++i) {
        for (int v = 0; v < vectors; ++v) sum[i][v] = Load(c + i * lc.row + v * lc.vector);
    }
    for (int64_t p = 0; p < k; ++p) {
        Lanes right[vectors];
        for (int v = 0; v < vectors; ++v) right[v] = Load(b + p * lb.row + v * lb.vector);
        for (int i = 0; i < rows; ++i) {
            float left = a[i * lda + p];
            for (int v = 0; v < vectors; ++v) sum[i][v] = FusedMultiplyAdd(left, right[v], sum[i][v]);
        }
    }
    for (int i = 0; i < rows; ++i) {
        for (int v = 0; v < vectors; ++v) memcpy(c + i * lc.row + v * lc.vector, &sum[i][v], sizeof(Lanes));
    }
}

template <int vectors, int rows = kRows>
void Strip(float* c, Layout lc, const float* a, int64_t lda, const float* b, Layout lb, int64_t m, int64_t k) {
    while (m >= rows) {
        Tile<rows, vectors>(c, lc, a, lda, b, lb, k);
        c += rows * lc.row;
        a += rows * lda;
        m -= rows;
    }
    if constexpr (rows > 1) {
        if (m > 0) Strip<vectors, rows / 2>(c, lc, a, lda, b, lb, m, k);
    }
}

int32_t SaturatingAdd(int32_t a, int32_t b) {
    int64_t sum = static_cast<int64_t>(a) + b;
    return static_cast<int32_t>(std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX));
}

}  // namespace

void MultiplyAccumulate(float* c, int64_t ldc, const float* a, int64_t lda, const float* b, int64_t ldb, int64_t m,
                        int64_t n, int64_t k) {
    int64_t j = 0;
    for (; j + kColumns <= n; j += kColumns) Strip<kVectors>(c + j, {ldc, kLanes}, a, lda, b + j, {ldb, kLanes}, m, k);
    for (; j + kLanes <= n; j += kLanes) Strip<1>(c + j, {ldc, kLanes}, a, lda, b + j, {ldb, kLanes}, m, k);
    if (j == n) return;
    for (int64_t i = 0; i < m; ++i) {
        for (int64_t p = 0; p < k; ++p) {
            for (int64_t q = j; q < n; ++q)
                c[i * ldc + q] = __builtin_fmaf(a[i * lda + p], b[p * ldb + q], c[i * ldc + q]);
        }
    }
}

void MultiplyPanels(float* c, int64_t panel_c, const float* a, int64_t lda, const float* b, int64_t panel_b, int64_t m,
                    int64_t n, int64_t k) {
    int64_t panels = (n + 15) / 16, panel = 0;
    if constexpr (kLanes == 16) {
        for (; panel + kVectors <= panels; panel += kVectors) {
            Strip<kVectors>(c + panel * panel_c, {16, panel_c}, a, lda, b + panel * panel_b, {16, panel_b}, m, k);
        }
    }
    for (; panel < panels; ++panel) {
        Strip<16 / kLanes>(c + panel * panel_c, {16, kLanes}, a, lda, b + panel * panel_b, {16, kLanes}, m, k);
    }
}

void MultiplyAccumulateInteger(int32_t* c, int64_t ldc, const float* a, int64_t lda, const float* b, int64_t ldb,
                               int64_t m, int64_t n, int64_t k) {
    constexpr int64_t kBlock = 64;
    alignas(64) float sum[kBlock * kBlock];
    for (int64_t i = 0; i < m; i += kBlock) {
        for (int64_t j = 0; j < n; j += kBlock) {
            int64_t rows = std::min(kBlock, m - i), columns = std::min(kBlock, n - j);
            for (int64_t p = 0; p < k; p += kDepth) {
                memset(sum, 0, sizeof sum);
                MultiplyAccumulate(sum, kBlock, a + i * lda + p, lda, b + p * ldb + j, ldb, rows, columns,
                                   std::min(kDepth, k - p));
                for (int64_t r = 0; r < rows; ++r) {
                    int32_t* row = c + (i + r) * ldc + j;
                    for (int64_t q = 0; q < columns; ++q)
                        row[q] = SaturatingAdd(row[q], static_cast<int32_t>(sum[r * kBlock + q]));
                }
            }
        }
    }
}

float ToHf32(float value, bool away) {
    uint32_t bits;
    memcpy(&bits, &value, 4);
    if ((bits & 0x7f800000u) == 0x7f800000u) return value;
    uint32_t half = away ? 0x800u : 0x7ffu + ((bits >> 12) & 1u);
    bits = (bits + half) & ~0xfffu;
    memcpy(&value, &bits, 4);
    return value;
}

}  // namespace twin
