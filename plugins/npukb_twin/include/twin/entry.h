// What surrounds a kernel's entry: qualifiers of the dialect, the kind of core, task types, workspace, and what calls
// it (launch.h).
#pragma once
#include "direct.h"
#include "tiling.h"
#include "types.h"

#define __forceinline__ inline __attribute__((always_inline))
#define __vector__
#define __cube__
#define __mix__(cubes, vectors)
#define __schedmode__(mode)
#define __kfc_workspace__
#define __sync_alias__
#define __sync_noalias__

namespace npukb {

// Reads as the block's index. An object rather than a macro, so that a kernel may call a variable of its own the same.
struct BlockIndex {
    NPUKB_API operator int64_t() const { return npukb_group(); }
};

}  // namespace npukb

namespace AscendC {

inline constexpr int32_t MIX = 0;
inline constexpr int32_t AIC = 1;
inline constexpr int32_t AIV = 2;
// The kind of core that this compilation is for.
inline constexpr int32_t g_coreType = NPUKB_CORE_KIND == 1 ? AIC : AIV;

enum class EngineType : int32_t { AIC = 1, AIV = 2 };

// Calls a function on one kind of core only.
template <EngineType engine, auto funPtr, class... Args>
NPUKB_API void Async(Args... args) {
    if constexpr (static_cast<int32_t>(engine) == g_coreType) funPtr(args...);
}

// Where a tiling function says how large the workspace is, the workspace begins with the system's part; the harness's
// own (static track) has none.
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
NPUKB_API int64_t get_block_idx() { return npukb_group(); }
NPUKB_API int64_t get_block_num() { return npukb_block_num(); }
NPUKB_API int64_t get_subblockid() { return npukb_sub_block(0); }
NPUKB_API int64_t get_subblockdim() { return npukb_sub_block(1); }

// Which cores a kernel starts. The numbers are known to the driver (kinds.py).
enum KernelMetaType {
    KERNEL_TYPE_AIV_ONLY,
    KERNEL_TYPE_AIC_ONLY,
    KERNEL_TYPE_MIX_AIV_1_0,
    KERNEL_TYPE_MIX_AIC_1_0,
    KERNEL_TYPE_MIX_AIC_1_1,
    KERNEL_TYPE_MIX_AIC_1_2,
    KERNEL_TYPE_AICORE,
    KERNEL_TYPE_VECTORCORE,
    KERNEL_TYPE_MIX_AICORE,
    KERNEL_TYPE_MIX_VECTOR_CORE
};

namespace npukb {

// What a kernel declares of itself, in a section of the image that the driver reads. Key 2^64-1 is the default of all
// keys.
struct TaskType {
    uint64_t key;
    uint64_t type;
};

}  // namespace npukb

#define NPUKB_PASTE(a, b) a##b
#define NPUKB_TASK_TYPE(key, type, line)                                 \
    static constexpr npukb::TaskType NPUKB_PASTE(npukb_task_type_, line) \
        __attribute__((used, section("npukb_task_type"))) = {static_cast<uint64_t>(key), static_cast<uint64_t>(type)}
#define KERNEL_TASK_TYPE_DEFAULT(type) NPUKB_TASK_TYPE(-1, type, __COUNTER__)
// The type of one tiling key. Without a default every key that the kernel asks for needs one.
#define KERNEL_TASK_TYPE(key, type) NPUKB_TASK_TYPE(key, type, __COUNTER__)

namespace npukb {

template <typename... Arguments>
constexpr int ArityOf(void (*)(Arguments...)) {
    return sizeof...(Arguments);
}

// A launch argument, which becomes whatever pointer the entry declares.
struct Argument {
    void* address;
    template <typename T>
    NPUKB_API operator T*() const {
        return static_cast<T*>(address);
    }
};

// Calls an entry with what a host function passed by value, each argument as the entry declares it.
template <auto entry>
struct Direct;

template <typename... Parameters, void (*entry)(Parameters...)>
struct Direct<entry> {
    template <size_t... index>
    static void Call(std::index_sequence<index...>) {
        entry(Value<Parameters>(index)...);
    }
    static void Call() { Call(std::index_sequence_for<Parameters...>()); }

  private:
    template <typename T>
    static T Value(uint32_t index) {
        alignas(T) unsigned char value[sizeof(T)];
        npukb_tiling_argument(value, sizeof(T), static_cast<int>(DirectKindOf<T>()), index, sizeof...(Parameters));
        return *reinterpret_cast<T*>(value);
    }
};

}  // namespace npukb
