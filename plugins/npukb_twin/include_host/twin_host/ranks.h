// What a tiling function says of communication between ranks: which task on which communicator. The structures that it
// fills hold nothing documented, and the twin's server, which has one rank, asks nothing of them.
#pragma once
#include "twin_host/host.h"

namespace AscendC {

class Mc2CcTilingConfig {
  public:
    explicit Mc2CcTilingConfig(const std::string& groupName, uint32_t opType, const std::string& algConfig,
                               uint32_t = 0, uint8_t = 0, uint8_t = 0, uint8_t = 0)
        : group_(groupName), algorithm_(algConfig), task_(opType) {}

    // 0 for what can be used; anything else says that the task, or a name, is none.
    uint32_t GetTiling(::Mc2InitTiling& tiling) { return Filled(tiling); }
    uint32_t GetTiling(::Mc2CcTiling& tiling) { return Filled(tiling); }

    uint32_t SetOpType(uint32_t opType) {
        task_ = opType;
        return IsTask(opType) ? 0 : 1;
    }
    uint32_t SetGroupName(const std::string& groupName) {
        group_ = groupName;
        return IsName(groupName) ? 0 : 1;
    }
    uint32_t SetAlgConfig(const std::string& algConfig) {
        algorithm_ = algConfig;
        return IsName(algConfig) ? 0 : 1;
    }
    // These change how ranks exchange, and a rank alone exchanges nothing.
    uint32_t SetReduceType(uint32_t, uint8_t = 0, uint8_t = 0) { return 0; }
    uint32_t SetStepSize(uint8_t) { return 0; }
    uint32_t SetSkipLocalRankCopy(uint8_t) { return 0; }
    uint32_t SetSkipBufferWindowCopy(uint8_t) { return 0; }
    uint32_t SetDebugMode(uint8_t) { return 0; }
    uint32_t SetCommBlockNum(uint16_t) { return 0; }
    uint32_t SetQueueNum(uint16_t) { return 0; }
    uint32_t SetCommEngine(uint8_t) { return 0; }

  private:
    static bool IsName(const std::string& name) { return !name.empty() && name.size() <= 128; }
    static bool IsTask(uint32_t task) {
        const uint32_t tasks[] = {2, 6, 7, 8, 10, 18};  // twin_host/rank_names.h
        return std::find(std::begin(tasks), std::end(tasks), task) != std::end(tasks);
    }
    template <class T>
    uint32_t Filled(T& tiling) const {
        tiling = {};
        return IsTask(task_) && IsName(group_) && IsName(algorithm_) ? 0 : 1;
    }

    std::string group_, algorithm_;
    uint32_t task_;
};

}  // namespace AscendC
