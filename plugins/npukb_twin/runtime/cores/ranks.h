// Communication between ranks, of which there is one here: the server that carries out what kernels give to Hccl.
//
// The core that gives a task does so alone; every core may wait for it. A round is carried out when it is committed. It
// is under way until that core has waited for it, and what it reads and writes may not be touched before.
#pragma once
#include "check/operand_check.h"

namespace twin {

inline constexpr int kRankGroups = 2;
inline constexpr int kRankTasks = 63;  // of a communicator

// What all cores share: how many rounds of each task are over.
struct RankServer {
    Signal done[kRankGroups][kRankTasks];
    uint32_t givers[kRankGroups];  // kinds of cores that have given tasks, one bit each
};

struct RankCore;

// Ends the block when it touches what a task that is under way works on.
void CheckUnderWay(Core& core, const GlobalRegion& region, const void* pc);
// The kernel is over: tasks that nobody let the server finish.
void FinishRanks(Core& core);

}  // namespace twin
