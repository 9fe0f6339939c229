// What a multiplication has the pipes of a cube core do: transfers into L1, loads of L0, products, results on their way
// out, block by block, in the order and with the buffers that the tiling says. Nothing is computed here.
#pragma once
#include "matmul/panels.h"
#include "matmul/sharing.h"

namespace twin {

// A base block of the result of one core.
struct Block {
    int64_t row, column, rows, columns;
    int64_t from, depth;  // along K
};

// One operand: where it lies, and whether it has to come from global memory.
struct Feed {
    Stored stored;
    bool global;
    const void* origin;
    int64_t shared;  // elements, if both vector cores of a block multiply by it and L1 has room for all of it; else 0
};

// One call of an object, with everything that its time follows from. It outlives the call: vector cores have their cube
// core carry it out later.
struct MatmulPlan {
    const void* pc;
    Feed a, b;
    Placed c;
    bool multiplies;             // or only stores what was computed before
    bool stores, stores_global;  // results, and whether to global memory
    const void* c_origin;
    bool sequential;   // blocks are stored one after the other
    bool large_loads;  // MDL: several base blocks come with one transfer
    bool ahead_a;      // the next panels of the left matrix are ordered before the products of this block
    bool ahead_b;      // the same for the right matrix
    bool nine;         // three by three blocks of the left matrix stay in L1, and the right one has two places
    bool staggered;    // cores begin at different places along K
    bool unit_flag;    // products and stores of results hand over 512 bytes at a time
    bool constant;     // sizes are known to the compiler
    bool down_first;   // blocks follow one another down the columns of the result
    bool hf32;
    DType type;
    int64_t m, n, k;
    Block only;  // the block that is meant; no rows: all of them
    TCubeTiling tiling;
};

// Puts the work down for the running cube core. What `before`, an order of the block's other vector core, has brought
// into L1 for both is not brought again.
void Carry(Core& core, const MatmulPlan& plan, const MatmulPlan* before = nullptr);

}  // namespace twin
