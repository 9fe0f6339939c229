// Flags between pipes, barriers inside one, and the barrier over all cores.
#pragma once
#include "pipe.h"

namespace AscendC {

#define NPUKB_EVENT(from_pipe, to_pipe)                               \
    template <>                                                       \
    struct EventPipes<HardEvent::from_pipe##_##to_pipe> {             \
        static constexpr npukb::Pipe from = npukb::Pipe::from_pipe;   \
        static constexpr npukb::Pipe to = npukb::Pipe::to_pipe;       \
    }
NPUKB_EVENT(S, V);
NPUKB_EVENT(S, MTE2);
NPUKB_EVENT(S, MTE3);
NPUKB_EVENT(V, S);
NPUKB_EVENT(V, MTE2);
NPUKB_EVENT(V, MTE3);
NPUKB_EVENT(MTE2, S);
NPUKB_EVENT(MTE2, V);
NPUKB_EVENT(MTE2, MTE3);
NPUKB_EVENT(MTE3, S);
NPUKB_EVENT(MTE3, V);
NPUKB_EVENT(MTE3, MTE2);
#undef NPUKB_EVENT

template <HardEvent event>
NPUKB_API void SetFlag(int32_t eventID) {
    npukb_flag_set(EventPipes<event>::from, EventPipes<event>::to, eventID);
}
template <HardEvent event>
NPUKB_API void WaitFlag(int32_t eventID) {
    npukb_flag_wait(EventPipes<event>::from, EventPipes<event>::to, eventID);
}

template <pipe_t pipe>
NPUKB_API void PipeBarrier() {
    static_assert(pipe != PIPE_S, "PipeBarrier<PIPE_S> does not exist: the scalar pipe is in order");
    npukb_barrier(static_cast<npukb::Pipe>(pipe));
}

template <bool isAIVOnly = true>
NPUKB_API void SyncAll() {
    static_assert(isAIVOnly, "SyncAll<false> needs a mixed cube and vector kernel");
    npukb_sync_all();
}

NPUKB_API TEventID TPipe::FetchEventID(HardEvent event) {
    constexpr npukb::Pipe S = npukb::Pipe::S, V = npukb::Pipe::V, IN = npukb::Pipe::MTE2, OUT = npukb::Pipe::MTE3;
    constexpr npukb::Pipe pairs[][2] = {{S, V},  {S, IN},  {S, OUT},  {V, S},   {V, IN},  {V, OUT},
                                        {IN, S}, {IN, V},  {IN, OUT}, {OUT, S}, {OUT, V}, {OUT, IN}};
    const auto& pair = pairs[static_cast<int>(event)];
    return static_cast<TEventID>(npukb_event_id(pair[0], pair[1], 0));
}

}  // namespace AscendC

NPUKB_API void pipe_barrier(pipe_t pipe) { npukb_barrier(static_cast<npukb::Pipe>(pipe)); }
NPUKB_API void set_flag(pipe_t from, pipe_t to, int32_t id) {
    npukb_flag_set(static_cast<npukb::Pipe>(from), static_cast<npukb::Pipe>(to), id);
}
NPUKB_API void wait_flag(pipe_t from, pipe_t to, int32_t id) {
    npukb_flag_wait(static_cast<npukb::Pipe>(from), static_cast<npukb::Pipe>(to), id);
}
