// Products of matrices as the cube unit computes them: single precision sums, one product after the other along k.
#pragma once
#include <stdint.h>

namespace twin {

// Adds a product to a matrix: c[i][j] = fma(a[i][p], b[p][j], c[i][j]) for p = 0 … k - 1. Rows of c, a and b are `ldc`,
// `lda` and `ldb` elements apart. Products are not rounded before they are added, so that the result does not depend on
// how the host's compiler vectorises.
void MultiplyAccumulate(float* c, int64_t ldc, const float* a, int64_t lda, const float* b, int64_t ldb, int64_t m,
                        int64_t n, int64_t k);

// The same where columns of c and b come in panels of 16: element (i, j) of c lies at c[j / 16 * panel_c + i * 16 + j %
// 16], one of b at b[j / 16 * panel_b + p * 16 + j % 16]. Panels are whole: columns past n are computed, too.
void MultiplyPanels(float* c, int64_t panel_c, const float* a, int64_t lda, const float* b, int64_t panel_b, int64_t m,
                    int64_t n, int64_t k);

// The same for integers of at most 8 bits, which a and b hold as floats: sums of 1024 products are exact, and are added
// to c with saturation.
void MultiplyAccumulateInteger(int32_t* c, int64_t ldc, const float* a, int64_t lda, const float* b, int64_t ldb,
                               int64_t m, int64_t n, int64_t k);

// Single precision cut to the 11 bits of fraction that HF32 has: to nearest, ties to even or away from zero.
float ToHf32(float value, bool away);

}  // namespace twin
