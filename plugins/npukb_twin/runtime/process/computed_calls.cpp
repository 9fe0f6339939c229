// Where functions begin is read out of the image's table of symbols once, and searched at every call.
#include "process/computed_calls.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "cores/core.h"
#include "cores/fiber.h"
#include "check/raw_access.h"
#include "process/symbols.h"

namespace twin {
namespace {

constexpr int kMostImages = 2;
constexpr int kRemembered = 8;

struct Functions {
    const char* path;
    FunctionSpans spans;
};

Functions g_images[kMostImages];
int g_image_count;
pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;

int ByBegin(const void* offset, const void* span) {
    uint64_t x = *static_cast<const uint64_t*>(offset), y = static_cast<const FunctionSpan*>(span)->begin;
    return x < y ? -1 : x > y;
}

// None of images that are not known.
FunctionSpans SpansOf(const char* path) {
    for (int i = 0; i < g_image_count; ++i) {
        Functions& image = g_images[i];
        if (strcmp(image.path, path) != 0) continue;
        pthread_mutex_lock(&g_lock);
        if (image.spans.first == nullptr) image.spans = ReadFunctions(path);
        pthread_mutex_unlock(&g_lock);
        return image.spans;
    }
    return {};
}

bool BeginsFunction(const char* path, uint64_t offset) {
    const FunctionSpans spans = SpansOf(path);
    return spans.first != nullptr &&
           bsearch(&offset, spans.first, spans.count, sizeof(FunctionSpan), ByBegin) != nullptr;
}

// What the runtime offers to kernels; it exports more, such as its start.
bool Offered(const char* name) {
    constexpr const char* kPrefixes[] = {"npukb_", "_Z", "__wrap_"};
    for (const char* prefix : kPrefixes) {
        if (name != nullptr && strncmp(name, prefix, strlen(prefix)) == 0) return true;
    }
    return false;
}

bool MayBeCalled(uint64_t target) {
    Dl_info there{}, here{};
    if (dladdr(reinterpret_cast<const void*>(target), &there) == 0 || dladdr(&g_lock, &here) == 0) return false;
    if (there.dli_fbase == here.dli_fbase)
        return reinterpret_cast<uint64_t>(there.dli_saddr) == target && Offered(there.dli_sname);
    return BeginsFunction(there.dli_fname, target - reinterpret_cast<uint64_t>(there.dli_fbase));
}

int ByPlace(const void* offset, const void* span) {
    uint64_t at = *static_cast<const uint64_t*>(offset);
    const auto& function = *static_cast<const FunctionSpan*>(span);
    return at < function.begin ? -1 : at >= function.begin + function.bytes;
}

}  // namespace

bool InConstructor(const void* pc) {
    Dl_info there{};
    if (dladdr(pc, &there) == 0) return false;
    const FunctionSpans spans = SpansOf(there.dli_fname);
    const uint64_t offset = reinterpret_cast<uint64_t>(pc) - reinterpret_cast<uint64_t>(there.dli_fbase);
    if (spans.first == nullptr) return false;
    const void* found = bsearch(&offset, spans.first, spans.count, sizeof(FunctionSpan), ByPlace);
    return found != nullptr && static_cast<const FunctionSpan*>(found)->constructs;
}

void NameImage(const char* path) {
    if (g_image_count < kMostImages) g_images[g_image_count++] = {path, {}};
}

// The kernel's code behind `pc` is about to go on at `target`.
extern "C" __attribute__((visibility("hidden"), used)) void npukb_check_target(uint64_t target, uint64_t pc) {
    static uint64_t known[kRemembered];
    for (uint64_t& seen : known) {
        if (__atomic_load_n(&seen, __ATOMIC_RELAXED) == target) return;
    }
    if (!MayBeCalled(target)) {
        Core* core = RunningCore();
        RefuseAccess(core == nullptr ? 0 : core->PcOf(reinterpret_cast<const void*>(pc)), target);
    }
    __atomic_store_n(&known[target / 16 % kRemembered], target, __ATOMIC_RELAXED);
}

}  // namespace twin

// Where compilers send such calls that are told to trust no pointer: the target is in a register, and all arguments are
// where the called function expects them.
#if defined(__x86_64__)
__asm__(
    ".text\n"
    ".globl __x86_indirect_thunk_r11\n"
    ".type __x86_indirect_thunk_r11,@function\n"
    "__x86_indirect_thunk_r11:\n"
    "  push %rbp\n  mov %rsp, %rbp\n"
    "  push %rax\n  push %rdi\n  push %rsi\n  push %rdx\n  push %rcx\n  push %r8\n  push %r9\n  push %r10\n  push "
    "%r11\n  push %rbx\n"
    "  sub $128, %rsp\n"
    "  movups %xmm0, 0(%rsp)\n  movups %xmm1, 16(%rsp)\n  movups %xmm2, 32(%rsp)\n  movups %xmm3, 48(%rsp)\n"
    "  movups %xmm4, 64(%rsp)\n  movups %xmm5, 80(%rsp)\n  movups %xmm6, 96(%rsp)\n  movups %xmm7, 112(%rsp)\n"
    "  mov %rsp, %rbx\n  and $-16, %rsp\n"
    "  mov %r11, %rdi\n  mov 8(%rbp), %rsi\n"
    "  call npukb_check_target\n"
    "  mov %rbx, %rsp\n"
    "  movups 0(%rsp), %xmm0\n  movups 16(%rsp), %xmm1\n  movups 32(%rsp), %xmm2\n  movups 48(%rsp), %xmm3\n"
    "  movups 64(%rsp), %xmm4\n  movups 80(%rsp), %xmm5\n  movups 96(%rsp), %xmm6\n  movups 112(%rsp), %xmm7\n"
    "  add $128, %rsp\n"
    "  pop %rbx\n  pop %r11\n  pop %r10\n  pop %r9\n  pop %r8\n  pop %rcx\n  pop %rdx\n  pop %rsi\n  pop %rdi\n  pop "
    "%rax\n"
    "  pop %rbp\n"
    "  jmp *%r11\n"
    ".size __x86_indirect_thunk_r11,.-__x86_indirect_thunk_r11\n");
#else
// One for each register that such a call may go through. What is between x9 and x17 belongs to nobody at a call.
__asm__(
    ".text\n"
    ".irp number,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,18,19,20,21,22,23,24,25,26,27,28,29\n"
    ".globl __aarch64_indirect_thunk_x\\number\n"
    ".type __aarch64_indirect_thunk_x\\number,@function\n"
    "__aarch64_indirect_thunk_x\\number:\n"
    "  mov x16, x\\number\n  b 1f\n"
    ".size __aarch64_indirect_thunk_x\\number,8\n"
    ".endr\n"
    "1:\n"
    "  stp x29, x30, [sp, #-16]!\n  mov x29, sp\n  sub sp, sp, #208\n"
    "  stp x0, x1, [sp, #0]\n  stp x2, x3, [sp, #16]\n  stp x4, x5, [sp, #32]\n  stp x6, x7, [sp, #48]\n"
    "  stp x8, x16, [sp, #64]\n"
    "  stp q0, q1, [sp, #80]\n  stp q2, q3, [sp, #112]\n  stp q4, q5, [sp, #144]\n  stp q6, q7, [sp, #176]\n"
    "  mov x0, x16\n  mov x1, x30\n"
    "  bl npukb_check_target\n"
    "  ldp x0, x1, [sp, #0]\n  ldp x2, x3, [sp, #16]\n  ldp x4, x5, [sp, #32]\n  ldp x6, x7, [sp, #48]\n"
    "  ldp x8, x16, [sp, #64]\n"
    "  ldp q0, q1, [sp, #80]\n  ldp q2, q3, [sp, #112]\n  ldp q4, q5, [sp, #144]\n  ldp q6, q7, [sp, #176]\n"
    "  add sp, sp, #208\n  ldp x29, x30, [sp], #16\n"
    "  br x16\n");
#endif
