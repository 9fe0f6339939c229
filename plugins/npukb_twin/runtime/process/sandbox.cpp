// Landlock for files and the network, seccomp for system calls: each as far as the operating system has it.
#include "process/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <initializer_list>

namespace twin {
namespace {

#if defined(__x86_64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#else
constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#endif

// ---- files

// Numbers and structures of Landlock as the operating system documents them; older headers lack them.
constexpr long kCreateRuleset = 444, kAddRule = 445, kRestrictSelf = 446;
constexpr uint32_t kAskVersion = 1;
constexpr int kRuleOfPath = 1;
constexpr uint64_t kExecute = 1, kWriteFile = 1 << 1, kReadFile = 1 << 2, kReadFolder = 1 << 3, kTruncate = 1 << 14,
                   kDevices = 1 << 15;
constexpr uint64_t kOfFiles = kExecute | kWriteFile | kReadFile | kTruncate | kDevices;

constexpr size_t kPathBytes = 4096;

struct Ruleset {
    uint64_t files, ports, scopes;
};

struct __attribute__((packed)) PathRule {
    uint64_t allowed;
    int32_t parent;
};

// Every right over files that a version of Landlock knows.
uint64_t AllRights(int version) {
    const uint64_t all[] = {0, (1 << 13) - 1, (1 << 14) - 1, (1 << 15) - 1, (1 << 15) - 1, (1 << 16) - 1};
    return all[version > 5 ? 5 : version];
}

bool Allow(int ruleset, const Reachable& file, uint64_t known) {
    int parent = open(file.path, O_PATH | O_CLOEXEC);
    if (parent < 0) return errno == ENOENT;
    uint64_t rights = kReadFile | kReadFolder;
    if (file.reach == Reach::Run) rights |= kExecute;
    if (file.reach == Reach::Change) rights = ~(kExecute | kDevices);
    struct stat about{};
    bool there = fstat(parent, &about) == 0;
    if (there && !S_ISDIR(about.st_mode)) rights &= kOfFiles;
    PathRule rule{rights & known, parent};
    bool added = there && syscall(kAddRule, ruleset, kRuleOfPath, &rule, 0) == 0;
    close(parent);
    return added;
}

// ---- system calls

using Numbers = std::initializer_list<uint32_t>;

// Other processes, the network, the kernel itself, and what outlives the process.
constexpr Numbers kForbidden = {
    __NR_ptrace,
    __NR_process_vm_readv,
    __NR_process_vm_writev,
    __NR_kcmp,
    __NR_setsid,
    __NR_setpgid,
    __NR_tkill,
    __NR_rt_sigqueueinfo,
    __NR_rt_tgsigqueueinfo,
    __NR_sched_setattr,
    __NR_sched_setparam,
    __NR_sched_setscheduler,
    __NR_setpriority,
    __NR_ioprio_set,
    __NR_unshare,
    __NR_setns,
    __NR_personality,
    __NR_socket,
    __NR_socketpair,
    __NR_connect,
    __NR_bind,
    __NR_listen,
    __NR_accept,
    __NR_accept4,
    __NR_sendto,
    __NR_sendmsg,
    __NR_shmget,
    __NR_shmat,
    __NR_semget,
    __NR_msgget,
    __NR_mq_open,
    __NR_add_key,
    __NR_request_key,
    __NR_keyctl,
    __NR_bpf,
    __NR_perf_event_open,
    __NR_userfaultfd,
    __NR_memfd_create,
    __NR_mount,
    __NR_umount2,
    __NR_pivot_root,
    __NR_chroot,
    __NR_init_module,
    __NR_finit_module,
    __NR_delete_module,
    __NR_kexec_load,
    __NR_reboot,
    __NR_swapon,
    __NR_swapoff,
    __NR_sethostname,
    __NR_setdomainname,
    __NR_settimeofday,
    __NR_clock_settime,
    __NR_adjtimex,
    __NR_clock_adjtime,
    __NR_acct,
    __NR_quotactl,
    __NR_syslog,
    __NR_open_by_handle_at,
    __NR_fanotify_init,
    __NR_inotify_init1,
    __NR_vhangup,
    __NR_lookup_dcookie,
    __NR_move_pages,
    __NR_migrate_pages,
    424,
    425,
    426,
    427,
    428,
    429,
    430,
    431,
    432,
    433,
    434,
    438,
    440,
    442,
    443,
    447,
    448,
    449,
    450,  // the same on every processor:
// pidfd_send_signal, io_uring, new mount calls, pidfd_open, pidfd_getfd, process_madvise, mount_setattr, quotactl_fd,
// memfd_secret
#if defined(__x86_64__)
    __NR_inotify_init,
    __NR_modify_ldt,
    __NR_iopl,
    __NR_ioperm,
    __NR_uselib,
    __NR_ustat,
    __NR_sysfs,
#endif
};
constexpr Numbers kNewProcess = {
// clone alone on newer processors
#if defined(__NR_fork)
    __NR_fork,
    __NR_vfork,
#endif
};
constexpr Numbers kNewProgram = {__NR_execve, __NR_execveat};
constexpr uint32_t kCloneThree = 435;  // not in older headers
constexpr uint32_t kFirstUnknown = 451;

sock_filter Load(uint32_t offset) { return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset); }
sock_filter Return(uint32_t value) { return BPF_STMT(BPF_RET | BPF_K, value); }
sock_filter SkipUnless(uint32_t value, uint8_t count = 1) {
    return BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, count);
}

// A filter under construction. Calls that it says nothing about are allowed.
class Filter {
  public:
    Filter() {
        Add(Load(offsetof(seccomp_data, arch)));
        Add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0));
        Add(Return(SECCOMP_RET_ERRNO | EPERM));
        Add(Load(offsetof(seccomp_data, nr)));
        Add(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, kFirstUnknown, 0, 1));  // also calls of the other ABI of x86-64
        Add(Return(SECCOMP_RET_ERRNO | ENOSYS));
    }
    void Forbid(Numbers numbers) {
        for (uint32_t number : numbers) {
            Add(SkipUnless(number));
            Add(Return(SECCOMP_RET_ERRNO | EPERM));
        }
    }
    // Calls whose first argument is a process: this one only. For signals, 0 would be its group.
    void OwnProcessOnly(uint32_t number, uint32_t self) {
        Add(SkipUnless(number, 4));
        Add(Load(offsetof(seccomp_data, args)));
        Add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, self, 0, 1));
        Add(Return(SECCOMP_RET_ALLOW));
        Add(Return(SECCOMP_RET_ERRNO | EPERM));
    }
    // A signal that nobody can catch: whoever got it was killed from outside. The number is the call's last argument.
    void NoKilling(uint32_t number, uint32_t argument) {
        Add(SkipUnless(number, 4));
        Add(Load(offsetof(seccomp_data, args) + argument * sizeof(uint64_t)));
        Add(SkipUnless(SIGKILL));
        Add(Return(SECCOMP_RET_ERRNO | EPERM));
        Add(Load(offsetof(seccomp_data, nr)));
    }
    // What no stranger's program needs.
    void ForbidReachingOut() {
        NoKilling(__NR_kill, 1);
        NoKilling(__NR_tgkill, 2);
        OwnProcessOnly(__NR_kill, static_cast<uint32_t>(getpid()));
        OwnProcessOnly(__NR_tgkill, static_cast<uint32_t>(getpid()));
        OwnProcessOnly(__NR_prlimit64, 0);
        Forbid(kForbidden);
    }
    void ThreadsOnly() {
        Add(SkipUnless(kCloneThree));  // its flags lie in memory; the C library falls back to clone
        Add(Return(SECCOMP_RET_ERRNO | ENOSYS));
        Add(SkipUnless(__NR_clone, 4));
        Add(Load(offsetof(seccomp_data, args)));
        Add(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 1, 0));
        Add(Return(SECCOMP_RET_ERRNO | EPERM));
        Add(Return(SECCOMP_RET_ALLOW));
    }
    bool Install() {
        Add(Return(SECCOMP_RET_ALLOW));
        sock_fprog filter{size_, program_};
        return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
    }

  private:
    void Add(sock_filter instruction) { program_[size_++] = instruction; }

    sock_filter program_[320];
    uint16_t size_ = 0;
};

}  // namespace

int LandlockVersion() {
    long version = syscall(kCreateRuleset, nullptr, 0, kAskVersion);
    return version > 0 ? static_cast<int>(version) : 0;
}

bool ConfineFiles(const Reachable* files, size_t count) {
    int version = LandlockVersion();
    if (version == 0) return false;
    uint64_t known = AllRights(version);
    Ruleset wanted{known, version >= 4 ? 3ull : 0, version >= 6 ? 3ull : 0};
    size_t size = version >= 6 ? sizeof wanted : version >= 4 ? 16 : 8;
    long ruleset = syscall(kCreateRuleset, &wanted, size, 0);
    if (ruleset < 0) return false;
    bool done = true;
    for (size_t i = 0; i < count && done; ++i) done = Allow(static_cast<int>(ruleset), files[i], known);
    done = done && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && syscall(kRestrictSelf, ruleset, 0) == 0;
    close(static_cast<int>(ruleset));
    return done;
}

bool ConfineToImages(const char* image, const char* other) {
    char counted[2][kPathBytes];  // not there on every processor
    snprintf(counted[0], kPathBytes, "%s%s", image, kReferenceSuffix);
    snprintf(counted[1], kPathBytes, "%s%s", other, kReferenceSuffix);
    const Reachable files[] = {
        {image, Reach::Read},      {other, Reach::Read},        {counted[0], Reach::Read},
        {counted[1], Reach::Read}, {"/lib", Reach::Read},       {"/lib64", Reach::Read},
        {"/usr/lib", Reach::Read}, {"/usr/lib64", Reach::Read}, {"/etc/ld.so.cache", Reach::Read}};
    return ConfineFiles(files, sizeof files / sizeof *files);
}

bool FilterCalls(Children children) {
    Filter filter;
    filter.ForbidReachingOut();
    if (children == Children::Forbidden) {
        filter.Forbid(kNewProcess);
        filter.ThreadsOnly();
    }
    return filter.Install();
}

bool ForbidProcesses() {
    Filter filter;
    filter.ForbidReachingOut();
    filter.Forbid(kNewProgram);
    filter.Forbid(kNewProcess);
    filter.ThreadsOnly();
    return filter.Install();
}

bool LeaveNamespaces(const char* descriptors) {
    bool joins = false;
    for (char* rest = nullptr;; descriptors = rest, joins = true) {
        const auto descriptor = static_cast<int>(strtol(descriptors, &rest, 10));
        if (rest == descriptors) break;
        if (setns(descriptor, 0) != 0) return false;
        close(descriptor);
    }
    if (!joins && unshare(CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS) != 0) return false;
    // A process that has come into a namespace for users has all capabilities in it until it starts another program.
    __user_cap_header_struct self{_LINUX_CAPABILITY_VERSION_3, 0};
    const __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3]{};
    return syscall(__NR_capset, &self, none) == 0;
}

bool DieWith(int parent) { return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent; }

}  // namespace twin
