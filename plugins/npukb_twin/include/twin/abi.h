// What a compiled kernel and the twin's runtime say to each other. Plain data and C functions, shared by both sides.
//
// Every function is called from an inlined API wrapper, so its return address lies in the candidate's own code: that is
// how the runtime knows the source line of an instruction.
#pragma once
#include <stdint.h>

namespace npukb {

enum class DType : uint8_t { F16, BF16, F32, I8, U8, I16, U16, I32, U32, I64, U64, I4 };

// I4 counts bytes of two elements. There is an entry for whatever a byte can hold: no number leads outside of the
// table.
inline constexpr uint32_t kDTypeBytes[256] = {2, 2, 4, 1, 1, 2, 2, 4, 4, 8, 8, 1};

enum class Op : uint8_t {
#define NPUKB_INSTRUCTION(name, ...) name,
#include "instructions.def"
};

enum class Pipe : uint8_t { S, V, M, MTE1, MTE2, MTE3, FIX, All };
inline constexpr int kPipes = 7;

// How many lanes an instruction touches: `count` contiguous elements, or repeats under a lane mask.
enum class Form : uint8_t { Count, Mask };

struct Operand {
    const void* address;
    uint32_t tensor_bytes;  // from `address` to the end of the tensor it was taken from
    uint16_t block_stride;  // in 32-byte blocks, mask form only
    uint16_t repeat_stride;
    DType dtype;
};

// What single calls ask for, one bit each; instructions.def says which instruction takes which.
enum Ask : uint32_t {
    Round = 1u << 0,           // ShiftRight adds the last bit shifted out
    VectorScales = 1u << 1,    // CastDequant: sixteen scales in UB instead of one in DEQSCALE
    UpperHalf = 1u << 2,       // CastDequant: bytes fill the upper half of each block
    ToRegister = 1u << 3,      // Compare: results go to the CmpMask register, dst is none
    ToAccumulator = 1u << 4,   // a sum over all repeats goes to the accumulator, dst is not written
    RegisterScalar = 1u << 5,  // Select: the scalar is what SetCmpMask has left
};

struct VectorInstruction {
    Op op;
    Form form;
    uint8_t mode;          // CMPMODE, RoundMode, SELMODE or ReduceOrder
    uint8_t use_register;  // mask form: lanes come from the mask register instead of `mask`
    uint8_t flags;         // of Ask
    uint8_t counted;       // mask form: `count` says how many lanes, and `mask` is made of it
    uint32_t repeat;
    int64_t count;
    uint64_t mask[2];
    Operand dst;
    Operand src0;
    Operand src1;
    uint64_t scalar;  // raw bits of the scalar operand, in the type of src0
};

// What every GlobalTensor begins with.
struct GlobalView {
    void* address;
    uint64_t size;       // elements; 0 when it was not told
    const void* origin;  // of the tensor that this one is a part of; null when it is not known
};

struct BufferView {
    void* address;
    uint32_t bytes;
    uint32_t handle;  // identifies the allocation; 0 for none
    uint32_t notes;   // shape and tag that SetShapeInfo and SetUserTag left, as npukb_notes_set numbers them
};

// An instruction by count, packed: operation, mode (CMPMODE, RoundMode, SELMODE, calIndex), element types. One word and
// a few pointers are much cheaper to compile than a VectorInstruction, and most calls in a kernel are of this form.
template <Op op, DType dst, DType src>
inline constexpr uint32_t kCode =
    static_cast<uint32_t>(op) | static_cast<uint32_t>(dst) << 16 | static_cast<uint32_t>(src) << 24;
template <Op op, DType type>
inline constexpr uint32_t kCodeOf = kCode<op, type, type>;

constexpr uint32_t kModeShift = 8;

// The mask form of an instruction, packed: where its lanes come from, which structure holds its strides, flags.
enum class LaneSource : uint32_t { Count, Bits, Register };
enum class Strides : uint32_t { Unary, Binary };
template <LaneSource lanes, Strides strides, uint32_t flags = 0>
inline constexpr uint32_t kShape =
    static_cast<uint32_t>(lanes) << 16 | static_cast<uint32_t>(strides) << 18 | flags << 24;
constexpr uint32_t kFlagShift = 24;

// Parts of reductions that travel in the mode byte of a code: ReduceOrder or calIndex, where lanes come from, and
// whether the sum goes to the accumulator.
constexpr uint32_t kReduceLanesShift = kModeShift + 4;
constexpr uint32_t kReduceSumShift = kModeShift + 6;

// Says that a tensor is about to be filled in.
struct Unfilled {};

// Communication between ranks; see library/ranks.h. How an object got its tiling: a copy of it, where it lies, or none.
enum class RankInit : uint32_t { Copied, Global, Plain };
enum class Exchange : uint32_t { AllReduce, AllGather, ReduceScatter, AlltoAll, AlltoAllV };
inline constexpr uint32_t kExchanges = 5;

// Which object calls: its communicator, from 1 on, and the core that gives its tasks to the server.
struct RankClient {
    uint32_t group;
    uint8_t core_type;  // of AscendC::CoreType
    int64_t block;
};

// What a task of one rank comes to: `count` elements from here to there, `repeat` times, each behind the last.
struct RankTask {
    Exchange what;
    void* send;
    void* receive;
    uint64_t count;
    int32_t type;  // of HcclDataType
    int32_t reduce;
    uint8_t repeat;
    uint64_t received = 0;  // AlltoAllV alone, like what follows
    int32_t received_type = 0;
    uint64_t send_offset = 0;
    uint64_t receive_offset = 0;
};

}  // namespace npukb

#pragma GCC visibility push(default)
extern "C" {
void npukb_vector(const npukb::VectorInstruction* instruction);
void npukb_vector_count(uint32_t code, int64_t count, const npukb::BufferView* dst, const npukb::BufferView* src0,
                        const npukb::BufferView* src1, uint64_t scalar);
// The mask form: `lanes` is a number of lanes or the address of two words of lane bits, `params` a structure of
// strides.
void npukb_vector_mask(uint32_t code, uint32_t shape, uint32_t repeat, uint64_t lanes, const npukb::BufferView* dst,
                       const npukb::BufferView* src0, const npukb::BufferView* src1, const void* params,
                       uint64_t scalar);
void npukb_select(uint32_t code, uint32_t shape, uint32_t repeat, uint64_t lanes, const npukb::BufferView* dst,
                  const npukb::BufferView* bits, const npukb::BufferView* src0, const npukb::BufferView* src1,
                  const void* params, uint64_t scalar);
void npukb_select_count(uint32_t code, int64_t count, const npukb::BufferView* dst, const npukb::BufferView* bits,
                        const npukb::BufferView* src0, const npukb::BufferView* src1, uint64_t scalar);
void npukb_reduce(uint32_t code, uint64_t lanes, int32_t repeat, const npukb::BufferView* dst,
                  const npukb::BufferView* src, int32_t dst_stride, int32_t block_stride, int32_t repeat_stride);
void npukb_reduce_tensor(uint32_t code, uint64_t lanes, int32_t repeat, const npukb::BufferView* dst,
                         const npukb::BufferView* src, const npukb::BufferView* tmp, int32_t repeat_stride);
void npukb_bilinear(uint32_t shape, uint64_t lanes, const npukb::BufferView* const* tensors, uint32_t repeats,
                    uint32_t strides);
void npukb_mask_mode(int counter);
void npukb_mask_set(uint64_t high, uint64_t low);
void npukb_mask_count(uint64_t elements);  // for the counter mode
void npukb_compare_mask(uint32_t type_bytes, const npukb::BufferView* tensor, int write);
void npukb_deq_scale(uint64_t word);
void npukb_deq_scale_vector(const npukb::BufferView* tensor, const void* info);
int npukb_saturation(int set, int value);
uint64_t npukb_vector_register(int which);
uint32_t npukb_scalar_cast(float value, int mode, int to_half);
int64_t npukb_system_cycle(void);
int64_t npukb_program_counter(void);
void npukb_print(const char* format, uint32_t count, const uint64_t* values, const uint8_t* kinds);
void npukb_dump(npukb::DType dtype, const void* address, int global, uint32_t desc, uint64_t count);
[[noreturn]] void npukb_assert(const char* condition);
[[noreturn]] void npukb_trap(void);

void npukb_flag_set(npukb::Pipe from, npukb::Pipe to, int32_t id);
void npukb_flag_wait(npukb::Pipe from, npukb::Pipe to, int32_t id);
int32_t npukb_event_id(npukb::Pipe from, npukb::Pipe to, int hold);
void npukb_event_release(npukb::Pipe from, npukb::Pipe to, int32_t id);
void npukb_barrier(npukb::Pipe pipe);
void npukb_sync_all(int vector_only);
void npukb_sync_all_soft(const void* gm, const npukb::BufferView* ub, int32_t used);
void npukb_core_flag_set(uint32_t mode, npukb::Pipe pipe, uint32_t id);
void npukb_core_flag_wait(uint32_t mode, uint32_t id);
void npukb_block_flag(const void* gm, const npukb::BufferView* ub, int32_t block, int32_t event, int wait);
void npukb_block_order(const void* gm, const npukb::BufferView* ub, int step);

void* npukb_rank_context(uint32_t index);
uint32_t npukb_rank_open(npukb::RankInit how, const void* context, const void* tiling);
int32_t npukb_rank_tiling(uint32_t group, uint64_t offset, const void* address);
int32_t npukb_rank_prepare(npukb::RankClient client, const npukb::RankTask* task, int commit);
void npukb_rank_commit(npukb::RankClient client, int32_t handle);
int32_t npukb_rank_wait(npukb::RankClient client, int32_t handle);
int32_t npukb_rank_query(npukb::RankClient client, int32_t handle);
int32_t npukb_rank_iterate(npukb::RankClient client, int32_t handle, uint32_t blocks, int wait);
void npukb_rank_finalize(npukb::RankClient client);
uint32_t npukb_rank_number(uint32_t group, int dimension);

void* npukb_scalar_global(const void* tensor, uint64_t offset_bytes, uint32_t bytes,
                          int write);  // the element's address
// Element `index` of a tensor in UB.
void npukb_scalar_access(const void* address, uint32_t bytes, int write, uint32_t index, uint32_t tensor_bytes);
int64_t npukb_block_idx(void);
int64_t npukb_block_num(void);
int64_t npukb_group(void);           // the block that this core is a part of
int64_t npukb_sub_block(int count);  // which of the block's cores of its kind this is; how many there are
uint64_t npukb_tiling_key(void);
void npukb_tiling_copy(void* data, const void* tiling, uint64_t bytes);
// Argument `index` of a direct launch, of which there are to be `count`, as a value of `bytes` of this kind (direct.h).
void npukb_tiling_argument(void* value, uint64_t bytes, int kind, uint32_t index, uint32_t count);
void* npukb_user_workspace(void* workspace);
void* npukb_system_workspace(void* workspace);  // remembers it, unless null; the one remembered
}
#pragma GCC visibility pop
