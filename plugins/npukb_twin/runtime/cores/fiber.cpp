// The scheduler: every host thread runs the cores of the blocks that it took, and goes on to another one where a core
// waits or ends.
#include "cores/fiber.h"

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

#include "cores/block_memory.h"
#include "cores/core_clock.h"
#include "cores/core.h"
#include "cores/fiber_state.h"
#include "time/scalar_counting.h"
#include "process/huge_pages.h"
#include "process/report.h"
#include "cores/sanitizer.h"
#include "cores/stack_switch.h"
#include "check/core_traffic.h"
#include "check/data_cache.h"
#include "check/late_stores.h"
#include "check/tracker.h"

namespace twin {
namespace {

constexpr size_t kSignalStackBytes = 1u << 16;

thread_local Worker* t_worker;

void Leave(State state) {
    Worker* worker = t_worker;
    Fiber* fiber = worker->running;
    fiber->core.time.SpendOperations();
    __atomic_store(&fiber->state, &state, __ATOMIC_RELEASE);
    BeginSwitch(&fiber->known, state == State::Done, worker->known);
    npukb_switch(&fiber->stack_pointer, worker->stack_pointer);
    EndSwitch(fiber->known, &worker->known);
}

void Main() {
    Worker* worker = t_worker;
    EndSwitch(worker->running->known, &worker->known);
    const Scheduler* s = worker->scheduler;
    auto** own =
        reinterpret_cast<void**>(worker->running->memory.SeenTop()) - kMaxArguments;  // where its kernel may read
    CallCounting(s->entries[static_cast<int>(worker->running->core.kind)], own);
    worker->running->core.Finish();
    Leave(State::Done);
    abort();
}

// `fiber` is full of zeros.
void StartFiber(Worker* worker, Fiber* fiber, int64_t number) {
    Launch* launch = worker->scheduler->launch;
    fiber->memory = worker->memories[static_cast<int>(launch->KindOf(number))].Take();
    fiber->known = {fiber->memory.stack + kGuardBytes, kStackBytes, nullptr};
    fiber->core.Start(launch, number, fiber->memory.arena);
    constexpr size_t kBytes = kMaxArguments * sizeof(void*);
    fiber->seen_stack = memcpy(fiber->memory.SeenTop() - kBytes, worker->scheduler->arguments, kBytes);
    fiber->state = State::Ready;
    auto top = reinterpret_cast<uintptr_t>(NPUKB_TWO_STACKS ? fiber->memory.Top() : fiber->seen_stack) & ~uintptr_t{15};
    void** words = reinterpret_cast<void**>(top) - kFrameWords;
    words[kReturnWord] = reinterpret_cast<void*>(&Main);
    fiber->stack_pointer = words;
}

// Cores of a mixed block wait for each other, so that all of them are there at once; more blocks than the machine has
// room for wait until others have ended, as on the device.
bool MayStart(Scheduler* s, int64_t number) {
    const Launch& launch = *s->launch;
    if (!launch.Mixed()) return true;
    return number / launch.CoresPerBlock() < __atomic_load_n(&s->ended_blocks, __ATOMIC_ACQUIRE) + launch.cores;
}

void CountEnd(Scheduler* s, const Core& core) {
    if (!s->launch->Mixed()) return;
    if (__atomic_sub_fetch(&s->running[core.block], 1, __ATOMIC_ACQ_REL) == 0)
        __atomic_fetch_add(&s->ended_blocks, 1, __ATOMIC_ACQ_REL);
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

// Calls compare with all cores; those that have not begun are null.
void CompareCores(const Scheduler* s, void (*compare)(Core* const* cores, int64_t count)) {
    auto** cores = static_cast<Core**>(malloc(static_cast<size_t>(s->count) * sizeof(Core*)));
    if (cores == nullptr) abort();
    for (int64_t b = 0; b < s->count; ++b) {
        Fiber* fiber = __atomic_load_n(&s->fibers[b], __ATOMIC_ACQUIRE);
        cores[b] = fiber == nullptr ? nullptr : &fiber->core;
    }
    compare(cores, s->count);
    free(cores);
}

// Runs this worker's blocks (every threads-th one), each until it ends or waits.
Sweep RunReady(Worker* worker) {
    Scheduler* s = worker->scheduler;
    Sweep sweep{};
    for (int64_t turn = worker->index; turn < s->count; turn += s->threads) {
        int64_t block = s->order[s->launch->backward ? s->count - 1 - turn : turn];
        Fiber*& fiber = s->fibers[block];
        if (fiber == nullptr && !MayStart(s, block)) continue;
        if (fiber == nullptr) {
            StartFiber(worker, &s->storage[block], block);
            __atomic_store_n(&fiber, &s->storage[block], __ATOMIC_RELEASE);
        }
        if (!Runnable(*fiber)) continue;
        fiber->state = State::Running;
        fiber->signal = nullptr;
        fiber->idle = false;
        worker->overdue = false;
        worker->spins = fiber->spins;
        fiber->spins = false;
        ++worker->switches;
        worker->running = fiber;
        BeginSwitch(&worker->known, false, fiber->known);
        SwapSeenStack(&fiber->seen_stack);
        npukb_switch(&worker->stack_pointer, fiber->stack_pointer);
        SwapSeenStack(&fiber->seen_stack);
        EndSwitch(worker->known, nullptr);
        worker->running = nullptr;
        bool progress = fiber->state != State::Polling || !fiber->idle;
        if (progress) __atomic_fetch_add(&s->events, 1, __ATOMIC_ACQ_REL);
#ifdef NPUKB_UNFAIR  // of tests: an operating system that gives one worker little time
        if (worker->index == 0 && worker->switches % 37 == 36) usleep(20'000);
#endif
        fiber->turns = fiber->state == State::Polling ? fiber->turns + 1 : 0;
        if (fiber->state == State::Done) {
            worker->memories[static_cast<int>(fiber->core.kind)].GiveBack(fiber->memory);
            CountEnd(s, fiber->core);
            ++sweep.done;
        }
        sweep.polling = sweep.polling || fiber->state == State::Polling;
        if (s->launch->late && fiber->state == State::Polling) CompareCores(s, SettleCores);  // it waits for a store
        sweep.progress = sweep.progress || progress;
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
    for (int64_t b = 0; b < s->count; ++b) {
        Fiber* fiber = s->fibers[b];
        if (fiber == nullptr) continue;
        if (fiber->state == State::Waiting) fiber->state = State::Ready;
        s->broken = s->broken || fiber->core.diagnostics.HasError();
    }
    Wake(s);
}

constexpr uint64_t kQuietSweeps = 2000;
constexpr int kSettledTurns = 2000;

// Whether every block has ended, waits in vain, or polls without doing anything else.
bool AllQuiet(const Scheduler* s) {
    for (int64_t b = 0; b < s->count; ++b) {
        const Fiber* fiber = s->fibers[b];
        if (fiber == nullptr) return false;
        if (fiber->state == State::Done || (fiber->state == State::Polling && fiber->idle)) continue;
        if (fiber->state != State::Waiting || Runnable(*fiber)) return false;
    }
    return true;
}

// Whether every worker has looked at all of its blocks, many times over, since anything happened. A worker that the
// operating system keeps waiting has not.
bool LookedInVain(const Scheduler* s, uint64_t events) {
    for (int i = 0; i < s->threads; ++i) {
        const Worker& worker = s->workers[i];
        if (!worker.resting && (worker.quiet_from != events || worker.quiet < kQuietSweeps)) return false;
    }
    return AllQuiet(s) && __atomic_load_n(&s->events, __ATOMIC_ACQUIRE) == events;
}

// After a sweep in which nothing happened: waits until something can. Called with the lock held.
void Rest(Worker* worker, const Sweep& sweep, uint64_t seen) {
    Scheduler* s = worker->scheduler;
    if (sweep.polling) {
        uint64_t events = __atomic_load_n(&s->events, __ATOMIC_ACQUIRE);
        worker->quiet = worker->quiet_from == events ? worker->quiet + 1 : 0;
        worker->quiet_from = events;
        if (!s->stuck && LookedInVain(s, events)) Unblock(s);
        pthread_mutex_unlock(&s->lock);
        sched_yield();
        pthread_mutex_lock(&s->lock);
        return;
    }
    if (++s->idle == s->threads) Unblock(s);
    worker->resting = true;
    while (s->generation == seen && s->done < s->count) pthread_cond_wait(&s->changed, &s->lock);
    worker->resting = false;
}

// Signal handlers run on a stack of their own: the fiber's may be what overflowed.
void UseSignalStack() {
    stack_t stack{};
    stack.ss_sp = malloc(kSignalStackBytes);
    stack.ss_size = kSignalStackBytes;
    if (stack.ss_sp == nullptr) abort();
    sigaltstack(&stack, nullptr);
}

// Addresses for every memory; what is behind them only for those that a core of this kind has.
BlockMemories MemoriesOf(const Launch& launch, CoreKind kind) {
    const MemoryRange& ub = launch.RangeOf(Memory::Ub);
    uint32_t behind_ub = launch.RangeOf(Memory::L1).offset;
    return kind == CoreKind::Vector ? BlockMemories(launch.arena_bytes, ub.offset, behind_ub - ub.offset)
                                    : BlockMemories(launch.arena_bytes, behind_ub, launch.arena_bytes - behind_ub);
}

void* Work(void* argument) {
    auto* worker = static_cast<Worker*>(argument);
    Scheduler* s = worker->scheduler;
    BlockMemories memories[kCoreKinds] = {MemoriesOf(*s->launch, CoreKind::Vector),
                                          MemoriesOf(*s->launch, CoreKind::Cube)};
    worker->memories = memories;
    t_worker = worker;
    UseSignalStack();
    pthread_mutex_lock(&s->lock);
    while (s->done < s->count) {
        uint64_t seen = s->generation;
        pthread_mutex_unlock(&s->lock);
        Sweep sweep = RunReady(worker);
        pthread_mutex_lock(&s->lock);
        s->done += sweep.done;
        if (!sweep.progress && s->generation == seen && s->done < s->count) Rest(worker, sweep, seen);
    }
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
    return nullptr;
}

constexpr int kInterrupt = SIGURG;
constexpr long kTickNanoseconds = 4'000'000;
constexpr long kSpinNanoseconds = 100'000;
constexpr int kSliceTicks = 60;

// A block that spins on a variable of its own never calls the runtime. It is interrupted in its own code, where it
// holds nothing that another block could need, and the others get their turn.
void OnInterrupt(int, siginfo_t*, void* context) {
    Worker* worker = t_worker;
    if (worker == nullptr || worker->running == nullptr) return;
    uint64_t pc = ProgramCounter(context);
    if (PlaceOf(*worker->scheduler->launch, pc) == 0) return;
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
            if (same && beats == seen[i].beats && time > seen[i].time + tick / 8)
                pthread_kill(worker.thread, kInterrupt);
            seen[i].time = time;
            if (seen[i].ticks >= (spins ? kSliceTicks * 40 : kSliceTicks))
                __atomic_store_n(&worker.overdue, true, __ATOMIC_RELAXED);
            seen[i].beats = beats;
            seen[i].switches = switches;
        }
    }
    free(seen);
    return nullptr;
}

void CatchInterrupts() {
    struct sigaction action{};
    action.sa_sigaction = OnInterrupt;
    action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_RESTART;  // on the block's own stack: others run before it returns
    sigaction(kInterrupt, &action, nullptr);
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
    return t_worker->running->memory.InGuard(address);
}

Core* RunningCore() { return t_worker == nullptr || t_worker->running == nullptr ? nullptr : &t_worker->running->core; }

bool OnOwnStack(uint64_t address, uint64_t bytes) { return t_worker->running->memory.HoldsSeen(address, bytes); }

bool OnReturnStack(uint64_t address, uint64_t bytes) { return t_worker->running->memory.HoldsReturns(address, bytes); }

void EndFiber() {
    t_worker->running->core.Finish();
    Leave(State::Done);
    abort();
}

void AbandonFiber() {
    Tracker* tracker = t_worker->running->core.tracker;
    if (tracker != nullptr) tracker->Let();
    Leave(State::Done);
    abort();
}

namespace {

void CompareTraffic(const Scheduler* s) {
    if (s->launch->checker == Checker::Full) CompareCores(s, CheckRaces);
}

}  // namespace

void Raise(Signal* signal, double time, const uint32_t* known) {
    Scheduler* s = t_worker->scheduler;
    pthread_mutex_lock(&s->lock);
    auto slot = (signal->count + 1) % kSignalDepth;
    signal->raised_at[slot] = time;
    JoinClocks(t_worker->running->core, known, &signal->known[slot]);
    __atomic_store_n(&signal->count, signal->count + 1, __ATOMIC_RELEASE);
    Wake(s);
    pthread_mutex_unlock(&s->lock);
}

void Raise(Signal* signal, double time) {
    Core& core = t_worker->running->core;
    if (core.late != nullptr) core.late->SettleAll();
    int64_t name = NameOf(*core.launch, signal);
    if (name != kUntimed) core.time.Tell(TapeMark::Raise, Pipe::S, name, 0, 0);
    Clock known = nullptr;
    Publish(core, Pipe::All, &known);
    Raise(signal, time, known);
    free(known);
}

void Arrive(Meeting* meeting, uint64_t nth, double time) {
    Scheduler* s = t_worker->scheduler;
    Core& core = t_worker->running->core;
    if (core.late != nullptr) core.late->SettleAll();
    core.time.Tell(TapeMark::Arrive, Pipe::S, NameOf(*core.launch, &meeting->complete), nth, meeting->expected);
    pthread_mutex_lock(&s->lock);
    int slot = static_cast<int>(nth % kSignalDepth);
    if (time > meeting->latest[slot]) meeting->latest[slot] = time;
    Publish(t_worker->running->core, Pipe::All, &meeting->known[slot]);
    bool last = ++meeting->arrived[slot] == meeting->expected;
    double latest = meeting->latest[slot];
    if (last) {
        meeting->arrived[slot] = 0;
        meeting->latest[slot] = 0;
    }
    pthread_mutex_unlock(&s->lock);
    if (last && meeting->whole) CompareTraffic(s);
    if (last) Raise(&meeting->complete, latest, meeting->known[slot]);
}

void WaitFor(const Signal* signal, uint64_t count, const Waiting& waiting) {
    Worker* worker = t_worker;
    Fiber* fiber = worker->running;
    fiber->waiting = waiting;
    while (__atomic_load_n(&signal->count, __ATOMIC_ACQUIRE) < count) {
        const Scheduler* s = worker->scheduler;
        if (s->stuck && s->broken)
            AbandonFiber();  // the cause has been reported; that others wait in vain follows from it
        if (s->stuck) ReportDeadlock(s, fiber);
        fiber->signal = signal;
        fiber->target = count;
        Leave(State::Waiting);
    }
    fiber->waiting = {};
    fiber->core.Place(waiting.pc);
    int64_t name = NameOf(*fiber->core.launch, signal);
    if (name != kUntimed) fiber->core.time.Tell(TapeMark::Wait, Pipe::S, name, count, 0);
    ++fiber->meetings;
    if (count > 0) Adopt(fiber->core, signal->known[count % kSignalDepth]);
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
    for (int64_t b = 0; b < fiber->core.number;) {
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

namespace {

// A kernel that sees which of its blocks began first learns nothing of which run this is.
int64_t* DrawOrder(int64_t count, uint64_t seed) {
    auto* order = static_cast<int64_t*>(calloc(static_cast<size_t>(count), sizeof(int64_t)));
    if (order == nullptr) abort();
    for (int64_t i = 0; i < count; ++i) {
        seed = seed * 6364136223846793005ull + 1442695040888963407ull;
        auto other = static_cast<int64_t>((seed >> 33) % static_cast<uint64_t>(i + 1));
        order[i] = order[other];
        order[other] = i;
    }
    return order;
}

}  // namespace

void RunBlocks(Launch* launch, const Entry* entries, void** arguments, int threads, void (*finish)(Core*, void*),
               void* context) {
    Scheduler s;
    s.launch = launch;
    s.entries = entries;
    s.arguments = arguments;
    s.count = launch->CoreCount();
    s.threads = threads < s.count ? threads : static_cast<int>(s.count);
    s.storage = static_cast<Fiber*>(HugeZeros(static_cast<size_t>(s.count) * sizeof(Fiber)));
    s.fibers = static_cast<Fiber**>(calloc(static_cast<size_t>(s.count), sizeof(Fiber*)));
    s.order = DrawOrder(s.count, launch->order);
    s.running = static_cast<int*>(calloc(static_cast<size_t>(launch->blocks), sizeof(int)));
    s.workers = static_cast<Worker*>(calloc(static_cast<size_t>(s.threads), sizeof(Worker)));
    if (s.storage == nullptr || s.fibers == nullptr || s.workers == nullptr || s.running == nullptr) abort();
    for (int64_t b = 0; b < launch->blocks; ++b) s.running[b] = launch->CoresPerBlock();
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
    CompareCores(&s, SettleCores);
    CompareTraffic(&s);
    CompareCores(&s, CheckSums);
    CompareCores(&s, CheckLines);
    CompareCores(&s, CheckCoreFlags);
    for (int64_t b = 0; b < s.count; ++b) finish(&s.fibers[b]->core, context);
    free(s.running);
    free(s.order);
    free(s.fibers);
    free(s.workers);
}

}  // namespace twin
