// TPipe, TQue, TQueBind, TBuf and TBufPool: buffers in on-chip memory and the queues that carry them between pipes.
#pragma once
#include "tensor.h"

namespace AscendC {

// A buffer without a type, as the forms of queue operations have it that name no element type.
typedef uint8_t* TBufHandle;

// What a queue's third template parameter may point to. None of it changes what a queue does on the vector core.
struct TQueConfig {
    bool nd2nz = false;
    bool nz2nd = false;
    bool scmBlockGroup = false;
    uint32_t bufferLen = 0;
    uint32_t bufferNumber = 0;
    uint32_t consumerSize = 0;
    TPosition consumer[8] = {};
    bool enableStaticEvtId = false;
    bool enableLoopQueue = false;
};

namespace npukb_detail {

NPUKB_API constexpr int Positions(TPosition src, TPosition dst) {
    return static_cast<int>(src) << 8 | static_cast<int>(dst);
}

// A TQue is named by the position its tensors lie at; the other end of its path follows.
NPUKB_API constexpr TPosition SourceOf(TPosition position) {
    switch (position) {
        case TPosition::A2: return TPosition::A1;
        case TPosition::B2: return TPosition::B1;
        case TPosition::C2:
        case TPosition::C2PIPE2GM: return TPosition::C1;
        case TPosition::VECOUT:
        case TPosition::VECCALC:
        case TPosition::CO1:
        case TPosition::CO2: return position;
        default: return TPosition::GM;
    }
}
NPUKB_API constexpr TPosition TargetOf(TPosition position) {
    switch (position) {
        case TPosition::VECOUT:
        case TPosition::CO2: return TPosition::GM;
        case TPosition::CO1: return TPosition::CO2;
        default: return position;
    }
}

}  // namespace npukb_detail

class TPipe;
template <TPosition position, uint32_t bufIDSize = 4>
class TBufPool;

namespace npukb_detail {

// What every queue can do, wherever its ends are.
class Queue {
  public:
    NPUKB_API Queue() : queue_(0) {}
    template <typename T>
    NPUKB_ONCE LocalTensor<T> AllocTensor() NPUKB_BODY(
        {
            LocalTensor<T> tensor{npukb::Unfilled{}};
            npukb_queue_alloc(queue_, &tensor.npukb_view);
            return tensor;
        })
    template <typename T>
    NPUKB_ONCE void AllocTensor(LocalTensor<T>& tensor) NPUKB_BODY(
        { npukb_queue_alloc(queue_, &tensor.npukb_view); })
    template <typename T>
    NPUKB_ONCE bool EnQue(const LocalTensor<T>& tensor) NPUKB_BODY(
        { return npukb_queue_enque(queue_, &tensor.npukb_view) != 0; })
    template <TPosition srcUserPos, TPosition dstUserPos, typename T>
    NPUKB_API bool EnQue(const LocalTensor<T>& tensor) {
        return npukb_queue_enque_at(queue_, &tensor.npukb_view, Positions(srcUserPos, dstUserPos)) != 0;
    }
    template <typename T>
    NPUKB_ONCE LocalTensor<T> DeQue() NPUKB_BODY(
        {
            LocalTensor<T> tensor{npukb::Unfilled{}};
            npukb_queue_deque(queue_, &tensor.npukb_view);
            return tensor;
        })
    template <typename T>
    NPUKB_ONCE void DeQue(LocalTensor<T>& tensor) NPUKB_BODY(
        { npukb_queue_deque(queue_, &tensor.npukb_view); })
    template <TPosition srcUserPos, TPosition dstUserPos, typename T>
    NPUKB_API LocalTensor<T> DeQue() {
        LocalTensor<T> tensor{npukb::Unfilled{}};
        npukb_queue_deque_at(queue_, &tensor.npukb_view, Positions(srcUserPos, dstUserPos));
        return tensor;
    }
    template <typename T>
    NPUKB_ONCE void FreeTensor(LocalTensor<T>& tensor) NPUKB_BODY(
        { npukb_queue_free(queue_, &tensor.npukb_view); })
    NPUKB_API TBufHandle AllocBuffer() {
        npukb::BufferView view;
        npukb_queue_alloc(queue_, &view);
        return Untyped(view);
    }
    NPUKB_API bool EnQue(TBufHandle buffer) {
        npukb::BufferView view;
        npukb_buffer_view(&view, Number(buffer));
        return npukb_queue_enque(queue_, &view) != 0;
    }
    NPUKB_API TBufHandle DeQue() {
        npukb::BufferView view;
        npukb_queue_deque(queue_, &view);
        return Untyped(view);
    }
    NPUKB_API void FreeBuffer(TBufHandle buffer) {
        npukb::BufferView view;
        npukb_buffer_view(&view, Number(buffer));
        npukb_queue_free(queue_, &view);
    }
    NPUKB_API bool VacantInQue() const { return npukb_queue_state(queue_, 0) != 0; }
    NPUKB_API bool HasTensorInQue() const { return npukb_queue_state(queue_, 1) != 0; }
    NPUKB_API int32_t GetTensorCountInQue() const { return npukb_queue_state(queue_, 1); }
    NPUKB_API bool HasIdleBuffer() const { return npukb_queue_state(queue_, 2) != 0; }
    // Waits for the flags that earlier queue operations left behind: queues of the twin keep none.
    NPUKB_API void FreeAllEvent() { npukb_queue_state(queue_, 3); }

  private:
    friend class AscendC::TPipe;
    template <TPosition, uint32_t>
    friend class AscendC::TBufPool;
    NPUKB_API static TBufHandle Untyped(const npukb::BufferView& view) {
        return reinterpret_cast<TBufHandle>(static_cast<uintptr_t>(view.handle));
    }
    NPUKB_API static uint32_t Number(TBufHandle buffer) {
        return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(buffer));
    }
    uint32_t queue_;
};

// What every TBuf can do.
class Room {
  public:
    NPUKB_API Room() : view_{nullptr, 0, 0, 0} {}
    template <typename T>
    NPUKB_ONCE LocalTensor<T> Get() NPUKB_BODY(
        {
            LocalTensor<T> tensor{npukb::Unfilled{}};
            npukb_buffer_part(&tensor.npukb_view, &view_, 0, 0, 0);
            return tensor;
        })
    template <typename T>
    NPUKB_ONCE LocalTensor<T> Get(uint32_t size) NPUKB_BODY(
        {
            LocalTensor<T> tensor{npukb::Unfilled{}};
            npukb_buffer_part(&tensor.npukb_view, &view_, npukb::BytesOf<T>(size), 0, 1);
            return tensor;
        })
    template <typename T>
    NPUKB_ONCE LocalTensor<T> GetWithOffset(uint32_t size, uint32_t bufOffset)
        NPUKB_BODY(
            {
                LocalTensor<T> tensor{npukb::Unfilled{}};
                npukb_buffer_part(&tensor.npukb_view, &view_, npukb::BytesOf<T>(size), bufOffset, 2);
                return tensor;
            })
    // A TBuf has one tensor and no flags: taking and giving it back are names for using it.
    template <typename T>
    NPUKB_ONCE LocalTensor<T> AllocTensor() NPUKB_BODY(
        {
            LocalTensor<T> tensor{npukb::Unfilled{}};
            npukb_buffer_part(&tensor.npukb_view, &view_, 0, 0, 0);
            return tensor;
        })
    template <typename T>
    NPUKB_API void FreeTensor(LocalTensor<T>&) {}
    NPUKB_API uint32_t GetBufLen() const { return view_.bytes; }

  private:
    friend class AscendC::TPipe;
    template <TPosition, uint32_t>
    friend class AscendC::TBufPool;
    npukb::BufferView view_;
};

}  // namespace npukb_detail

template <TPosition src, TPosition dst, int32_t depth, auto mask = 0>
class TQueBind : public npukb_detail::Queue {
  public:
    static constexpr int kPositions = npukb_detail::Positions(src, dst);
};

template <TPosition position, int32_t depth, auto mask = 0>
class TQue : public TQueBind<npukb_detail::SourceOf(position), npukb_detail::TargetOf(position), depth, mask> {
  public:
    NPUKB_API TQue() {}
};

template <TPosition position, int32_t depth = 1, auto mask = 0>
using TSCM = TQueBind<position, TPosition::TSCM, depth, mask>;

template <TPosition position = TPosition::LCM>
class TBuf : public npukb_detail::Room {};

// A part of the unified buffer that is divided again; pools may share their memory.
template <TPosition position, uint32_t bufIDSize>
class TBufPool {
  public:
    NPUKB_API TBufPool() : pool_(0) {}
    template <TPosition src, TPosition dst, int32_t depth, auto mask>
    NPUKB_API bool InitBuffer(TQueBind<src, dst, depth, mask>& que, uint8_t num, uint32_t len) {
        que.queue_ =
            npukb_queue_init(Pool(), TQueBind<src, dst, depth, mask>::kPositions, depth, num, len, &que, que.queue_);
        return true;
    }
    template <TPosition at>
    NPUKB_API bool InitBuffer(TBuf<at>& buf, uint32_t len) {
        npukb_buffer_init(&buf.view_, Pool(), static_cast<int>(at), len);
        return true;
    }
    template <TPosition at, uint32_t ids>
    NPUKB_API bool InitBufPool(TBufPool<at, ids>& bufPool, uint32_t len) {
        bufPool.pool_ = npukb_pool_init(Pool(), static_cast<int>(at), len, 0);
        return true;
    }
    template <TPosition at, uint32_t ids, TPosition sharedAt, uint32_t sharedIds>
    NPUKB_API bool InitBufPool(TBufPool<at, ids>& bufPool, uint32_t len, TBufPool<sharedAt, sharedIds>& shareBuf) {
        bufPool.pool_ = npukb_pool_init(Pool(), static_cast<int>(at), len, shareBuf.pool_);
        return true;
    }
    NPUKB_API void Reset() { npukb_pool_reset(Pool()); }

  private:
    friend class TPipe;
    template <TPosition, uint32_t>
    friend class TBufPool;
    // The runtime counts pools from 1 and takes 0 for the pipe; a pool that was never initialised is neither.
    NPUKB_API uint32_t Pool() const { return pool_ != 0 ? pool_ : ~0u; }
    uint32_t pool_;
};

class TPipe {
  public:
    NPUKB_API TPipe() { npukb_pipe_create(this); }
    NPUKB_API ~TPipe() { npukb_pipe_destroy(this, 0); }
    NPUKB_API void Init() { npukb_pipe_create(this); }
    NPUKB_API void Destroy() { npukb_pipe_destroy(this, 0); }
    NPUKB_API void Reset() { npukb_pipe_destroy(this, 1); }
    template <TPosition src, TPosition dst, int32_t depth, auto mask>
    NPUKB_API bool InitBuffer(TQueBind<src, dst, depth, mask>& que, uint8_t num, uint32_t len) {
        que.queue_ =
            npukb_queue_init(0, TQueBind<src, dst, depth, mask>::kPositions, depth, num, len, &que, que.queue_);
        return true;
    }
    template <TPosition position>
    NPUKB_API bool InitBuffer(TBuf<position>& buf, uint32_t len) {
        npukb_buffer_init(&buf.view_, 0, static_cast<int>(position), len);
        return true;
    }
    // As for a queue: room for `num` pieces of `len` bytes.
    template <TPosition position>
    NPUKB_API bool InitBuffer(TBuf<position>& buf, uint8_t num, uint32_t len) {
        return InitBuffer(buf, num * ((len + 31) / 32 * 32));
    }
    template <TPosition position, uint32_t ids>
    NPUKB_API bool InitBufPool(TBufPool<position, ids>& bufPool, uint32_t len) {
        bufPool.pool_ = npukb_pool_init(0, static_cast<int>(position), len, 0);
        return true;
    }
    template <TPosition position, uint32_t ids, TPosition sharedAt, uint32_t sharedIds>
    NPUKB_API bool InitBufPool(TBufPool<position, ids>& bufPool, uint32_t len,
                               TBufPool<sharedAt, sharedIds>& shareBuf) {
        bufPool.pool_ = npukb_pool_init(0, static_cast<int>(position), len, shareBuf.pool_);
        return true;
    }
    // Where a position's memory begins.
    NPUKB_API uint64_t GetBaseAddr(int8_t logicPos) { return npukb_memory_base(logicPos); }
    template <HardEvent event>
    NPUKB_API TEventID AllocEventID() {
        return static_cast<TEventID>(npukb_event_id(npukb::kFromPipe<event>, npukb::kToPipe<event>, 1));
    }
    template <HardEvent event>
    NPUKB_API void ReleaseEventID(TEventID id) {
        npukb_event_release(npukb::kFromPipe<event>, npukb::kToPipe<event>, id);
    }
    template <HardEvent event>
    NPUKB_API TEventID FetchEventID() {
        return static_cast<TEventID>(npukb_event_id(npukb::kFromPipe<event>, npukb::kToPipe<event>, 0));
    }
    NPUKB_API TEventID FetchEventID(HardEvent event);
};

NPUKB_API TPipe* GetTPipePtr() { return static_cast<TPipe*>(npukb_pipe_current()); }

// What is left of the unified buffer behind everything that InitBuffer gave away.
template <typename T, TPosition position>
NPUKB_API bool PopStackBuffer(LocalTensor<T>& popLocal) {
    npukb_stack_rest(&popLocal.npukb_view, static_cast<int>(position));
    return popLocal.npukb_view.bytes != 0;
}

enum class Hardware : uint8_t { GM, UB, L1, L0A, L0B, L0C, BIAS, FIXBUF, MAX };

namespace npukb_detail {

// Where tensors of each Hardware lie.
inline constexpr TPosition kMemoryPositions[] = {TPosition::VECCALC, TPosition::VECCALC,  TPosition::A1,
                                                 TPosition::A2,      TPosition::B2,       TPosition::CO1,
                                                 TPosition::C2,      TPosition::C2PIPE2GM};

}  // namespace npukb_detail

// Hands out tensors one behind the other, for programs that have no TPipe.
template <Hardware hardware = Hardware::UB>
class LocalMemAllocator {
  public:
    static_assert(hardware != Hardware::GM && hardware != Hardware::MAX,
                  "LocalMemAllocator: the memory must be on the chip");
    NPUKB_API LocalMemAllocator() : next_(0) {}
    NPUKB_API uint32_t GetCurAddr() const { return next_; }
    template <TPosition position, typename T, uint32_t tileSize>
    NPUKB_API LocalTensor<T> Alloc() {
        return Alloc<T>(tileSize);
    }
    template <TPosition position, typename T>
    NPUKB_API LocalTensor<T> Alloc(uint32_t tileSize) {
        return Alloc<T>(tileSize);
    }
    template <typename T, uint32_t tileSize>
    NPUKB_API LocalTensor<T> Alloc() {
        return Alloc<T>(tileSize);
    }
    template <typename T>
    NPUKB_API LocalTensor<T> Alloc(uint32_t tileSize) {
        LocalTensor<T> tensor{npukb::Unfilled{}};
        npukb_memory_at(&tensor.npukb_view, kPosition, next_, npukb::BytesOf<T>(tileSize));
        next_ += (tensor.npukb_view.bytes + 31u) & ~31u;
        return tensor;
    }

  private:
    static constexpr int kPosition = static_cast<int>(npukb_detail::kMemoryPositions[static_cast<int>(hardware)]);
    uint32_t next_;
};

}  // namespace AscendC

using AscendC::GetTPipePtr;
