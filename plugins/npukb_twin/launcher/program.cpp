// The operating system loads one program into a process. This loads a second one: its segments lie where its file says,
// which for programs that are linked statically is far from ours, and it gets a stack with arguments as at any start.
//
// Calls that open files or want memory are trapped (seccomp) and carried out by a handler here. The handler is called
// on the program's stack and with its thread pointer, and puts ours into place first: C libraries keep a thread's
// variables there.
#include "launcher/program.h"

#include <errno.h>

#if !defined(__x86_64__)

void launcher::RunInside(char**, Opening, Opened, bool) { errno = ENOSYS; }

#else

#include <alloca.h>
#include <asm/prctl.h>
#include <elf.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "launcher/arena.h"

extern "C" {
// A system call that is not trapped, whose number comes first; what the operating system returns.
long npukb_untrapped(long number, long a, long b, long c, long d, long e, long f);
extern char npukb_untrapped_end[];
}
asm(R"(
npukb_untrapped:
    mov %rdi, %rax
    mov %rsi, %rdi
    mov %rdx, %rsi
    mov %rcx, %rdx
    mov %r8, %r10
    mov %r9, %r8
    mov 8(%rsp), %r9
    syscall
npukb_untrapped_end:
    ret
)");

namespace launcher {
namespace {

constexpr uint64_t kPage = 4096;
constexpr int kMaxSegments = 32;

Opening g_opening;
Opened g_opened;
uint64_t g_thread;  // our thread pointer

uint64_t PageOf(uint64_t address) { return address & ~(kPage - 1); }
uint64_t PageBehind(uint64_t address) { return PageOf(address + kPage - 1); }

bool Map(uint64_t begin, uint64_t end, int protection, int file, uint64_t offset) {
    if (begin >= end) return true;
    const int kind = MAP_PRIVATE | MAP_FIXED_NOREPLACE | (file < 0 ? MAP_ANONYMOUS : 0);
    void* wanted = reinterpret_cast<void*>(begin);
    void* got = mmap(wanted, end - begin, protection, kind, file, static_cast<off_t>(offset));
    if (got == wanted) return true;
    if (got != MAP_FAILED) errno = EEXIST;
    return false;
}

bool ReadAll(int file, uint64_t address, uint64_t bytes, uint64_t offset) {
    while (bytes != 0) {
        const ssize_t got = pread(file, reinterpret_cast<void*>(address), bytes, static_cast<off_t>(offset));
        if (got <= 0) return false;
        address += static_cast<uint64_t>(got), offset += static_cast<uint64_t>(got),
            bytes -= static_cast<uint64_t>(got);
    }
    return true;
}

// Code, in large pages of our own: a copy's first call of a function does not have to wait for its page, and the
// processor finds the way to it in fewer steps.
bool LoadCode(const Elf64_Phdr& segment, int file, uint64_t begin, uint64_t end) {
    if (!Map(begin, end, PROT_READ | PROT_WRITE, -1, 0)) return false;
    madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
    return ReadAll(file, segment.p_vaddr, segment.p_filesz, segment.p_offset) &&
           mprotect(reinterpret_cast<void*>(begin), end - begin, PROT_READ | PROT_EXEC) == 0;
}

bool LoadSegment(const Elf64_Phdr& segment, int file, bool large) {
    const uint64_t begin = PageOf(segment.p_vaddr), skipped = segment.p_vaddr - begin;
    const uint64_t in_file = segment.p_vaddr + segment.p_filesz, end = PageBehind(segment.p_vaddr + segment.p_memsz);
    const uint64_t mapped = segment.p_filesz == 0 ? begin : PageBehind(in_file);
    const bool written = (segment.p_flags & PF_W) != 0, code = (segment.p_flags & PF_X) != 0;
    if (large && code && !written) return LoadCode(segment, file, begin, end);
    const int protection =
        ((segment.p_flags & PF_R) != 0 ? PROT_READ : 0) | (written ? PROT_WRITE : 0) | (code ? PROT_EXEC : 0);
    if (!Map(begin, mapped, protection, file, segment.p_offset - skipped)) return false;
    if (written && mapped > in_file) memset(reinterpret_cast<void*>(in_file), 0, mapped - in_file);
    return Map(mapped, end, protection, -1, 0);
}

// Loads the program; false when it is no such program, or the operating system refuses.
bool Load(const char* path, bool large, Elf64_Ehdr& header, uint64_t& table) {
    Elf64_Phdr segments[kMaxSegments];
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    errno = ENOEXEC;
    bool done = pread(file, &header, sizeof header, 0) == sizeof header && memcmp(header.e_ident, ELFMAG, SELFMAG) == 0;
    done = done && header.e_type == ET_EXEC && header.e_machine == EM_X86_64 && header.e_phnum <= kMaxSegments;
    const auto size = static_cast<ssize_t>(header.e_phnum * sizeof *segments);
    done = done && pread(file, segments, static_cast<size_t>(size), static_cast<off_t>(header.e_phoff)) == size;
    for (int i = 0; done && i < header.e_phnum; ++i) {
        if (segments[i].p_type == PT_INTERP) done = false;  // it needs other files
        if (segments[i].p_type == PT_PHDR) table = segments[i].p_vaddr;
        if (segments[i].p_type == PT_LOAD) done = LoadSegment(segments[i], file, large);
    }
    close(file);
    return done && table != 0;
}

long Untrapped(const greg_t* registers) {
    return npukb_untrapped(registers[REG_RAX], registers[REG_RDI], registers[REG_RSI], registers[REG_RDX],
                           registers[REG_R10], registers[REG_R8], registers[REG_R9]);
}

long Open(const greg_t* registers, bool at) {
    const long folder = at ? registers[REG_RDI] : AT_FDCWD;
    const char* path = reinterpret_cast<const char*>(registers[at ? REG_RSI : REG_RDI]);
    const long flags = registers[at ? REG_RDX : REG_RSI], mode = registers[at ? REG_R10 : REG_RDX];
    const auto name = reinterpret_cast<long>(g_opening(path));
    const long got = npukb_untrapped(SYS_openat, folder, name, flags, mode, 0, 0);
    if ((flags & O_ACCMODE) != O_RDONLY && got >= 0) g_opened(path, static_cast<int>(got));
    return got;
}

long Allocate(const greg_t* registers) {
    const bool plain = registers[REG_RDI] == 0 && registers[REG_RDX] == (PROT_READ | PROT_WRITE) &&
                       registers[REG_R10] == (MAP_PRIVATE | MAP_ANONYMOUS);
    void* pages = plain ? TakePages(static_cast<size_t>(registers[REG_RSI])) : nullptr;
    return pages != nullptr ? reinterpret_cast<long>(pages) : Untrapped(registers);
}

long Free(const greg_t* registers) {
    auto* address = reinterpret_cast<void*>(registers[REG_RDI]);
    return GivePages(address, static_cast<size_t>(registers[REG_RSI])) ? 0 : Untrapped(registers);
}

void Handle(ucontext_t* at) {
    greg_t* registers = at->uc_mcontext.gregs;
    const greg_t number = registers[REG_RAX];
    registers[REG_RAX] = number == SYS_mmap           ? Allocate(registers)
                         : number == SYS_munmap       ? Free(registers)
                         : number == SYS_rt_sigaction ? 0  // the signal is ours
                                                      : Open(registers, number == SYS_openat);
}

// The system call itself: the C library's function may use a thread's variables.
void ThreadCall(long what, uint64_t value) {
    long number = SYS_arch_prctl;
    asm volatile("syscall" : "+a"(number) : "D"(what), "S"(value) : "rcx", "r11", "memory");
}

void SetThread(uint64_t pointer) { ThreadCall(ARCH_SET_FS, pointer); }

uint64_t Thread() {
    uint64_t pointer = 0;
    ThreadCall(ARCH_GET_FS, reinterpret_cast<uint64_t>(&pointer));
    return pointer;
}

// Nothing in here may use a thread's variables before ours are in place.
__attribute__((no_stack_protector)) void OnTrap(int, siginfo_t*, void* context) {
    const uint64_t theirs = Thread();
    SetThread(g_thread);
    Handle(static_cast<ucontext_t*>(context));
    SetThread(theirs);
}

// Calls that open files or want memory are trapped, unless `npukb_untrapped` makes them, and so is whoever wants the
// trap's signal.
bool Trap() {
    const auto end = reinterpret_cast<uint64_t>(npukb_untrapped_end);
    const auto low = static_cast<uint32_t>(end), high = static_cast<uint32_t>(end >> 32);
    constexpr uint32_t at = offsetof(seccomp_data, instruction_pointer);
    sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 5, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_munmap, 4, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_open, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigaction, 6, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, at),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, low, 0, 2),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, at + 4),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, high, 3, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SIGSYS, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
    };
    struct sigaction action{};
    action.sa_sigaction = OnTrap;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sock_fprog filter{sizeof rules / sizeof *rules, rules};
    return sigaction(SIGSYS, &action, nullptr) == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

size_t Count(char** words) {
    size_t count = 0;
    while (words[count] != nullptr) ++count;
    return count;
}

// What the operating system says to a program behind its environment, with what is different for this one.
Elf64_auxv_t Told(Elf64_auxv_t entry, const char* path, const Elf64_Ehdr& header, uint64_t table) {
    uint64_t& value = entry.a_un.a_val;
    if (entry.a_type == AT_PHDR) value = table;
    if (entry.a_type == AT_PHNUM) value = header.e_phnum;
    if (entry.a_type == AT_ENTRY) value = header.e_entry;
    if (entry.a_type == AT_BASE) value = 0;
    if (entry.a_type == AT_EXECFN) value = reinterpret_cast<uint64_t>(path);
    return entry;
}

uint64_t* Append(uint64_t* at, char** words) {
    do *at++ = reinterpret_cast<uint64_t>(*words);
    while (*words++ != nullptr);
    return at;
}

}  // namespace

void RunInside(char** program, Opening opening, Opened opened, bool large) {
    Elf64_Ehdr header{};
    uint64_t table = 0;
    if (!Load(*program, large, header, table)) return;
    g_opening = opening;
    g_opened = opened;
    g_thread = Thread();
    const auto* told = reinterpret_cast<const Elf64_auxv_t*>(environ + Count(environ) + 1);
    size_t entries = 1;
    while (told[entries - 1].a_type != AT_NULL) ++entries;
    const size_t words = 1 + Count(program) + 1 + Count(environ) + 1 + 2 * entries;
    auto room = reinterpret_cast<uint64_t>(alloca((words + 2) * sizeof(uint64_t)));
    auto* stack = reinterpret_cast<uint64_t*>((room + 15) & ~15ull);
    uint64_t* at = stack;
    *at++ = Count(program);
    at = Append(Append(at, program), environ);
    for (size_t i = 0; i < entries; ++i) {
        const Elf64_auxv_t entry = Told(told[i], *program, header, table);
        *at++ = entry.a_type;
        *at++ = entry.a_un.a_val;
    }
    if (large) OpenArena();
    if (!Trap()) return;
    asm volatile("mov %0, %%rsp\n\txor %%edx, %%edx\n\txor %%ebp, %%ebp\n\tjmp *%1" ::"r"(stack), "r"(header.e_entry)
                 : "memory");
    __builtin_unreachable();
}

}  // namespace launcher

#endif
