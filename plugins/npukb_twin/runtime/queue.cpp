// TPipe, queues and buffers. Queue operations carry the synchronisation between the pipes that produce and consume a tensor.
#include "core.h"

namespace twin {
namespace {

constexpr int kVecOut = 10;  // TPosition::VECOUT; every other position is filled by MTE2 and read by V

Pipe Producer(int position) { return position == kVecOut ? Pipe::V : Pipe::MTE2; }
Pipe Consumer(int position) { return position == kVecOut ? Pipe::MTE3 : Pipe::V; }

npukb::BufferView View(const Core& core, uint32_t handle) {
    const Buffer& b = core.buffers[handle];
    return {core.ub + b.offset, b.bytes, handle};
}

uint32_t Reserve(Core& core, int position, int64_t bytes, const void* pc) {
    if (core.buffer_count == kMaxBuffers) {
        core.Violate("limit_exceeded", pc, "Share buffers between stages.",
                     "InitBuffer: a kernel may have at most %d buffers", kMaxBuffers);
    }
    uint64_t rounded = (static_cast<uint64_t>(bytes) + 31) & ~31ull;
    uint32_t capacity = core.launch->machine.ub_bytes;
    if (bytes < 0 || core.ub_used + rounded > capacity) {
        core.Violate("ub_overflow", pc, "Use smaller tiles or fewer buffers.",
                     "InitBuffer: %lld bytes for a %s buffer do not fit: %u of the unified buffer's %u bytes are taken",
                     static_cast<long long>(bytes), PositionName(position), core.ub_used, capacity);
    }
    Buffer& b = core.buffers[++core.buffer_count];
    b = Buffer{core.ub_used, static_cast<uint32_t>(rounded), 0, BufferState::Idle, false, 0, 0, nullptr};
    core.ub_used += static_cast<uint32_t>(rounded);
    return core.buffer_count;
}

Queue& QueueOf(Core& core, uint32_t queue, const char* operation, const void* pc) {
    if (queue == 0 || queue > core.queue_count) {
        core.Violate("queue_misuse", pc, "Call pipe.InitBuffer for the queue first.",
                     "%s on a queue that has no buffers", operation);
    }
    return core.queues[queue];
}

Buffer& OwnBuffer(Core& core, uint32_t queue, uint32_t handle, const char* operation, const void* pc) {
    if (handle == 0 || handle > core.buffer_count || core.buffers[handle].queue != queue) {
        core.Violate("queue_misuse", pc, "Give a tensor back to the queue it was allocated from.",
                     "%s: the tensor does not belong to this %s queue", operation, PositionName(core.queues[queue].position));
    }
    return core.buffers[handle];
}

uint32_t AliveAtPosition(const Core& core, int position) {
    uint32_t alive = 0;
    for (uint32_t i = 1; i <= core.buffer_count; ++i) {
        const Buffer& b = core.buffers[i];
        if (b.queue != 0 && b.state != BufferState::Idle && core.queues[b.queue].position == position) ++alive;
    }
    return alive;
}

}  // namespace
}  // namespace twin

extern "C" {

void npukb_pipe_create(void* self) {
    using namespace twin;
    Core& core = ThisCore();
    if (core.pipe_alive && core.pipe != self) {
        core.Violate("two_pipes", NPUKB_PC, "Keep one TPipe per kernel.",
                     "a second TPipe is created while the first is alive; the device hangs");
    }
    if (!core.pipe_alive) core.buffer_count = core.queue_count = core.ub_used = 0;
    core.pipe_alive = true;
    core.pipe = self;
}

void npukb_pipe_destroy(void* self, int reset) {
    using namespace twin;
    Core& core = ThisCore();
    if (core.pipe != self) return;
    core.time.HoldAllUntil(core.time.End());
    if (reset) {
        core.buffer_count = core.queue_count = core.ub_used = 0;
    } else {
        core.pipe_alive = false;
    }
}

void* npukb_pipe_current(void) { return twin::ThisCore().pipe; }

uint32_t npukb_queue_init(int position, int32_t depth, int32_t count, int64_t bytes) {
    using namespace twin;
    const void* pc = NPUKB_PC;
    Core& core = ThisCore();
    if (count < 1) {
        core.Violate("limit_exceeded", pc, "Ask for one buffer, or two for double buffering.",
                     "InitBuffer: a queue needs at least one buffer, not %d", count);
    }
    if (core.queue_count == kMaxQueues) {
        core.Violate("limit_exceeded", pc, "Share queues between stages.", "InitBuffer: more than %d queues", kMaxQueues);
    }
    uint32_t index = core.queue_count + 1;
    Queue& q = core.queues[index];
    q = Queue{};
    q.position = position;
    q.depth = depth;
    q.count = static_cast<uint32_t>(count);
    for (int32_t i = 0; i < count; ++i) {
        uint32_t handle = Reserve(core, position, bytes, pc);
        if (i == 0) q.first = handle;
        core.buffers[handle].queue = index;
    }
    core.queue_count = index;
    return index;
}

npukb::BufferView npukb_buffer_init(int position, int64_t bytes) {
    using namespace twin;
    Core& core = ThisCore();
    return View(core, Reserve(core, position, bytes, NPUKB_PC));
}

void npukb_queue_alloc(uint32_t queue, npukb::BufferView* tensor) {
    using namespace twin;
    const void* pc = NPUKB_PC;
    Core& core = ThisCore();
    Queue& q = QueueOf(core, queue, "AllocTensor", pc);
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
        if (b.used) core.time.HoldUntil(Producer(q.position), b.freed_at + core.launch->machine.flag_cycles);
        *tensor = View(core, handle);
        return;
    }
    core.Violate("queue_misuse", pc, "Call FreeTensor on what was dequeued, or give the queue more buffers.",
                 "AllocTensor: all %u buffers of the %s queue are in use; the device waits for ever", q.count,
                 PositionName(q.position));
}

int npukb_queue_enque(uint32_t queue, const npukb::BufferView* tensor) {
    using namespace twin;
    const void* pc = NPUKB_PC;
    Core& core = ThisCore();
    Queue& q = QueueOf(core, queue, "EnQue", pc);
    uint32_t handle = tensor->handle;
    Buffer& b = OwnBuffer(core, queue, handle, "EnQue", pc);
    if (b.state != BufferState::Allocated) {
        core.Violate("queue_misuse", pc, "Enqueue every allocated tensor once.",
                     "EnQue: the tensor of the %s queue was not allocated, or was enqueued before", PositionName(q.position));
    }
    b.state = BufferState::Queued;
    b.enqueued_at = core.time.At(Producer(q.position));
    q.fifo[q.waiting++] = handle;
    return 1;
}

void npukb_queue_deque(uint32_t queue, npukb::BufferView* tensor) {
    using namespace twin;
    const void* pc = NPUKB_PC;
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
    core.time.HoldUntil(Consumer(q.position), b.enqueued_at + core.launch->machine.flag_cycles);
    *tensor = View(core, handle);
}

void npukb_queue_free(uint32_t queue, const npukb::BufferView* tensor) {
    using namespace twin;
    const void* pc = NPUKB_PC;
    Core& core = ThisCore();
    Queue& q = QueueOf(core, queue, "FreeTensor", pc);
    Buffer& b = OwnBuffer(core, queue, tensor->handle, "FreeTensor", pc);
    if (b.state == BufferState::Idle || b.state == BufferState::Queued) {
        core.Violate("queue_misuse", pc, "Free a tensor once, after DeQue.",
                     "FreeTensor: the tensor of the %s queue is %s", PositionName(q.position),
                     b.state == BufferState::Idle ? "free already" : "still in the queue");
    }
    b.state = BufferState::Idle;
    b.used = true;
    b.freed_at = core.time.At(Consumer(q.position));
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
