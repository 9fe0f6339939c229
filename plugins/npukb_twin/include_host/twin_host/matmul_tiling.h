// Tiling of matrix multiplication (namespace matmul_tiling): how a multiplication is cut over cores and, inside a core,
// into the base blocks of one Mmad. The search is the twin's own; what it returns keeps the documented rules of
// TCubeTiling.
#pragma once
#include "twin_host/tiling_api.h"

namespace matmul_tiling {

// Numbered as ge::DataType: code casts the one to the other.
enum class DataType : int32_t {
#define NPUKB_DTYPE(name, value, bits) name = value,
#include "twin_host/dtypes.def"
#undef NPUKB_DTYPE
    DT_BFLOAT16 = DT_BF16,
    DT_MAX = 42
};
enum class TPosition : int32_t {
#define NPUKB_POSITION(name) name,
#define NPUKB_POSITION_AS(other, name) other = name,
#include "../../include/twin/positions.def"
#undef NPUKB_POSITION
#undef NPUKB_POSITION_AS
    MAX
};
enum class CubeFormat : int32_t { ND = 0, NZ, ZN, ZZ, NN, ND_ALIGN, SCALAR, VECTOR };
enum class MatrixTraverse : int32_t { NOSET = 0, FIRSTM = 1, FIRSTN = 2 };
enum class MatrixMadType : int32_t { NORMAL = 0, HF32 = 1 };
enum class ScheduleType : int32_t { INNER_PRODUCT = 0, OUTER_PRODUCT = 1, N_BUFFER_33 = 2 };
enum class DequantType : int32_t { SCALAR = 0, TENSOR = 1 };

struct PlatformInfo {
    platform_ascendc::SocVersion socVersion;
    uint64_t l1Size = 0, l0CSize = 0, ubSize = 0, l0ASize = 0, l0BSize = 0;
};

struct MatmulConfigParams {
    int32_t mmConfigType;
    bool enableL1CacheUB;
    ScheduleType scheduleType;
    MatrixTraverse traverse;
    bool enVecND2NZ;
    MatmulConfigParams(int32_t config = 1, bool cache = false, ScheduleType schedule = ScheduleType::INNER_PRODUCT,
                       MatrixTraverse order = MatrixTraverse::NOSET, bool vector = false)
        : mmConfigType(config), enableL1CacheUB(cache), scheduleType(schedule), traverse(order), enVecND2NZ(vector) {}
};

struct SysTilingTempBufSize {
    int32_t ubSize = 0, l1Size = 0, l0cSize = 0;
};

}  // namespace matmul_tiling

namespace npukb_host {

struct Matrix {
    matmul_tiling::TPosition position = matmul_tiling::TPosition::GM;
    matmul_tiling::CubeFormat format = matmul_tiling::CubeFormat::ND;
    matmul_tiling::DataType type = matmul_tiling::DataType::DT_FLOAT16;
    bool transposed = false;
};

// Sizes along the three axes; -1 is not told.
struct Extent {
    int32_t m = -1, n = -1, k = -1;
};

// What a tiling object was told.
struct MatmulProblem {
    Matrix a, b, c, bias;
    bool has_bias = false;
    Extent shape, single, fixed_base, align, most_single, least_single, most_base, least_base;
    Extent org;
    int32_t org_kb = -1;
    int64_t l1 = 0, l0a = 0, l0b = 0, l0c = 0, bias_table = 0;
    int32_t cores = 1;
    bool split_k = false, hf32 = false;
    bool double_a = true, double_b = true;
    matmul_tiling::MatrixTraverse order = matmul_tiling::MatrixTraverse::NOSET;
    int32_t layout_a[5] = {}, layout_b[5] = {}, layout_c[5] = {};
    int32_t batches = 0;
};

// How many cores each axis is cut over, and how.
struct MatmulCut {
    int32_t m_cores = 1, n_cores = 1, k_cores = 1;
    AscendC::tiling::TCubeTiling tiling;
};

// False, with a line on stderr that says why, when there is no tiling that keeps all rules.
bool SolveMatmul(const MatmulProblem& problem, MatmulCut& cut);
int32_t MatmulSpace(const AscendC::tiling::TCubeTiling& tiling, matmul_tiling::SysTilingTempBufSize& size);
AscendC::tiling::TCubeTiling PlainCube(const optiling::TCubeTiling& tiling);

}  // namespace npukb_host

namespace matmul_tiling {

class MatmulApiTilingBase {
  public:
    MatmulApiTilingBase();
    explicit MatmulApiTilingBase(const platform_ascendc::PlatformAscendC& platform);
    explicit MatmulApiTilingBase(const PlatformInfo& platform);
    virtual ~MatmulApiTilingBase() = default;

    int32_t SetAType(TPosition pos, CubeFormat type, DataType dataType, bool isTrans = false) {
        return Put(problem_.a, pos, type, dataType, isTrans);
    }
    int32_t SetBType(TPosition pos, CubeFormat type, DataType dataType, bool isTrans = false) {
        return Put(problem_.b, pos, type, dataType, isTrans);
    }
    int32_t SetCType(TPosition pos, CubeFormat type, DataType dataType) {
        return Put(problem_.c, pos, type, dataType, false);
    }
    int32_t SetBiasType(TPosition pos, CubeFormat type, DataType dataType) {
        return Put(problem_.bias, pos, type, dataType, false);
    }
    virtual int32_t SetShape(int32_t m, int32_t n, int32_t k);
    int32_t SetOrgShape(int32_t orgMIn, int32_t orgNIn, int32_t orgKIn);
    int32_t SetOrgShape(int32_t orgMIn, int32_t orgNIn, int32_t orgKaIn, int32_t orgKbIn);
    int32_t SetSingleShape(int32_t singleMIn = -1, int32_t singleNIn = -1, int32_t singleKIn = -1);
    int32_t SetFixSplit(int32_t baseMIn = -1, int32_t baseNIn = -1, int32_t baseKIn = -1);
    int32_t SetBias(bool isBiasIn = false);
    int32_t EnableBias(bool isBiasIn = false) { return SetBias(isBiasIn); }
    int32_t SetBufferSpace(int32_t l1Size = -1, int32_t l0CSize = -1, int32_t ubSize = -1, int32_t btSize = -1);
    int32_t SetTraverse(MatrixTraverse traverse);
    int32_t SetMadType(MatrixMadType madType);
    int32_t SetSplitRange(int32_t maxBaseM = -1, int32_t maxBaseN = -1, int32_t maxBaseK = -1, int32_t minBaseM = -1,
                          int32_t minBaseN = -1, int32_t minBaseK = -1);
    int32_t SetDoubleBuffer(bool a, bool b, bool c, bool bias, bool transND2NZ = true, bool transNZ2ND = true);
    int32_t SetDequantType(DequantType dequantType);
    int32_t SetALayout(int32_t b, int32_t s, int32_t n, int32_t g, int32_t d);
    int32_t SetBLayout(int32_t b, int32_t s, int32_t n, int32_t g, int32_t d);
    int32_t SetCLayout(int32_t b, int32_t s, int32_t n, int32_t g, int32_t d);
    int32_t SetBatchNum(int32_t batch);
    int32_t SetBatchInfoForNormal(int32_t batchA, int32_t batchB, int32_t m, int32_t n, int32_t k);
    void SetMatmulConfigParams(int32_t mmConfigTypeIn = 1, bool enableL1CacheUBIn = false,
                               ScheduleType scheduleTypeIn = ScheduleType::INNER_PRODUCT,
                               MatrixTraverse traverseIn = MatrixTraverse::NOSET, bool enVecND2NZIn = false);
    void SetMatmulConfigParams(const MatmulConfigParams& configParams);

    int32_t GetBaseM() const { return cut_.tiling.baseM; }
    int32_t GetBaseN() const { return cut_.tiling.baseN; }
    int32_t GetBaseK() const { return cut_.tiling.baseK; }
    // -1 when there is no tiling.
    virtual int64_t GetTiling(optiling::TCubeTiling& tiling);
    virtual int64_t GetTiling(AscendC::tiling::TCubeTiling& tiling);

  protected:
    npukb_host::MatmulProblem problem_;
    npukb_host::MatmulCut cut_;

  private:
    static int32_t Put(npukb_host::Matrix& matrix, TPosition position, CubeFormat format, DataType type,
                       bool transposed);
};

// Of one core.
class MatmulApiTiling : public MatmulApiTilingBase {
  public:
    using MatmulApiTilingBase::MatmulApiTilingBase;
};

// Over SetDim cores.
class MultiCoreMatmulTiling : public MatmulApiTilingBase {
  public:
    using MatmulApiTilingBase::MatmulApiTilingBase;
    int32_t SetDim(int32_t dim);
    int32_t SetSingleRange(int32_t maxM = -1, int32_t maxN = -1, int32_t maxK = -1, int32_t minM = -1,
                           int32_t minN = -1, int32_t minK = -1);
    int32_t SetAlignSplit(int32_t alignM, int32_t alignN, int32_t alignK);
    void EnableMultiCoreSplitK(bool flag) { problem_.split_k = flag; }
    void SetSplitK(bool flag) { problem_.split_k = flag; }
    int32_t GetSingleShape(int32_t& shapeM, int32_t& shapeN, int32_t& shapeK);
    int32_t GetCoreNum(int32_t& dim, int32_t& mDim, int32_t& nDim);
};

// Over several multiplications of the same shape.
class BatchMatmulTiling : public MatmulApiTilingBase {
  public:
    using MatmulApiTilingBase::MatmulApiTilingBase;
    int32_t GetCoreNum(int32_t& dim, int32_t& mDim, int32_t& nDim, int32_t& batchCoreM, int32_t& batchCoreN);
};

}  // namespace matmul_tiling

// Space that a multiplication takes in the on-chip memories.
inline int32_t MatmulGetTmpBufSize(optiling::TCubeTiling& tiling, matmul_tiling::SysTilingTempBufSize& bufSize) {
    return npukb_host::MatmulSpace(npukb_host::PlainCube(tiling), bufSize);
}
#define NPUKB_MATMUL_SPACE(name)                                                                                  \
    inline int32_t name##V2(AscendC::tiling::TCubeTiling& tiling, matmul_tiling::SysTilingTempBufSize& bufSize) { \
        return npukb_host::MatmulSpace(tiling, bufSize);                                                          \
    }
NPUKB_MATMUL_SPACE(MatmulGetTmpBufSize)
NPUKB_MATMUL_SPACE(MultiCoreMatmulGetTmpBufSize)
NPUKB_MATMUL_SPACE(BatchMatmulGetTmpBufSize)
#undef NPUKB_MATMUL_SPACE
inline int32_t MultiCoreMatmulGetTmpBufSize(optiling::TCubeTiling& tiling,
                                            matmul_tiling::SysTilingTempBufSize& bufSize) {
    return MatmulGetTmpBufSize(tiling, bufSize);
}
inline int32_t BatchMatmulGetTmpBufSize(optiling::TCubeTiling& tiling, matmul_tiling::SysTilingTempBufSize& bufSize) {
    return MatmulGetTmpBufSize(tiling, bufSize);
}
