// Normalisation, in float whatever the element type, row by row. Shapes come from the tiling or the parameters of the
// call; columns between the original length and the padded one are computed but do not count.
#include "../../include/twin/library/normalization.h"
#include "library/rows.h"

namespace twin {
namespace {

using npukb::BufferView;
using npukb::DType;

// Rows of `length` elements that count, `padded` apart.
struct Grid {
    int64_t rows;
    int64_t length;
    int64_t padded;
};

Grid GridOf(const Library& call, uint64_t rows, uint64_t length, uint64_t padded, uint32_t element_bytes) {
    if (length == 0) length = padded;
    if (rows == 0 || padded == 0 || length > padded) {
        call.core().Violate("bad_shape", call.pc(), "Fill the tiling with the host's tiling function.",
                            "%s: %llu rows of %llu elements, %llu with padding, are no shape", call.name(),
                            static_cast<unsigned long long>(rows), static_cast<unsigned long long>(length),
                            static_cast<unsigned long long>(padded));
    }
    CheckRow(call, static_cast<int64_t>(padded), element_bytes, "a row");
    return {static_cast<int64_t>(rows), static_cast<int64_t>(length), static_cast<int64_t>(padded)};
}

// Of a tiling whose rows are b by s, of h elements.
template <typename Tiling>
Grid GridOf(const Library& call, const Tiling& t, uint32_t element_bytes) {
    return GridOf(call, static_cast<uint64_t>(t.bLength) * t.sLength, t.originalHLength, t.hLength, element_bytes);
}

void CheckBasic(const Library& call, bool wanted, int64_t rows, int64_t length, int64_t longest) {
    if (!wanted || (rows % 8 == 0 && length % 64 == 0 && length <= longest)) return;
    call.core().Violate(
        "bad_shape", call.pc(), "Leave isBasicBlock at false.",
        "%s: %lld rows of %lld elements are no basic block (rows a multiple of 8, length a multiple of 64 up to "
        "%lld)",
        call.name(), static_cast<long long>(rows), static_cast<long long>(length), static_cast<long long>(longest));
}

// An argument of the elements' type.
float ScalarOf(uint32_t element_bytes, const void* scalar) {
    float value = 0;
    WithFloat(element_bytes, [&](auto element) {
        memcpy(&element, scalar, sizeof element);
        value = ToFloat(element);
    });
    return value;
}

float MeanOf(float* scratch, const float* row, int64_t n) {
    float share = 1.0f / static_cast<float>(n);
    for (int64_t i = 0; i < n; ++i) scratch[i] = row[i] * share;
    return RowSum(scratch, n);
}

// Leaves the deviations from the mean in `row`.
float VarianceOf(float* scratch, float* row, int64_t n, int64_t padded, float mean) {
    float share = 1.0f / static_cast<float>(n);
    for (int64_t i = 0; i < padded; ++i) row[i] = row[i] - mean;
    for (int64_t i = 0; i < n; ++i) scratch[i] = row[i] * row[i] * share;
    return RowSum(scratch, n);
}

// 1/sqrt as LayerNorm is documented to compute it.
float RsqrtByExp(float x) { return ExpFloat(LnFloat(x) * -0.5f); }

void ScaleAndShift(float* row, int64_t n, float rstd, const float* gamma, const float* beta) {
    for (int64_t i = 0; i < n; ++i) row[i] = row[i] * rstd;
    if (gamma != nullptr) {
        for (int64_t i = 0; i < n; ++i) row[i] = row[i] * gamma[i];
    }
    if (beta != nullptr) {
        for (int64_t i = 0; i < n; ++i) row[i] = row[i] + beta[i];
    }
}

struct NormOperands {
    const BufferView *dst, *mean, *variance, *x, *gx, *gamma, *beta;
};

// LayerNorm, and DeepNorm when there is `gx`: then the row is alpha · x + gx.
template <typename T>
void RunLayerNorm(const Library& call, const Grid& g, const NormOperands& o, float alpha, float epsilon) {
    const T* x = call.Read<T>(o.x, Area(g.rows, g.padded), o.gx ? "srcLocal" : "inputX");
    const T* gx = o.gx ? call.Read<T>(o.gx, Area(g.rows, g.padded), "gxLocal") : nullptr;
    const T *gamma = call.Read<T>(o.gamma, g.padded, "gamma"), *beta = call.Read<T>(o.beta, g.padded, "beta");
    T *mean = call.Write<T>(o.mean, g.rows, "outputMean"),
      *variance = call.Write<T>(o.variance, g.rows, "outputVariance");
    T* dst = call.Write<T>(o.dst, Area(g.rows, g.padded), "output");
    Rows rows(g.padded, 4);
    LoadRow(rows[2], gamma, g.padded);
    LoadRow(rows[3], beta, g.padded);
    for (int64_t r = 0; r < g.rows; ++r) {
        float* row = rows[0];
        LoadRow(row, x + r * g.padded, g.padded);
        if (gx != nullptr) {
            for (int64_t i = 0; i < g.padded; ++i) row[i] = row[i] * alpha + ToFloat(gx[r * g.padded + i]);
        }
        float m = MeanOf(rows[1], row, g.length);
        float v = VarianceOf(rows[1], row, g.length, g.padded, m);
        ScaleAndShift(row, g.padded, RsqrtByExp(v + epsilon), rows[2], rows[3]);
        mean[r] = static_cast<T>(m);
        variance[r] = static_cast<T>(v);
        StoreRow(dst + r * g.padded, row, g.padded);
    }
}

// LayerNorm that gives 1/sqrt(variance + epsilon), and Normalize, which is given the moments.
template <typename T, typename U>
void RunNormalize(const Library& call, const Grid& g, uint32_t flags, const NormOperands& o, const BufferView* rstd,
                  float epsilon) {
    bool given = (flags & 4) != 0;
    const T* x = call.Read<T>(o.x, Area(g.rows, g.padded), "inputX");
    const U* gamma = (flags & 2) ? nullptr : call.Read<U>(o.gamma, g.length, "gamma");
    const U* beta = (flags & 1) ? nullptr : call.Read<U>(o.beta, g.length, "beta");
    const float* in_mean = given ? call.Read<float>(o.mean, g.rows, "inputMean") : nullptr;
    const float* in_variance = given ? call.Read<float>(o.variance, g.rows, "inputVariance") : nullptr;
    float* out_mean = given ? nullptr : call.Write<float>(o.mean, g.rows, "outputMean");
    float* out_rstd = call.Write<float>(rstd, g.rows, given ? "outputRstd" : "output1");
    T* dst = call.Write<T>(o.dst, Area(g.rows, g.padded), "output");
    Rows rows(g.padded, 4);
    if (gamma != nullptr) LoadRow(rows[2], gamma, g.length);
    if (beta != nullptr) LoadRow(rows[3], beta, g.length);
    for (int64_t r = 0; r < g.rows; ++r) {
        float* row = rows[0];
        LoadRow(row, x + r * g.padded, g.padded);
        float m = given ? in_mean[r] : MeanOf(rows[1], row, g.length);
        float v = VarianceOf(rows[1], row, g.length, g.padded, m);
        float s = RsqrtFloat((given ? in_variance[r] : v) + epsilon);
        ScaleAndShift(row, g.length, s, gamma ? rows[2] : nullptr, beta ? rows[3] : nullptr);
        if (!given) out_mean[r] = m;
        out_rstd[r] = s;
        StoreRow(dst + r * g.padded, row, g.length);
    }
}

struct GradOperands {
    const BufferView *pd_x, *for_gamma, *dy, *x, *variance, *mean, *gamma;
};

template <typename T>
void RunLayerNormGrad(const Library& call, const Grid& g, const GradOperands& o, float epsilon) {
    int64_t n = Area(g.rows, g.padded);
    const T* dy = call.Read<T>(o.dy, n, "inputDy");
    const T* x = call.Read<T>(o.x, n, "inputX");
    const T* variance = call.Read<T>(o.variance, g.rows, "inputVariance");
    const T* mean = call.Read<T>(o.mean, g.rows, "inputMean");
    const T* gamma = call.Read<T>(o.gamma, g.padded, "inputGamma");
    T* pd_x = call.Write<T>(o.pd_x, n, "outputPdX");
    T* for_gamma = call.Write<T>(o.for_gamma, n, "resForGamma");
    Rows rows(g.padded, 4);
    LoadRow(rows[3], gamma, g.padded);
    float share = 1.0f / static_cast<float>(g.length);
    for (int64_t r = 0; r < g.rows; ++r) {
        float *x1 = rows[0], *x2 = rows[1], *work = rows[2];
        float m = ToFloat(mean[r]);
        float root = __builtin_sqrtf(ToFloat(variance[r]) + epsilon);
        float rstd = 1.0f / root;
        float cube = rstd / (ToFloat(variance[r]) + epsilon);
        for (int64_t i = 0; i < g.padded; ++i) x1[i] = ToFloat(dy[r * g.padded + i]) * rows[3][i];
        for (int64_t i = 0; i < g.padded; ++i) x2[i] = ToFloat(x[r * g.padded + i]) - m;
        for (int64_t i = 0; i < g.length; ++i) work[i] = -0.5f * x1[i] * x2[i] * cube;
        float pd_var = RowSum(work, g.length);
        for (int64_t i = 0; i < g.length; ++i) work[i] = -1.0f * x1[i] * rstd;
        float pd_mean = RowSum(work, g.length);
        for (int64_t i = 0; i < g.length; ++i) work[i] = -2.0f * x2[i];
        pd_mean = pd_mean + pd_var * share * RowSum(work, g.length);
        float twice = pd_var * (2.0f * share), constant = pd_mean * share;
        for (int64_t i = 0; i < g.padded; ++i) work[i] = x1[i] * rstd + twice * x2[i] + constant;
        for (int64_t i = 0; i < g.padded; ++i) x2[i] = x2[i] * rstd;
        StoreRow(pd_x + r * g.padded, work, g.padded);
        StoreRow(for_gamma + r * g.padded, x2, g.padded);
    }
}

template <typename T>
void RunGradBeta(const Library& call, const Grid& g, const BufferView* pd_gamma, const BufferView* pd_beta,
                 const BufferView* for_gamma, const BufferView* dy) {
    const T* res = call.Read<T>(for_gamma, Area(g.rows, g.padded), "resForGamma");
    const T* grad = call.Read<T>(dy, Area(g.rows, g.padded), "inputDy");
    T* out_gamma = call.Write<T>(pd_gamma, g.padded, "outputPdGamma");
    T* out_beta = call.Write<T>(pd_beta, g.padded, "outputPdBeta");
    Rows rows(g.padded, 2);
    for (int64_t i = 0; i < g.padded; ++i) rows[0][i] = rows[1][i] = 0;
    for (int64_t r = 0; r < g.rows; ++r) {
        for (int64_t i = 0; i < g.padded; ++i) {
            float d = ToFloat(grad[r * g.padded + i]);
            rows[0][i] += d * ToFloat(res[r * g.padded + i]);
            rows[1][i] += d;
        }
    }
    StoreRow(out_gamma, rows[0], g.padded);
    StoreRow(out_beta, rows[1], g.padded);
}

template <typename T>
void RunRmsNorm(const Library& call, const Grid& g, const BufferView* dst, const BufferView* src,
                const BufferView* gamma, float epsilon) {
    const T* x = call.Read<T>(src, Area(g.rows, g.padded), "srcLocal");
    const T* scale = call.Read<T>(gamma, g.padded, "gammaLocal");
    T* out = call.Write<T>(dst, Area(g.rows, g.padded), "dstLocal");
    Rows rows(g.padded, 3);
    LoadRow(rows[2], scale, g.padded);
    float share = 1.0f / static_cast<float>(g.length);
    for (int64_t r = 0; r < g.rows; ++r) {
        float *row = rows[0], *square = rows[1];
        LoadRow(row, x + r * g.padded, g.padded);
        for (int64_t i = 0; i < g.length; ++i) square[i] = row[i] * row[i];
        float root = __builtin_sqrtf(RowSum(square, g.length) * share + epsilon);
        for (int64_t i = 0; i < g.padded; ++i) row[i] = row[i] / root * rows[2][i];
        StoreRow(out + r * g.padded, row, g.padded);
    }
}

// Moments over the first axis; gamma and beta belong to its elements, as documented.
template <typename T>
void RunBatchNorm(const Library& call, const Grid& g, const NormOperands& o, float epsilon) {
    const T* x = call.Read<T>(o.x, Area(g.rows, g.padded), "inputX");
    const T *gamma = call.Read<T>(o.gamma, g.rows, "gamm"), *beta = call.Read<T>(o.beta, g.rows, "beta");
    T *mean = call.Write<T>(o.mean, g.padded, "outputMean"),
      *variance = call.Write<T>(o.variance, g.padded, "outputVariance");
    T* dst = call.Write<T>(o.dst, Area(g.rows, g.padded), "output");
    Rows rows(g.padded, 2);
    float *m = rows[0], *v = rows[1];
    float share = 1.0f / static_cast<float>(g.rows);
    for (int64_t i = 0; i < g.padded; ++i) m[i] = v[i] = 0;
    for (int64_t r = 0; r < g.rows; ++r) {
        for (int64_t i = 0; i < g.padded; ++i) m[i] += ToFloat(x[r * g.padded + i]) * share;
    }
    for (int64_t r = 0; r < g.rows; ++r) {
        for (int64_t i = 0; i < g.padded; ++i) {
            float d = ToFloat(x[r * g.padded + i]) - m[i];
            v[i] += d * d * share;
        }
    }
    StoreRow(variance, v, g.padded);
    for (int64_t i = 0; i < g.padded; ++i) v[i] = RsqrtByExp(v[i] + epsilon);
    for (int64_t r = 0; r < g.rows; ++r) {
        float scale = ToFloat(gamma[r]), shift = ToFloat(beta[r]);
        for (int64_t i = 0; i < g.padded; ++i) {
            dst[r * g.padded + i] = static_cast<T>((ToFloat(x[r * g.padded + i]) - m[i]) * v[i] * scale + shift);
        }
    }
    StoreRow(mean, m, g.padded);
}

template <typename T>
void RunGroupNorm(const Library& call, const GroupNormTiling& t, const NormOperands& o, float epsilon) {
    int64_t hw = t.hw, padded = t.hwAlignSize, channels = t.c, groups = t.g, depth = channels / groups;
    int64_t n = Area(Area(t.n, channels), padded);
    const T* x = call.Read<T>(o.x, n, "inputX");
    const T *gamma = call.Read<T>(o.gamma, channels, "gamma"), *beta = call.Read<T>(o.beta, channels, "beta");
    T *mean = call.Write<T>(o.mean, Area(t.n, groups), "outputMean"),
      *variance = call.Write<T>(o.variance, Area(t.n, groups), "outputVariance");
    T* dst = call.Write<T>(o.dst, n, "output");
    Rows rows(depth * hw, 2);
    for (int64_t group = 0; group < t.n * groups; ++group) {
        const T* from = x + group * depth * padded;
        float* row = rows[0];
        for (int64_t c = 0; c < depth; ++c) LoadRow(row + c * hw, from + c * padded, hw);
        float m = MeanOf(rows[1], row, depth * hw);
        float v = VarianceOf(rows[1], row, depth * hw, depth * hw, m);
        float rstd = RsqrtByExp(v + epsilon);
        mean[group] = static_cast<T>(m);
        variance[group] = static_cast<T>(v);
        for (int64_t c = 0; c < depth; ++c) {
            int64_t channel = group % groups * depth + c;
            float scale = ToFloat(gamma[channel]), shift = ToFloat(beta[channel]);
            for (int64_t i = 0; i < hw; ++i) row[c * hw + i] = row[c * hw + i] * rstd * scale + shift;
            StoreRow(dst + (group * depth + c) * padded, row + c * hw, hw);
        }
    }
}

template <typename T>
void RunWelfordUpdate(const Library& call, const AscendC::WelfordUpdateParam& p, bool in_place, const NormOperands& in,
                      const BufferView* out_mean, const BufferView* out_variance) {
    int64_t n = p.abComputeLength;
    int64_t moved = in_place ? p.abLength : n;
    const T* x = call.Read<T>(in.x, n, "inputX");
    const float* mean = call.Read<float>(in.mean, moved, "inputMean");
    const float* variance = call.Read<float>(in.variance, moved, "inputVariance");
    float* to_mean = call.Write<float>(out_mean, moved, "outputMean");
    float* to_variance = call.Write<float>(out_variance, moved, "outputVariance");
    for (int64_t i = 0; i < n; ++i) {
        float value = ToFloat(x[i]);
        float delta = value - mean[i];
        float next = mean[i] + delta * p.nRec;
        to_variance[i] = variance[i] + delta * (value - next);
        to_mean[i] = next;
    }
    for (int64_t i = n; i < moved; ++i) {
        to_mean[i] = mean[i];
        to_variance[i] = variance[i];
    }
}

void Cost(const Library& call, int64_t elements, double passes, uint32_t element_bytes) {
    call.Charge(DType::F32, elements, passes + (element_bytes == 2 ? 2 : 0));
}

}  // namespace
}  // namespace twin

using namespace twin;

extern "C" {

void npukb_layer_norm(uint32_t element_bytes, const BufferView* dst, const BufferView* mean, const BufferView* variance,
                      const BufferView* x, const BufferView* gamma, const BufferView* beta, const BufferView* tmp,
                      const void* epsilon, const LayerNormTiling* t) {
    Library call("LayerNorm", NPUKB_PC);
    Grid g = GridOf(call, *t, element_bytes);
    call.ScratchFor(tmp, 0);
    NormOperands o{dst, mean, variance, x, nullptr, gamma, beta};
    WithFloat(element_bytes,
              [&](auto zero) { RunLayerNorm<decltype(zero)>(call, g, o, 0, ScalarOf(element_bytes, epsilon)); });
    Cost(call, g.rows * g.padded, 13, element_bytes);
}

void npukb_deep_norm(uint32_t element_bytes, uint32_t basic, const BufferView* dst, const BufferView* mean,
                     const BufferView* variance, const BufferView* x, const BufferView* gx, const BufferView* beta,
                     const BufferView* gamma, const BufferView* tmp, const void* alpha, const void* epsilon,
                     const DeepNormTiling* t) {
    Library call("DeepNorm", NPUKB_PC);
    Grid g = GridOf(call, *t, element_bytes);
    CheckBasic(call, basic != 0, g.rows, g.padded, 2040);
    if (g.padded > 2040) {
        call.core().Violate("bad_shape", call.pc(), "Split rows over 2040 elements.",
                            "DeepNorm: rows have %lld elements", static_cast<long long>(g.padded));
    }
    call.ScratchFor(tmp, 0);
    NormOperands o{dst, mean, variance, x, gx, gamma, beta};
    WithFloat(element_bytes, [&](auto zero) {
        RunLayerNorm<decltype(zero)>(call, g, o, ScalarOf(element_bytes, alpha), ScalarOf(element_bytes, epsilon));
    });
    Cost(call, g.rows * g.padded, 15, element_bytes);
}

void npukb_normalize(uint32_t types, uint32_t flags, const BufferView* dst, const BufferView* rstd,
                     const BufferView* mean, const BufferView* variance, const BufferView* x, const BufferView* gamma,
                     const BufferView* beta, const BufferView* tmp, float epsilon, uint32_t rows, uint32_t length,
                     uint32_t padded) {
    Library call(flags & 4 ? "Normalize" : "LayerNorm", NPUKB_PC);
    uint32_t element_bytes = types & 0xff;
    Grid g = GridOf(call, rows, length, padded, element_bytes);
    call.ScratchFor(tmp, 0);
    NormOperands o{dst, mean, variance, x, nullptr, gamma, beta};
    if (element_bytes == 4)
        RunNormalize<float, float>(call, g, flags, o, rstd, epsilon);
    else if (types >> 8 == 4)
        RunNormalize<half, float>(call, g, flags, o, rstd, epsilon);
    else
        RunNormalize<half, half>(call, g, flags, o, rstd, epsilon);
    Cost(call, g.rows * g.padded, flags & 4 ? 4 : 11, element_bytes);
}

void npukb_layer_norm_grad(uint32_t element_bytes, const BufferView* pd_x, const BufferView* for_gamma,
                           const BufferView* dy, const BufferView* x, const BufferView* variance,
                           const BufferView* mean, const BufferView* gamma, const BufferView* tmp, const void* epsilon,
                           const LayerNormGradTiling* t) {
    Library call("LayerNormGrad", NPUKB_PC);
    Grid g = GridOf(call, *t, element_bytes);
    call.ScratchFor(tmp, 0);
    GradOperands o{pd_x, for_gamma, dy, x, variance, mean, gamma};
    WithFloat(element_bytes,
              [&](auto zero) { RunLayerNormGrad<decltype(zero)>(call, g, o, ScalarOf(element_bytes, epsilon)); });
    Cost(call, g.rows * g.padded, 24, element_bytes);
}

void npukb_layer_norm_grad_beta(uint32_t element_bytes, const BufferView* pd_gamma, const BufferView* pd_beta,
                                const BufferView* for_gamma, const BufferView* dy, const BufferView* tmp,
                                const LayerNormGradBetaTiling* t) {
    Library call("LayerNormGradBeta", NPUKB_PC);
    Grid g = GridOf(call, *t, element_bytes);
    call.ScratchFor(tmp, 0);
    WithFloat(element_bytes,
              [&](auto zero) { RunGradBeta<decltype(zero)>(call, g, pd_gamma, pd_beta, for_gamma, dy); });
    Cost(call, g.rows * g.padded, 3, element_bytes);
}

void npukb_rms_norm(uint32_t element_bytes, uint32_t basic, const BufferView* dst, const BufferView* src,
                    const BufferView* gamma, const BufferView* tmp, const void* epsilon, const RmsNormTiling* t) {
    Library call("RmsNorm", NPUKB_PC);
    Grid g = GridOf(call, *t, element_bytes);
    CheckBasic(call, basic != 0, g.rows, g.padded, 2047);
    call.ScratchFor(tmp, 0);
    WithFloat(element_bytes, [&](auto zero) {
        RunRmsNorm<decltype(zero)>(call, g, dst, src, gamma, ScalarOf(element_bytes, epsilon));
    });
    Cost(call, g.rows * g.padded, 7, element_bytes);
}

void npukb_batch_norm(uint32_t element_bytes, uint32_t basic, const BufferView* dst, const BufferView* mean,
                      const BufferView* variance, const BufferView* x, const BufferView* gamma, const BufferView* beta,
                      const BufferView* tmp, const void* epsilon, const BatchNormTiling* t) {
    Library call("BatchNorm", NPUKB_PC);
    Grid g = GridOf(call, t->originalBLength, t->meanVarSize, t->meanVarSize, element_bytes);
    CheckBasic(call, basic != 0, g.rows, g.padded, 2047);
    call.ScratchFor(tmp, 0);
    NormOperands o{dst, mean, variance, x, nullptr, gamma, beta};
    WithFloat(element_bytes,
              [&](auto zero) { RunBatchNorm<decltype(zero)>(call, g, o, ScalarOf(element_bytes, epsilon)); });
    Cost(call, g.rows * g.padded, 9, element_bytes);
}

void npukb_group_norm(uint32_t element_bytes, const BufferView* dst, const BufferView* mean, const BufferView* variance,
                      const BufferView* x, const BufferView* gamma, const BufferView* beta, const BufferView* tmp,
                      const void* epsilon, const GroupNormTiling* t) {
    Library call("GroupNorm", NPUKB_PC);
    Grid g = GridOf(call, static_cast<uint64_t>(t->n) * t->c, t->hw, t->hwAlignSize, element_bytes);
    if (t->g == 0 || t->c % t->g != 0) {
        call.core().Violate("bad_shape", call.pc(), "Choose a number of groups that divides the channels.",
                            "GroupNorm: %u channels in %u groups", t->c, t->g);
    }
    call.ScratchFor(tmp, 0);
    NormOperands o{dst, mean, variance, x, nullptr, gamma, beta};
    WithFloat(element_bytes,
              [&](auto zero) { RunGroupNorm<decltype(zero)>(call, *t, o, ScalarOf(element_bytes, epsilon)); });
    Cost(call, g.rows * g.padded, 13, element_bytes);
}

void npukb_welford_update(uint32_t element_bytes, uint32_t in_place, const BufferView* out_mean,
                          const BufferView* out_variance, const BufferView* in_mean, const BufferView* in_variance,
                          const BufferView* x, const BufferView* tmp, const AscendC::WelfordUpdateParam* p) {
    Library call("WelfordUpdate", NPUKB_PC);
    if (p->rnLength != 1 || p->abLength * element_bytes % 32 != 0 || p->abComputeLength == 0 ||
        p->abComputeLength > p->abLength) {
        call.core().Violate("bad_shape", call.pc(),
                            "Set rnLength to 1, abLength to whole blocks and compute up to abLength.",
                            "WelfordUpdate: rnLength is %u, abLength is %u and abComputeLength is %u", p->rnLength,
                            p->abLength, p->abComputeLength);
    }
    call.ScratchFor(tmp, 0);
    NormOperands in{nullptr, in_mean, in_variance, x, nullptr, nullptr, nullptr};
    WithFloat(element_bytes, [&](auto zero) {
        RunWelfordUpdate<decltype(zero)>(call, *p, in_place != 0, in, out_mean, out_variance);
    });
    Cost(call, p->abComputeLength, 6, element_bytes);
}

void npukb_welford_finalize(const BufferView* out_mean, const BufferView* out_variance, const BufferView* in_mean,
                            const BufferView* in_variance, const BufferView* counts, const BufferView* tmp,
                            const AscendC::WelfordFinalizePara* p) {
    Library call("WelfordFinalize", NPUKB_PC);
    int64_t n = p->abLength;
    bool parts = counts == nullptr && (p->headCountLength != 0 || p->tailCountLength != 0);
    if (n == 0 || n % 8 != 0 || (parts && p->headCountLength + p->tailCountLength != p->abLength) ||
        (p->tailCount == 0 && p->tailCountLength != 0)) {
        call.core().Violate("bad_shape", call.pc(), "Set abLength to whole blocks, divided into head and tail.",
                            "WelfordFinalize: abLength is %u, the head has %u and the tail %u elements of count %u",
                            p->abLength, p->headCountLength, p->tailCountLength, p->tailCount);
    }
    const float* mean = call.Read<float>(in_mean, n, "inputMean");
    const float* variance = call.Read<float>(in_variance, n, "inputVariance");
    const int32_t* weight = counts != nullptr ? call.Read<int32_t>(counts, n, "counts") : nullptr;
    float* to_mean = call.Write<float>(out_mean, 1, "outputMean");
    float* to_variance = call.Write<float>(out_variance, 1, "outputVariance");
    call.ScratchFor(tmp, 0);
    Rows rows(n, 2);
    float *work = rows[0], *count = rows[1];
    bool weighted = weight != nullptr || (parts && p->tailCountLength != 0);
    for (int64_t i = 0; i < n; ++i) {
        if (weight != nullptr)
            count[i] = static_cast<float>(weight[i]);
        else if (weighted)
            count[i] = static_cast<float>(i < p->headCountLength ? p->headCount : p->tailCount);
        else
            count[i] = static_cast<float>(p->rnLength);
    }
    for (int64_t i = 0; i < n; ++i) work[i] = weighted ? mean[i] * count[i] * p->rRec : mean[i] * p->abRec;
    float m = RowSum(work, n);
    for (int64_t i = 0; i < n; ++i) work[i] = ((mean[i] - m) * (mean[i] - m) * count[i] + variance[i]) * p->rRec;
    *to_variance = RowSum(work, n);
    *to_mean = m;
    call.Charge(DType::F32, n, 9);
}

}  // extern "C"
