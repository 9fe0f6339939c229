// Tasks, types and operations of collectives by name. Sources often define these themselves: they are included for
// those that name one and define none. The tasks' numbers are those that public operators pass.
#pragma once
#include <cstdint>

enum HcclCMDType : uint32_t {
    HCCL_CMD_INVALID = 0,
    HCCL_CMD_ALLREDUCE = 2,
    HCCL_CMD_ALLGATHER = 6,
    HCCL_CMD_REDUCE_SCATTER = 7,
    HCCL_CMD_ALLTOALLV = 8,
    HCCL_CMD_ALLTOALL = 10,
    HCCL_CMD_BATCH_WRITE = 18
};
#include "../../include/twin/library/rank_types.def"
