// The child process of one launch: reads a launch file, maps the buffers, loads the kernel, runs its blocks, reports.
//
//   npukb-twin-host LAUNCH_FILE
//   npukb-twin-host --verify IMAGE     says whether a kernel's image would be loaded: "holds", or what is wrong where
//
// The launch file is text, one directive per line (values that are paths go to the end of the line):
//
//   report FD TOKEN · limit AS|FSIZE|CORE|CPU|NOFILE N · verify · machine KEY VALUE
//   namespaces [FD...] · parent PID · confine · filter     (measures of process/sandbox.h that this machine has)
//   lacks NAME DST SRC MODES MESSAGE     (of the tables; see check/chip.h)
//   blocks N · cores N · threads N · seed N · order last_first
//   tiling_key N · system_workspace BYTES · core_flags yes|no|undeclared · allocation exact|pooled
//   checker off|fast|full · auto_sync on|off · profile off|time|full · launch warm|cold
//   argument null · argument same INDEX · argument buffer NAME r|w|t BYTES PATH
//   memory ADDRESS NAME r|w BYTES PATH · direct PATH      (direct launches: buffers by place, packed arguments)
//   argument list NAME COUNT, followed by COUNT lines: item SHAPE NAME r|w BYTES PATH
//
// behind the arguments, for people who debug a kernel; asked for on one thread only:
//
//   watch NAME OFFSET BYTES     where these bytes of a buffer come from is reported
//   record BLOCK CORE BYTES PATH what a core does is written to this file, which has so many bytes
//
// and at the end, in this order:
//
//   cube PATH     the image for cube cores, if they run, or -
//   mix N         vector cores of a block; 1 unless told
//   kernel PATH   loads and runs; - for cube cores alone
//
// SHAPE is 2x3, or - for a scalar.
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "semantics/division.h"
#include "cores/fiber.h"
#include "process/computed_calls.h"
#include "time/scalar_counting.h"
#include "check/raw_access.h"
#include "process/huge_pages.h"
#include "process/report.h"
#include "process/sandbox.h"
#include "check/chip.h"
#include "check/core_traffic.h"
#include "check/data_cache.h"
#include "check/journal.h"
#include "check/late_stores.h"
#include "check/tracker.h"
#include "verify/image.h"

namespace twin {
namespace {

constexpr uint32_t kMaxDimensions = 16;
constexpr uint64_t kPage = 4096;
constexpr uint64_t kOwnZeros = 16;  // bytes of zeros that every image has
constexpr uint64_t kGuard = 1u << 16;
constexpr uint64_t kBuffersEnd = 1ull << 45;   // no system puts anything below it by itself, and no direct launch does
constexpr uint64_t kBuffersRoom = 1ull << 40;  // in which the first buffer's place is drawn

Launch g_launch;
uint8_t* g_lowest_buffer;
bool g_pooled;
bool g_verifies;
Totals g_totals;

[[noreturn]] void Fail(const char* status, const char* format, ...) __attribute__((format(printf, 2, 3)));
void Fail(const char* status, const char* format, ...) {
    char message[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    ReportFailure(status, message);
    _exit(0);
}

// Only the first block that ends the launch is reported.
void TakeTurn() {
    static volatile char taken = 0;
    if (__atomic_test_and_set(&taken, __ATOMIC_SEQ_CST)) {
        for (;;) pause();
    }
}

void OnSignal(int signal, siginfo_t* info, void* context) {
    uint64_t pc = ProgramCounter(context);
    if (signal == SIGFPE && PlaceOf(g_launch, pc) != 0 && StepOverDivision(context)) return;
    TakeTurn();
    ReportSignal(signal, PlaceOf(g_launch, pc), reinterpret_cast<uint64_t>(info->si_addr), InStackGuard(info->si_addr));
    _exit(128 + signal);
}

void CatchSignals() {
    struct sigaction action{};
    action.sa_sigaction = OnSignal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    for (int signal : fatal) sigaction(signal, &action, nullptr);
}

// How a buffer's file becomes memory.
enum Mode : char {
    kRead = 'r',
    kWrite = 'w',  // what the kernel writes is seen by the judge
    kBlank = 'b',  // the same, and it holds nothing of the program before
    kTile = 't',   // the file is repeated until the buffer is full; what the kernel writes is seen by nobody else
};

// Memory for a buffer that nobody reads afterwards costs nothing until it is touched: a workspace is 16 MiB and more.
void* MapTiles(uint8_t* at, uint64_t length, int file) {
    struct stat tile;
    if (fstat(file, &tile) != 0 || tile.st_size <= 0 || tile.st_size % kPage != 0) return MAP_FAILED;
    for (uint64_t done = 0; done < length; done += tile.st_size) {
        uint64_t bytes = length - done < static_cast<uint64_t>(tile.st_size) ? length - done : tile.st_size;
        void* mapped = mmap(at + done, bytes, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_PRIVATE, file, 0);
        if (mapped == MAP_FAILED) return MAP_FAILED;
    }
    return at;
}

// Memory that no one may touch, at `wanted`; null when that is taken.
uint8_t* ReserveAt(uint8_t* wanted, uint64_t bytes) {
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
    void* got = mmap(wanted, bytes, PROT_NONE, flags, -1, 0);
    if (got == wanted) return wanted;
    if (got != MAP_FAILED) munmap(got, bytes);  // a kernel before 4.17 takes the address for a hint
    return nullptr;
}

// Each buffer lies right below the one before, so that what is said of a stray access is the same each time. The first
// one's place is drawn: no kernel tells one run from another by its addresses. Where a range is taken, the system
// chooses.
uint8_t* ReserveNext(uint64_t bytes) {
    if (g_lowest_buffer == nullptr) {
        uint64_t drawn = 0;
        if (getrandom(&drawn, sizeof drawn, 0) != sizeof drawn)
            Fail("infra_error", "the system gives no random number");
        g_lowest_buffer = reinterpret_cast<uint8_t*>(kBuffersEnd - drawn % (kBuffersRoom / kPage) * kPage);
    }
    uint8_t* got = ReserveAt(g_lowest_buffer - bytes, bytes);
    if (got != nullptr) return g_lowest_buffer = got;
    void* any = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return any == MAP_FAILED ? nullptr : static_cast<uint8_t*>(any);
}

// Maps a buffer between two regions that no one may touch; `room` bytes from its beginning are reserved for it. It lies
// at `place` unless that is null.
uint8_t* Map(const char* path, uint64_t length, uint64_t room, char mode, uint8_t* place) {
    const bool kept = mode == kWrite || mode == kBlank;
    const uint64_t around = (room + kPage - 1) / kPage * kPage + 2 * kGuard;
    uint8_t* reserved = place == nullptr ? ReserveNext(around) : ReserveAt(place - kGuard, around);
    if (reserved == nullptr) Fail("infra_error", "cannot reserve %llu bytes", static_cast<unsigned long long>(length));
    int file = open(path, kept ? O_RDWR : O_RDONLY);
    if (file < 0) Fail("infra_error", "cannot open buffer %s", path);
    uint8_t* at = reserved + kGuard;
    void* mapped = mode == kTile ? MapTiles(at, length, file)
                                 : mmap(at, length, kept ? PROT_READ | PROT_WRITE : PROT_READ,
                                        MAP_FIXED | MAP_POPULATE | (kept ? MAP_SHARED : MAP_PRIVATE), file, 0);
    close(file);
    if (mapped == MAP_FAILED) Fail("infra_error", "cannot map buffer %s", path);
    return at;
}

uint8_t* AddBuffer(const char* text, uint8_t* place = nullptr) {
    char name[64];
    char mode;
    unsigned long long bytes;
    int path = 0;
    if (sscanf(text, "%63s %c %llu %n", name, &mode, &bytes, &path) < 3 || path == 0)
        Fail("infra_error", "bad buffer line: %s", text);
    bool pooled = g_pooled && strcmp(name, "tiling") != 0;  // which no framework allocates
    Extent extent = pooled ? PooledExtent(bytes) : ExactExtent(bytes);
    uint64_t length = (PooledExtent(bytes).reachable + kPage - 1) / kPage * kPage;
    uint8_t* address = Map(text + path, length, extent.mapped < length ? length : extent.mapped, mode, place);
    if (!g_launch.memory.Add(name, address, bytes, extent, mode != kRead, length))
        Fail("infra_error", "too many buffers");
    g_launch.memory[g_launch.memory.size() - 1].fresh = mode == kBlank || mode == kTile;
    return address;
}

// The packed arguments of a direct launch, which the kernel reads through the runtime alone.
void ReadDirect(const char* path) {
    struct stat info;
    int file = open(path, O_RDONLY);
    if (file < 0 || fstat(file, &info) != 0) Fail("infra_error", "cannot open the arguments %s", path);
    auto* bytes = static_cast<uint8_t*>(calloc(static_cast<size_t>(info.st_size) + 8, 1));
    if (bytes == nullptr || read(file, bytes, static_cast<size_t>(info.st_size)) != info.st_size)
        Fail("infra_error", "cannot read the arguments %s", path);
    close(file);
    g_launch.direct = bytes;
    g_launch.direct_bytes = static_cast<uint64_t>(info.st_size);
}

bool NextLine(char* line, size_t size, FILE* file) {
    if (fgets(line, static_cast<int>(size), file) == nullptr) return false;
    line[strcspn(line, "\n")] = 0;
    return true;
}

// A list argument points to a table: the byte offset of the addresses; for every tensor a word with its number of
// dimensions and its index, and a word per dimension; the addresses. ListTensorDesc reads it, and kernels do
// themselves.
uint8_t* AddTable(const char* text, FILE* file) {
    char name[64];
    unsigned count;
    if (sscanf(text, "%63s %u", name, &count) != 2) Fail("infra_error", "bad list line: %s", text);
    uint64_t words = 1 + (2ull + kMaxDimensions) * count;
    auto* table = static_cast<uint64_t*>(mmap(nullptr, (8 * words + kPage - 1) / kPage * kPage, PROT_READ | PROT_WRITE,
                                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    auto* addresses = static_cast<uint64_t*>(malloc(8 * (count + 1ull)));
    if (table == MAP_FAILED || addresses == nullptr) Fail("infra_error", "cannot map a table of %u tensors", count);
    char line[4096];
    uint64_t at = 1;
    for (unsigned i = 0; i < count; ++i) {
        if (!NextLine(line, sizeof line, file) || strncmp(line, "item ", 5) != 0)
            Fail("infra_error", "list %s is cut short", name);
        uint64_t& head = table[at++];
        uint32_t dimensions = 0;
        char* text_at = line + 5;
        while (*text_at >= '0' && *text_at <= '9' && dimensions < kMaxDimensions) {
            table[at++] = strtoull(text_at, &text_at, 10);
            ++dimensions;
            if (*text_at == 'x') ++text_at;
        }
        head = static_cast<uint64_t>(i) << 32 | dimensions;
        addresses[i] = reinterpret_cast<uint64_t>(AddBuffer(text_at + (*text_at == '-')));
    }
    table[0] = 8 * at;
    memcpy(table + at, addresses, 8ull * count);
    free(addresses);
    uint64_t bytes = 8 * (at + count);
    auto* address = reinterpret_cast<uint8_t*>(table);
    uint64_t reachable = (bytes + 31) & ~31ull;
    g_launch.memory.Add(name, address, bytes, {reachable, reachable}, false, reachable);
    return address;
}

void SetMachine(const char* key, double value) {
    if (!g_launch.machine.Set(key, value)) Fail("infra_error", "the machine has no number named %s", key);
}

// The parent sets the same limits from outside, but may be late: here they are in place before the kernel is loaded.
void Limit(const char* what, unsigned long long value) {
    struct {
        const char* name;
        int resource;
    } const table[] = {{"AS", RLIMIT_AS},
                       {"FSIZE", RLIMIT_FSIZE},
                       {"CORE", RLIMIT_CORE},
                       {"CPU", RLIMIT_CPU},
                       {"NOFILE", RLIMIT_NOFILE}};
    for (const auto& row : table) {
        if (strcmp(row.name, what) != 0) continue;
        rlimit limit{static_cast<rlim_t>(value), static_cast<rlim_t>(value)}, before{};
        if (row.resource == RLIMIT_CPU) ++limit.rlim_max;  // so that its end tells what ended it
        auto resource = static_cast<__rlimit_resource_t>(row.resource);
        if (getrlimit(resource, &before) == 0 && before.rlim_max < limit.rlim_max) limit.rlim_max = before.rlim_max;
        if (limit.rlim_cur > limit.rlim_max) limit.rlim_cur = limit.rlim_max;
        if (setrlimit(resource, &limit) != 0) Fail("infra_error", "cannot limit %s", what);
        return;
    }
    Fail("infra_error", "there is no limit named %s", what);
}

Checker CheckerOf(const char* name) {
    if (strcmp(name, "off") == 0) return Checker::Off;
    if (strcmp(name, "fast") == 0) return Checker::Fast;
    if (strcmp(name, "full") == 0) return Checker::Full;
    Fail("infra_error", "there is no checker named %s", name);
}

Detail DetailOf(const char* name) {
    if (strcmp(name, "off") == 0) return Detail::Off;
    if (strcmp(name, "time") == 0) return Detail::Time;
    if (strcmp(name, "full") == 0) return Detail::Full;
    Fail("infra_error", "there is no profile named %s", name);
}

// Whether a segment is made read-only once it has been relocated: what is zero in it is padding.
bool ReadOnlyLater(const dl_phdr_info* info, uint64_t address, uint64_t bytes) {
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const auto& segment = info->dlpi_phdr[i];
        if (segment.p_type == PT_GNU_RELRO && segment.p_vaddr == address && segment.p_memsz >= bytes) return true;
    }
    return false;
}

int FindImage(dl_phdr_info* info, size_t, void* context) {
    auto* found = static_cast<Image*>(context);
    if (info->dlpi_addr != found->base) return 0;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const auto& segment = info->dlpi_phdr[i];
        if (segment.p_type != PT_LOAD) continue;
        uint64_t end = info->dlpi_addr + segment.p_vaddr + segment.p_memsz;
        if (end > found->end) found->end = end;
        if (segment.p_flags == PF_R && found->constants_end == 0) {
            found->constants = info->dlpi_addr + segment.p_vaddr;
            found->constants_end = end;
        }
        bool zeros = segment.p_memsz > segment.p_filesz + kOwnZeros;
        if (zeros && !ReadOnlyLater(info, segment.p_vaddr, segment.p_memsz)) g_launch.shares_variables = true;
    }
    return 1;
}

// Nothing of an image runs before it has been shown that it can do no harm.
void Verify(const char* path, CoreKind kind, List<uint64_t>* addresses) {
    Verdict verdict = VerifyImage(path, addresses);
    if (verdict.refusal == Refusal::None) return;
    verdict.place |= kind == CoreKind::Cube ? kCubeImage : 0;
    ReportRefused(verdict);
    _exit(0);
}

Entry Load(const char* path, CoreKind kind) {
    if (strcmp(path, "-") == 0) return nullptr;
    Image* found = &g_launch.images[static_cast<int>(kind)];
    List<uint64_t> addresses;
    if (g_verifies) Verify(path, kind, &addresses);
    NameImage(path);
    BeginLoading(__builtin_frame_address(0));
    void* image = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (image == nullptr) Fail("launch_error", "%s", dlerror());
    void* entry = dlsym(image, "npukb_launch");
    Dl_info where;
    if (entry == nullptr || dladdr(entry, &where) == 0) Fail("launch_error", "the image has no kernel entry");
    found->base = reinterpret_cast<uint64_t>(where.dli_fbase);
    dl_iterate_phdr(FindImage, found);
    if (g_launch.CoreCount() > 1) g_launch.variables[static_cast<int>(kind)].Open(found->end - found->base);
    CountInRegister(path, found->base, addresses);
    return reinterpret_cast<Entry>(entry);
}

void Collect(Core* core, void*) {
    StopTracker(*core);
    StopOrder(*core);
    StopDataCache(*core);
    StopSums(*core);
    StopLate(*core);
    g_totals.Add(*core);
}

// Where the memories of a core lie in its arena: one behind the other, UB first.
void LayOutMemories(Launch* l) {
    const Machine& m = l->machine;
    const uint32_t bytes[] = {m.ub_bytes, m.l1_bytes, m.l0a_bytes, m.l0b_bytes, m.l0c_bytes, m.bt_bytes, m.fb_bytes};
    uint32_t at = 0;
    for (int i = 0; i < kMemories; ++i) {
        l->memories[i] = {at, bytes[i]};
        at += (bytes[i] + kMemoryGranule - 1) / kMemoryGranule * kMemoryGranule;
    }
    if (at > kArenaBlocks * 32) Fail("infra_error", "the machine's memories are larger than the twin's arena");
    l->arena_bytes = at;
}

void Run(const char* vector, const char* cube, int vectors_per_block, void** arguments, int threads) {
    Launch& l = g_launch;
    LayOutMemories(&l);
    l.per_block[static_cast<int>(CoreKind::Vector)] = strcmp(vector, "-") == 0 ? 0 : vectors_per_block;
    l.per_block[static_cast<int>(CoreKind::Cube)] = strcmp(cube, "-") == 0 ? 0 : 1;
    if (l.CoresPerBlock() == 0) Fail("infra_error", "the launch file names no kernel");
    if (l.cores < 1) l.cores = l.blocks;
    auto started = static_cast<double>((l.blocks < l.cores ? l.blocks : l.cores) * l.CoresPerBlock());
    double share = l.machine.hbm_read_bytes_per_s / started;
    double fastest_out = l.machine.copy_out_bytes_per_cycle * l.machine.clock_hz;
    double in = l.machine.copy_in_bytes_per_s < share ? l.machine.copy_in_bytes_per_s : share;
    double out = fastest_out < share ? fastest_out : share;
    l.copy_in_cycles_per_byte = l.machine.clock_hz / in;
    l.copy_out_cycles_per_byte = l.machine.clock_hz / out;
    l.cross = static_cast<CrossCore*>(calloc(1, sizeof(CrossCore)));
    if (l.cross == nullptr) Fail("infra_error", "no memory for synchronisation between cores");
    l.cross->Start(l);
    if (l.profile != Detail::Off)
        l.tapes = static_cast<Tape**>(calloc(static_cast<size_t>(l.CoreCount()), sizeof(Tape*)));
    for (int i = 0; l.CoreCount() > 1 && i < l.memory.size(); ++i) {
        if (l.memory[i].writable) l.memory.Share(&l.memory[i]);
    }
    for (int i = 0; l.checker == Checker::Full && i < l.memory.size(); ++i) {
        if (l.memory[i].fresh) l.memory.MarkFresh(&l.memory[i]);
    }
    const Entry entries[kCoreKinds] = {Load(vector, CoreKind::Vector), Load(cube, CoreKind::Cube)};
    l.late = l.backward && l.checker != Checker::Off && !l.shares_variables;
    if (l.journal != nullptr && !l.journal->Start(l)) {
        Fail("launch_error", "no such core: the launch has %lld blocks of %d cores", static_cast<long long>(l.blocks),
             l.CoresPerBlock());
    }
    RunBlocks(&l, entries, arguments, threads, Collect, nullptr);
    ReportFinished(l, g_totals);
}

// What the machine lacks of the tables.
void Lack(const char* text) {
    static Chip chip;
    g_launch.chip = &chip;
    if (!chip.Lack(text)) Fail("infra_error", "bad line about the chip: %s", text);
}

Journal& TheJournal() {
    static Journal journal;
    g_launch.journal = &journal;
    return journal;
}

// Bytes of a buffer that the launch is asked to explain.
void Watch(const char* name, uint64_t offset, uint64_t bytes) {
    Journal& journal = TheJournal();
    for (int i = 0; i < g_launch.memory.size(); ++i) {
        const GlobalBuffer& buffer = g_launch.memory[i];
        if (strcmp(buffer.name, name) != 0) continue;
        bool inside = offset < buffer.bytes && bytes <= buffer.bytes - offset;
        if (inside && journal.Watch(i, offset, static_cast<uint32_t>(bytes))) return;
    }
    Fail("infra_error", "cannot watch %llu bytes of %s", static_cast<unsigned long long>(bytes), name);
}

// What one core does is written to a file.
void Record(uint64_t block, uint64_t core, uint64_t bytes, const char* path) {
    int file = open(path, O_RDWR);
    if (file < 0) Fail("infra_error", "cannot open the record %s", path);
    void* mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (mapped == MAP_FAILED) Fail("infra_error", "cannot map the record %s", path);
    TheJournal().Record(static_cast<int64_t>(block), static_cast<int64_t>(core), static_cast<uint8_t*>(mapped), bytes);
}

int Main(const char* path) {
    BeginHeap();
    FILE* file = fopen(path, "r");
    if (file == nullptr) {
        perror(path);
        return 2;
    }
    void* arguments[kMaxArguments] = {};
    int count = 0;
    int threads = 1;
    bool confine = false, filter = false;
    int vectors_per_block = 1;
    char cube[4096] = "-";
    char line[4096];
    while (NextLine(line, sizeof line, file)) {
        char key[64];
        double number;
        unsigned long long value, bytes, block;
        if (count == kMaxArguments) Fail("infra_error", "more than %d arguments", kMaxArguments);
        if (sscanf(line, "report %llu %63s", &value, key) == 2)
            SetReportDescriptor(static_cast<int>(value), key);
        else if (strncmp(line, "namespaces", 10) == 0) {
            if (!LeaveNamespaces(line + 10)) Fail("infra_error", "the kernel's process cannot leave its namespaces");
        } else if (sscanf(line, "parent %llu", &value) == 1) {
            if (!DieWith(static_cast<int>(value))) _exit(125);
        } else if (strcmp(line, "confine") == 0)
            confine = true;
        else if (strcmp(line, "filter") == 0)
            filter = true;
        else if (strcmp(line, "verify") == 0)
            g_verifies = true;
        else if (sscanf(line, "limit %63s %llu", key, &value) == 2)
            Limit(key, value);
        else if (sscanf(line, "machine %63s %lf", key, &number) == 2)
            SetMachine(key, number);
        else if (strncmp(line, "lacks ", 6) == 0)
            Lack(line + 6);
        else if (sscanf(line, "blocks %llu", &value) == 1)
            g_launch.blocks = static_cast<int64_t>(value);
        else if (sscanf(line, "cores %llu", &value) == 1)
            g_launch.cores = static_cast<int64_t>(value);
        else if (sscanf(line, "tiling_key %llu", &value) == 1)
            g_launch.tiling_key = value;
        else if (sscanf(line, "system_workspace %llu", &value) == 1)
            g_launch.system_workspace_bytes = value;
        else if (sscanf(line, "threads %llu", &value) == 1)
            threads = static_cast<int>(value);
        else if (sscanf(line, "order %63s %llu", key, &value) == 2)
            g_launch.backward = strcmp(key, "backward") == 0, g_launch.order = value;
        else if (sscanf(line, "seed %llu", &value) == 1)
            g_launch.seed = value;
        else if (sscanf(line, "checker %63s", key) == 1)
            g_launch.checker = CheckerOf(key);
        else if (sscanf(line, "profile %63s", key) == 1)
            g_launch.profile = DetailOf(key);
        else if (sscanf(line, "launch %63s", key) == 1)
            g_launch.cold = strcmp(key, "cold") == 0;
        else if (sscanf(line, "allocation %63s", key) == 1)
            g_pooled = strcmp(key, "pooled") == 0;
        else if (sscanf(line, "core_flags %63s", key) == 1) {
            g_launch.core_flags = *key == 'y'   ? FlagSupport::Yes
                                  : *key == 'n' ? FlagSupport::No
                                                : FlagSupport::Undeclared;
        } else if (sscanf(line, "auto_sync %63s", key) == 1)
            g_launch.auto_sync = strcmp(key, "off") != 0;
        else if (int rest = 0; sscanf(line, "memory %llu %n", &value, &rest) == 1 && rest != 0)
            AddBuffer(line + rest, reinterpret_cast<uint8_t*>(value));
        else if (strncmp(line, "direct ", 7) == 0)
            ReadDirect(line + 7);
        else if (sscanf(line, "watch %63s %llu %llu", key, &value, &bytes) == 3)
            Watch(key, value, bytes);
        else if (int at = 0; sscanf(line, "record %llu %llu %llu %n", &block, &value, &bytes, &at) == 3 && at != 0)
            Record(block, value, bytes, line + at);
        else if (strcmp(line, "argument null") == 0)
            arguments[count++] = nullptr;
        else if (sscanf(line, "argument same %llu", &value) == 1)
            arguments[count] = arguments[value % kMaxArguments], ++count;
        else if (strncmp(line, "argument buffer ", 16) == 0) {
            arguments[count] = AddBuffer(line + 16);
            if (strncmp(line + 16, "workspace ", 10) == 0) g_launch.system_workspace = arguments[count];
            ++count;
        } else if (strncmp(line, "argument list ", 14) == 0)
            arguments[count++] = AddTable(line + 14, file);
        else if (sscanf(line, "mix %llu", &value) == 1)
            vectors_per_block = static_cast<int>(value);
        else if (strncmp(line, "cube ", 5) == 0)
            snprintf(cube, sizeof cube, "%s", line + 5);
        else if (strncmp(line, "kernel ", 7) == 0) {
            fclose(file);
            unlink(path);  // what is in it is not the kernel's to know
            CatchSignals();
            if (confine && !ConfineToImages(line + 7, cube))
                Fail("infra_error", "the kernel's process cannot be confined");
            if (!ForbidProcesses() && filter) Fail("infra_error", "the kernel's system calls cannot be filtered");
            Run(line + 7, cube, vectors_per_block, arguments, threads);
            _exit(0);  // destructors of the kernel's global objects do not run: there is no core any more
        } else
            Fail("infra_error", "bad launch line: %s", line);
    }
    Fail("infra_error", "the launch file names no kernel");
}

}  // namespace

void RefuseAccess(uint64_t pc, uint64_t address) {
    TakeTurn();
    ReportSignal(SIGSEGV, pc, address, InStackGuard(reinterpret_cast<const void*>(address)));
    _exit(128 + SIGSEGV);
}

}  // namespace twin

int main(int argc, char** argv) {
    if (argc == 3 && strcmp(argv[1], "--verify") == 0) {
        twin::List<uint64_t> addresses;
        twin::Verdict verdict = twin::VerifyImage(argv[2], &addresses);
        bool holds = verdict.refusal == twin::Refusal::None;
        printf("%s\n%llx\n", holds ? "holds" : verdict.reason, static_cast<unsigned long long>(verdict.place));
        return holds ? 0 : 1;
    }
    if (argc != 2) {
        fprintf(stderr, "usage: npukb-twin-host LAUNCH_FILE\n");
        return 2;
    }
    return twin::Main(argv[1]);
}
