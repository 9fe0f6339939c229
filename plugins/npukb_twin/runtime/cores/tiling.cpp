// What a launch tells its kernel besides tensors: tiling data, tiling key, the parts of the workspace.
#include <string.h>

#include "cores/core.h"
#include "check/raw_access.h"
#include "check/operand_check.h"

namespace {

constexpr uint64_t kCacheLine = 64;  // of the scalar unit's data cache

}  // namespace

extern "C" {

uint64_t npukb_tiling_key(void) { return twin::ThisCore().launch->tiling_key; }

void npukb_tiling_copy(void* data, const void* tiling, uint64_t bytes) {
    using namespace twin;
    Core& core = ThisCore();
    CheckGlobal(core, {"GET_TILING_DATA", tiling, bytes, 1, false}, NPUKB_PC);
    CheckResult(data, bytes, NPUKB_PC);
    memcpy(data, tiling, bytes);
    // The scalar unit reads it line by line.
    const Machine& m = core.launch->machine;
    double lines = static_cast<double>((bytes + kCacheLine - 1) / kCacheLine);
    core.time.Scalar(m.hbm_scalar_cycles + (lines > 1 ? lines - 1 : 0) * m.gm_scalar_cycles);
}

void* npukb_user_workspace(void* workspace) {
    const twin::Launch* launch = twin::ThisCore().launch;
    return workspace == nullptr ? nullptr : static_cast<uint8_t*>(workspace) + launch->system_workspace_bytes;
}

void* npukb_system_workspace(void* workspace) {
    twin::Launch* launch = twin::ThisCore().launch;
    // every block gives the same address
    if (workspace != nullptr) __atomic_store_n(&launch->system_workspace, workspace, __ATOMIC_RELAXED);
    return __atomic_load_n(&launch->system_workspace, __ATOMIC_RELAXED);
}
}
