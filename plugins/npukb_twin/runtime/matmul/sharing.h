// What a core keeps of the objects that multiply matrices, and how a cube core and the vector cores of its block share
// the work.
//
// In a kernel for both kinds the object lives on a vector core and the cube core of the block multiplies. Here the
// products are computed where the order is given, at once; the cube core carries out the plans, which make its tape,
// when its vector cores have ended, in the order in which they were given. On tapes the orders and their ends are
// signals, so that the replay has both kinds of cores work side by side. The clocks that a kernel itself may read know
// an estimate.
#pragma once
#include "cores/fiber.h"
#include "matmul/panels.h"

namespace twin {

struct MatmulPlan;

inline constexpr int kMatmulObjects = 4;

// What one vector core has its cube core do.
struct MatmulOrders {
    Signal over;    // raised when the core has ended
    Signal shared;  // multiplications that the other vector core takes part in
    struct Order* first;
    uint64_t count, room;
    double free_at;  // when the last of them is through, as far as is known
};

// Of one core.
struct MatmulCore {
    const npukb::MatmulState* objects[kMatmulObjects];
    int count;
    uint8_t* sums[kMatmulObjects];  // of the base block that was computed last
    uint64_t shared_seen;
    uint64_t due;          // the order that has to be over before the core goes on, 0 for none
    int64_t due_place;     // among the cores of the block: whose order that is
    double done_at;        // when the last multiplication that nobody has waited for is through
    const void* promised;  // the last IterateAll that said that it would be waited for, and was not
};

MatmulOrders* NewMatmulOrders(const Launch& launch);
MatmulCore& MatmulOf(Core& core);
// The end of a core.
void FinishMatmul(Core& core);

// An object gets its tiling: what that takes a core.
void ChargeInit(Core& core, bool constant);
// Puts the work down for the right core.
void Charge(Core& core, const MatmulPlan& plan);
void AwaitMatmul(Core& core);

}  // namespace twin
