#include "fiber.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "core.h"
#include "report.h"
#include "traffic.h"

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

enum class State : uint8_t { Ready, Running, Polling, Waiting, Done };

struct Fiber {
    Core core;
    State state;
    bool idle;  // polls, and has done nothing else since it polled last
    bool spins;         // was interrupted in a loop that calls nothing
    int turns;          // in a row in which it only polled or span
    uint64_t meetings;  // waits for other blocks that have ended
    const Signal* signal;
    uint64_t target;
    Waiting waiting;
    void* stack_pointer;
    uint8_t* stack;
    uint8_t* arena;
};

struct Worker;

struct Scheduler {
    Launch* launch;
    Entry entry;
    void** arguments;
    Fiber** fibers;
    Worker* workers;
    int threads;
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
    int64_t done = 0;
    int idle = 0;             // workers that wait for a signal, and have seen them all
    uint64_t generation = 0;  // grows with every signal
    uint64_t quiet = 0;       // sweeps in a row in which blocks did nothing but poll
    bool stuck = false;
    bool broken = false;  // a block left by a rule violation, so that others may wait in vain
};

struct Worker {
    Scheduler* scheduler;
    int index;
    pthread_t thread;
    void* stack_pointer;
    Fiber* running;
    uint64_t beats;     // grows with every call of the runtime
    uint64_t switches;  // grows with every fiber that is entered
    bool overdue;
    bool spins;  // the running block was interrupted in a loop before
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
    fiber->waiting = {};
    fiber->signal = nullptr;
    fiber->spins = false;
    fiber->turns = 0;
    fiber->meetings = 0;
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

struct Sweep {
    int64_t done;   // blocks that ended
    bool progress;  // a block did something
    bool polling;   // a block polls memory
};

bool Runnable(const Fiber& fiber) {
    if (fiber.state != State::Waiting) return fiber.state != State::Done;
    return fiber.signal != nullptr && __atomic_load_n(&fiber.signal->count, __ATOMIC_ACQUIRE) >= fiber.target;
}

// Runs this worker's blocks (every threads-th one), each until it ends or waits.
Sweep RunReady(Worker* worker) {
    Scheduler* s = worker->scheduler;
    Sweep sweep{};
    for (int64_t block = worker->index; block < s->launch->blocks; block += s->threads) {
        Fiber*& fiber = s->fibers[block];
        if (fiber == nullptr) __atomic_store_n(&fiber, NewFiber(s, block), __ATOMIC_RELEASE);
        if (!Runnable(*fiber)) continue;
        fiber->state = State::Running;
        fiber->signal = nullptr;
        fiber->idle = false;
        worker->overdue = false;
        worker->spins = fiber->spins;
        fiber->spins = false;
        ++worker->switches;
        worker->running = fiber;
        npukb_switch(&worker->stack_pointer, fiber->stack_pointer);
        worker->running = nullptr;
        fiber->turns = fiber->state == State::Polling ? fiber->turns + 1 : 0;
        if (fiber->state == State::Done) {
            Retire(s, fiber);
            ++sweep.done;
        }
        sweep.polling = sweep.polling || fiber->state == State::Polling;
        sweep.progress = sweep.progress || fiber->state != State::Polling || !fiber->idle;
    }
    return sweep;
}

// Has every worker look again whether one of its blocks can go on. Called with the lock held.
void Wake(Scheduler* s) {
    ++s->generation;
    if (s->idle == 0) return;
    s->idle = 0;
    pthread_cond_broadcast(&s->changed);
}

// Nothing that a block waits for can happen any more. They are woken up to say so. Called with the lock held, while no
// block runs.
void Unblock(Scheduler* s) {
    s->stuck = true;
    for (int64_t b = 0; b < s->launch->blocks; ++b) {
        Fiber* fiber = s->fibers[b];
        if (fiber->state == State::Waiting) fiber->state = State::Ready;
        s->broken = s->broken || fiber->core.diagnostics.HasError();
    }
    Wake(s);
}

constexpr uint64_t kQuietSweeps = 2000;
constexpr int kSettledTurns = 2000;

// Whether every block has ended, waits in vain, or polls without doing anything else.
bool AllQuiet(const Scheduler* s) {
    for (int64_t b = 0; b < s->launch->blocks; ++b) {
        const Fiber* fiber = s->fibers[b];
        if (fiber == nullptr) return false;
        if (fiber->state == State::Done || (fiber->state == State::Polling && fiber->idle)) continue;
        if (fiber->state != State::Waiting || Runnable(*fiber)) return false;
    }
    return true;
}

// After a sweep in which nothing happened: waits until something can. Called with the lock held.
void Rest(Scheduler* s, const Sweep& sweep, uint64_t seen) {
    if (sweep.polling) {
        if (!s->stuck && AllQuiet(s) && ++s->quiet == kQuietSweeps) Unblock(s);
        pthread_mutex_unlock(&s->lock);
        sched_yield();
        pthread_mutex_lock(&s->lock);
        return;
    }
    if (++s->idle == s->threads) Unblock(s);
    while (s->generation == seen && s->done < s->launch->blocks) pthread_cond_wait(&s->changed, &s->lock);
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
    pthread_mutex_lock(&s->lock);
    while (s->done < s->launch->blocks) {
        uint64_t seen = s->generation;
        pthread_mutex_unlock(&s->lock);
        Sweep sweep = RunReady(worker);
        pthread_mutex_lock(&s->lock);
        s->done += sweep.done;
        if (sweep.progress) s->quiet = 0;
        if (!sweep.progress && s->generation == seen && s->done < s->launch->blocks) Rest(s, sweep, seen);
    }
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
    return nullptr;
}

constexpr int kInterrupt = SIGURG;
constexpr long kTickNanoseconds = 4'000'000;
constexpr long kSpinNanoseconds = 100'000;
constexpr int kSliceTicks = 60;

// A block that spins on a variable of its own never calls the runtime. It is interrupted in its own code, where it holds
// nothing that another block could need, and the others get their turn.
void OnInterrupt(int, siginfo_t*, void* context) {
    Worker* worker = t_worker;
    if (worker == nullptr || worker->running == nullptr) return;
    uint64_t pc = ProgramCounter(context);
    const Launch& launch = *worker->scheduler->launch;
    if (pc < launch.image_base || pc >= launch.image_end) return;
    int kept = errno;
    worker->running->spins = true;
    Leave(State::Polling);
    errno = kept;
}

struct Watch {
    Scheduler* scheduler;
    sem_t over;
};

bool Tick(sem_t* over, long nanoseconds) {
    timespec until{};
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += nanoseconds;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    return sem_timedwait(over, &until) != 0;
}

// Time that the thread has spent running: it stands still while the thread sleeps in the operating system.
long RunTime(pthread_t thread) {
    clockid_t clock;
    timespec time{};
    if (pthread_getcpuclockid(thread, &clock) != 0 || clock_gettime(clock, &time) != 0) return 0;
    return time.tv_sec * 1000000000 + time.tv_nsec;
}

// Looks at every worker a few hundred times a second.
void* WatchOver(void* argument) {
    auto* watch = static_cast<Watch*>(argument);
    Scheduler* s = watch->scheduler;
    struct Seen {
        uint64_t beats, switches;
        long time;
        int ticks;
    };
    auto* seen = static_cast<Seen*>(calloc(static_cast<size_t>(s->threads), sizeof(Seen)));
    if (seen == nullptr) abort();
    long tick = kTickNanoseconds;
    for (long next = tick; Tick(&watch->over, tick); tick = next) {
        next = kTickNanoseconds;
        for (int i = 0; i < s->threads; ++i) {
            Worker& worker = s->workers[i];
            uint64_t beats = __atomic_load_n(&worker.beats, __ATOMIC_RELAXED);
            uint64_t switches = __atomic_load_n(&worker.switches, __ATOMIC_RELAXED);
            bool running = __atomic_load_n(&worker.running, __ATOMIC_RELAXED) != nullptr;
            bool same = running && switches == seen[i].switches;
            seen[i].ticks = same ? seen[i].ticks + 1 : 0;
            bool spins = __atomic_load_n(&worker.spins, __ATOMIC_RELAXED);
            if (running && spins) next = kSpinNanoseconds;  // it gets little time until it calls something
            long time = running ? RunTime(worker.thread) : 0;
            if (same && beats == seen[i].beats && time > seen[i].time + tick / 8) pthread_kill(worker.thread, kInterrupt);
            seen[i].time = time;
            if (seen[i].ticks >= (spins ? kSliceTicks * 40 : kSliceTicks)) __atomic_store_n(&worker.overdue, true, __ATOMIC_RELAXED);
            seen[i].beats = beats;
            seen[i].switches = switches;
        }
    }
    free(seen);
    return nullptr;
}

void CatchInterrupts() {
    struct sigaction action {};
    action.sa_sigaction = OnInterrupt;
    action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_RESTART;  // on the block's own stack: others run before it returns
    sigaction(kInterrupt, &action, nullptr);
}

// "0, 2, 4 and 9 more", of the blocks that wait where `like` does.
void ListAlike(const Scheduler* s, const Waiting& like, char* text, size_t size) {
    constexpr int kNamed = 6;
    int alike = 0;
    size_t used = 0;
    for (int64_t b = 0; b < s->launch->blocks; ++b) {
        if (s->fibers[b]->waiting.pc != like.pc) continue;
        if (alike++ >= kNamed) continue;
        used += static_cast<size_t>(snprintf(text + used, size - used, "%s%lld", alike == 1 ? "" : ", ", static_cast<long long>(b)));
    }
    if (alike > kNamed) snprintf(text + used, size - used, " and %d more", alike - kNamed);
}

int64_t Ended(const Scheduler* s) {
    int64_t ended = 0;
    for (int64_t b = 0; b < s->launch->blocks; ++b) ended += s->fibers[b]->waiting.pc == nullptr;
    return ended;
}

[[noreturn]] void ReportDeadlock(const Scheduler* s, Fiber* fiber) {
    char blocks[96];
    ListAlike(s, fiber->waiting, blocks, sizeof blocks);
    fiber->core.Violate("deadlock", fiber->waiting.pc, "Let every block that is waited for reach the matching call.",
                        "%s: block%s %s wait%s here for ever; %lld of %lld blocks have ended, the others wait too",
                        fiber->waiting.what, strpbrk(blocks, ",a") ? "s" : "", blocks, strpbrk(blocks, ",a") ? "" : "s",
                        static_cast<long long>(Ended(s)), static_cast<long long>(s->launch->blocks));
}

}  // namespace

Core& ThisCore() {
    if (t_worker == nullptr) {
        ReportFailure("launch_error",
                      "the kernel uses Ascend C outside of its entry: in the constructor of a global object, such as a "
                      "TPipe at namespace scope");
        _exit(0);
    }
    ++t_worker->beats;
    t_worker->spins = false;
    return t_worker->running->core;
}

uint64_t ProgramCounter(const void* context) {
#if defined(__x86_64__)
    return static_cast<uint64_t>(static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
#else
    return static_cast<const ucontext_t*>(context)->uc_mcontext.pc;
#endif
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

namespace {

void CompareTraffic(const Scheduler* s) {
    if (s->launch->checker != Checker::Full) return;
    auto** cores = static_cast<Core**>(malloc(static_cast<size_t>(s->launch->blocks) * sizeof(Core*)));
    if (cores == nullptr) abort();
    for (int64_t b = 0; b < s->launch->blocks; ++b) cores[b] = &s->fibers[b]->core;
    CheckRaces(cores, s->launch->blocks);
    free(cores);
}

}  // namespace

void Raise(Signal* signal, double time) {
    Scheduler* s = t_worker->scheduler;
    pthread_mutex_lock(&s->lock);
    signal->raised_at[(signal->count + 1) % kSignalDepth] = time;
    __atomic_store_n(&signal->count, signal->count + 1, __ATOMIC_RELEASE);
    Wake(s);
    pthread_mutex_unlock(&s->lock);
}

void Arrive(Meeting* meeting, uint64_t nth, double time) {
    Scheduler* s = t_worker->scheduler;
    pthread_mutex_lock(&s->lock);
    int slot = static_cast<int>(nth % kSignalDepth);
    if (time > meeting->latest[slot]) meeting->latest[slot] = time;
    bool last = ++meeting->arrived[slot] == meeting->expected;
    double latest = meeting->latest[slot];
    if (last) {
        meeting->arrived[slot] = 0;
        meeting->latest[slot] = 0;
    }
    pthread_mutex_unlock(&s->lock);
    if (last && meeting->whole) CompareTraffic(s);
    if (last) Raise(&meeting->complete, latest);
}

void WaitFor(const Signal* signal, uint64_t count, const Waiting& waiting) {
    Worker* worker = t_worker;
    Fiber* fiber = worker->running;
    fiber->waiting = waiting;
    while (__atomic_load_n(&signal->count, __ATOMIC_ACQUIRE) < count) {
        const Scheduler* s = worker->scheduler;
        if (s->stuck && s->broken) AbandonFiber();  // the cause has been reported; that others wait in vain follows from it
        if (s->stuck) ReportDeadlock(s, fiber);
        fiber->signal = signal;
        fiber->target = count;
        Leave(State::Waiting);
    }
    fiber->waiting = {};
    ++fiber->meetings;
}

// Whether a block does nothing until another one does something.
bool Settled(const Fiber* fiber) {
    if (fiber == nullptr) return false;
    State state;
    __atomic_load(&fiber->state, &state, __ATOMIC_ACQUIRE);
    if (state == State::Waiting) {
        const Signal* signal = __atomic_load_n(&fiber->signal, __ATOMIC_ACQUIRE);
        return signal != nullptr && __atomic_load_n(&signal->count, __ATOMIC_ACQUIRE) < fiber->target;
    }
    return state == State::Done || (state == State::Polling && fiber->turns >= kSettledTurns);
}

void WaitForLowerBlocks() {
    Scheduler* s = t_worker->scheduler;
    Fiber* fiber = t_worker->running;
    for (int64_t b = 0; b < fiber->core.block;) {
        if (Settled(__atomic_load_n(&s->fibers[b], __ATOMIC_ACQUIRE))) {
            ++b;
        } else {
            Leave(State::Ready);
            sched_yield();
        }
    }
}

uint64_t MeetingsSoFar() { return t_worker->running->meetings; }

void Yield() { Leave(State::Ready); }

void Poll(const Waiting& waiting) {
    Fiber* fiber = t_worker->running;
    const Scheduler* s = t_worker->scheduler;
    fiber->waiting = waiting;
    fiber->idle = true;
    Leave(State::Polling);
    if (s->stuck && s->broken) AbandonFiber();
    if (s->stuck) ReportDeadlock(s, fiber);
    fiber->waiting = {};
}

bool Overdue() { return __atomic_load_n(&t_worker->overdue, __ATOMIC_RELAXED); }

void RunBlocks(Launch* launch, Entry entry, void** arguments, int threads, void (*finish)(Core*, void*), void* context) {
    Scheduler s;
    s.launch = launch;
    s.entry = entry;
    s.arguments = arguments;
    s.threads = threads < launch->blocks ? threads : static_cast<int>(launch->blocks);
    s.fibers = static_cast<Fiber**>(calloc(static_cast<size_t>(launch->blocks), sizeof(Fiber*)));
    s.workers = static_cast<Worker*>(calloc(static_cast<size_t>(s.threads), sizeof(Worker)));
    if (s.fibers == nullptr || s.workers == nullptr) abort();
    CatchInterrupts();
    for (int i = 0; i < s.threads; ++i) {
        s.workers[i].scheduler = &s;
        s.workers[i].index = i;
        if (pthread_create(&s.workers[i].thread, nullptr, Work, &s.workers[i]) != 0) abort();
    }
    Watch watch{&s, {}};
    pthread_t watcher;
    if (sem_init(&watch.over, 0, 0) != 0 || pthread_create(&watcher, nullptr, WatchOver, &watch) != 0) abort();
    for (int i = 0; i < s.threads; ++i) pthread_join(s.workers[i].thread, nullptr);
    sem_post(&watch.over);
    pthread_join(watcher, nullptr);
    CompareTraffic(&s);
    for (int64_t b = 0; b < launch->blocks; ++b) {
        finish(&s.fibers[b]->core, context);
        free(s.fibers[b]);
    }
    free(s.fibers);
    free(s.workers);
}

}  // namespace twin
