// Flags between pipes, barriers inside one, and the barrier over all cores.
#pragma once
#include "pipe.h"

namespace AscendC {

template <HardEvent event>
NPUKB_API void SetFlag(int32_t eventID) {
    npukb_flag_set(npukb::kFromPipe<event>, npukb::kToPipe<event>, eventID);
}
template <HardEvent event>
NPUKB_API void WaitFlag(int32_t eventID) {
    npukb_flag_wait(npukb::kFromPipe<event>, npukb::kToPipe<event>, eventID);
}

template <pipe_t pipe>
NPUKB_API void PipeBarrier() {
    static_assert(pipe != PIPE_S, "PipeBarrier<PIPE_S> does not exist: the scalar pipe is in order");
    npukb_barrier(static_cast<npukb::Pipe>(pipe));
}

template <bool isAIVOnly = true>
NPUKB_API void SyncAll() {
    npukb_sync_all(isAIVOnly);
}

// The software form of SyncAll: the flags of the cores lie in global memory, which has to be zero.
template <bool isAIVOnly = true>
NPUKB_API void SyncAll(const GlobalTensor<int32_t>& gmWorkspace, const LocalTensor<int32_t>& ubWorkspace,
                       const int32_t usedCores = 0) {
    static_assert(isAIVOnly, "SyncAll with a workspace synchronises vector cores only");
    npukb_sync_all_soft(&gmWorkspace, &ubWorkspace.npukb_view, usedCores);
}

// One block tells another that it has come to a certain point.
template <bool isAIVOnly = true>
NPUKB_API void IBSet(const GlobalTensor<int32_t>& gmWorkspace, const LocalTensor<int32_t>& ubWorkspace,
                     int32_t blockIdx, int32_t eventID) {
    static_assert(isAIVOnly, "IBSet synchronises vector cores only");
    npukb_block_flag(&gmWorkspace, &ubWorkspace.npukb_view, blockIdx, eventID, 0);
}
template <bool isAIVOnly = true>
NPUKB_API void IBWait(const GlobalTensor<int32_t>& gmWorkspace, const LocalTensor<int32_t>& ubWorkspace,
                      int32_t blockIdx, int32_t eventID) {
    static_assert(isAIVOnly, "IBWait synchronises vector cores only");
    npukb_block_flag(&gmWorkspace, &ubWorkspace.npukb_view, blockIdx, eventID, 1);
}

// Flags between cores: each id has a counter per core, which a wait finds above zero and takes one off.
template <uint8_t modeId, pipe_t pipe>
NPUKB_API void CrossCoreSetFlag(uint16_t flagId) {
    static_assert(pipe != PIPE_S && pipe != PIPE_ALL,
                  "CrossCoreSetFlag: the pipe must be V, M, MTE1, MTE2, MTE3 or FIX");
    static_assert(modeId <= 2, "CrossCoreSetFlag: the mode must be 0, 1 or 2");
    npukb_core_flag_set(modeId, static_cast<npukb::Pipe>(pipe), flagId);
}
template <uint8_t modeId = 0, pipe_t pipe = PIPE_S>
NPUKB_API void CrossCoreWaitFlag(uint16_t flagId) {
    static_assert(modeId <= 2, "CrossCoreWaitFlag: the mode must be 0, 1 or 2");
    npukb_core_flag_wait(modeId, flagId);
}

// Blocks take turns in the order of their index.
NPUKB_API void InitDetermineComputeWorkspace(GlobalTensor<int32_t>& gmWorkspace, LocalTensor<int32_t>& ubWorkspace) {
    npukb_block_order(&gmWorkspace, &ubWorkspace.npukb_view, 0);
}
NPUKB_API void WaitPreBlock(GlobalTensor<int32_t>& gmWorkspace, LocalTensor<int32_t>& ubWorkspace) {
    npukb_block_order(&gmWorkspace, &ubWorkspace.npukb_view, 1);
}
NPUKB_API void NotifyNextBlock(GlobalTensor<int32_t>& gmWorkspace, LocalTensor<int32_t>& ubWorkspace) {
    npukb_block_order(&gmWorkspace, &ubWorkspace.npukb_view, 2);
}

// Hints about the task that follows or precedes this one, which the 910B documents as having no effect.
template <pipe_t pipe = PIPE_MTE3>
NPUKB_API void SetNextTaskStart() {}
template <pipe_t pipe = PIPE_MTE2>
NPUKB_API void WaitPreTaskEnd() {}

enum class MemDsbT : uint8_t { ALL, DDR, UB, SEQ };

// The scalar unit waits until memory has taken what was written to it before.
template <MemDsbT which>
NPUKB_API void DataSyncBarrier() {
    npukb_barrier(npukb::Pipe::All);
}

// Flags between two pipes of one core.
template <pipe_t src, pipe_t dst>
class TQueSync {
  public:
    NPUKB_API void SetFlag(TEventID id) {
        npukb_flag_set(static_cast<npukb::Pipe>(src), static_cast<npukb::Pipe>(dst), id);
    }
    NPUKB_API void WaitFlag(TEventID id) {
        npukb_flag_wait(static_cast<npukb::Pipe>(src), static_cast<npukb::Pipe>(dst), id);
    }
};

NPUKB_API TEventID TPipe::FetchEventID(HardEvent event) {
    return static_cast<TEventID>(npukb_event_id(npukb::FromPipe(event), npukb::ToPipe(event), 0));
}

}  // namespace AscendC

NPUKB_API void pipe_barrier(pipe_t pipe) { npukb_barrier(static_cast<npukb::Pipe>(pipe)); }
NPUKB_API void set_flag(pipe_t from, pipe_t to, int32_t id) {
    npukb_flag_set(static_cast<npukb::Pipe>(from), static_cast<npukb::Pipe>(to), id);
}
NPUKB_API void wait_flag(pipe_t from, pipe_t to, int32_t id) {
    npukb_flag_wait(static_cast<npukb::Pipe>(from), static_cast<npukb::Pipe>(to), id);
}
