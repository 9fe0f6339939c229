// What an object that multiplies matrices and the runtime say to each other.
#pragma once
#include "config.h"

namespace npukb {

enum class MatrixPlace : uint8_t { None, Global, Local, Scalar };

// One matrix, as the object was given it.
struct MatmulOperand {
    MatrixPlace place;
    bool transposed;
    GlobalView global;
    BufferView local;
    uint64_t scalar;  // raw bits
};

enum class MatmulTriangle : uint8_t { None, Upper, Lower };

// What does not change over an object's life: its template arguments.
struct MatmulForm {
    DType a, b, c, bias;
    CubeFormat a_format, b_format, c_format;
    LayoutMode a_layout, b_layout, c_layout;
    AscendC::TPosition a_position, b_position, c_position;
    bool a_may_turn, b_may_turn;
    bool a_shared, b_shared;  // between the vector cores of a block
    bool cube_only;
    MatmulTriangle triangle;  // of blocks that are computed
    MatmulConfig config;
    TCubeTiling constant;  // zero where the tiling decides
};

struct MatmulState {
    const MatmulForm* form;
    TCubeTiling tiling;
    bool ready;  // has a tiling
    bool hf32, hf32_away;
    bool begun;  // an iteration is under way
    bool ahead;  // its blocks lie in the workspace already
    int32_t org_m, org_n, org_ka, org_kb, org_c;
    int32_t m, n, k;  // of one core
    int32_t block;    // that was computed last, in the order of iteration
    int32_t taken;    // blocks, or batches, that were taken out of the workspace
    int32_t batch_a, batch_b;
    MatmulOperand a, b, bias, quant;
    GlobalView workspace;
    uint64_t user_tiling, user_data;
    int32_t number;  // among the objects of this core, from 1
};

// Where a result goes, and how.
struct MatmulTarget {
    const GlobalView* global;  // or null
    const BufferView* local;   // or null
    uint8_t atomic;            // 1 add, 2 max, 3 min
    bool sequential;
    bool awaited = false;  // the caller says that WaitIterateAll follows
};

struct MatmulBatch {
    uint32_t loops, batch_a, batch_b;
    uint32_t stride_a, stride_b;
    bool partial;
};

}  // namespace npukb

#pragma GCC visibility push(default)
extern "C" {
// Functions come under two names: an object that lives on the cube core asks nobody, and by its calls a kernel is told
// to have instructions of that core.
#define NPUKB_MATMUL_API(prefix)                                                                               \
    void prefix##_regist(npukb::MatmulState* state, const npukb::MatmulForm* form, const TCubeTiling* tiling); \
    void prefix##_init(npukb::MatmulState* state, const npukb::MatmulForm* form, const TCubeTiling* tiling);   \
    bool prefix##_iterate(npukb::MatmulState* state, bool sync, bool partial, const npukb::BufferView* sums);  \
    void prefix##_get(npukb::MatmulState* state, bool sync, const npukb::MatmulTarget* target);                \
    void* prefix##_get_workspace(npukb::MatmulState* state);                                                   \
    void prefix##_all(npukb::MatmulState* state, bool sync, const npukb::MatmulTarget* target);                \
    void prefix##_batch(npukb::MatmulState* state, bool sync, const npukb::MatmulBatch* batch,                 \
                        const npukb::MatmulTarget* target);                                                    \
    void* prefix##_get_batch(npukb::MatmulState* state, uint32_t batches, const npukb::BufferView* local);     \
    void prefix##_wait(npukb::MatmulState* state);                                                             \
    void prefix##_end(npukb::MatmulState* state);
NPUKB_MATMUL_API(npukb_matmul)
NPUKB_MATMUL_API(npukb_cube_matmul)
#undef NPUKB_MATMUL_API
// On the cube core of a kernel for both kinds: does what the vector cores of its block ask for, until they end. Does
// not return.
void npukb_matmul_serve(void);
}
#pragma GCC visibility pop
