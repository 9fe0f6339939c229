// Reading, combining and writing back, in the type that the kernel has set. Blocks take turns, so that sums of floats
// do not depend on the host's threads.
#include "semantics/atomic.h"

#include <string.h>

#include "check/chip.h"
#include "cores/fiber.h"
#include "semantics/numeric.h"

namespace twin {
namespace {

using npukb::AtomicMode;
using npukb::DType;

// What sets each of AtomicMode.
const char* const kSetters[] = {"SetAtomicNone", "SetAtomicAdd", "SetAtomicMax", "SetAtomicMin"};

template <typename T>
T Combine(AtomicMode mode, T old, T value) {
    if (mode == AtomicMode::Max) return value > old ? value : old;
    if (mode == AtomicMode::Min) return value < old ? value : old;
    return static_cast<T>(old + value);
}

struct Plain {
    template <typename T>
    static T Apply(AtomicMode mode, T old, T value) {
        return Combine(mode, old, value);
    }
};

// Brain floats are added in float32 and rounded once.
struct Brain {
    static bfloat16_t Apply(AtomicMode mode, bfloat16_t old, bfloat16_t value) {
        return bfloat16_t(Combine(mode, static_cast<float>(old), static_cast<float>(value)));
    }
};

template <typename T, typename How>
void Each(AtomicMode mode, uint8_t* to, const uint8_t* from, uint64_t bytes) {
    for (uint64_t i = 0; i + sizeof(T) <= bytes; i += sizeof(T)) {
        T old, value;
        memcpy(&old, to + i, sizeof old);
        memcpy(&value, from + i, sizeof value);
        T result = How::Apply(mode, old, value);
        memcpy(to + i, &result, sizeof result);
    }
}

}  // namespace

void AtomicMove(Core& core, uint8_t* to, const uint8_t* from, uint64_t bytes, const void* pc) {
    AtomicMode mode = core.atomic_mode;
    if (bytes % npukb::kDTypeBytes[static_cast<int>(core.atomic_type)] != 0) {
        core.Violate("misaligned", pc, "Move whole elements while an atomic mode is on.",
                     "an atomic move of %llu bytes does not consist of whole elements of the type given to SetAtomic",
                     static_cast<unsigned long long>(bytes));
    }
    switch (core.atomic_type) {
        case DType::F32: return Each<float, Plain>(mode, to, from, bytes);
        case DType::F16: return Each<half, Plain>(mode, to, from, bytes);
        case DType::BF16: return Each<bfloat16_t, Brain>(mode, to, from, bytes);
        case DType::I32: return Each<int32_t, Plain>(mode, to, from, bytes);
        case DType::I16: return Each<int16_t, Plain>(mode, to, from, bytes);
        default: return Each<int8_t, Plain>(mode, to, from, bytes);
    }
}

void WaitForTurn(Core& core) {
    uint64_t now = MeetingsSoFar() + 1;
    if (core.atomic_turn == now) return;
    WaitForLowerBlocks();
    core.atomic_turn = now;
}

}  // namespace twin

extern "C" {

void npukb_atomic(npukb::AtomicMode mode, npukb::DType dtype) {
    twin::Core& core = twin::ThisCore();
    if (core.launch->chip != nullptr && mode != npukb::AtomicMode::None && mode <= npukb::AtomicMode::Min)
        core.launch->chip->Check(core, twin::kSetters[static_cast<int>(mode)], dtype, NPUKB_PC);
    core.atomic_mode = mode;
    core.atomic_type = dtype;
    core.time.Scalar(1);
}

void npukb_atomic_type(npukb::DType dtype) {
    twin::Core& core = twin::ThisCore();
    if (core.launch->chip != nullptr) core.launch->chip->Check(core, "SetAtomicType", dtype, NPUKB_PC);
    core.atomic_type = dtype;
}

uint32_t npukb_atomic_state(int question) {
    const twin::Core& core = twin::ThisCore();
    return question == 0 ? static_cast<uint32_t>(core.atomic_mode) : static_cast<uint32_t>(core.atomic_type);
}
}
