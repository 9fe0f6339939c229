// What the scheduler of fibers knows: a fiber per core that has begun, a worker per host thread.
#pragma once

#include <pthread.h>
#include <stdint.h>

#include "cores/block_memory.h"
#include "cores/core.h"
#include "cores/fiber.h"
#include "cores/sanitizer.h"
#include "cores/stack_switch.h"

namespace twin {

enum class State : uint8_t { Ready, Running, Polling, Waiting, Done };

struct Fiber {
    Core core;
    State state;
    bool idle;          // polls, and has done nothing else since it polled last
    bool spins;         // was interrupted in a loop that calls nothing
    int turns;          // in a row in which it only polled or span
    uint64_t meetings;  // waits for other blocks that have ended
    const Signal* signal;
    uint64_t target;
    Waiting waiting;
    void* stack_pointer;
    BlockMemory memory;
    void* seen_stack;  // where the stack that its pointers lead to has grown to
    KnownStack known;
};

struct Worker;

struct Scheduler {
    Launch* launch;
    const Entry* entries;
    void** arguments;
    int64_t count;   // of cores
    Fiber* storage;  // of all cores; those that have begun are in `fibers`, too
    Fiber** fibers;
    int64_t* order;  // in which cores begin
    Worker* workers;
    int threads;
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
    int64_t done = 0;
    int* running;              // of mixed launches: cores of every block that have not ended
    int64_t ended_blocks = 0;  // of mixed launches
    int idle = 0;              // workers that wait for a signal, and have seen them all
    uint64_t generation = 0;   // grows with every signal
    uint64_t events = 0;       // grows with every turn in which a block did something other than poll
    bool stuck = false;
    bool broken = false;  // a block left by a rule violation, so that others may wait in vain
};

struct Worker {
    Scheduler* scheduler;
    BlockMemories* memories;  // by kind of core
    int index;
    pthread_t thread;
    void* stack_pointer;
    KnownStack known;
    Fiber* running;
    uint64_t beats;     // grows with every call of the runtime
    uint64_t switches;  // grows with every fiber that is entered
    bool overdue;
    bool spins;    // the running block was interrupted in a loop before
    bool resting;  // sleeps until a signal comes
    uint64_t
        quiet;  // whole sweeps in a row in which its blocks did nothing but poll, with no event in any worker since...
    uint64_t quiet_from;  // ...the count of events was this
};

// Tells where every core waits. `fiber` is one that waits for ever.
[[noreturn]] void ReportDeadlock(const Scheduler* scheduler, Fiber* fiber);

}  // namespace twin
