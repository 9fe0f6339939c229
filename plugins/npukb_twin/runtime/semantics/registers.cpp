// Registers that kernels set and read: masks, DEQSCALE, saturation, results of reductions, counters; and scalar
// conversions.
#include <string.h>

#include "../../include/twin/cast.h"
#include "check/operand_check.h"
#include "check/raw_access.h"
#include "time/scalar_operations.h"
#include "semantics/rounding.h"

namespace twin {
namespace {

constexpr double kSystemClockHz = 50e6;

uint64_t QuantWord(const AscendC::VdeqInfo& info, int i) {
    return Bits<uint32_t>(info.vdeqScale[i]) | static_cast<uint64_t>(info.vdeqOffset[i] & 0x1ff) << 37 |
           static_cast<uint64_t>(info.vdeqSignMode[i]) << 46;
}

}  // namespace
}  // namespace twin

extern "C" {

void npukb_mask_mode(int counter) {
    twin::Core& core = twin::ThisCore();
    core.counter_mode = counter != 0;
    core.counter_set_by = NPUKB_PC;
    core.time.Scalar(1);
}

void npukb_mask_set(uint64_t high, uint64_t low) {
    twin::Core& core = twin::ThisCore();
    core.mask[0] = low;
    core.mask[1] = high;
    core.mask_counts = false;
    core.time.Scalar(1);
}

void npukb_mask_count(uint64_t elements) {
    npukb_mask_set(0, elements);
    twin::ThisCore().mask_counts = true;
}

void npukb_compare_mask(uint32_t, const npukb::BufferView* tensor, int write) {
    const twin::Pinned pinned[] = {tensor};
    twin::Core& core = twin::ThisCore();
    // Reading the register fills 128 bytes' worth of room, of which 16 are its content.
    uint64_t bytes = write ? 128 : sizeof core.vector.compare_mask;
    const char* name = write ? "GetCmpMask" : "SetCmpMask";
    twin::CheckLocal(core, {name, write ? "dst" : "src", tensor->address, bytes, tensor->bytes, 16, write != 0},
                     NPUKB_PC);
    if (write)
        memcpy(tensor->address, core.vector.compare_mask, sizeof core.vector.compare_mask);
    else
        memcpy(core.vector.compare_mask, tensor->address, sizeof core.vector.compare_mask);
    core.time.Scalar(1);
}

void npukb_deq_scale(uint64_t word) {
    twin::Core& core = twin::ThisCore();
    core.vector.deq_scale = word;
    core.vector.deq_set = true;
    core.time.Scalar(1);
}

void npukb_deq_scale_vector(const npukb::BufferView* tensor, const void* info) {
    const twin::Pinned pinned[] = {tensor};
    twin::Core& core = twin::ThisCore();
    twin::CheckLocal(core, {"SetDeqScale", "vdeq", tensor->address, 128, tensor->bytes, 32, true}, NPUKB_PC);
    const auto given = twin::Given<AscendC::VdeqInfo>(info, NPUKB_PC);
    for (int i = 0; i < AscendC::VDEQ_TENSOR_SIZE; ++i) {
        uint64_t word = twin::QuantWord(given, i);
        memcpy(static_cast<uint8_t*>(tensor->address) + 8 * i, &word, sizeof word);
    }
    core.vector.deq_scale = core.UbOffset(tensor->address) / 32;
    core.vector.deq_set = true;
    core.time.Access(core.launch->machine.scalar_access_cycles * AscendC::VDEQ_TENSOR_SIZE);  // it writes them itself
}

int npukb_saturation(int set, int value) {
    twin::Core& core = twin::ThisCore();
    if (set) core.vector.saturate = value != 0;
    return core.vector.saturate ? 1 : 0;
}

uint64_t npukb_vector_register(int which) {
    twin::Core& core = twin::ThisCore();
    core.time.HoldUntil(npukb::Pipe::S, core.time.At(npukb::Pipe::V));  // the compiler waits for the reduction
    core.time.Scalar(1);
    return which == 0 ? core.vector.sum : (which == 1 ? core.vector.extreme : core.vector.extreme_index);
}

uint32_t npukb_scalar_cast(float value, int mode, int to_half) {
    uint32_t bits = 0;
    ++twin::t_operations;
    twin::WithMode(static_cast<twin::Rounding>(mode), [&](auto m) {
        constexpr twin::Rounding kMode = decltype(m)::value;
        bits = to_half ? twin::Bits<uint16_t>(twin::HalfFrom<kMode>(value))
                       : static_cast<uint32_t>(twin::Saturated<int32_t>(twin::Integral<kMode>(value)));
    });
    return bits;
}

int64_t npukb_system_cycle(void) {
    twin::Core& core = twin::ThisCore();
    core.time.Scalar(1);
    return static_cast<int64_t>(core.time.At(npukb::Pipe::S).time / core.launch->machine.clock_hz *
                                twin::kSystemClockHz);
}

int64_t npukb_program_counter(void) { return static_cast<int64_t>(twin::ThisCore().PcOf(NPUKB_PC)); }
}
