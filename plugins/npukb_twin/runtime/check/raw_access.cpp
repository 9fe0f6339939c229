// The compiler's callbacks for loads and stores of a kernel's own code, from the common case (its stack) to the rarest.
#include "check/raw_access.h"

#include <dlfcn.h>
#include <link.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cores/block_memory.h"
#include "time/scalar_operations.h"
#include "cores/core.h"
#include "cores/fiber.h"
#include "check/operand_check.h"
#include "cores/sanitizer.h"

namespace twin {
namespace {

// The stack that kernels see while they are loaded, with a guard below it.
constexpr uint64_t kLoadingBytes = 1u << 18;
uint8_t* g_loading_stack;
uint64_t g_loading_frame;

constexpr uint64_t kWaiting = 32;          // operations from one look at a flag to the next
constexpr uint64_t kWord = 8, kLine = 64;  // bytes of one access of the scalar unit, and of its cache

struct Range {
    uint64_t begin, end;
    bool Holds(uint64_t address, uint64_t bytes) const {
        return address >= begin && address <= end && bytes <= end - address;
    }
};

// The segments of the image that holds `pc`.
struct Loading {
    uint64_t pc;
    Range range;
};

int FindSegments(dl_phdr_info* info, size_t, void* context) {
    auto& image = *static_cast<Loading*>(context);
    Range whole{~0ull, 0};
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const auto& segment = info->dlpi_phdr[i];
        if (segment.p_type != PT_LOAD) continue;
        uint64_t begin = info->dlpi_addr + segment.p_vaddr;
        if (begin < whole.begin) whole.begin = begin;
        if (begin + segment.p_memsz > whole.end) whole.end = begin + segment.p_memsz;
    }
    if (!whole.Holds(image.pc, 1)) return 0;
    image.range = whole;
    return 1;
}

// While the image is loaded there is no core: constructors have their image and their stack.
void CheckWhileLoading(uint64_t address, uint64_t bytes, uint64_t pc) {
    Loading image{pc, {0, 0}};
    dl_iterate_phdr(FindSegments, &image);
#if NPUKB_TWO_STACKS
    const Range stack{reinterpret_cast<uint64_t>(g_loading_stack),
                      reinterpret_cast<uint64_t>(g_loading_stack + kLoadingBytes)};
#else
    const Range stack{reinterpret_cast<uint64_t>(__builtin_frame_address(0)), g_loading_frame};
#endif
    if (!image.range.Holds(address, bytes) && !stack.Holds(address, bytes)) RefuseAccess(0, address);
}

// Reading the same few places again and again is waiting for other blocks: how often depends on the host, and takes no
// time. Whoever does more than to look in between is at work.
bool ReadLately(Core& core, uint64_t address) {
    for (uint64_t read : core.read_lately) {
        if (read != address) continue;
        uint64_t operations = TakeOperations();
        if (operations > kWaiting) core.time.Scalar(operations * core.launch->machine.scalar_operation_cycles);
        return true;
    }
    core.read_lately[core.next_read++ % kReadLately] = address;
    return false;
}

// The memories of this kind of core.
bool InOwnMemory(const Core& core, const void* address, uint64_t bytes) {
    Memory memory = core.Holding(address);
    if (memory == Memory::None || HolderOf(memory) != core.kind) return false;
    return bytes <= core.launch->RangeOf(memory).bytes - core.OffsetIn(memory, address);
}

void Check(uint64_t address, uint64_t bytes, bool write, uint64_t pc) {
    Core* running = RunningCore();
    if (running == nullptr) return CheckWhileLoading(address, bytes, pc);
    Core& core = *running;
    if (OnOwnStack(address, bytes) || (!write && OnReturnStack(address, bytes))) return;
    const Launch& launch = *core.launch;
    const Image& image = launch.images[static_cast<int>(core.kind)];
    if (Range{image.base, image.end}.Holds(address, bytes)) return;
    bool announced = core.announced == address && bytes <= core.announced_bytes;
    core.announced = 0;
    const auto* at = reinterpret_cast<const void*>(address);
    const auto* caller = reinterpret_cast<const void*>(pc);
    if (InOwnMemory(core, at, bytes)) {
        if (announced) return;
        core.Place(caller);
        core.time.Access(launch.machine.scalar_access_cycles * static_cast<double>((bytes + kWord - 1) / kWord));
        return;
    }
    const GlobalBuffer* buffer = launch.memory.Holding(at);
    if (buffer == nullptr) RefuseAccess(core.PcOf(caller), address);
    auto end = reinterpret_cast<uint64_t>(buffer->address) + buffer->reachable;
    const char* name = write ? "a store" : "a load";
    if ((bytes > end - address || address > end) && !Strays(core, {name, at, bytes, 1, write}, *buffer, caller))
        RefuseAccess(core.PcOf(caller), address);
    GlobalMemory::Cover(*buffer, at, bytes, write);
    if (announced || (!write && bytes <= kWord && ReadLately(core, address))) return;
    core.Place(caller);
    for (uint64_t paid = 0; paid < bytes; paid += kLine) core.PayGlobal(static_cast<const uint8_t*>(at) + paid);
}

// What the compiler copies and fills for the kernel. The parts of an assignment may overlap.
void* Move(void* to, const void* from, uint64_t bytes, uint64_t pc) {
    if (bytes == 0) return to;
    Check(reinterpret_cast<uint64_t>(from), bytes, false, pc);
    Check(reinterpret_cast<uint64_t>(to), bytes, true, pc);
    return memmove(to, from, bytes);
}

int Compare(const void* one, const void* other, uint64_t bytes, uint64_t pc) {
    if (bytes == 0) return 0;
    Check(reinterpret_cast<uint64_t>(one), bytes, false, pc);
    Check(reinterpret_cast<uint64_t>(other), bytes, false, pc);
    return memcmp(one, other, bytes);
}

void* Fill(void* to, int value, uint64_t bytes, uint64_t pc) {
    if (bytes != 0) Check(reinterpret_cast<uint64_t>(to), bytes, true, pc);
    return memset(to, value, bytes);
}

}  // namespace

void CheckResult(const void* address, uint64_t bytes, const void* pc) {
    Check(reinterpret_cast<uint64_t>(address), bytes, true, reinterpret_cast<uint64_t>(pc));
}

void CheckSource(const void* address, uint64_t bytes, const void* pc) {
    Check(reinterpret_cast<uint64_t>(address), bytes, false, reinterpret_cast<uint64_t>(pc));
}

void BeginLoading(const void* frame) {
    g_loading_frame = reinterpret_cast<uint64_t>(frame);
#if NPUKB_TWO_STACKS
    if (g_loading_stack == nullptr) {
        void* mapped =
            mmap(nullptr, kGuardBytes + kLoadingBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (mapped == MAP_FAILED) abort();
        g_loading_stack = static_cast<uint8_t*>(mapped) + kGuardBytes;
        if (mprotect(g_loading_stack, kLoadingBytes, PROT_READ | PROT_WRITE) != 0) abort();
    }
    __safestack_unsafe_stack_ptr = g_loading_stack + kLoadingBytes;
#endif
}

void CheckSeenStack(const void* address, const void* pc) {
    auto grown = reinterpret_cast<uint64_t>(address), loading = reinterpret_cast<uint64_t>(g_loading_stack);
    Core* core = RunningCore();
    bool own = core != nullptr ? OnOwnStack(grown, 0) && !InStackGuard(address)
                               : grown >= loading && grown <= loading + kLoadingBytes;
    if (!own) RefuseAccess(core == nullptr ? 0 : core->PcOf(pc), grown);
}

}  // namespace twin

// clang is told a prefix for the names of its announcements (build.py); g++ always takes the one of AddressSanitizer,
// which has functions of those names itself where it watches the runtime.
#define NPUKB_RETURN reinterpret_cast<uint64_t>(__builtin_return_address(0))
#define NPUKB_ANNOUNCED(prefix, bytes)                                                                         \
    void prefix##load##bytes##_noabort(uint64_t address) { twin::Check(address, bytes, false, NPUKB_RETURN); } \
    void prefix##store##bytes##_noabort(uint64_t address) { twin::Check(address, bytes, true, NPUKB_RETURN); }
#define NPUKB_ANNOUNCEMENTS(prefix)                                                                                    \
    NPUKB_ANNOUNCED(prefix, 1)                                                                                         \
    NPUKB_ANNOUNCED(prefix, 2)                                                                                         \
    NPUKB_ANNOUNCED(prefix, 4)                                                                                         \
    NPUKB_ANNOUNCED(prefix, 8)                                                                                         \
    NPUKB_ANNOUNCED(prefix, 16)                                                                                        \
    void prefix##loadN_noabort(uint64_t address, uint64_t bytes) { twin::Check(address, bytes, false, NPUKB_RETURN); } \
    void prefix##storeN_noabort(uint64_t address, uint64_t bytes) { twin::Check(address, bytes, true, NPUKB_RETURN); } \
    void* prefix##memcpy(void* to, const void* from, uint64_t bytes) {                                                 \
        return twin::Move(to, from, bytes, NPUKB_RETURN);                                                              \
    }                                                                                                                  \
    void* prefix##memmove(void* to, const void* from, uint64_t bytes) {                                                \
        return twin::Move(to, from, bytes, NPUKB_RETURN);                                                              \
    }                                                                                                                  \
    void* prefix##memset(void* to, int value, uint64_t bytes) { return twin::Fill(to, value, bytes, NPUKB_RETURN); }

// Functions of the C library that write where a pointer leads: the linker puts these in their place.
#define NPUKB_SPLIT(name, type, part)                                                \
    type __wrap_##name(type value, part* to) {                                       \
        twin::Check(reinterpret_cast<uint64_t>(to), sizeof *to, true, NPUKB_RETURN); \
        return name(value, to);                                                      \
    }
#define NPUKB_QUOTIENT(name, type)                                                   \
    type __wrap_##name(type value, type by, int* to) {                               \
        twin::Check(reinterpret_cast<uint64_t>(to), sizeof *to, true, NPUKB_RETURN); \
        return name(value, by, to);                                                  \
    }

#pragma GCC visibility push(default)
extern "C" {
NPUKB_SPLIT(frexp, double, int)
NPUKB_SPLIT(frexpf, float, int)
NPUKB_SPLIT(modf, double, double)
NPUKB_SPLIT(modff, float, float)
NPUKB_QUOTIENT(remquo, double)
NPUKB_QUOTIENT(remquof, float)
int __wrap_memcmp(const void* one, const void* other, uint64_t bytes) {
    return twin::Compare(one, other, bytes, NPUKB_RETURN);
}
void* __wrap_memcpy(void* to, const void* from, uint64_t bytes) { return twin::Move(to, from, bytes, NPUKB_RETURN); }
void* __wrap_memmove(void* to, const void* from, uint64_t bytes) { return twin::Move(to, from, bytes, NPUKB_RETURN); }
void* __wrap_memset(void* to, int value, uint64_t bytes) { return twin::Fill(to, value, bytes, NPUKB_RETURN); }
NPUKB_ANNOUNCEMENTS(npukb_raw_)
#if !defined(NPUKB_WATCHED)
NPUKB_ANNOUNCEMENTS(__asan_)
void __asan_handle_no_return() {}
#endif
}
#pragma GCC visibility pop
