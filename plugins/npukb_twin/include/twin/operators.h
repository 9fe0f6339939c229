// Operators on whole tensors: dst = a + b, dst = a < b and so on.
#pragma once
#include "vector.h"

namespace npukb {

// The operation runs when it is assigned, over the whole destination; a comparison over the whole source.
template <typename D, Op op, uint8_t mode, typename T>
NPUKB_API void Evaluate(const AscendC::LocalTensor<D>& dst, const Expression<op, mode, T>& expression) {
    AscendC::LocalTensor<T> a(*expression.a), b(*expression.b);
    if constexpr (op == Op::Compare) {
        AscendC::Compare(dst, a, b, static_cast<AscendC::CMPMODE>(mode), a.GetSize());
    } else {
        static_assert(kSame<D, T>, "the result of an operator has the element type of its operands");
        int32_t count = static_cast<int32_t>(dst.GetSize());
        if constexpr (op == Op::Add) AscendC::Add(dst, a, b, count);
        if constexpr (op == Op::Sub) AscendC::Sub(dst, a, b, count);
        if constexpr (op == Op::Mul) AscendC::Mul(dst, a, b, count);
        if constexpr (op == Op::Div) AscendC::Div(dst, a, b, count);
        if constexpr (op == Op::Or) AscendC::Or(dst, a, b, count);
        if constexpr (op == Op::And) AscendC::And(dst, a, b, count);
    }
}

}  // namespace npukb

namespace AscendC {

#define NPUKB_OPERATOR(symbol, op, mode)                                                       \
    template <typename T>                                                                      \
    NPUKB_API npukb::Expression<npukb::Op::op, static_cast<uint8_t>(mode), T> operator symbol( \
        const LocalTensor<T>& a, const LocalTensor<T>& b) {                                    \
        return {&a.npukb_view, &b.npukb_view};                                                 \
    }
NPUKB_OPERATOR(+, Add, 0)
NPUKB_OPERATOR(-, Sub, 0)
NPUKB_OPERATOR(*, Mul, 0)
NPUKB_OPERATOR(/, Div, 0)
NPUKB_OPERATOR(|, Or, 0)
NPUKB_OPERATOR(&, And, 0)
NPUKB_OPERATOR(<, Compare, CMPMODE::LT)
NPUKB_OPERATOR(>, Compare, CMPMODE::GT)
NPUKB_OPERATOR(<=, Compare, CMPMODE::LE)
NPUKB_OPERATOR(>=, Compare, CMPMODE::GE)
NPUKB_OPERATOR(==, Compare, CMPMODE::EQ)
NPUKB_OPERATOR(!=, Compare, CMPMODE::NE)
#undef NPUKB_OPERATOR

}  // namespace AscendC
