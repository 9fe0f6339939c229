// What headers of data movement, tensors and queues and the runtime say to each other. See abi.h.
#pragma once
#include "abi.h"

namespace npukb {

// Which way a copy goes.
enum Direction : uint8_t { kIn, kOut, kInside };

// One data move between global memory and UB, or inside UB: `blocks` pieces of `block_bytes`, with gaps between pieces.
struct CopyInstruction {
    const void* dst;
    const void* src;
    const char* name;    // as the candidate calls it
    const void* origin;  // of the tensor in global memory, see GlobalView
    uint32_t blocks;
    uint64_t block_bytes;
    int64_t dst_stride;  // bytes from the start of one piece to the start of the next
    int64_t src_stride;
    uint32_t element_bytes;
    uint32_t ub_bytes;         // of the tensor in UB, from its address on; of the destination for moves inside UB
    uint32_t src_bytes;        // the same of the source of a move inside UB
    uint64_t requested_bytes;  // per piece, before DataCopy rounds down to 32; equal to block_bytes otherwise
    uint8_t direction;
    uint8_t padded;    // DataCopyPad: bytes, not blocks
    uint8_t pad_left;  // elements
    uint8_t pad_right;
    uint8_t pad_value_set;  // 1: by the copy itself, 2: by SetPadValue
    uint64_t pad_value;     // raw bits
};

// What moves from UB do to global memory.
enum class AtomicMode : uint8_t { None, Add, Max, Min };

// Built-in patterns of GatherMask are numbers; a tensor of bits is given as its view.
struct GatherMaskCall {
    const BufferView *dst, *src, *bits;
    uint32_t pattern, count, element_bytes;
    uint8_t counted;
};

}  // namespace npukb

#pragma GCC visibility push(default)
extern "C" {
// Copies take pointers to tensors, which begin with their address, and to the API's parameter structures: filling in a
// CopyInstruction is the runtime's work, so that a call compiles to next to nothing.
void npukb_copy_count(uint32_t element_bytes, uint32_t direction, const void* dst, const void* src, uint32_t count);
void npukb_copy_blocks(uint32_t element_bytes, uint32_t direction, const void* dst, const void* src,
                       const void* params);
void npukb_copy_pad_in(uint32_t element_bytes, const void* dst, const void* src, const void* params, const void* pad,
                       const void* pad_value);
void npukb_copy_pad_out(uint32_t element_bytes, const void* dst, const void* src, const void* params);
void npukb_pad_value(uint64_t value);
void npukb_copy_slices(uint32_t element_bytes, uint32_t direction, const void* dst, const void* src,
                       const void* dst_slices, const void* src_slices, uint32_t dimensions);
void npukb_copy_nd2nz(uint32_t element_bytes, const void* dst, const void* src, const void* params);
void npukb_copy_raw(uint32_t direction, void* dst, const void* src, uint32_t count, uint32_t length, uint32_t src_gap,
                    uint32_t dst_gap);
void npukb_copy_raw_align(uint32_t element_bytes, uint32_t direction, void* dst, const void* src, uint32_t count,
                          uint32_t length, uint32_t left, uint32_t right, uint32_t src_gap, uint32_t dst_gap);
void npukb_copy_init(uint32_t element_bytes, const void* gm, uint64_t count, uint64_t value);
void npukb_atomic(npukb::AtomicMode mode, npukb::DType dtype);
void npukb_atomic_type(npukb::DType dtype);
uint32_t npukb_atomic_state(int question);
void npukb_cache_hint(uint32_t cycles);
void npukb_cache_clean(const void* tensor, int whole);
void npukb_l2_hint(const void* tensor, int which, int mode);

void npukb_pipe_create(void* self);
void npukb_pipe_destroy(void* self, int reset);
void* npukb_pipe_current(void);
// A view is put where the caller says and the runtime has looked, never returned: where results of that size go is
// decided by the processor's convention, which nobody can check.
// `que` is the queue's object and `before` its number, 0 when it has never had buffers.
uint32_t npukb_queue_init(uint32_t pool, int positions, int32_t depth, int32_t count, int64_t bytes, const void* que,
                          uint32_t before);
void npukb_buffer_init(npukb::BufferView* view, uint32_t pool, int position, int64_t bytes);
uint32_t npukb_pool_init(uint32_t parent, int position, int64_t bytes, uint32_t shared);
void npukb_pool_reset(uint32_t pool);
void npukb_queue_alloc(uint32_t queue, npukb::BufferView* tensor);
int npukb_queue_enque(uint32_t queue, const npukb::BufferView* tensor);
void npukb_queue_deque(uint32_t queue, npukb::BufferView* tensor);
void npukb_queue_free(uint32_t queue, const npukb::BufferView* tensor);
// As above, with the pipes given by two positions instead of the queue's own.
int npukb_queue_enque_at(uint32_t queue, const npukb::BufferView* tensor, int positions);
void npukb_queue_deque_at(uint32_t queue, npukb::BufferView* tensor, int positions);
int32_t npukb_queue_state(uint32_t queue, int question);
void npukb_buffer_view(npukb::BufferView* view, uint32_t handle);
// `part`: 0 the whole buffer, 1 its beginning, whatever its size, 2 at `offset`.
void npukb_buffer_part(npukb::BufferView* view, const npukb::BufferView* buffer, uint64_t bytes, uint64_t offset,
                       int part);
void npukb_stack_rest(npukb::BufferView* view, int position);
// In the memory of a position; all of its rest when bytes is ~0.
void npukb_memory_at(npukb::BufferView* view, int position, uint64_t offset, uint64_t bytes);
// From a raw pointer to the end of UB.
void npukb_ub_rest(npukb::BufferView* view, const void* address);
uint64_t npukb_memory_base(int position);

// Notes that a tensor carries: its shape and the user's tag. They are kept once per core and named by a number; a
// tensor in UB holds that number in the upper half of its handle.
uint32_t npukb_notes_set(uint32_t notes, const void* shape, int32_t tag, int what);
void npukb_notes_shape(uint32_t notes, void* shape);
int32_t npukb_notes_tag(uint32_t notes);
int npukb_tensor_position(uint32_t handle);

void npukb_list_open(const void* table, uint32_t length, uint32_t count);
uint32_t npukb_list_size(const void* table);
void* npukb_list_data(const void* table, uint32_t index);
void* npukb_list_shape(const void* table, uint32_t index, uint64_t* shape, uint64_t* dim);

void npukb_gather_count(uint32_t element_bytes, const npukb::BufferView* dst, const npukb::BufferView* src,
                        const npukb::BufferView* offsets, uint32_t base, int64_t count);
void npukb_gather_lanes(const npukb::VectorInstruction* lanes, uint32_t base);
void npukb_gather_blocks(uint32_t element_bytes, const npukb::BufferView* dst, const npukb::BufferView* src,
                         const npukb::BufferView* offsets, uint32_t repeat, const void* params);
void npukb_gather_mask(const npukb::GatherMaskCall* call, const void* params, uint64_t* kept);

void npukb_transpose(uint32_t element_bytes, const npukb::BufferView* dst, const npukb::BufferView* src,
                     const npukb::BufferView* scratch, const void* params);
// Sixteen addresses each; `layout` 0: tensors, 1: addresses, 2: addresses that lie in UB.
void npukb_transpose_blocks(uint32_t element_bytes, const void* dst, const void* src, int layout, const void* params);
void npukb_address_registers(int index, const uint64_t* addresses);
void npukb_transpose_registers(uint32_t element_bytes, int dst, int src, const void* params);

void npukb_progression(npukb::DType dtype, const npukb::BufferView* dst, uint64_t first, uint64_t step, int64_t count);
// `dim_axis`: the number of dimensions and the axis, a byte each.
void npukb_broadcast(npukb::DType dtype, const npukb::BufferView* dst, const npukb::BufferView* src,
                     const npukb::BufferView* scratch, const uint32_t* dst_shape, const uint32_t* src_shape,
                     uint32_t dim_axis);
void npukb_pad(npukb::DType dtype, const npukb::BufferView* dst, const npukb::BufferView* src,
               const npukb::BufferView* scratch, const void* params, const void* tiling);
void npukb_unpad(npukb::DType dtype, const npukb::BufferView* dst, const npukb::BufferView* src,
                 const npukb::BufferView* scratch, const void* params, const void* tiling);
}
#pragma GCC visibility pop
