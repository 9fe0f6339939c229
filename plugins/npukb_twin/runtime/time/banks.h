// Banks of the unified buffer: 16 groups, each of which serves one row of 32 bytes per cycle. Operands of a vector
// instruction whose blocks lie in the same group wait for each other. A group has three banks; a bank is not read and
// written at once.
#pragma once
#include <stdint.h>

namespace twin {

// Blocks that one operand touches in a repeat: where the first lies in UB, and the strides, in blocks of 32 bytes.
struct BankUse {
    uint32_t block;
    uint32_t block_stride;
    uint32_t repeat_stride;
};

// Cycles that the banks need for one repeat, on average: those of the operands that are read, or that of the one that
// is written, and `read_write` more when the banks written are those that the next repeat reads.
double BankCycles(const BankUse* reads, int count, const BankUse& write, uint32_t repeats, double read_write);

}  // namespace twin
