#include "fiber.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core.h"
#include "report.h"

namespace twin {
namespace {

constexpr size_t kStackBytes = 1u << 20;
constexpr size_t kGuardBytes = 1u << 20;
constexpr size_t kSignalStackBytes = 1u << 16;

}  // namespace

// Saves the callee-saved registers and the stack pointer into *from, then continues where `to` was left.
extern "C" void npukb_switch(void** from, void* to);

#if defined(__x86_64__)
__asm__(
    ".text\n"
    ".globl npukb_switch\n"
    ".hidden npukb_switch\n"
    ".type npukb_switch,@function\n"
    "npukb_switch:\n"
    "  push %rbp\n  push %rbx\n  push %r12\n  push %r13\n  push %r14\n  push %r15\n"
    "  mov %rsp, (%rdi)\n"
    "  mov %rsi, %rsp\n"
    "  pop %r15\n  pop %r14\n  pop %r13\n  pop %r12\n  pop %rbx\n  pop %rbp\n"
    "  ret\n"
    ".size npukb_switch,.-npukb_switch\n");
constexpr int kFrameWords = 8;  // six registers, the return address, and one word that keeps calls aligned
constexpr int kReturnWord = 6;
#elif defined(__aarch64__)
__asm__(
    ".text\n"
    ".globl npukb_switch\n"
    ".hidden npukb_switch\n"
    ".type npukb_switch,%function\n"
    "npukb_switch:\n"
    "  sub sp, sp, #176\n"
    "  stp x19, x20, [sp, #0]\n  stp x21, x22, [sp, #16]\n  stp x23, x24, [sp, #32]\n"
    "  stp x25, x26, [sp, #48]\n  stp x27, x28, [sp, #64]\n  stp x29, x30, [sp, #80]\n"
    "  stp d8, d9, [sp, #96]\n  stp d10, d11, [sp, #112]\n  stp d12, d13, [sp, #128]\n  stp d14, d15, [sp, #144]\n"
    "  mov x9, sp\n  str x9, [x0]\n  mov sp, x1\n"
    "  ldp x19, x20, [sp, #0]\n  ldp x21, x22, [sp, #16]\n  ldp x23, x24, [sp, #32]\n"
    "  ldp x25, x26, [sp, #48]\n  ldp x27, x28, [sp, #64]\n  ldp x29, x30, [sp, #80]\n"
    "  ldp d8, d9, [sp, #96]\n  ldp d10, d11, [sp, #112]\n  ldp d12, d13, [sp, #128]\n  ldp d14, d15, [sp, #144]\n"
    "  add sp, sp, #176\n  ret\n"
    ".size npukb_switch,.-npukb_switch\n");
constexpr int kFrameWords = 22;
constexpr int kReturnWord = 11;
#else
#error "the twin runs on x86-64 and aarch64 hosts"
#endif

namespace {

enum class State : uint8_t { Ready, Waiting, Done };

struct Fiber {
    Core core;
    State state;
    void* stack_pointer;
    uint8_t* stack;
    uint8_t* arena;
};

struct Scheduler {
    Launch* launch;
    Entry entry;
    void** arguments;
    Fiber** fibers;
    int threads;
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
    int64_t arrived = 0;
    int64_t done = 0;
    uint64_t generation = 0;
    bool stuck = false;
    bool broken = false;  // a block left by a rule violation, so that others may wait in vain
};

struct Worker {
    Scheduler* scheduler;
    int index;
    void* stack_pointer;
    Fiber* running;
};

thread_local Worker* t_worker;

void* MapStack() {
    void* memory = mmap(nullptr, kStackBytes + kGuardBytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) abort();
    mprotect(memory, kGuardBytes, PROT_NONE);
    return memory;
}

void Leave(State state) {
    Worker* worker = t_worker;
    Fiber* fiber = worker->running;
    __atomic_store(&fiber->state, &state, __ATOMIC_RELEASE);
    npukb_switch(&fiber->stack_pointer, worker->stack_pointer);
}

void Main() {
    Worker* worker = t_worker;
    worker->scheduler->entry(worker->scheduler->arguments);
    worker->running->core.Finish();
    Leave(State::Done);
    abort();
}

Fiber* NewFiber(Scheduler* s, int64_t block) {
    auto* fiber = static_cast<Fiber*>(malloc(sizeof(Fiber)));
    uint32_t ub = s->launch->machine.ub_bytes;
    void* arena = mmap(nullptr, (ub + 0xffffu) & ~0xffffu, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (fiber == nullptr || arena == MAP_FAILED) abort();
    fiber->arena = static_cast<uint8_t*>(arena);
    fiber->core.Start(s->launch, block, fiber->arena);
    fiber->stack = static_cast<uint8_t*>(MapStack());
    fiber->state = State::Ready;
    auto top = reinterpret_cast<uintptr_t>(fiber->stack + kGuardBytes + kStackBytes) & ~uintptr_t{15};
    void** words = reinterpret_cast<void**>(top) - kFrameWords;
    memset(words, 0, kFrameWords * sizeof(void*));
    words[kReturnWord] = reinterpret_cast<void*>(&Main);
    fiber->stack_pointer = words;
    return fiber;
}

void Retire(Scheduler* s, Fiber* fiber) {
    munmap(fiber->stack, kStackBytes + kGuardBytes);
    munmap(fiber->arena, (s->launch->machine.ub_bytes + 0xffffu) & ~0xffffu);
    fiber->stack = fiber->arena = nullptr;
}

// Blocks that ended and blocks that began to wait.
struct Sweep {
    int64_t done;
    int64_t arrived;
};

// Runs this worker's blocks (every threads-th one) until each has ended or waits. What happened is told to the others
// only by the caller, when every fiber has been left: one that is still running must not be released.
Sweep RunReady(Worker* worker) {
    Scheduler* s = worker->scheduler;
    Sweep sweep{};
    for (int64_t block = worker->index; block < s->launch->blocks; block += s->threads) {
        Fiber*& fiber = s->fibers[block];
        if (fiber == nullptr) __atomic_store_n(&fiber, NewFiber(s, block), __ATOMIC_RELEASE);
        if (fiber->state != State::Ready) continue;
        worker->running = fiber;
        npukb_switch(&worker->stack_pointer, fiber->stack_pointer);
        worker->running = nullptr;
        if (fiber->state == State::Done) {
            Retire(s, fiber);
            ++sweep.done;
        } else {
            ++sweep.arrived;
        }
    }
    return sweep;
}

// All blocks have arrived: they leave the barrier at the time of the last one. Called with the lock held.
void Release(Scheduler* s) {
    double latest = 0;
    for (int64_t b = 0; b < s->launch->blocks; ++b) {
        double end = s->fibers[b]->core.time.End();
        latest = end > latest ? end : latest;
    }
    latest += s->launch->machine.sync_all_s * s->launch->machine.clock_hz;
    for (int64_t b = 0; b < s->launch->blocks; ++b) {
        s->fibers[b]->core.time.HoldAllUntil(latest);
        s->fibers[b]->state = State::Ready;
    }
    s->arrived = 0;
    ++s->generation;
    pthread_cond_broadcast(&s->changed);
}

// Some blocks ended without joining: the others would wait for ever. They are woken up to say so.
void Unblock(Scheduler* s) {
    s->stuck = true;
    for (int64_t b = 0; b < s->launch->blocks; ++b) {
        Fiber* fiber = s->fibers[b];
        if (fiber->state == State::Waiting) fiber->state = State::Ready;
        s->broken = s->broken || fiber->core.diagnostics.HasError();
    }
    s->arrived = 0;
    ++s->generation;
}

// Signal handlers run on a stack of their own: the fiber's may be what overflowed.
void UseSignalStack() {
    stack_t stack{};
    stack.ss_sp = malloc(kSignalStackBytes);
    stack.ss_size = kSignalStackBytes;
    if (stack.ss_sp == nullptr) abort();
    sigaltstack(&stack, nullptr);
}

void* Work(void* argument) {
    auto* worker = static_cast<Worker*>(argument);
    Scheduler* s = worker->scheduler;
    t_worker = worker;
    UseSignalStack();
    for (;;) {
        pthread_mutex_lock(&s->lock);
        uint64_t seen = s->generation;
        pthread_mutex_unlock(&s->lock);
        Sweep sweep = RunReady(worker);
        pthread_mutex_lock(&s->lock);
        s->done += sweep.done;
        s->arrived += sweep.arrived;
        while (s->generation == seen && s->done + s->arrived < s->launch->blocks) pthread_cond_wait(&s->changed, &s->lock);
        if (s->generation == seen && s->arrived == s->launch->blocks) Release(s);
        if (s->generation == seen && s->arrived > 0) Unblock(s);
        bool over = s->done == s->launch->blocks;
        pthread_cond_broadcast(&s->changed);
        pthread_mutex_unlock(&s->lock);
        if (over) return nullptr;
    }
}

}  // namespace

Core& ThisCore() {
    if (t_worker == nullptr) {
        ReportFailure("launch_error",
                      "the kernel uses Ascend C outside of its entry: in the constructor of a global object, such as a "
                      "TPipe at namespace scope");
        _exit(0);
    }
    return t_worker->running->core;
}

bool InStackGuard(const void* address) {
    if (t_worker == nullptr || t_worker->running == nullptr) return false;
    const uint8_t* stack = t_worker->running->stack;
    return address >= stack && address < stack + kGuardBytes;
}

void AbandonFiber() {
    Leave(State::Done);
    abort();
}

bool WaitForAllBlocks() {
    Leave(State::Waiting);
    const Scheduler* s = t_worker->scheduler;
    if (s->broken) AbandonFiber();  // the cause has been reported; that others wait in vain follows from it
    return !s->stuck;
}

void WaitForLowerBlocks() {
    Scheduler* s = t_worker->scheduler;
    int64_t block = t_worker->running->core.block;
    for (int64_t b = 0; b < block;) {
        Fiber* lower = __atomic_load_n(&s->fibers[b], __ATOMIC_ACQUIRE);
        // The worker that runs the block sweeps upwards, so it gets there before any block above this one.
        State state = State::Ready;
        if (lower != nullptr) __atomic_load(&lower->state, &state, __ATOMIC_ACQUIRE);
        if (state != State::Ready) {
            ++b;
        } else {
            sched_yield();
        }
    }
}

uint64_t MeetingsSoFar() { return t_worker->scheduler->generation; }

void RunBlocks(Launch* launch, Entry entry, void** arguments, int threads, void (*finish)(Core*, void*), void* context) {
    Scheduler s;
    s.launch = launch;
    s.entry = entry;
    s.arguments = arguments;
    s.threads = threads < launch->blocks ? threads : static_cast<int>(launch->blocks);
    s.fibers = static_cast<Fiber**>(calloc(static_cast<size_t>(launch->blocks), sizeof(Fiber*)));
    auto* workers = static_cast<Worker*>(calloc(static_cast<size_t>(s.threads), sizeof(Worker)));
    auto* handles = static_cast<pthread_t*>(calloc(static_cast<size_t>(s.threads), sizeof(pthread_t)));
    if (s.fibers == nullptr || workers == nullptr || handles == nullptr) abort();
    for (int i = 0; i < s.threads; ++i) {
        workers[i].scheduler = &s;
        workers[i].index = i;
        if (pthread_create(&handles[i], nullptr, Work, &workers[i]) != 0) abort();
    }
    for (int i = 0; i < s.threads; ++i) pthread_join(handles[i], nullptr);
    for (int64_t b = 0; b < launch->blocks; ++b) {
        finish(&s.fibers[b]->core, context);
        free(s.fibers[b]);
    }
    free(s.fibers);
    free(workers);
    free(handles);
}

}  // namespace twin
