// The compiler's callbacks for loads and stores of a kernel's own code, from the common case (its stack) to the rarest.
#include "check/raw_access.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cores/block_memory.h"
#include "time/scalar_operations.h"
#include "cores/core.h"
#include "cores/fiber.h"
#include "check/data_cache.h"
#include "check/operand_check.h"
#include "cores/sanitizer.h"

namespace twin {
namespace {

// The stack that kernels see while they are loaded, with a guard below it.
constexpr uint64_t kLoadingBytes = 1u << 18;
uint8_t* g_loading_stack;
uint64_t g_loading_frame;

constexpr uint64_t kWaiting = 32;          // operations from one look at a flag to the next
constexpr uint64_t kOfComparison = 2;      // of two words, and what follows from it
constexpr uint64_t kWord = 8, kLine = 64;  // bytes of one access of the scalar unit, and of its cache

// The scalar unit moves a word at a time.
uint64_t Words(uint64_t bytes) { return (bytes + kWord - 1) / kWord; }

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

// Reading the same few places again and again may be waiting for other blocks, which get their turn first. Returns
// where the core remembers the place, or kReadLately.
uint32_t Polled(Core& core, uint64_t address) {
    for (uint32_t i = 0; i < kReadLately; ++i) {
        if (core.read_lately[i] != address) continue;
        __atomic_store_n(&core.launch->talks, true, __ATOMIC_RELAXED);
        Yield();
        return i;
    }
    return kReadLately;
}

// How often a core looks depends on the host, and takes no time but that of the block that is waited for. So it is paid
// for when it turns out that nobody else wrote there. Whoever does more than to look in between is at work. `written`
// says when others have written last. Returns whether the access is paid for.
bool LooksAgain(Core& core, uint64_t address, uint32_t slot, double written) {
    if (slot == kReadLately) {
        core.PayPolls();
        slot = core.next_read++ % kReadLately;
        core.read_lately[slot] = address;
        core.written_before[slot] = written;
        return false;
    }
    const Machine& m = core.launch->machine;
    uint64_t operations = TakeOperations();
    double cycles = static_cast<double>(operations) * m.scalar_operation_cycles;
    if (operations > kWaiting) core.time.Scalar(cycles);
    core.polled_cycles += m.dcache_hit_cycles + (operations > kWaiting ? 0 : cycles);
    if (written != core.written_before[slot]) {
        core.written_before[slot] = written;
        core.polled_cycles = 0;
        core.time.Access(m.gm_scalar_cycles);  // what another core has written is not in this one's cache
    }
    return true;
}

// A load of what other cores may write. Returns whether it is paid for.
bool Loads(Core& core, const WriteTimes& writes, uint64_t address, uint64_t offset, uint64_t bytes) {
    if (!writes.open()) return false;
    uint32_t slot = bytes <= kWord ? Polled(core, address) : kReadLately;
    double written = core.AwaitUntilWritten(Pipe::S, writes, offset, offset + bytes);
    return bytes <= kWord && LooksAgain(core, address, slot, written);
}

// Variables of the kernel lie in global memory, too, but its compiler keeps them near: only what others wrote there
// is waited for.
void SeeVariable(Core& core, const Image& image, uint64_t address, uint64_t bytes, bool write) {
    Launch& launch = *core.launch;
    WriteTimes& variables = launch.variables[static_cast<int>(core.kind)];
    uint64_t begin = address - image.base;
    if (write) {
        core.PayPolls();
        core.time.SpendOperations();
        variables.Note(begin, begin + bytes, core.number, core.time.At(Pipe::S).time);
        __atomic_store_n(&launch.variables_written, true, __ATOMIC_RELEASE);
    } else if (launch.shares_variables || __atomic_load_n(&launch.variables_written, __ATOMIC_ACQUIRE)) {
        Loads(core, variables, address, begin, bytes);
    }
}

// The memories of this kind of core.
bool InOwnMemory(const Core& core, const void* address, uint64_t bytes) {
    Memory memory = core.Holding(address);
    if (memory == Memory::None || HolderOf(memory) != core.kind) return false;
    return bytes <= core.launch->RangeOf(memory).bytes - core.OffsetIn(memory, address);
}

// An access of the scalar unit has eight bytes: the first of a line may have to be brought, the others find it near.
void PayWords(Core& core, uint64_t address, uint64_t bytes) {
    for (uint64_t at = address, end = address + bytes; at < end;) {
        uint64_t behind = at / kLine * kLine + kLine, part = (behind < end ? behind : end) - at;
        core.PayGlobal(reinterpret_cast<const void*>(at));
        if (part > kWord)
            core.time.Access(core.launch->machine.dcache_hit_cycles * static_cast<double>((part - 1) / kWord));
        at += part;
    }
}

void Check(uint64_t address, uint64_t bytes, bool write, uint64_t pc) {
    Core* running = RunningCore();
    if (running == nullptr) return CheckWhileLoading(address, bytes, pc);
    Core& core = *running;
    if (OnOwnStack(address, bytes) || (!write && OnReturnStack(address, bytes))) return;
    const Launch& launch = *core.launch;
    const Image& image = launch.images[static_cast<int>(core.kind)];
    if (Range{image.base, image.end}.Holds(address, bytes)) {
        if (launch.CoreCount() > 1) SeeVariable(core, image, address, bytes, write);
        return;
    }
    bool announced = core.announced == address && bytes <= core.announced_bytes;
    core.announced = 0;
    const auto* at = reinterpret_cast<const void*>(address);
    const auto* caller = reinterpret_cast<const void*>(pc);
    if (InOwnMemory(core, at, bytes)) {
        if (announced) return;
        core.Place(caller);
        core.time.Access(launch.machine.scalar_access_cycles * static_cast<double>(Words(bytes)));
        return;
    }
    const GlobalBuffer* buffer = launch.memory.Holding(at);
    if (buffer == nullptr) RefuseAccess(core.PcOf(caller), address);
    auto end = reinterpret_cast<uint64_t>(buffer->address) + buffer->reachable;
    const char* name = write ? "a store" : "a load";
    if ((bytes > end - address || address > end) && !Strays(core, {name, at, bytes, 1, write}, *buffer, caller))
        RefuseAccess(core.PcOf(caller), address);
    GlobalMemory::Cover(*buffer, at, bytes, write);
    if (announced) return;
    if (bytes <= end - address) WarnOfOverrun(core, {name, at, bytes, 1, write}, *buffer, caller);
    ThroughCache(core, *buffer, at, bytes, write, name, caller);
    auto offset = address - reinterpret_cast<uint64_t>(buffer->address);
    if (!write && Loads(core, buffer->writes, address, offset, bytes)) return;
    core.Place(caller);
    PayWords(core, address, bytes);
    if (write) core.Wrote(Pipe::S, {at, bytes, 1, 0});
}

// What the compiler copies and fills for the kernel. The parts of an assignment may overlap.
void* Move(void* to, const void* from, uint64_t bytes, uint64_t pc) {
    if (bytes == 0) return to;
    Check(reinterpret_cast<uint64_t>(from), bytes, false, pc);
    Check(reinterpret_cast<uint64_t>(to), bytes, true, pc);
    t_operations += Words(bytes);
    return memmove(to, from, bytes);
}

int Compare(const void* one, const void* other, uint64_t bytes, uint64_t pc) {
    if (bytes == 0) return 0;
    Check(reinterpret_cast<uint64_t>(one), bytes, false, pc);
    Check(reinterpret_cast<uint64_t>(other), bytes, false, pc);
    t_operations += kOfComparison * Words(bytes);
    return memcmp(one, other, bytes);
}

void* Fill(void* to, int value, uint64_t bytes, uint64_t pc) {
    if (bytes == 0) return to;
    Check(reinterpret_cast<uint64_t>(to), bytes, true, pc);
    t_operations += Words(bytes);
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

#pragma GCC visibility push(default)
extern "C" {
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
