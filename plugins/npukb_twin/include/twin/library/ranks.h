// Communication between ranks (Hccl). The twin runs one device, which is a rank alone: whatever a collective exchanges
// comes back to where it was sent from. What has a meaning between several ranks only is not here.
//
// A client prepares tasks, tells the server to carry them out and waits. The runtime is the server
// (cores/ranks.cpp); an object of the class knows no more than which context it was given.
#pragma once
#include "../types.h"

namespace AscendC {

using HcclHandle = int8_t;
inline constexpr HcclHandle INVALID_HANDLE_ID = -1;
inline constexpr int32_t HCCL_SUCCESS = 0;
inline constexpr int32_t HCCL_FAILED = -1;
inline constexpr uint32_t HCCL_GROUP_ID_0 = 0;
inline constexpr uint32_t HCCL_GROUP_ID_1 = 1;

enum HcclServerType { HCCL_SERVER_TYPE_AICPU = 0, HCCL_SERVER_TYPE_CCU, HCCL_SERVER_TYPE_END };
enum class CoreType : uint8_t { DEFAULT, ON_AIV, ON_AIC };

struct HcclServerConfig {
    CoreType type;
    int64_t blockId;
};
inline constexpr HcclServerConfig DEFAULT_CFG = {CoreType::DEFAULT, 0};

#include "rank_types.def"

// The context of a communicator: a kernel has two at most.
template <uint32_t index>
NPUKB_API GM_ADDR GetHcclContext() {
    static_assert(index <= HCCL_GROUP_ID_1, "GetHcclContext: a kernel has the communicators 0 and 1");
    return static_cast<GM_ADDR>(npukb_rank_context(index));
}

template <HcclServerType serverType = HCCL_SERVER_TYPE_AICPU, const auto& config = DEFAULT_CFG>
class Hccl {
    static_assert(serverType == HCCL_SERVER_TYPE_AICPU, "Hccl: this chip has the server type HCCL_SERVER_TYPE_AICPU");

  public:
    NPUKB_API void InitV2(GM_ADDR context, const void* initTiling) {
        Open(npukb::RankInit::Copied, context, initTiling);
    }
    NPUKB_API void Init(GM_ADDR context, __gm__ void* initTiling = nullptr) {
        Open(initTiling == nullptr ? npukb::RankInit::Plain : npukb::RankInit::Global, context, initTiling);
    }
    NPUKB_API int32_t SetCcTilingV2(uint64_t offset) { return npukb_rank_tiling(group_, offset, nullptr); }
    NPUKB_API int32_t SetCcTiling(__gm__ void* ccOpTilingData) { return npukb_rank_tiling(group_, 0, ccOpTilingData); }

    template <bool commit = false>
    NPUKB_API HcclHandle AllReduce(GM_ADDR sendBuf, GM_ADDR recvBuf, uint64_t count, HcclDataType dataType,
                                   HcclReduceOp op, uint8_t repeat = 1) {
        return Prepare<commit>({npukb::Exchange::AllReduce, sendBuf, recvBuf, count, dataType, op, repeat});
    }
    template <bool commit = false>
    NPUKB_API HcclHandle AllGather(GM_ADDR sendBuf, GM_ADDR recvBuf, uint64_t sendCount, HcclDataType dataType,
                                   uint64_t strideCount, uint8_t repeat = 1) {
        return Prepare<commit>({npukb::Exchange::AllGather, sendBuf, recvBuf, sendCount, dataType, 0, repeat});
    }
    template <bool commit = false>
    NPUKB_API HcclHandle ReduceScatter(GM_ADDR sendBuf, GM_ADDR recvBuf, uint64_t recvCount, HcclDataType dataType,
                                       HcclReduceOp op, uint64_t strideCount, uint8_t repeat = 1) {
        return Prepare<commit>({npukb::Exchange::ReduceScatter, sendBuf, recvBuf, recvCount, dataType, op, repeat});
    }
    template <bool commit = false>
    NPUKB_API HcclHandle AlltoAll(GM_ADDR sendBuf, GM_ADDR recvBuf, uint64_t dataCount, HcclDataType dataType,
                                  uint64_t strideCount = 0, uint8_t repeat = 1) {
        return Prepare<commit>({npukb::Exchange::AlltoAll, sendBuf, recvBuf, dataCount, dataType, 0, repeat});
    }
    // The lists have an entry per rank: the first is this one's.
    template <bool commit = false>
    NPUKB_API HcclHandle AlltoAllV(GM_ADDR sendBuf, void* sendCounts, void* sdispls, HcclDataType sendType,
                                   GM_ADDR recvBuf, void* recvCounts, void* rdispls, HcclDataType recvType,
                                   uint8_t repeat = 1) {
        npukb::RankTask task{npukb::Exchange::AlltoAllV, sendBuf, recvBuf, First(sendCounts), sendType, 0, repeat};
        task.received = First(recvCounts);
        task.received_type = recvType;
        task.send_offset = First(sdispls);
        task.receive_offset = First(rdispls);
        return Prepare<commit>(task);
    }

    NPUKB_API void Commit(HcclHandle handleId) { npukb_rank_commit(Client(), handleId); }
    NPUKB_API int32_t Wait(HcclHandle handleId) { return npukb_rank_wait(Client(), handleId); }
    // The next step of a task: which blocks of data it sends or receives, and how many; 0 when all steps are over. A
    // rank alone has one block, its own.
    template <bool sync = true>
    NPUKB_API int32_t Iterate(HcclHandle handleId, uint16_t* seqSlices, uint16_t seqSliceLen) {
        int32_t blocks = npukb_rank_iterate(Client(), handleId, seqSliceLen, sync);
        if (blocks > 0) seqSlices[0] = 0;
        return blocks;
    }
    NPUKB_API int32_t Query(HcclHandle handleId) { return npukb_rank_query(Client(), handleId); }
    template <bool sync = true>
    NPUKB_API void Finalize() {
        static_assert(sync, "Finalize<false> is for writes to other ranks alone");
        npukb_rank_finalize(Client());
    }
    NPUKB_API uint32_t GetRankId() { return npukb_rank_number(group_, 0); }
    NPUKB_API uint32_t GetRankDim() { return npukb_rank_number(group_, 1); }

  private:
    NPUKB_API static uint64_t First(void* list) { return *static_cast<const uint64_t*>(list); }
    NPUKB_API npukb::RankClient Client() const { return {group_, static_cast<uint8_t>(config.type), config.blockId}; }
    NPUKB_API void Open(npukb::RankInit how, GM_ADDR context, const void* tiling) {
        group_ = npukb_rank_open(how, context, tiling);
    }
    template <bool commit>
    NPUKB_API HcclHandle Prepare(const npukb::RankTask& task) {
        return static_cast<HcclHandle>(npukb_rank_prepare(Client(), &task, commit));
    }
    uint32_t group_ = 0;  // from 1 on; 0 before Init
};

}  // namespace AscendC
