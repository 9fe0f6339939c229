// What surrounds a kernel's entry: qualifiers of the dialect, the kind of core, task types, workspace.
#pragma once
#include "types.h"

#define __forceinline__ inline __attribute__((always_inline))
#define __vector__
#define __cube__
#define __mix__(cube, vector)
#define __schedmode__(mode)
#define __kfc_workspace__
#define __sync_alias__
#define __sync_noalias__

namespace npukb {

// Reads as the block's index. An object rather than a macro, so that a kernel may call a variable of its own the same.
struct BlockIndex {
    NPUKB_API operator int64_t() const { return npukb_block_idx(); }
};

}  // namespace npukb

namespace AscendC {

inline constexpr int32_t MIX = 0;
inline constexpr int32_t AIC = 1;
inline constexpr int32_t AIV = 2;
// Kernels are compiled for the vector core.
inline constexpr int32_t g_coreType = AIV;

// Where a tiling function says how large the workspace is, the workspace begins with the system's part; the harness's own
// (static track) has none.
NPUKB_API GM_ADDR GetUserWorkspace(GM_ADDR workspace) { return static_cast<GM_ADDR>(npukb_user_workspace(workspace)); }
NPUKB_API void SetSysWorkspace(GM_ADDR workspace) { npukb_system_workspace(workspace); }
NPUKB_API void SetSysWorkspaceForce(GM_ADDR workspace) { npukb_system_workspace(workspace); }
NPUKB_API __gm__ uint8_t* GetSysWorkSpacePtr() { return static_cast<uint8_t*>(npukb_system_workspace(nullptr)); }

}  // namespace AscendC

using AscendC::AIC;
using AscendC::AIV;
using AscendC::g_coreType;
using AscendC::GetSysWorkSpacePtr;
using AscendC::GetUserWorkspace;
using AscendC::SetSysWorkspace;

#define ASCEND_IS_AIV constexpr(g_coreType == AscendC::AIV)
#define ASCEND_IS_AIC constexpr(g_coreType == AscendC::AIC)
#define ASCEND_IS_NOT_AIV constexpr(g_coreType != AscendC::AIV)
#define ASCEND_IS_NOT_AIC constexpr(g_coreType != AscendC::AIC)

static constexpr npukb::BlockIndex block_idx{};
NPUKB_API int64_t get_block_idx() { return npukb_block_idx(); }
NPUKB_API int64_t get_block_num() { return npukb_block_num(); }
NPUKB_API int64_t get_subblockid() { return 0; }
NPUKB_API int64_t get_subblockdim() { return 1; }

// Which cores a kernel starts. The twin runs vector kernels: any other type is refused at compile time.
enum KernelMetaType {
    KERNEL_TYPE_AIV_ONLY, KERNEL_TYPE_AIC_ONLY, KERNEL_TYPE_MIX_AIV_1_0, KERNEL_TYPE_MIX_AIC_1_0,
    KERNEL_TYPE_MIX_AIC_1_1, KERNEL_TYPE_MIX_AIC_1_2, KERNEL_TYPE_AICORE, KERNEL_TYPE_VECTORCORE,
    KERNEL_TYPE_MIX_AICORE, KERNEL_TYPE_MIX_VECTOR_CORE
};
#define KERNEL_TASK_TYPE_DEFAULT(type)                                                                                  \
    static_assert((type) == KERNEL_TYPE_AIV_ONLY || (type) == KERNEL_TYPE_MIX_AIV_1_0 ||                                \
                      (type) == KERNEL_TYPE_MIX_VECTOR_CORE,                                                            \
                  "KERNEL_TASK_TYPE_DEFAULT: a vector kernel is KERNEL_TYPE_AIV_ONLY or KERNEL_TYPE_MIX_AIV_1_0")
// The type of one tiling key: documented to go together with a default.
#define KERNEL_TASK_TYPE(key, type)                                                                                     \
    static_assert((type) == KERNEL_TYPE_AIV_ONLY || (type) == KERNEL_TYPE_MIX_AIV_1_0 ||                                \
                      (type) == KERNEL_TYPE_MIX_VECTOR_CORE,                                                            \
                  "KERNEL_TASK_TYPE: a vector kernel is KERNEL_TYPE_AIV_ONLY or KERNEL_TYPE_MIX_AIV_1_0")
