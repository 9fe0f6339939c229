#pragma once
#include "twin_host/host.h"

// The chip as sources ask for it outside of a context, which no page of the documentation describes: known from its
// use. There is no such information here, and the question fails, as sources provide for.
namespace fe {

struct StrInfo {
    std::string short_soc_version, aic_version, ccec_aic_version, ccec_aiv_version;
};
struct SoCInfo {
    uint32_t ai_core_cnt = 0, vector_core_cnt = 0, ai_cpu_cnt = 0;
    uint64_t memory_size = 0, l2_size = 0;
};
struct AiCoreSpec {
    uint64_t ub_size = 0, l0_a_size = 0, l0_b_size = 0, l0_c_size = 0, l1_size = 0;
};
struct PlatformInfo {
    StrInfo str_info;
    SoCInfo soc_info;
    AiCoreSpec ai_core_spec;
};
struct OptionalInfo {
    std::string soc_version, core_type;
    uint32_t ai_core_num = 0;
};

class PlatformInfoManager {
  public:
    static PlatformInfoManager& Instance() {
        static PlatformInfoManager only;
        return only;
    }
    static PlatformInfoManager& GeInstance() { return Instance(); }
    uint32_t GetPlatformInfoWithOutSocVersion(PlatformInfo&, OptionalInfo&) { return ge::GRAPH_FAILED; }
    uint32_t GetPlatformInfo(const std::string&, PlatformInfo&, OptionalInfo&) { return ge::GRAPH_FAILED; }
};

}  // namespace fe
