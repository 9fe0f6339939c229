// What the chip offers: PlatformAscendC and fe::PlatFormInfos. The numbers are those of the request being answered, so
// that the objects themselves hold none.
#pragma once
#include <map>

#include "twin_host/context.h"

namespace fe {

enum class LocalMemType { L0_A = 0, L0_B = 1, L0_C = 2, L1 = 3, L2 = 4, UB = 5, HBM = 6, RESERVED };

class PlatFormInfos {
  public:
    bool Init() { return true; }
    uint32_t GetCoreNum() const;
    uint32_t GetCoreNumByType(const std::string& type) const;
    void SetCoreNum(const uint32_t&) {}
    void SetCoreNumByCoreType(const std::string&) {}
    void GetLocalMemSize(const LocalMemType& type, uint64_t& bytes);
    void GetLocalMemBw(const LocalMemType& type, uint64_t& bytes_per_cycle);
    // A value of the chip's description by section and key; false where the twin does not know it.
    bool GetPlatformRes(const std::string& section, const std::string& key, std::string& value);
    bool GetPlatformResWithLock(const std::string& section, const std::string& key, std::string& value);
    bool GetPlatformResWithLock(const std::string& section, std::map<std::string, std::string>& values);
    bool GetPlatformRes(const std::string& section, std::map<std::string, std::string>& values);
};
using OptionalInfos = PlatFormInfos;

}  // namespace fe

enum class NpuArch : uint32_t {
    DAV_1001 = 1001,
    DAV_2002 = 2002,
    DAV_2102 = 2102,
    DAV_2201 = 2201,
    DAV_3002 = 3002,
    DAV_3003 = 3003,
    DAV_3004 = 3004,
    DAV_3102 = 3102,
    DAV_3113 = 3113,
    DAV_3505 = 3505,
    DAV_3510 = 3510,
    DAV_5102 = 5102,
    DAV_RESV = 0xffff
};

namespace platform_ascendc {

enum class ReservedSize { RESERVED_SIZE_8K, RESERVED_SIZE_16K, RESERVED_SIZE_32K };
enum class CoreMemType { L0_A = 0, L0_B = 1, L0_C = 2, L1 = 3, L2 = 4, UB = 5, HBM = 6, FB = 7, BT = 8, RESERVED };
enum class SocVersion {
#define NPUKB_SOC(name) name,
#include "twin_host/soc_versions.def"
#undef NPUKB_SOC
    RESERVED_VERSION = 99999
};

class PlatformAscendC {
  public:
    PlatformAscendC() = delete;
    explicit PlatformAscendC(fe::PlatFormInfos*) {}
    // On this chip, whose AI cores consist of separate cube and vector cores: the vector cores.
    uint32_t GetCoreNum() const;
    uint32_t GetCoreNumAic() const;
    uint32_t GetCoreNumAiv() const;
    // Vector cores beside the AI cores: none on this chip.
    uint32_t GetCoreNumVector() const { return 0; }
    SocVersion GetSocVersion() const;
    NpuArch GetCurNpuArch() const { return NpuArch::DAV_2201; }
    // Has an effect on later chips only.
    void ReserveLocalMemory(ReservedSize) {}
    void GetCoreMemSize(const CoreMemType& type, uint64_t& bytes) const;
    void GetCoreMemBw(const CoreMemType& type, uint64_t& bytes_per_cycle) const;
    uint32_t GetLibApiWorkSpaceSize() const;
    uint32_t GetResCubeGroupWorkSpaceSize() const;
    uint32_t GetResGroupBarrierWorkSpaceSize() const;
    // AI cores that a launch with `slices` pieces of work occupies.
    uint32_t CalcTschBlockDim(uint32_t slices, uint32_t aic_cores, uint32_t aiv_cores) const;
    uint32_t CalcTschNumBlocks(uint32_t slices, uint32_t aic_cores, uint32_t aiv_cores) const {
        return CalcTschBlockDim(slices, aic_cores, aiv_cores);
    }
};

class PlatformAscendCManager {
  public:
    static PlatformAscendC* GetInstance();
    static PlatformAscendC* GetInstance(const char*) { return GetInstance(); }
};

}  // namespace platform_ascendc
