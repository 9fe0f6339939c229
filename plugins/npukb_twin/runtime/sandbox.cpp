#include "sandbox.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

namespace twin {
namespace {

#if defined(__x86_64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#else
constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#endif

constexpr uint32_t kForbidden[] = {
#if defined(__NR_fork)
    __NR_fork,    __NR_vfork,
#endif
    __NR_execve,  __NR_execveat, __NR_setsid, __NR_setpgid, __NR_ptrace,
    __NR_unshare, __NR_setns,    __NR_socket, __NR_process_vm_writev,
};
constexpr uint32_t kCloneThree = 435;  // not in older headers

sock_filter Load(uint32_t offset) { return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset); }
sock_filter Return(uint32_t value) { return BPF_STMT(BPF_RET | BPF_K, value); }
sock_filter SkipUnless(uint32_t value) { return BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1); }

}  // namespace

void ForbidProcesses() {
    sock_filter program[64];
    uint16_t n = 0;
    program[n++] = Load(offsetof(seccomp_data, arch));
    program[n++] = BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0);
    program[n++] = Return(SECCOMP_RET_ERRNO | EPERM);
    program[n++] = Load(offsetof(seccomp_data, nr));
    for (uint32_t number : kForbidden) {
        program[n++] = SkipUnless(number);
        program[n++] = Return(SECCOMP_RET_ERRNO | EPERM);
    }
    program[n++] = SkipUnless(kCloneThree);  // its flags lie in memory; the C library falls back to clone
    program[n++] = Return(SECCOMP_RET_ERRNO | ENOSYS);
    program[n++] = BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_clone, 0, 3);
    program[n++] = Load(offsetof(seccomp_data, args));
    program[n++] = BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 1, 0);
    program[n++] = Return(SECCOMP_RET_ERRNO | EPERM);
    program[n++] = Return(SECCOMP_RET_ALLOW);
    sock_fprog filter{n, program};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

}  // namespace twin
