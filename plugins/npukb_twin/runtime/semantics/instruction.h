// The rows of instructions.def as the runtime reads them: what an instruction is, wherever someone has to know.
#pragma once
#include "../../include/twin/abi.h"

namespace twin {

// The shapes of calls. Reductions and instructions with a header of their own are told apart by unit and span.
enum class Call : uint8_t {
    UNARY,
    BINARY,
    SCALAR,
    SHIFT,
    SAME,
    MIXED,
    MIXED_UNSIGNED,
    MIXED_SCALAR,
    REPEATS,
    REPEATS_FIRST,
    REPEATS_ORDER,
    TENSOR_EXTREME,
    OWN,
};
enum class Unit : uint8_t { Elementwise, Cast, Fused, Compare, Select, Fill, Reduce };
enum class Span : uint8_t {
    Lanes,
    Blocks,
    HalfBlocks,
    Packed,
    PerBlock,
    PerPair,
    PerRepeat,
    RepeatExtreme,
    PerTensor,
    TensorExtreme,
};
enum class Flow : uint8_t { All, Any, Never, Decides };
enum class Cost : uint8_t { Vector, Dst, Results, Blocks, Sequence };

// The columns that are sets of bits.
namespace bits {
inline constexpr uint32_t None = 0;
inline constexpr uint32_t Src0 = 1u << 0, Src1 = 1u << 1, Dst = 1u << 2, Scalar = 1u << 3, Choices = 1u << 4,
                          Scratch = 1u << 5, Part = 1u << 6;
inline constexpr uint32_t Round = npukb::Round, VectorScales = npukb::VectorScales, UpperHalf = npukb::UpperHalf,
                          ToRegister = npukb::ToRegister, ToAccumulator = npukb::ToAccumulator,
                          RegisterScalar = npukb::RegisterScalar;
inline constexpr uint32_t KeepsMask = 1u << 8, LanesKeepMask = 1u << 9, CountsRepeats = 1u << 10, Bitwise = 1u << 11,
                          Accumulates = 1u << 12;
}  // namespace bits

struct Instruction {
    const char* name;  // null where no instruction has this number
    Call call;
    Unit unit;
    Span span;
    Flow flow;
    Cost cost;
    uint32_t operands;
    uint32_t bits;
    uint16_t per_cycle16;
    uint16_t per_cycle32;

    bool Reads(uint32_t operand) const { return (operands & operand) != 0; }
    bool Has(uint32_t bit) const { return (bits & bit) != 0; }
    // Computes and converts, or only converts: dst may be wider than the sources.
    bool Converts() const { return unit == Unit::Cast || unit == Unit::Fused; }
    // A sequence of instructions over a whole tensor, whose repeat count is not the hardware's.
    bool OverTensor() const { return span == Span::PerTensor || span == Span::TensorExtreme; }
    // In saturating mode results have no infinities and no NaN.
    bool Saturates() const { return unit == Unit::Elementwise || Converts(); }
};

namespace bits {
// One entry for every number that an Op can be.
inline constexpr Instruction kInstructions[256] = {
#define NPUKB_INSTRUCTION(name, call, unit, operands, types, span, flow, flags, cost, rate16, rate32, chapter) \
    {#name, Call::call, Unit::unit, Span::span, Flow::flow, Cost::cost, operands, flags, rate16, rate32},
#include "../../include/twin/instructions.def"
};
}  // namespace bits
inline const Instruction& Row(npukb::Op op) { return bits::kInstructions[static_cast<int>(op)]; }

}  // namespace twin
