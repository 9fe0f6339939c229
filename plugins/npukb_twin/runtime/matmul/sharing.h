// What a core keeps of the objects that multiply matrices, and how a cube core and the vector cores of its block share
// the work.
//
// In a kernel for both kinds the object lives on a vector core and the cube core of the block multiplies. Here the work
// is done where the order is given, at once; what it costs is put down for the cube core. The cube core itself waits
// until its vector cores have ended, and then takes over the bill. How much one order waits for those of the block's
// other vector cores is not known at that moment: a multiplication takes as many times its own time as there are vector
// cores in the block.
#pragma once
#include "cores/fiber.h"
#include "matmul/panels.h"

namespace twin {

inline constexpr int kMatmulObjects = 4;

// Cycles of the pipes of a cube core.
struct MatmulCost {
    double load = 0;     // MTE2: global memory to L1
    double feed = 0;     // MTE1: L1 to L0A and L0B
    double compute = 0;  // M
    double store = 0;    // FIX: L0C to global memory
    double first = 0;    // until the first product can begin
    uint64_t bytes_in = 0;
    uint64_t bytes_out = 0;
    uint32_t blocks = 0;
    double Span() const;
    void Add(const MatmulCost& other);
};

// What one vector core has had its cube core do.
struct MatmulBill {
    Signal over;    // raised when the core has ended
    Signal shared;  // multiplications that the other vector core takes part in
    MatmulCost cost;
    double free_at;  // when the last of them is through
};

// Of one core.
struct MatmulCore {
    const npukb::MatmulState* objects[kMatmulObjects];
    int count;
    uint8_t* sums[kMatmulObjects];  // of the base block that was computed last
    uint64_t shared_seen;
};

MatmulBill* NewMatmulBills(const Launch& launch);
MatmulCore& MatmulOf(Core& core);
// The end of a core.
void FinishMatmul(Core& core);

// A multiplication of m × n × k, blocks and order as the tiling says.
MatmulCost CostOf(const Machine& machine, const npukb::MatmulState& state, int64_t m, int64_t n, int64_t k);
// Puts a cost down for the right core. `sync`: the caller goes on when it is through.
void Charge(Core& core, npukb::MatmulState& state, const MatmulCost& cost, bool sync);
void AwaitMatmul(Core& core, npukb::MatmulState& state);

}  // namespace twin
