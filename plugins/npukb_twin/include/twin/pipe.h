// TPipe, TQue, TQueBind and TBuf: buffers in the unified buffer and the queues that carry them between pipes.
#pragma once
#include "tensor.h"

namespace AscendC {

template <TPosition src, TPosition dst, int32_t depth, auto mask = 0>
class TQueBind {
  public:
    static constexpr TPosition kPosition = src == TPosition::GM ? dst : src;
    NPUKB_API TQueBind() : queue_(0) {}
    template <typename T>
    NPUKB_API LocalTensor<T> AllocTensor() {
        LocalTensor<T> tensor{npukb::Unfilled{}};
        npukb_queue_alloc(queue_, &tensor.npukb_view);
        return tensor;
    }
    template <typename T>
    NPUKB_API bool EnQue(const LocalTensor<T>& tensor) {
        return npukb_queue_enque(queue_, &tensor.npukb_view) != 0;
    }
    template <typename T>
    NPUKB_API LocalTensor<T> DeQue() {
        LocalTensor<T> tensor{npukb::Unfilled{}};
        npukb_queue_deque(queue_, &tensor.npukb_view);
        return tensor;
    }
    template <typename T>
    NPUKB_API void FreeTensor(LocalTensor<T>& tensor) {
        npukb_queue_free(queue_, &tensor.npukb_view);
    }
    NPUKB_API bool VacantInQue() const { return npukb_queue_state(queue_, 0) != 0; }
    NPUKB_API bool HasTensorInQue() const { return npukb_queue_state(queue_, 1) != 0; }
    NPUKB_API int32_t GetTensorCountInQue() const { return npukb_queue_state(queue_, 1); }
    NPUKB_API bool HasIdleBuffer() const { return npukb_queue_state(queue_, 2) != 0; }

  private:
    friend class TPipe;
    uint32_t queue_;
};

template <TPosition position, int32_t depth, auto mask = 0>
class TQue : public TQueBind<position, position, depth, mask> {
  public:
    NPUKB_API TQue() {}
};

template <TPosition position = TPosition::LCM>
class TBuf {
  public:
    NPUKB_API TBuf() : view_{nullptr, 0, 0} {}
    template <typename T>
    NPUKB_API LocalTensor<T> Get() {
        return LocalTensor<T>(view_);
    }
    template <typename T>
    NPUKB_API LocalTensor<T> Get(uint32_t size) {
        LocalTensor<T> tensor(view_);
        tensor.SetSize(size);
        return tensor;
    }
    template <typename T>
    NPUKB_API LocalTensor<T> GetWithOffset(uint32_t size, uint32_t offset_bytes) {
        npukb::BufferView view = view_;
        view.address = static_cast<uint8_t*>(view.address) + offset_bytes;
        view.bytes = size * sizeof(T);
        return LocalTensor<T>(view);
    }
    template <typename T>
    NPUKB_API void FreeTensor(LocalTensor<T>&) {}

  private:
    friend class TPipe;
    npukb::BufferView view_;
};

template <HardEvent event>
struct EventPipes;

class TPipe {
  public:
    NPUKB_API TPipe() { npukb_pipe_create(this); }
    NPUKB_API ~TPipe() { npukb_pipe_destroy(this, 0); }
    NPUKB_API void Init() { npukb_pipe_create(this); }
    NPUKB_API void Destroy() { npukb_pipe_destroy(this, 0); }
    NPUKB_API void Reset() { npukb_pipe_destroy(this, 1); }
    template <TPosition src, TPosition dst, int32_t depth, auto mask>
    NPUKB_API bool InitBuffer(TQueBind<src, dst, depth, mask>& queue, uint8_t count, uint32_t bytes) {
        queue.queue_ = npukb_queue_init(static_cast<int>(TQueBind<src, dst, depth, mask>::kPosition), depth, count, bytes);
        return true;
    }
    template <TPosition position>
    NPUKB_API bool InitBuffer(TBuf<position>& buffer, uint32_t bytes) {
        buffer.view_ = npukb_buffer_init(static_cast<int>(position), bytes);
        return true;
    }
    template <HardEvent event>
    NPUKB_API TEventID AllocEventID() {
        return static_cast<TEventID>(npukb_event_id(EventPipes<event>::from, EventPipes<event>::to, 1));
    }
    template <HardEvent event>
    NPUKB_API void ReleaseEventID(TEventID id) {
        npukb_event_release(EventPipes<event>::from, EventPipes<event>::to, id);
    }
    template <HardEvent event>
    NPUKB_API TEventID FetchEventID() {
        return static_cast<TEventID>(npukb_event_id(EventPipes<event>::from, EventPipes<event>::to, 0));
    }
    NPUKB_API TEventID FetchEventID(HardEvent event);
};

NPUKB_API TPipe* GetTPipePtr() { return static_cast<TPipe*>(npukb_pipe_current()); }

}  // namespace AscendC

using AscendC::GetTPipePtr;
