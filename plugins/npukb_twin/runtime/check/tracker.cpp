// Operands of instructions that have run: definedness and traffic between cores learn of them.
#include "check/tracker.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <new>

#include "cores/core_clock.h"
#include "semantics/lanes.h"

namespace twin {

void StartTracker(Core& core) {
    void* memory = malloc(sizeof(Tracker));
    if (memory == nullptr) abort();
    core.tracker = new (memory) Tracker(core);
}

void StopTracker(Core& core) {
    if (core.tracker == nullptr) return;
    core.tracker->Finish();
    core.tracker->~Tracker();
    free(core.tracker);
    core.tracker = nullptr;
}

Tracker::Tracker(Core& core) : core_(core), shadow_(core), words_(ClockWords(core)) {
    views_ = static_cast<uint32_t*>(calloc(words_, sizeof(uint32_t)));
    if (views_ == nullptr) abort();
}

Tracker::~Tracker() { free(views_); }

void Tracker::Learn(const uint32_t* clock) {
    const uint32_t* before = Known();
    bool news = false;
    for (size_t i = 0; i < words_ && !news; ++i) news = clock[i] > before[i];
    if (!news) return;
    if (traffic_.size() > 0 && phase_ + 1 < kMostViews) {  // else nobody asks for the old view any more
        if (phase_ + 1 == room_) {
            room_ *= 2;
            views_ = static_cast<uint32_t*>(realloc(static_cast<void*>(views_), room_ * words_ * sizeof(uint32_t)));
            if (views_ == nullptr) abort();
        }
        memcpy(views_ + (phase_ + 1) * words_, Known(), words_ * sizeof(uint32_t));
        ++phase_;
    }
    uint32_t* now = views_ + phase_ * words_;
    for (size_t i = 0; i < words_; ++i) now[i] = now[i] < clock[i] ? clock[i] : now[i];
}

void Tracker::Restart() {
    traffic_.Clear();
    memmove(views_, Known(), words_ * sizeof(uint32_t));
    phase_ = 0;
}

namespace {

// Recursive: a core that is interrupted in a store may be followed by another one on the same host thread.
pthread_mutex_t g_storing = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

}  // namespace

void Tracker::Hold(const Access& access) {
    if (holds_ || access.atomic || core_.late != nullptr || core_.launch->CoreCount() == 1) return;
    pthread_mutex_lock(&g_storing);
    holds_ = true;
}

void Tracker::Let() {
    if (!holds_) return;
    holds_ = false;
    pthread_mutex_unlock(&g_storing);
}

void Tracker::Issued(Pipe pipe, const Access* accesses, int count) {
    Note(pipe, accesses, count);
    Let();
}

void Tracker::Note(Pipe pipe, const Access* accesses, int count) {
    for (int i = 0; i < count && !told_; ++i) {
        const Access& a = accesses[i];
        if (a.write && !a.global) shadow_.Define(static_cast<uint32_t>(a.range.begin), a.range.End() - a.range.begin);
    }
    told_ = false;
    if (core_.launch->CoreCount() == 1 || core_.launch->shares_variables) return;
    for (int i = 0; i < count; ++i) {
        if (accesses[i].global) NoteTraffic(pipe, accesses[i], pipe == Pipe::S);
    }
}

void Tracker::Served(const Access* accesses, int count) {
    for (int i = 0; i < count; ++i) {
        const Access& a = accesses[i];
        if (!a.global && a.write) {
            for (uint32_t k = 0; k < a.range.count; ++k)
                shadow_.Define(static_cast<uint32_t>(a.range.begin + k * a.range.stride), a.range.bytes);
        } else if (a.global && core_.launch->CoreCount() > 1 && !core_.launch->shares_variables) {
            NoteTraffic(Pipe::S, a, false);
        }
    }
    Let();
}

// What was moved lies in global memory by now; what the scalar unit stores does not yet.
void Tracker::NoteTraffic(Pipe pipe, const Access& access, bool scalar) {
    if (phase_ + 1 == kMostViews) return;
    bool hashed = access.write && !access.atomic && !scalar && core_.late == nullptr;
    uint32_t content = hashed ? ContentHash(access.range) : 0;
    traffic_.Note({access.range, access.pc, access.instruction, phase_, told_others_, core_.time.Begun(pipe), content,
                   static_cast<uint8_t>(pipe), access.write, access.atomic, scalar, hashed});
}

void Tracker::NoteSpoiled(int buffer, uint64_t begin, uint64_t end, const char* instruction, const void* pc) {
    for (int i = 0; i < spoiled_count_; ++i) {
        Spoiled& s = spoiled_[i];
        if (s.buffer != buffer || s.pc != pc) continue;
        s.begin = s.begin < begin ? s.begin : begin;
        s.end = s.end > end ? s.end : end;
        return;
    }
    if (spoiled_count_ < kMostSpoiled) spoiled_[spoiled_count_++] = {buffer, begin, end, instruction, pc};
}

void Tracker::Finish() {
    for (int i = 0; i < spoiled_count_; ++i) {
        const Spoiled& s = spoiled_[i];
        const GlobalBuffer& buffer = core_.launch->memory[s.buffer];
        uint64_t end = s.end < buffer.bytes ? s.end : buffer.bytes;
        if (s.begin >= end || !GlobalMemory::AnyUndefined(buffer, s.begin, end)) continue;
        core_.Warn("uninitialized_read", s.pc, "Write every byte of UB that is stored, or store fewer.",
                   "%s stores bytes of UB that hold no value of the program; some of bytes %llu to %llu of '%s' stay "
                   "undefined",
                   s.instruction, static_cast<unsigned long long>(s.begin), static_cast<unsigned long long>(end),
                   buffer.name);
    }
}

}  // namespace twin
