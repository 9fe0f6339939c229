// What host code learns of the chip: its cores, memories and their speed, as the call says, never as this machine is.
#include "call.h"

namespace npukb_host {

Platform& ThePlatform() {
    static Platform platform;
    return platform;
}

}  // namespace npukb_host

namespace {

using npukb_host::ThePlatform;

// Bytes of a memory; what the twin's machine file does not know is 0, as is what the chip lacks.
template <class Type>
uint64_t MemoryBytes(Type type) {
    const auto& chip = ThePlatform();
    switch (type) {
        case Type::L0_A: return chip.l0a_bytes;
        case Type::L0_B: return chip.l0b_bytes;
        case Type::L0_C: return chip.l0c_bytes;
        case Type::L1: return chip.l1_bytes;
        case Type::L2: return chip.l2_bytes;
        case Type::UB: return chip.ub_bytes;
        case Type::HBM: return chip.hbm_bytes;
        default: return 0;
    }
}

// Bytes per cycle and core.
template <class Type>
uint64_t MemoryBandwidth(Type type) {
    return type == Type::L2 ? 110 : type == Type::HBM ? 32 : 0;
}

}  // namespace

namespace fe {

uint32_t PlatFormInfos::GetCoreNum() const { return static_cast<uint32_t>(ThePlatform().cube_cores); }
uint32_t PlatFormInfos::GetCoreNumByType(const std::string& type) const {
    return static_cast<uint32_t>(type == "VectorCore" ? ThePlatform().vector_cores : ThePlatform().cube_cores);
}
void PlatFormInfos::GetLocalMemSize(const LocalMemType& type, uint64_t& bytes) { bytes = MemoryBytes(type); }
void PlatFormInfos::GetLocalMemBw(const LocalMemType& type, uint64_t& bytes_per_cycle) {
    bytes_per_cycle = MemoryBandwidth(type);
}

bool PlatFormInfos::GetPlatformRes(const std::string& section, const std::string& key, std::string& value) {
    const auto& chip = ThePlatform();
    const std::map<std::string, std::string> known = {
        {"version/Short_SoC_version", chip.soc},
        {"version/SoC_version", chip.soc},
        {"SoCInfo/ai_core_cnt", std::to_string(chip.cube_cores)},
        {"SoCInfo/cube_core_cnt", std::to_string(chip.cube_cores)},
        {"SoCInfo/vector_core_cnt", std::to_string(chip.vector_cores)},
        {"SoCInfo/l2_size", std::to_string(chip.l2_bytes)},
        {"AICoreSpec/ub_size", std::to_string(chip.ub_bytes)},
        {"AICoreSpec/l1_size", std::to_string(chip.l1_bytes)},
        {"AICoreSpec/l0_a_size", std::to_string(chip.l0a_bytes)},
        {"AICoreSpec/l0_b_size", std::to_string(chip.l0b_bytes)},
        {"AICoreSpec/l0_c_size", std::to_string(chip.l0c_bytes)},
    };
    auto entry = known.find(section + "/" + key);
    if (entry == known.end()) return false;
    value = entry->second;
    return true;
}

bool PlatFormInfos::GetPlatformResWithLock(const std::string& section, const std::string& key, std::string& value) {
    return GetPlatformRes(section, key, value);
}
bool PlatFormInfos::GetPlatformRes(const std::string&, std::map<std::string, std::string>&) { return false; }
bool PlatFormInfos::GetPlatformResWithLock(const std::string&, std::map<std::string, std::string>&) { return false; }

}  // namespace fe

namespace platform_ascendc {

uint32_t PlatformAscendC::GetCoreNum() const { return GetCoreNumAiv(); }
uint32_t PlatformAscendC::GetCoreNumAic() const { return static_cast<uint32_t>(ThePlatform().cube_cores); }
uint32_t PlatformAscendC::GetCoreNumAiv() const { return static_cast<uint32_t>(ThePlatform().vector_cores); }
SocVersion PlatformAscendC::GetSocVersion() const { return SocVersion::ASCEND910B; }
void PlatformAscendC::GetCoreMemSize(const CoreMemType& type, uint64_t& bytes) const { bytes = MemoryBytes(type); }
void PlatformAscendC::GetCoreMemBw(const CoreMemType& type, uint64_t& bytes_per_cycle) const {
    bytes_per_cycle = MemoryBandwidth(type);
}
uint32_t PlatformAscendC::GetLibApiWorkSpaceSize() const {
    return static_cast<uint32_t>(ThePlatform().workspace_reserve_bytes);
}
uint32_t PlatformAscendC::GetResCubeGroupWorkSpaceSize() const { return GetLibApiWorkSpaceSize(); }
uint32_t PlatformAscendC::GetResGroupBarrierWorkSpaceSize() const { return GetLibApiWorkSpaceSize(); }

uint32_t PlatformAscendC::CalcTschBlockDim(uint32_t slices, uint32_t aic_cores, uint32_t aiv_cores) const {
    if (aic_cores == 0 || aiv_cores == 0 || aic_cores > aiv_cores) return slices;
    uint32_t ratio = aiv_cores / aic_cores;
    return (slices + ratio - 1) / ratio;
}

PlatformAscendC* PlatformAscendCManager::GetInstance() {
    static fe::PlatFormInfos infos;
    static PlatformAscendC platform(&infos);
    return &platform;
}

}  // namespace platform_ascendc
