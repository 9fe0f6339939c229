// TPipe, queues and buffers. Queue operations carry the synchronisation between the pipes that produce and consume a
// tensor.
#include <string.h>

#include "cores/core.h"
#include "check/journal.h"
#include "check/raw_access.h"
#include "process/computed_calls.h"

namespace twin {
namespace {

// TPosition, as far as the pipes at both ends of a queue depend on it.
enum Position { kGm, kA1, kA2, kB1, kB2, kC1, kC2, kCo1, kCo2, kVecIn, kVecOut, kVecCalc, kSpm, kTscm, kScales };

bool InL1(int position) { return position == kA1 || position == kB1 || position == kC1; }

// Where the tensors of a queue lie: at its source, unless that is global memory or L1 on the way to another memory.
int PlaceOf(int src, int dst) {
    if (src == kGm || dst == kTscm) return dst;
    return InL1(src) && dst != kGm ? dst : src;
}

// Who writes a tensor that goes from `src` to `dst`, and who reads it.
Pipe ProducerOf(int src, int dst) {
    if (dst == kScales) return Pipe::FIX;
    switch (src) {
        case kGm: return Pipe::MTE2;
        case kVecIn: return dst == kVecOut ? Pipe::MTE2 : Pipe::V;
        case kA1:
        case kB1:
        case kC1: return dst == kGm ? Pipe::MTE2 : Pipe::MTE1;
        case kCo1:
        case kCo2: return Pipe::M;
        default: return Pipe::V;
    }
}

Pipe ConsumerOf(int src, int dst) {
    switch (dst) {
        case kGm: return src == kCo1 || src == kCo2 ? Pipe::FIX : Pipe::MTE3;
        case kVecOut: return Pipe::MTE3;
        case kA1:
        case kB1:
        case kC1: return Pipe::MTE1;
        case kA2:
        case kB2:
        case kC2: return Pipe::M;
        case kCo2:
        case kScales: return Pipe::FIX;
        case kTscm: return Pipe::MTE1;
        default: return Pipe::V;
    }
}

npukb::BufferView View(const Core& core, uint32_t handle) {
    const Buffer& b = core.buffers[handle];
    return {core.ub + b.offset, b.bytes, handle, 0};
}

// Pool 0 stands for all of the memory that a position belongs to. Positions of global memory are given addresses in UB.
uint32_t Resolve(uint32_t pool, int position) {
    Memory memory = MemoryOf(position);
    return pool != 0 || memory == Memory::None ? pool : WholePool(memory);
}

Pool& PoolOf(Core& core, uint32_t pool, const char* operation, const void* pc) {
    if (pool >= static_cast<uint32_t>(kMaxPools + kMemories) || !core.pools[pool].live) {
        core.Violate("queue_misuse", pc, "Call InitBufPool for the pool first.", "%s on a pool that has no memory",
                     operation);
    }
    return core.pools[pool];
}

// Takes `bytes` from a pool. Returns where they begin.
uint32_t Take(Core& core, uint32_t pool, int position, int64_t bytes, uint32_t rounded, const char* operation,
              const void* pc) {
    pool = Resolve(pool, position);
    Pool& p = PoolOf(core, pool, operation, pc);
    bool whole = pool == 0 || pool > static_cast<uint32_t>(kMaxPools);
    const char* rule = pool == 0 || !whole ? "ub_overflow" : "memory_overflow";
    const char* name = pool == 0 ? "unified buffer" : whole ? MemoryName(MemoryOf(position)) : "pool";
    uint64_t used = static_cast<uint64_t>(p.used) + rounded;
    constexpr const char* remedy = "Use smaller tiles or fewer buffers.";
    constexpr const char* format = "%s: %lld bytes for a %s buffer do not fit: %u of the %s's %u bytes are taken";
    // The device hands out addresses past the end of a memory without a word; they do harm when they are used.
    if (bytes < 0 || used > UINT32_MAX || (!whole && used > p.bytes)) {
        core.Violate(rule, pc, remedy, format, operation, static_cast<long long>(bytes), PositionName(position), p.used,
                     name, p.bytes);
    }
    if (used > p.bytes) {
        core.Warn(rule, pc, remedy, format, operation, static_cast<long long>(bytes), PositionName(position), p.used,
                  name, p.bytes);
    }
    uint32_t offset = p.offset + p.used;
    p.used += rounded;
    if (pool == 0 && p.used > core.ub_used) core.ub_used = p.used;
    return offset;
}

uint32_t Round(int64_t bytes) {
    return static_cast<uint32_t>((static_cast<uint64_t>(bytes) + 31) & ~31ull & 0xffffffffu);
}

// The first of `count` free buffer numbers in a row.
uint32_t FreeBuffers(Core& core, uint32_t count, const void* pc) {
    for (uint32_t first = 1, run = 0; first + run <= static_cast<uint32_t>(kMaxBuffers);) {
        if (core.buffers[first + run].live) {
            first += run + 1;
            run = 0;
        } else if (++run == count) {
            return first;
        }
    }
    core.Violate("limit_exceeded", pc, "Share buffers between stages.",
                 "InitBuffer: a kernel may have at most %d buffers", kMaxBuffers);
}

void Reserve(Core& core, uint32_t handle, uint32_t pool, int position, int64_t bytes, const void* pc) {
    uint32_t rounded = Round(bytes);
    if (bytes > UINT32_MAX) bytes = -1;
    Buffer b{};
    b.offset = Take(core, pool, position, bytes, rounded, "InitBuffer", pc);
    b.bytes = rounded;
    b.live = true;
    b.position = position;
    b.pool = Resolve(pool, position);
    core.buffers[handle] = b;
    core.Own(handle);
    if (handle > core.buffer_count) core.buffer_count = handle;
}

// A queue gets buffers once; new ones take the place of what Reset took back.
void CheckFirst(Core& core, const void* que, uint32_t before, const void* pc) {
    if (before == 0 || before > core.queue_count) return;
    const Queue& q = core.queues[before];
    if (!q.live || q.object != que) return;
    core.Warn("queue_misuse", pc, "Call InitBuffer once for a queue, or TPipe::Reset before it is called again.",
              "InitBuffer: this %s queue has %u buffers already, which are lost", PositionName(q.position), q.count);
}

// A pipe tells everyone where it is. From then on, a compiler has to expect that others change the object that the pipe
// is a part of: what its operations work with comes from memory each time. How many numbers that are is not documented;
// two explain what a published kernel gains by having its pipe elsewhere.
void Reload(Core& core) {
    constexpr double kNumbers = 2;
    const Machine& m = core.launch->machine;
    if (core.pipe_inside) core.time.Scalar(kNumbers * (m.dcache_hit_cycles + m.scalar_operation_cycles));
}

Queue& QueueOf(Core& core, uint32_t queue, const char* operation, const void* pc) {
    if (queue == 0 || queue > core.queue_count || !core.queues[queue].live) {
        core.Violate("queue_misuse", pc, "Call pipe.InitBuffer for the queue first.",
                     "%s on a queue that has no buffers", operation);
    }
    Reload(core);
    return core.queues[queue];
}

Buffer& OwnBuffer(Core& core, uint32_t queue, uint32_t handle, const char* operation, const void* pc) {
    if (handle == 0 || handle > core.buffer_count || !core.buffers[handle].live ||
        core.buffers[handle].queue != queue) {
        core.Violate("queue_misuse", pc, "Give a tensor back to the queue it was allocated from.",
                     "%s: the tensor does not belong to this %s queue", operation,
                     PositionName(core.queues[queue].position));
    }
    return core.buffers[handle];
}

// The buffer to free. A queue of the same kind does the same to it, as the buffer knows its own flags.
Buffer& BufferToFree(Core& core, uint32_t queue, uint32_t handle, const void* pc) {
    uint32_t owner = (handle &= 0xffffu) != 0 && handle <= core.buffer_count ? core.buffers[handle].queue : 0;
    if (owner == queue || owner == 0 || !core.queues[owner].live ||
        core.queues[owner].position != core.queues[queue].position) {
        return OwnBuffer(core, queue, handle, "FreeTensor", pc);
    }
    core.Warn("queue_misuse", pc, "Give a tensor back to the queue it was allocated from.",
              "FreeTensor: the tensor belongs to another %s queue", PositionName(core.queues[queue].position));
    return OwnBuffer(core, owner, handle, "FreeTensor", pc);
}

uint32_t AliveAtPosition(const Core& core, int position) {
    uint32_t alive = 0;
    for (uint32_t i = 1; i <= core.buffer_count; ++i) {
        const Buffer& b = core.buffers[i];
        if (b.live && b.queue != 0 && b.state != BufferState::Idle && core.queues[b.queue].position == position)
            ++alive;
    }
    return alive;
}

// For people who step through the kernel.
void Tell(Core& core, const char* what, uint32_t handle, const void* pc) {
    if (core.launch->journal == nullptr) return;
    const Buffer& b = core.buffers[handle & 0xffffu];
    core.launch->journal->Event(core, what, pc, "%s queue %u, %u bytes at %u", PositionName(b.position), b.queue,
                                b.bytes, b.offset);
}

int Enque(uint32_t queue, const npukb::BufferView* tensor, const Pipe* producer, const void* pc) {
    Core& core = ThisCore();
    Queue& q = QueueOf(core, queue, "EnQue", pc);
    Buffer& b = OwnBuffer(core, queue, tensor->handle, "EnQue", pc);
    bool again =
        b.state == BufferState::Dequeued;  // a tensor that several pipes work on goes through its queue several times
    if (b.state != BufferState::Allocated && !again) {
        core.Violate("queue_misuse", pc, "Enqueue every allocated tensor once.",
                     "EnQue: the tensor of the %s queue was not allocated, or was enqueued before",
                     PositionName(q.position));
    }
    uint32_t room = q.depth > 0 ? static_cast<uint32_t>(q.depth) : 1;
    if (q.waiting == room) {
        core.Warn("queue_full", pc, "Dequeue first, or declare the queue with a greater depth.",
                  "EnQue: the %s queue has depth %d and holds as many tensors; this one is not taken",
                  PositionName(q.position), q.depth);
        return 0;
    }
    b.state = BufferState::Queued;
    b.notes = tensor->notes;
    b.enqueued_at = core.time.At(producer != nullptr ? *producer : q.producer);
    q.fifo[q.waiting++] = tensor->handle;
    Tell(core, "EnQue", tensor->handle, pc);
    return 1;
}

void Deque(uint32_t queue, npukb::BufferView* tensor, const Pipe* consumer, const void* pc) {
    Core& core = ThisCore();
    Queue& q = QueueOf(core, queue, "DeQue", pc);
    if (q.waiting == 0) {
        core.Violate("queue_misuse", pc, "Call EnQue before DeQue.",
                     "DeQue on an empty %s queue; the device waits for ever", PositionName(q.position));
    }
    uint32_t handle = q.fifo[0];
    --q.waiting;
    for (uint32_t i = 0; i < q.waiting; ++i) q.fifo[i] = q.fifo[i + 1];
    Buffer& b = core.buffers[handle];
    b.state = BufferState::Dequeued;
    Tell(core, "DeQue", handle, pc);
    core.Place(pc);
    core.time.HoldUntil(consumer != nullptr ? *consumer : q.consumer, b.enqueued_at + core.launch->machine.flag_cycles);
    *tensor = View(core, handle);
    tensor->notes = b.notes;
}

}  // namespace

void Core::TakeBack(uint32_t pool) {
    for (uint32_t i = 1; i <= buffer_count; ++i) {
        Buffer& b = buffers[i];
        if (!b.live || b.pool != pool) continue;
        b.live = false;
        if (b.queue != 0) queues[b.queue].live = false;
    }
    while (buffer_count > 0 && !buffers[buffer_count].live) --buffer_count;
    while (queue_count > 0 && !queues[queue_count].live) --queue_count;
    for (int i = 1; i <= kMaxPools; ++i) {
        if (!pools[i].live || pools[i].parent != pool) continue;
        pools[i].live = false;
        TakeBack(static_cast<uint32_t>(i));
    }
    pools[pool].used = 0;
    if (pool != 0) return;
    for (int m = 1; m < kMemories; ++m) TakeBack(WholePool(static_cast<Memory>(m)));
    memset(owner, 0, launch->arena_bytes / 32);
}

}  // namespace twin

extern "C" {

void npukb_pipe_create(void* self) {
    using namespace twin;
    Core& core = ThisCore();
    if (core.pipe_alive && core.pipe != self) {
        core.Violate("two_pipes", NPUKB_PC, "Keep one TPipe per kernel.",
                     "a second TPipe is created while the first is alive; the device hangs");
    }
    if (!core.pipe_alive) core.TakeBack(0);
    // A pipe that is given up and made anew by hand is where it was.
    core.pipe_inside = InConstructor(NPUKB_PC) || (core.pipe_inside && core.pipe == self);
    core.pipe_alive = true;
    core.pipe = self;
}

void npukb_pipe_destroy(void* self, int reset) {
    using namespace twin;
    Core& core = ThisCore();
    if (core.pipe != self) return;
    core.time.HoldAllUntil(core.time.End());
    if (reset) {
        core.TakeBack(0);
    } else {
        core.pipe_alive = false;
    }
}

void* npukb_pipe_current(void) { return twin::ThisCore().pipe; }

uint32_t npukb_queue_init(uint32_t pool, int positions, int32_t depth, int32_t count, int64_t bytes, const void* que,
                          uint32_t before) {
    using namespace twin;
    const void* pc = NPUKB_PC;
    Core& core = ThisCore();
    CheckFirst(core, que, before, pc);
    if (count < 1) {
        core.Violate("limit_exceeded", pc, "Ask for one buffer, or two for double buffering.",
                     "InitBuffer: a queue needs at least one buffer, not %d", count);
    }
    uint32_t index = 1;
    while (index <= static_cast<uint32_t>(kMaxQueues) && core.queues[index].live) ++index;
    uint32_t first = FreeBuffers(core, static_cast<uint32_t>(count), pc);
    int src = positions >> 8, dst = positions & 0xff;
    Queue q{};
    q.position = PlaceOf(src, dst);
    q.producer = ProducerOf(src, dst);
    q.consumer = ConsumerOf(src, dst);
    q.live = true;
    q.depth = depth;
    q.object = que;
    q.first = first;
    q.count = static_cast<uint32_t>(count);
    for (uint32_t handle = first; handle < first + q.count; ++handle) {
        Reserve(core, handle, pool, q.position, bytes, pc);
        core.buffers[handle].queue = index;
    }
    core.queues[index] = q;
    if (index > core.queue_count) core.queue_count = index;
    return index;
}

void npukb_buffer_init(npukb::BufferView* view, uint32_t pool, int position, int64_t bytes) {
    using namespace twin;
    const void* pc = NPUKB_PC;
    Core& core = ThisCore();
    CheckResult(view, sizeof *view, pc);
    uint32_t handle = FreeBuffers(core, 1, pc);
    Reserve(core, handle, pool, position, bytes, pc);
    *view = View(core, handle);
}

uint32_t npukb_pool_init(uint32_t parent, int position, int64_t bytes, uint32_t shared) {
    using namespace twin;
    const void* pc = NPUKB_PC;
    Core& core = ThisCore();
    uint32_t index = 1;
    while (index <= static_cast<uint32_t>(kMaxPools) && core.pools[index].live) ++index;
    if (index > static_cast<uint32_t>(kMaxPools)) {
        core.Violate("limit_exceeded", pc, "Reset pools that are no longer used.", "InitBufPool: more than %d pools",
                     kMaxPools);
    }
    uint32_t rounded = Round(bytes);
    if (shared == 0) {
        uint32_t offset = Take(core, parent, position, bytes, rounded, "InitBufPool", pc);
        core.pools[index] = Pool{offset, rounded, 0, Resolve(parent, position), true};
        return index;
    }
    const Pool& other = PoolOf(core, shared, "InitBufPool", pc);
    if (rounded > other.bytes) {
        core.Violate("ub_overflow", pc, "Give the shared pool the length of the longest user.",
                     "InitBufPool: %lld bytes do not fit into the shared pool of %u bytes",
                     static_cast<long long>(bytes), other.bytes);
    }
    core.pools[index] = Pool{other.offset, other.bytes, 0, other.parent, true};
    return index;
}

void npukb_pool_reset(uint32_t pool) {
    using namespace twin;
    Core& core = ThisCore();
    PoolOf(core, pool, "TBufPool::Reset", NPUKB_PC);
    core.time.HoldAllUntil(core.time.End());
    core.TakeBack(pool);
}

void npukb_queue_alloc(uint32_t queue, npukb::BufferView* tensor) {
    using namespace twin;
    const void* pc = NPUKB_PC;
    Core& core = ThisCore();
    Queue& q = QueueOf(core, queue, "AllocTensor", pc);
    CheckResult(tensor, sizeof *tensor, pc);
    for (uint32_t i = 0; i < q.count; ++i) {
        uint32_t handle = q.first + (q.next + i) % q.count;
        Buffer& b = core.buffers[handle];
        if (b.state != BufferState::Idle) continue;
        if (AliveAtPosition(core, q.position) == kPositionBuffers) {
            core.Violate("limit_exceeded", pc, "Free tensors sooner, or merge queues.",
                         "AllocTensor: %d tensors of %s queues are alive already, which is the limit of the core",
                         kPositionBuffers, PositionName(q.position));
        }
        q.next = (q.next + i + 1) % q.count;
        b.state = BufferState::Allocated;
        b.allocated_by = pc;
        Tell(core, "AllocTensor", handle, pc);
        core.Place(pc);
        if (b.used) core.time.HoldForBuffer(q.producer, b.freed_at + core.launch->machine.flag_cycles, b.freed_before);
        *tensor = View(core, handle);
        return;
    }
    core.Violate("queue_misuse", pc, "Call FreeTensor on what was dequeued, or give the queue more buffers.",
                 "AllocTensor: all %u buffers of the %s queue are in use; the device waits for ever", q.count,
                 PositionName(q.position));
}

int npukb_queue_enque(uint32_t queue, const npukb::BufferView* tensor) {
    return twin::Enque(queue, tensor, nullptr, NPUKB_PC);
}

int npukb_queue_enque_at(uint32_t queue, const npukb::BufferView* tensor, int positions) {
    twin::Pipe producer = twin::ProducerOf(positions >> 8, positions & 0xff);
    return twin::Enque(queue, tensor, &producer, NPUKB_PC);
}

void npukb_queue_deque(uint32_t queue, npukb::BufferView* tensor) {
    twin::CheckResult(tensor, sizeof *tensor, NPUKB_PC);
    twin::Deque(queue, tensor, nullptr, NPUKB_PC);
}

void npukb_queue_deque_at(uint32_t queue, npukb::BufferView* tensor, int positions) {
    twin::Pipe consumer = twin::ConsumerOf(positions >> 8, positions & 0xff);
    twin::CheckResult(tensor, sizeof *tensor, NPUKB_PC);
    twin::Deque(queue, tensor, &consumer, NPUKB_PC);
}

void npukb_queue_free(uint32_t queue, const npukb::BufferView* tensor) {
    using namespace twin;
    const void* pc = NPUKB_PC;
    Core& core = ThisCore();
    Queue& q = QueueOf(core, queue, "FreeTensor", pc);
    Buffer& b = BufferToFree(core, queue, tensor->handle, pc);
    if (b.state == BufferState::Idle || b.state == BufferState::Queued) {
        core.Violate("queue_misuse", pc, "Free a tensor once, after DeQue.",
                     "FreeTensor: the tensor of the %s queue is %s", PositionName(q.position),
                     b.state == BufferState::Idle ? "free already" : "still in the queue");
    }
    b.state = BufferState::Idle;
    b.used = true;
    Tell(core, "FreeTensor", tensor->handle, pc);
    b.freed_before = b.freed_at;
    b.freed_at = core.time.At(q.consumer);
}

int32_t npukb_queue_state(uint32_t queue, int question) {
    using namespace twin;
    Core& core = ThisCore();
    Queue& q = QueueOf(core, queue, "a queue query", NPUKB_PC);
    if (question == 0) return static_cast<int32_t>(q.waiting) < (q.depth > 0 ? q.depth : 1);
    if (question == 1) return static_cast<int32_t>(q.waiting);
    for (uint32_t i = 0; i < q.count; ++i) {
        if (core.buffers[q.first + i].state == BufferState::Idle) return 1;
    }
    return 0;
}
}
