// What a launch tells its kernel besides tensors: tiling data, tiling key, the parts of the workspace.
#include <string.h>

#include "cores/core.h"
#include "../include/twin/direct.h"
#include "check/raw_access.h"
#include "check/operand_check.h"

namespace {

constexpr uint64_t kCacheLine = 64;  // of the scalar unit's data cache
constexpr const char* kDirectRemedy = "Launch the kernel with the arguments that its entry declares.";

struct DirectArgument {
    npukb::DirectKind kind;
    uint32_t bytes;
    const uint8_t* at;
};

// The argument at `index` of the launch's packed ones (twin/direct.h); no address where there is none.
DirectArgument ArgumentAt(const twin::Launch& launch, uint32_t index) {
    const uint8_t *at = launch.direct + 8, *end = launch.direct + launch.direct_bytes;
    for (uint32_t i = 0; at + 8 <= end; ++i) {
        uint32_t head[2];
        memcpy(head, at, sizeof head);
        const uint64_t room = (uint64_t{head[1]} + 7) / 8 * 8;
        if (room > static_cast<uint64_t>(end - at) - 8) break;
        if (i == index) return {static_cast<npukb::DirectKind>(head[0]), head[1], at + 8};
        at += 8 + room;
    }
    return {npukb::DirectKind::kBytes, 0, nullptr};
}

uint32_t ArgumentCount(const twin::Launch& launch) {
    uint32_t count = 0;
    if (launch.direct != nullptr && launch.direct_bytes >= 8) memcpy(&count, launch.direct, sizeof count);
    return count;
}

bool IsNumber(npukb::DirectKind kind) {
    return kind == npukb::DirectKind::kInteger || kind == npukb::DirectKind::kReal;
}

// A number as a parameter of another type takes it.
void Convert(void* value, uint64_t bytes, npukb::DirectKind wanted, const DirectArgument& given) {
    double real = 0;
    int64_t integer = 0;
    if (given.kind == npukb::DirectKind::kReal) {
        memcpy(&real, given.at, 8);
        integer = static_cast<int64_t>(real);
    } else {
        memcpy(&integer, given.at, 8);
        real = static_cast<double>(integer);
    }
    const auto single = static_cast<float>(real);
    const void* from = &integer;
    if (wanted == npukb::DirectKind::kReal) from = bytes == 4 ? static_cast<const void*>(&single) : &real;
    memcpy(value, from, bytes);
}

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

void npukb_tiling_argument(void* value, uint64_t bytes, int kind, uint32_t index, uint32_t count) {
    using namespace twin;
    Core& core = ThisCore();
    CheckResult(value, bytes, NPUKB_PC);
    const Launch& launch = *core.launch;
    if (ArgumentCount(launch) != count)
        core.Violate("launch", NPUKB_PC, kDirectRemedy, "the launch has %u arguments, the kernel %u parameters",
                     ArgumentCount(launch), count);
    const DirectArgument given = ArgumentAt(launch, index);
    const auto wanted = static_cast<npukb::DirectKind>(kind);
    if (given.at != nullptr && given.bytes == 8 && IsNumber(given.kind) && IsNumber(wanted) && bytes <= 8)
        return Convert(value, bytes, wanted, given);
    const bool address = wanted == npukb::DirectKind::kPointer || given.kind == npukb::DirectKind::kPointer;
    const bool alike = given.kind == wanted || (address && given.kind != npukb::DirectKind::kReal);
    if (given.at == nullptr || !alike || given.bytes != bytes)
        core.Violate("launch", NPUKB_PC, kDirectRemedy,
                     "argument %u of the launch has %u bytes, the kernel's parameter %llu of another kind or size",
                     index, given.bytes, static_cast<unsigned long long>(bytes));
    memcpy(value, given.at, bytes);
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
