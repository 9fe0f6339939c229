// Objects that multiply matrices: Matmul, and what they are made of. An object only remembers what it was told; every
// computation is one call of the runtime.
#pragma once
#include "../entry.h"
#include "abi.h"
#include "../pipe.h"
#include "../tensor.h"

namespace AscendC {

using ::CubeFormat;
using ::GetBasicConfig;
using ::GetIBShareNormConfig;
using ::GetMDLConfig;
using ::GetMMConfig;
using ::GetNormalConfig;
using ::GetSpecialBasicConfig;
using ::GetSpecialMDLConfig;
using ::LayoutMode;
using ::MatmulApiStaticTiling;
using ::MatmulConfig;

template <TPosition POSITION, CubeFormat FORMAT, typename TYPE, bool ISTRANS = false,
          LayoutMode LAYOUT = LayoutMode::NONE, bool IBSHARE = false, TPosition SRCPOS = TPosition::GM>
struct MatmulType {
    constexpr static TPosition pos = POSITION;
    constexpr static CubeFormat format = FORMAT;
    using T = TYPE;
    constexpr static bool isTrans = ISTRANS;
    constexpr static LayoutMode layout = LAYOUT;
    constexpr static bool ibShare = IBSHARE;
    constexpr static TPosition srcPos = SRCPOS;
};

// Of a callback that moves results.
struct DataCopyOutParams {
    uint16_t cBurstNum;
    uint16_t burstLen;
    uint16_t srcStride;
    uint32_t dstStride;
    uint16_t oriNSize;
    bool enUnitFlag;
    uint64_t quantScalar;
    uint64_t cbufWorkspaceAddr;
};

template <void (*DataCopyOut)(const __gm__ void*, const LocalTensor<int8_t>&, const void*, const uint64_t,
                              const uint64_t) = nullptr,
          void (*CopyA1)(const LocalTensor<int8_t>&, const __gm__ void*, int, int, int, int, const uint64_t,
                         const uint64_t) = nullptr,
          void (*CopyB1)(const LocalTensor<int8_t>&, const __gm__ void*, int, int, int, int, const uint64_t,
                         const uint64_t) = nullptr>
struct MatmulCallBackFunc {
    constexpr static bool npukb_copy_out = DataCopyOut != nullptr, npukb_copy_a = CopyA1 != nullptr,
                          npukb_copy_b = CopyB1 != nullptr;
    template <typename... T>
    NPUKB_API static void npukb_bring_a(const T&... arguments) {
        CopyA1(arguments...);
    }
    template <typename... T>
    NPUKB_API static void npukb_bring_b(const T&... arguments) {
        CopyB1(arguments...);
    }
};

// All blocks of the result, or those of one triangle; how data are brought in does not change results.
template <const auto& MM_CFG, typename...>
struct MatmulPolicy {};
template <const auto& MM_CFG, typename...>
struct TrianUpperMatmulPolicy {};
template <const auto& MM_CFG, typename...>
struct TrianLowerMatmulPolicy {};
template <const auto& MM_CFG, typename...>
struct NBuffer33MatmulPolicy {};

}  // namespace AscendC

namespace npukb {

template <template <const auto&, typename...> class Policy>
inline constexpr MatmulTriangle kTriangle = MatmulTriangle::None;
template <>
inline constexpr MatmulTriangle kTriangle<AscendC::TrianUpperMatmulPolicy> = MatmulTriangle::Upper;
template <>
inline constexpr MatmulTriangle kTriangle<AscendC::TrianLowerMatmulPolicy> = MatmulTriangle::Lower;

// Gaps: names that unsupported_api.yaml lists, and that no header has as one word, are looked up where they are
// missing.
#define NPUKB_GAP(first, rest) first##rest
template <bool offered>
struct MatmulGap {
    static constexpr bool NPUKB_GAP(Matmul, CallBackFunctions) = true;
    static constexpr bool NPUKB_GAP(Matmul, OperandsInTSCM) = true;
};
template <>
struct MatmulGap<false> {};

constexpr MatmulConfig ConfigOf(const MatmulConfig& config) { return config; }
constexpr MatmulConfig ConfigOf(const MatmulApiStaticTiling& constant) { return constant.cfg; }
constexpr TCubeTiling ConstantOf(const MatmulApiStaticTiling& constant) { return constant; }
constexpr TCubeTiling ConstantOf(const MatmulConfig& config) {
    TCubeTiling t;
    t.baseM = static_cast<int32_t>(config.basicM);
    t.baseN = static_cast<int32_t>(config.basicN);
    t.baseK = static_cast<int32_t>(config.basicK);
    t.singleCoreM = static_cast<int32_t>(config.singleCoreM);
    t.singleCoreN = static_cast<int32_t>(config.singleCoreN);
    t.singleCoreK = static_cast<int32_t>(config.singleCoreK);
    return t;
}

template <typename A, typename B, typename C>
constexpr bool MatmulTypesFit() {
    using a = typename A::T;
    using c = typename C::T;
    if (!kSame<a, typename B::T>) return false;
    if (kSame<a, int8_t>) return kSame<c, int32_t> || kSame<c, half> || kSame<c, int8_t>;
    if (kSame<a, AscendC::int4b_t>) return kSame<c, int32_t> || kSame<c, half>;
    if (kSame<a, half> || kSame<a, bfloat16_t>)
        return kSame<c, float> || kSame<c, half> || kSame<c, bfloat16_t> || kSame<c, int8_t>;
    return kSame<a, float> && (kSame<c, float> || kSame<c, half> || kSame<c, bfloat16_t>);
}

#if defined(ASCENDC_CUBE_ONLY)
inline constexpr bool kCubeOnly = true;
#define NPUKB_MATMUL(name) npukb_cube_matmul_##name
#else
inline constexpr bool kCubeOnly = false;
#define NPUKB_MATMUL(name) npukb_matmul_##name
#endif

template <typename T>
NPUKB_API MatmulOperand OperandOf(const AscendC::GlobalTensor<T>& gm, bool transposed) {
    MatmulOperand operand{MatrixPlace::Global, transposed, {}, {}, 0};
    __builtin_memcpy(&operand.global, &gm, sizeof(GlobalView));
    return operand;
}
template <typename T>
NPUKB_API MatmulOperand OperandOf(const AscendC::LocalTensor<T>& local, bool transposed) {
    return {MatrixPlace::Local, transposed, {}, local.npukb_view, 0};
}
template <typename T>
NPUKB_API MatmulTarget TargetOf(const AscendC::GlobalTensor<T>& gm, uint8_t atomic, bool sequential) {
    return {reinterpret_cast<const GlobalView*>(&gm), nullptr, atomic, sequential};
}
template <typename T>
NPUKB_API MatmulTarget TargetOf(const AscendC::LocalTensor<T>& local, uint8_t atomic, bool sequential) {
    return {nullptr, &local.npukb_view, atomic, sequential};
}

}  // namespace npukb

namespace AscendC {

template <class A_TYPE, class B_TYPE, class C_TYPE, class BIAS_TYPE = C_TYPE, const auto& MM_CFG = CFG_NORM,
          class MM_CB = MatmulCallBackFunc<nullptr, nullptr, nullptr>,
          template <const auto&, typename...> class MATMUL_POLICY = MatmulPolicy,
          bool npukb_calls = MM_CB::npukb_copy_out || MM_CB::npukb_copy_a || MM_CB::npukb_copy_b>
class MatmulImpl {
  public:
    using AType = A_TYPE;
    using BType = B_TYPE;
    using CType = C_TYPE;
    using BiasType = BIAS_TYPE;
    using SrcAT = typename A_TYPE::T;
    using SrcBT = typename B_TYPE::T;
    using DstT = typename C_TYPE::T;
    using BiasT = typename BIAS_TYPE::T;
    static_assert(npukb::MatmulTypesFit<A_TYPE, B_TYPE, C_TYPE>(),
                  "Matmul: A and B have the same element type (half, bfloat16_t, float, int8_t, int4b_t); half, "
                  "bfloat16_t and float "
                  "give float, half or bfloat16_t (half and bfloat16_t also int8_t), int8_t gives int32_t, half or "
                  "int8_t, int4b_t "
                  "gives int32_t or half");
    static_assert(!npukb::ConfigOf(MM_CFG).intraBlockPartSum && !npukb::ConfigOf(MM_CFG).enableRelu &&
                      !npukb::ConfigOf(MM_CFG).isCO1Shared,
                  "MatmulConfig: intraBlockPartSum, enableRelu and isCO1Shared do not exist on this chip");
    static_assert(
        npukb::MatmulGap<npukb::kCubeOnly || (A_TYPE::pos != TPosition::TSCM && B_TYPE::pos != TPosition::TSCM &&
                                              C_TYPE::pos != TPosition::TSCM)>::NPUKB_GAP(Matmul, OperandsInTSCM));

    NPUKB_API MatmulImpl() : npukb_state{} {}
    NPUKB_API void Init(const TCubeTiling* cubeTiling, TPipe* /*tpipe*/ = nullptr) {
        NPUKB_MATMUL(init)(&npukb_state, &npukb_form, cubeTiling);
    }
    NPUKB_API void SetOrgShape(int orgM, int orgN, int orgK) { SetOrgShape(orgM, orgN, orgK, orgK); }
    NPUKB_API void SetOrgShape(int orgM, int orgN, int orgKa, int orgKb, int orgKc = 0) {
        npukb_state.org_m = orgM;
        npukb_state.org_n = orgN;
        npukb_state.org_ka = orgKa;
        npukb_state.org_kb = orgKb;
        npukb_state.org_c = orgKc;
    }
    NPUKB_API void SetSingleShape(int singleM, int singleN, int singleK) { SetTail(singleM, singleN, singleK); }
    NPUKB_API void SetTail(int tailM = -1, int tailN = -1, int tailK = -1) {
        if (tailM != -1) npukb_state.m = tailM;
        if (tailN != -1) npukb_state.n = tailN;
        if (tailK != -1) npukb_state.k = tailK;
    }
    NPUKB_API void SetTensorA(const GlobalTensor<SrcAT>& gm, bool isTransposeA = false) {
        Take(npukb_state.a, npukb::OperandOf(gm, isTransposeA));
    }
    NPUKB_API void SetTensorA(const LocalTensor<SrcAT>& leftMatrix, bool isTransposeA = false) {
        Take(npukb_state.a, npukb::OperandOf(leftMatrix, isTransposeA));
    }
    NPUKB_API void SetTensorA(SrcAT aScalar) { Take(npukb_state.a, ScalarOf(aScalar)); }
    NPUKB_API void SetTensorB(const GlobalTensor<SrcBT>& gm, bool isTransposeB = false) {
        Take(npukb_state.b, npukb::OperandOf(gm, isTransposeB));
    }
    NPUKB_API void SetTensorB(const LocalTensor<SrcBT>& rightMatrix, bool isTransposeB = false) {
        Take(npukb_state.b, npukb::OperandOf(rightMatrix, isTransposeB));
    }
    NPUKB_API void SetTensorB(SrcBT bScalar) { Take(npukb_state.b, ScalarOf(bScalar)); }
    NPUKB_API void SetBias(const GlobalTensor<BiasT>& biasGlobal) {
        npukb_state.bias = BiasOf(npukb::OperandOf(biasGlobal, false));
    }
    NPUKB_API void SetBias(const LocalTensor<BiasT>& inputBias) {
        npukb_state.bias = BiasOf(npukb::OperandOf(inputBias, false));
    }
    NPUKB_API void DisableBias() { npukb_state.bias.place = npukb::MatrixPlace::None; }
    NPUKB_API void ClearBias() { DisableBias(); }
    NPUKB_API void SetQuantScalar(const uint64_t quantScalar) {
        npukb_state.quant = {npukb::MatrixPlace::Scalar, false, {}, {}, quantScalar};
    }
    NPUKB_API void SetQuantVector(const GlobalTensor<uint64_t>& quantTensor) {
        npukb_state.quant = npukb::OperandOf(quantTensor, false);
    }
    NPUKB_API void SetQuantVector(const LocalTensor<uint64_t>& quantTensor) {
        npukb_state.quant = npukb::OperandOf(quantTensor, false);
    }
    NPUKB_API void SetHF32(bool enableHF32 = false, int32_t transMode = 0) {
        npukb_state.hf32 = enableHF32;
        npukb_state.hf32_away = transMode == 1;
    }
    // Needed by other chips; a core's number is known here.
    NPUKB_API void SetSubBlockIdx(uint8_t) {}
    NPUKB_API uint8_t GetSubBlockIdx() { return static_cast<uint8_t>(AscendC::GetSubBlockIdx()); }
    NPUKB_API void SetLocalWorkspace(const LocalTensor<uint8_t>&) {}
    template <class T>
    NPUKB_API void SetWorkspace(GlobalTensor<T>& addr) {
        __builtin_memcpy(&npukb_state.workspace, &addr, sizeof(npukb::GlobalView));
    }
    template <class T>
    NPUKB_API void SetWorkspace(__gm__ const T* addr, int size) {
        npukb_state.workspace = {const_cast<T*>(addr), static_cast<uint64_t>(size), addr};
    }
    NPUKB_API void SetUserDefInfo(const uint64_t tilingPtr) { npukb_state.user_tiling = tilingPtr; }
    NPUKB_API void SetSelfDefineData(const uint64_t dataPtr) { npukb_state.user_data = dataPtr; }
    NPUKB_API void SetBatchNum(int32_t batchA, int32_t batchB) {
        npukb_state.batch_a = batchA;
        npukb_state.batch_b = batchB;
    }

    template <bool sync = true>
    NPUKB_API bool Iterate(bool enPartialSum = false) {
        return NPUKB_MATMUL(iterate)(&npukb_state, sync, enPartialSum, nullptr);
    }
    template <bool sync = true, typename T>
    NPUKB_API bool Iterate(bool enPartialSum, const LocalTensor<T>& localCmatrix) {
        static_assert(C_TYPE::pos == TPosition::CO1 && C_TYPE::format == CubeFormat::NZ && npukb::kSame<T, DstT>,
                      "Iterate into a tensor of one's own needs a C matrix in CO1, in the format NZ");
        return NPUKB_MATMUL(iterate)(&npukb_state, sync, enPartialSum, &localCmatrix.npukb_view);
    }
    template <bool sync = true>
    NPUKB_API void GetTensorC(const GlobalTensor<DstT>& gm, uint8_t enAtomic = 0, bool enSequentialWrite = false) {
        auto target = npukb::TargetOf(gm, enAtomic, enSequentialWrite);
        NPUKB_MATMUL(get)(&npukb_state, sync, &target);
    }
    template <bool sync = true, bool doPad = false>
    NPUKB_API void GetTensorC(const LocalTensor<DstT>& c, uint8_t enAtomic = 0, bool enSequentialWrite = false,
                              uint32_t /*height*/ = 0, uint32_t /*width*/ = 0, uint32_t /*srcGap*/ = 0,
                              uint32_t /*dstGap*/ = 0) {
        auto target = npukb::TargetOf(c, enAtomic, enSequentialWrite);
        NPUKB_MATMUL(get)(&npukb_state, sync, &target);
    }
    template <bool sync = true>
    NPUKB_API void GetTensorC(const GlobalTensor<DstT>& gm, const LocalTensor<DstT>& co2Local, uint8_t enAtomic = 0,
                              bool enSequentialWrite = false) {
        auto target = npukb::TargetOf(gm, enAtomic, enSequentialWrite);
        target.local = &co2Local.npukb_view;
        NPUKB_MATMUL(get)(&npukb_state, sync, &target);
    }
    // What an asynchronous Iterate left. Kernels that ran on devices ask for it with either value of sync.
    template <bool sync = true>
    NPUKB_API GlobalTensor<DstT> GetTensorC(uint8_t /*enAtomic*/ = 0, bool /*enSequentialWrite*/ = false) {
        GlobalTensor<DstT> block;
        block.SetGlobalBuffer(static_cast<DstT*>(NPUKB_MATMUL(get_workspace)(&npukb_state)));
        return block;
    }
    NPUKB_API void AsyncGetTensorC(const LocalTensor<DstT>& c) { GetTensorC<false>(c); }
    NPUKB_API void WaitGetTensorC() { NPUKB_MATMUL(wait)(&npukb_state); }
    template <bool sync = true>
    NPUKB_API void IterateAll(const GlobalTensor<DstT>& gm, uint8_t enAtomic = 0, bool enSequentialWrite = false,
                              bool waitIterateAll = false, bool fakeMsg = false) {
        if (fakeMsg) return;
        auto target = npukb::TargetOf(gm, enAtomic, enSequentialWrite);
        target.awaited = !sync && waitIterateAll;
        NPUKB_MATMUL(all)(&npukb_state, sync, &target);
    }
    template <bool sync = true>
    NPUKB_API void IterateAll(const LocalTensor<DstT>& ubCmatrix, uint8_t enAtomic = 0) {
        auto target = npukb::TargetOf(ubCmatrix, enAtomic, false);
        NPUKB_MATMUL(all)(&npukb_state, sync, &target);
    }
    NPUKB_API void WaitIterateAll() { NPUKB_MATMUL(wait)(&npukb_state); }

#if defined(ASCENDC_CUBE_ONLY)
    template <bool sync = true, bool waitIterateBatch = false>
    NPUKB_API void IterateBatch(const GlobalTensor<DstT>& gm, bool enPartialSum, uint8_t enAtomic,
                                bool enSequentialWrite, const uint32_t matrixStrideA = 0,
                                const uint32_t matrixStrideB = 0, const uint32_t /*matrixStrideC*/ = 0) {
        auto target = npukb::TargetOf(gm, enAtomic, enSequentialWrite);
        Batch<sync>(1, npukb_state.batch_a, npukb_state.batch_b, matrixStrideA, matrixStrideB, enPartialSum, &target);
    }
    template <bool sync = true, bool waitIterateBatch = false>
    NPUKB_API void IterateBatch(const LocalTensor<DstT>& ubCmatrix, bool enPartialSum, uint8_t enAtomic,
                                bool enSequentialWrite, const uint32_t matrixStrideA = 0,
                                const uint32_t matrixStrideB = 0, const uint32_t /*matrixStrideC*/ = 0) {
        auto target = npukb::TargetOf(ubCmatrix, enAtomic, enSequentialWrite);
        Batch<sync>(1, npukb_state.batch_a, npukb_state.batch_b, matrixStrideA, matrixStrideB, enPartialSum, &target);
    }
#else
    template <bool sync = true, bool waitIterateBatch = false>
    NPUKB_API void IterateBatch(const GlobalTensor<DstT>& gm, uint32_t batchA, uint32_t batchB, bool enSequentialWrite,
                                const uint32_t matrixStrideA = 0, const uint32_t matrixStrideB = 0,
                                const uint32_t /*matrixStrideC*/ = 0, const bool enPartialSum = false,
                                const uint8_t enAtomic = 0) {
        auto target = npukb::TargetOf(gm, enAtomic, enSequentialWrite);
        Batch<sync>(1, batchA, batchB, matrixStrideA, matrixStrideB, enPartialSum, &target);
    }
    template <bool sync = true>
    NPUKB_API void IterateBatch(const LocalTensor<DstT>& ubCmatrix, uint32_t batchA, uint32_t batchB,
                                bool enSequentialWrite, const uint32_t matrixStrideA = 0,
                                const uint32_t matrixStrideB = 0, const uint32_t /*matrixStrideC*/ = 0,
                                const bool enPartialSum = false, const uint8_t enAtomic = 0) {
        auto target = npukb::TargetOf(ubCmatrix, enAtomic, enSequentialWrite);
        Batch<sync>(1, batchA, batchB, matrixStrideA, matrixStrideB, enPartialSum, &target);
    }
#endif
    template <bool sync = true, bool waitIterateBatch = false>
    NPUKB_API void IterateNBatch(const uint32_t batchLoop, uint32_t batchA, uint32_t batchB, bool /*enSequentialWrite*/,
                                 const uint32_t matrixStrideA = 0, const uint32_t matrixStrideB = 0,
                                 const uint32_t /*matrixStrideC*/ = 0) {
        Batch<sync>(batchLoop, batchA, batchB, matrixStrideA, matrixStrideB, false, nullptr);
    }
    template <bool sync = true>
    NPUKB_API GlobalTensor<DstT> GetBatchTensorC(uint32_t batchA, uint32_t batchB, bool /*enSequentialWrite*/ = false) {
        GlobalTensor<DstT> c;
        c.SetGlobalBuffer(
            static_cast<DstT*>(NPUKB_MATMUL(get_batch)(&npukb_state, batchA > batchB ? batchA : batchB, nullptr)));
        return c;
    }
    template <bool sync = true>
    NPUKB_API GlobalTensor<DstT> GetBatchC(uint32_t batchA, uint32_t batchB, bool enSequentialWrite = false) {
        return GetBatchTensorC<sync>(batchA, batchB, enSequentialWrite);
    }
    template <bool sync = true>
    NPUKB_API void GetBatchTensorC(const LocalTensor<DstT>& c, uint32_t batchA, uint32_t batchB,
                                   bool /*enSequentialWrite*/ = false) {
        NPUKB_MATMUL(get_batch)(&npukb_state, batchA > batchB ? batchA : batchB, &c.npukb_view);
    }
    template <bool sync = true>
    NPUKB_API void GetBatchC(const LocalTensor<DstT>& c, uint32_t batchA, uint32_t batchB,
                             bool enSequentialWrite = false) {
        GetBatchTensorC<sync>(c, batchA, batchB, enSequentialWrite);
    }
    NPUKB_API void WaitIterateBatch() { NPUKB_MATMUL(wait)(&npukb_state); }
    NPUKB_API void End() { NPUKB_MATMUL(end)(&npukb_state); }

    npukb::MatmulState npukb_state;
    inline static constexpr npukb::MatmulForm npukb_form = {npukb::DTypeOf<SrcAT>::value,
                                                            npukb::DTypeOf<SrcBT>::value,
                                                            npukb::DTypeOf<DstT>::value,
                                                            npukb::DTypeOf<BiasT>::value,
                                                            A_TYPE::format,
                                                            B_TYPE::format,
                                                            C_TYPE::format,
                                                            A_TYPE::layout,
                                                            B_TYPE::layout,
                                                            C_TYPE::layout,
                                                            A_TYPE::pos,
                                                            B_TYPE::pos,
                                                            C_TYPE::pos,
                                                            A_TYPE::isTrans,
                                                            B_TYPE::isTrans,
                                                            A_TYPE::ibShare,
                                                            B_TYPE::ibShare,
                                                            npukb::kCubeOnly,
                                                            npukb::kTriangle<MATMUL_POLICY>,
                                                            npukb::ConfigOf(MM_CFG),
                                                            npukb::ConstantOf(MM_CFG)};

  private:
    NPUKB_API void Take(npukb::MatmulOperand& operand, const npukb::MatmulOperand& given) {
        operand = given;
        npukb_state.begun = false;
        npukb_state.ahead = false;
    }
    template <typename T>
    NPUKB_API static npukb::MatmulOperand ScalarOf(T value) {
        static_assert(npukb::kSame<T, half> || npukb::kSame<T, float>, "a matrix made of one value is half or float");
        return {npukb::MatrixPlace::Scalar, false, {}, {}, npukb::RawBits(value)};
    }
    NPUKB_API static npukb::MatmulOperand BiasOf(const npukb::MatmulOperand& operand) {
        static_assert(npukb::kSame<SrcAT, int8_t> || npukb::kSame<SrcAT, int4b_t>
                          ? npukb::kSame<BiasT, int32_t>
                          : npukb::kSame<BiasT, float> || npukb::kSame<BiasT, half>,
                      "Matmul: the bias is int32_t for integers, else float or half");
        return operand;
    }
    template <bool sync>
    NPUKB_API void Batch(uint32_t loops, uint32_t a, uint32_t b, uint32_t stride_a, uint32_t stride_b, bool partial,
                         const npukb::MatmulTarget* target) {
        npukb::MatmulBatch batch{loops, a, b, stride_a, stride_b, partial};
        NPUKB_MATMUL(batch)(&npukb_state, sync, &batch, target);
    }
};

template <class A_TYPE, class B_TYPE, class C_TYPE, class BIAS_TYPE = C_TYPE, const auto& MM_CFG = CFG_NORM,
          class MM_CB = MatmulCallBackFunc<nullptr, nullptr, nullptr>,
          template <const auto&, typename...> class MATMUL_POLICY = MatmulPolicy>
using Matmul = MatmulImpl<A_TYPE, B_TYPE, C_TYPE, BIAS_TYPE, MM_CFG, MM_CB, MATMUL_POLICY>;

// Constants out of a configuration; what it leaves open the tiling says.
template <class A_TYPE, class B_TYPE, class C_TYPE, class BIAS_TYPE>
NPUKB_API constexpr MatmulApiStaticTiling GetMatmulApiTiling(const MatmulConfig& mmCFG, int32_t /*l1Size*/ = 524288) {
    MatmulApiStaticTiling constant;
    static_cast<TCubeTiling&>(constant) = npukb::ConstantOf(mmCFG);
    constant.cfg = mmCFG;
    return constant;
}

}  // namespace AscendC

namespace matmul {

using AscendC::GetMatmulApiTiling;
using AscendC::Matmul;
using AscendC::MatmulCallBackFunc;
using AscendC::MatmulImpl;
using AscendC::MatmulPolicy;
using AscendC::MatmulType;
using AscendC::NBuffer33MatmulPolicy;
using AscendC::TrianLowerMatmulPolicy;
using AscendC::TrianUpperMatmulPolicy;

}  // namespace matmul

namespace npukb {

// On the cube core of a kernel for both kinds, an object waits for orders of the vector cores and nothing behind it is
// executed.
template <typename Object>
NPUKB_API void ServeMatmul() {
    if constexpr (g_coreType == AscendC::AIC && !Object::npukb_form.cube_only &&
                  !Object::npukb_form.config.enableMixDualMaster) {
        npukb_matmul_serve();
    }
}

NPUKB_API void RegistMatmul() {}
template <typename Object>
NPUKB_API void RegistMatmul(Object& object) {
    ServeMatmul<Object>();
    NPUKB_MATMUL(regist)(&object.npukb_state, &Object::npukb_form, nullptr);
}
template <typename Object, typename Tiling, typename... Rest>
NPUKB_API void RegistMatmul(Object& object, Tiling tiling, Rest&&... rest) {
    ServeMatmul<Object>();
    NPUKB_MATMUL(regist)(&object.npukb_state, &Object::npukb_form, static_cast<const TCubeTiling*>(tiling));
    RegistMatmul(rest...);
}

}  // namespace npukb

#define REGIST_MATMUL_OBJ(tpipe, workspace, ...) npukb::RegistMatmul(__VA_ARGS__)
