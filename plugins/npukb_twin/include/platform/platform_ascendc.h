// What headers that host and device share may say of the chip. Device code asks its own functions (GetBlockNum,
// GetUBSizeInBytes); objects of the host's classes do not exist on a core.
#pragma once
#include "kernel_operator.h"

namespace platform_ascendc {

enum class SocVersion {
#define NPUKB_SOC(name) name,
#include "../../include_host/twin_host/soc_versions.def"
#undef NPUKB_SOC
    RESERVED_VERSION = 99999
};
enum class CoreMemType { L0_A = 0, L0_B = 1, L0_C = 2, L1 = 3, L2 = 4, UB = 5, HBM = 6, FB = 7, BT = 8, RESERVED };
class PlatformAscendC;

}  // namespace platform_ascendc
