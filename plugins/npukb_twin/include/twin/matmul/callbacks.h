// Matmul objects on cube cores alone whose blocks of A or B a function of the kernel brings into L1: the object gives
// it a block of L1, the block's number along both directions and its size, and multiplies what it finds there in
// fractals.
#pragma once
#include "matmul.h"

namespace npukb {

// An operand as the object inside sees it: in L1 where a function brings it there.
template <typename Type, bool brought>
struct Brought {
    using type = Type;
};
template <typename Type>
struct Brought<Type, true> {
    using type = AscendC::MatmulType<AscendC::TPosition::TSCM, CubeFormat::NZ, typename Type::T>;
};

// Blocks of one operand in L1: one, or two of which one comes in while the other is used.
class MatmulShelf {
  public:
    NPUKB_API void Open(uint32_t bytes, bool two) {
        if (bytes == bytes_) return;
        bytes_ = bytes;
        two_ = two;
        AscendC::GetTPipePtr()->InitBuffer(places_, two ? 2 : 1, bytes);
    }
    NPUKB_API AscendC::LocalTensor<int8_t> Take() {
        if (!two_) Free();
        return places_.AllocTensor<int8_t>();
    }
    // What was brought, once it is there. The block before it is free for the next one.
    template <typename T>
    NPUKB_API AscendC::LocalTensor<T> Brought(AscendC::LocalTensor<int8_t>& taken) {
        places_.EnQue(taken);
        auto there = places_.DeQue<int8_t>();
        Free();
        held_ = there;
        holds_ = true;
        return there.ReinterpretCast<T>();
    }
    NPUKB_API void Free() {
        if (holds_) places_.FreeTensor(held_);
        holds_ = false;
    }

  private:
    AscendC::TQue<AscendC::TPosition::A1, 1> places_;
    AscendC::LocalTensor<int8_t> held_;
    uint32_t bytes_ = 0;
    bool two_ = false, holds_ = false;
};

// A function takes the place of a transfer of ND blocks that are not transposed; what goes beside it is a plain
// product.
template <class A, class B, class C, class CB, const auto& config, MatmulTriangle triangle>
constexpr bool MatmulCallBacksFit() {
    bool a = CB::npukb_copy_a ? !A::isTrans : A::pos == AscendC::TPosition::GM,
         b = CB::npukb_copy_b ? !B::isTrans : B::pos == AscendC::TPosition::GM;
    bool plain = A::format == CubeFormat::ND && B::format == CubeFormat::ND && C::format == CubeFormat::ND &&
                 C::pos == AscendC::TPosition::GM && A::layout == LayoutMode::NONE && B::layout == LayoutMode::NONE &&
                 C::layout == LayoutMode::NONE && !A::ibShare && !B::ibShare && triangle == MatmulTriangle::None;
    return kCubeOnly && !CB::npukb_copy_out && a && b && plain && !ConfigOf(config).isPartialOutput;
}

}  // namespace npukb

namespace AscendC {

template <class A_TYPE, class B_TYPE, class C_TYPE, class BIAS_TYPE, const auto& MM_CFG, class MM_CB,
          template <const auto&, typename...> class MATMUL_POLICY>
class MatmulImpl<A_TYPE, B_TYPE, C_TYPE, BIAS_TYPE, MM_CFG, MM_CB, MATMUL_POLICY, true>
    : private MatmulImpl<typename npukb::Brought<A_TYPE, MM_CB::npukb_copy_a>::type,
                         typename npukb::Brought<B_TYPE, MM_CB::npukb_copy_b>::type, C_TYPE, BIAS_TYPE, MM_CFG,
                         MatmulCallBackFunc<>, MATMUL_POLICY> {
    using Inner = MatmulImpl<typename npukb::Brought<A_TYPE, MM_CB::npukb_copy_a>::type,
                             typename npukb::Brought<B_TYPE, MM_CB::npukb_copy_b>::type, C_TYPE, BIAS_TYPE, MM_CFG,
                             MatmulCallBackFunc<>, MATMUL_POLICY>;
    static_assert(
        npukb::MatmulGap<npukb::MatmulCallBacksFit<A_TYPE, B_TYPE, C_TYPE, MM_CB, MM_CFG,
                                                   npukb::kTriangle<MATMUL_POLICY>>()>::NPUKB_GAP(Matmul,
                                                                                                  CallBackFunctions));

  public:
    using AType = A_TYPE;
    using BType = B_TYPE;
    using Inner::GetSubBlockIdx;
    using Inner::Init;
    using Inner::npukb_form;
    using Inner::npukb_state;
    using Inner::SetHF32;
    using Inner::SetLocalWorkspace;
    using Inner::SetOrgShape;
    using Inner::SetQuantScalar;
    using Inner::SetSelfDefineData;
    using Inner::SetSubBlockIdx;
    using Inner::SetUserDefInfo;
    using Inner::SetWorkspace;
    using typename Inner::BiasT;
    using typename Inner::BiasType;
    using typename Inner::CType;
    using typename Inner::DstT;
    using typename Inner::SrcAT;
    using typename Inner::SrcBT;

    NPUKB_API void SetSingleShape(int singleM, int singleN, int singleK) { SetTail(singleM, singleN, singleK); }
    NPUKB_API void SetTail(int tailM = -1, int tailN = -1, int tailK = -1) {
        Leave();
        Inner::SetTail(tailM, tailN, tailK);
    }
    NPUKB_API void SetTensorA(const GlobalTensor<SrcAT>& gm, bool isTransposeA = false) {
        Leave();
        a_ = gm;
        turned_a_ = isTransposeA;
        if constexpr (!MM_CB::npukb_copy_a) Inner::SetTensorA(gm, isTransposeA);
    }
    NPUKB_API void SetTensorB(const GlobalTensor<SrcBT>& gm, bool isTransposeB = false) {
        Leave();
        b_ = gm;
        turned_b_ = isTransposeB;
        if constexpr (!MM_CB::npukb_copy_b) Inner::SetTensorB(gm, isTransposeB);
    }
    NPUKB_API void SetBias(const GlobalTensor<BiasT>& biasGlobal) {
        bias_ = biasGlobal;
        biased_ = true;
    }
    NPUKB_API void DisableBias() {
        biased_ = false;
        Inner::DisableBias();
    }
    NPUKB_API void ClearBias() { DisableBias(); }

    template <bool sync = true>
    NPUKB_API bool Iterate(bool enPartialSum = false) {
        static_assert(npukb::MatmulGap<sync>::NPUKB_GAP(Matmul, CallBackFunctions));
        if (!begun_) Begin();
        const TCubeTiling& t = npukb_state.tiling;
        const int32_t down = Parts(m_, t.baseM), across = Parts(n_, t.baseN);
        if (next_ == down * across) {
            Leave();
            return false;
        }
        row_ = t.iterateOrder == 1 ? next_ / across : next_ % down;
        column_ = t.iterateOrder == 1 ? next_ % across : next_ / down;
        ++next_;
        const int32_t rows = Least(t.baseM, m_ - row_ * t.baseM), columns = Least(t.baseN, n_ - column_ * t.baseN);
        if (biased_) Inner::SetBias(bias_[column_ * t.baseN]);
        for (int32_t step = 0; step * t.baseK < k_; ++step) {
            const int32_t depth = Least(t.baseK, k_ - step * t.baseK);
            Inner::SetTail(rows, columns, depth);
            BringA(step, rows, depth);
            BringB(step, depth, columns);
            Inner::Iterate(step > 0 || enPartialSum);
        }
        return true;
    }
    template <bool sync = true>
    NPUKB_API void GetTensorC(const GlobalTensor<DstT>& gm, uint8_t enAtomic = 0, bool enSequentialWrite = false) {
        const TCubeTiling& t = npukb_state.tiling;
        const int64_t width = npukb_state.org_c > 0 ? npukb_state.org_c : npukb_state.org_n;
        const int64_t first = enSequentialWrite ? 0 : int64_t{row_} * t.baseM * width + column_ * t.baseN;
        Inner::GetTensorC(gm[first], enAtomic, enSequentialWrite);
    }
    template <bool sync = true>
    NPUKB_API void IterateAll(const GlobalTensor<DstT>& gm, uint8_t enAtomic = 0, bool enSequentialWrite = false,
                              bool /*waitIterateAll*/ = false, bool fakeMsg = false) {
        if (fakeMsg) return;
        Leave();
        const int64_t area = int64_t{npukb_state.tiling.baseM} * npukb_state.tiling.baseN;
        for (int64_t i = 0; Iterate(); ++i) {
            GetTensorC(enSequentialWrite ? gm[i * area] : gm, enAtomic, enSequentialWrite);
        }
    }
    NPUKB_API void WaitIterateAll() {}
    NPUKB_API void End() {
        Leave();
        Inner::End();
    }

  private:
    NPUKB_API static int32_t Least(int32_t a, int32_t b) { return a < b ? a : b; }
    NPUKB_API static int32_t Parts(int32_t whole, int32_t part) { return part > 0 ? (whole + part - 1) / part : 0; }
    // The object inside multiplies one block along K at a time: the shape is kept here meanwhile.
    NPUKB_API void Begin() {
        const TCubeTiling& t = npukb_state.tiling;
        m_ = npukb_state.m, n_ = npukb_state.n, k_ = npukb_state.k;
        next_ = 0;
        begun_ = true;
        const auto a = static_cast<uint32_t>(t.baseM * t.baseK), b = static_cast<uint32_t>(t.baseK * t.baseN);
        if constexpr (MM_CB::npukb_copy_a) shelf_a_.Open(a * sizeof(SrcAT), t.depthA1 > 1);
        if constexpr (MM_CB::npukb_copy_b) shelf_b_.Open(b * sizeof(SrcBT), t.depthB1 > 1);
    }
    NPUKB_API void Leave() {
        if (!begun_) return;
        begun_ = false;
        Inner::SetTail(m_, n_, k_);
        shelf_a_.Free();
        shelf_b_.Free();
    }
    NPUKB_API void BringA(int32_t step, int32_t rows, int32_t depth) {
        const TCubeTiling& t = npukb_state.tiling;
        if constexpr (MM_CB::npukb_copy_a) {
            auto place = shelf_a_.Take();
            MM_CB::npukb_bring_a(place, a_.GetPhyAddr(), row_, step, rows, depth, npukb_state.user_tiling,
                                 npukb_state.user_data);
            Inner::SetTensorA(shelf_a_.template Brought<SrcAT>(place));
        } else {
            const int64_t row = int64_t{row_} * t.baseM, from = int64_t{step} * t.baseK;
            Inner::SetTensorA(a_[turned_a_ ? from * npukb_state.org_m + row : row * npukb_state.org_ka + from],
                              turned_a_);
        }
    }
    NPUKB_API void BringB(int32_t step, int32_t depth, int32_t columns) {
        const TCubeTiling& t = npukb_state.tiling;
        if constexpr (MM_CB::npukb_copy_b) {
            auto place = shelf_b_.Take();
            MM_CB::npukb_bring_b(place, b_.GetPhyAddr(), step, column_, depth, columns, npukb_state.user_tiling,
                                 npukb_state.user_data);
            Inner::SetTensorB(shelf_b_.template Brought<SrcBT>(place));
        } else {
            const int64_t column = int64_t{column_} * t.baseN, from = int64_t{step} * t.baseK;
            Inner::SetTensorB(b_[turned_b_ ? column * npukb_state.org_kb + from : from * npukb_state.org_n + column],
                              turned_b_);
        }
    }

    GlobalTensor<SrcAT> a_;
    GlobalTensor<SrcBT> b_;
    GlobalTensor<BiasT> bias_;
    npukb::MatmulShelf shelf_a_, shelf_b_;
    int32_t m_ = 0, n_ = 0, k_ = 0, next_ = 0, row_ = 0, column_ = 0;
    bool turned_a_ = false, turned_b_ = false, biased_ = false, begun_ = false;
};

}  // namespace AscendC
