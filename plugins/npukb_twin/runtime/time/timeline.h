// Time and order of one core: each pipe runs its instructions in order, flags and barriers tie pipes together. Unit:
// cycles.
//
// Three readers. The tape records what is issued, for the replay that computes the launch's time when all blocks have
// run. The clocks here are what the kernel itself may ask for while it runs, as if its core were alone. Beside the
// clock of every pipe stands what the pipe knows: how many instructions of every pipe are complete before its next one
// begins. Time says how long a program takes here, knowledge what it may rely on everywhere.
#pragma once
#include "../../include/twin/abi.h"
#include "time/scalar_operations.h"
#include "time/machine.h"
#include "time/tape.h"

namespace twin {

using npukb::Pipe;

// Instructions of every pipe that are known to be complete.
struct Knowledge {
    uint32_t done[npukb::kPipes];
    void Join(const Knowledge& other) {
        for (int p = 0; p < npukb::kPipes; ++p) done[p] = done[p] < other.done[p] ? other.done[p] : done[p];
    }
};

// A point that a pipe has reached. Waiting for a moment passes on what was known then.
struct Moment {
    double time = 0;
    Knowledge known{};
    Pipe pipe = Pipe::S;
    uint32_t entry = 0;  // entries that the pipe's queue had been given
    float delay = 0;     // cycles until others hear of it
    Moment operator+(double cycles) const {
        return {time + cycles, known, pipe, entry, delay + static_cast<float>(cycles)};
    }
};

// A transfer between global memory and the core: pieces of bytes with gaps.
struct Movement {
    Pipe pipe;
    uint8_t flags;     // TapeFlag
    uint64_t address;  // on the device; see GlobalMemory::DeviceAddress
    uint64_t piece_bytes;
    uint32_t pieces;
    int64_t stride;
};

// A flag between cores: how it is set, its id, and whether a cube core sets it.
struct CoreFlagKind {
    int mode;
    int id;
    bool of_cube;
};

// Of a vector instruction: cycles from its end to its result, and the entry of the pipe, counted from one, whose late
// result it reads; 0: none.
struct Lateness {
    double drain = 0;
    uint32_t awaited = 0;
};

// Is told of every instruction once its operands are known and it has run.
class Observer {
  public:
    virtual void Issued(Pipe pipe) = 0;

  protected:
    ~Observer() = default;
};

class Timeline {
  public:
    void Start(bool auto_sync, Observer* observer) {
        TakeOperations();
        auto_sync_ = auto_sync;
        observer_ = observer;
    }
    void Record(Tape* tape, double operation_cycles) {
        tape_ = tape;
        operation_cycles_ = operation_cycles;
    }
    // Plain C++ that ran since the last event.
    void SpendOperations() { Spend(TakeOperations() * operation_cycles_); }
    // The line that what follows belongs to, as an offset in the kernel's image.
    void Place(uint32_t pc) { pc_ = pc; }
    // The scalar unit decodes an instruction and hands it to `pipe`, which runs it for `cycles`.
    // Its result is there `drain` cycles after the next instruction of the pipe may begin.
    void Issue(const Machine& machine, Pipe pipe, double cycles, uint8_t flags = 0, double drain = 0) {
        TapeEvent event = Event(TapeMark::Run, pipe);
        event.flags = flags;
        event.conflict = static_cast<float>(drain);
        event.work = static_cast<float>(cycles);
        Dispatch(machine, event, cycles);
    }
    // A vector instruction: so many cycles besides its head, and so many more because of bank conflicts. `chained` when
    // it reads what the instruction before it writes.
    void Vector(const Machine& machine, double cycles, double conflict, bool chained, const Lateness& late = {}) {
        TapeEvent event = Event(TapeMark::Vector, Pipe::V);
        event.work = static_cast<float>(cycles);
        event.conflict = static_cast<float>(conflict);
        event.a = static_cast<uint32_t>(late.drain);
        uint32_t back = Entries(Pipe::V) + 1 - late.awaited;
        if (late.awaited != 0 && back < kTapeLateBack) event.b = back;
        double head = Idle(Pipe::V) ? machine.vector_idle_head_cycles : machine.vector_head_cycles;
        if (chained) {
            event.flags = kTapeChain;
            head += machine.vector_chain_cycles;
        }
        if (event.b == 1) head += vector_drain_;
        vector_drain_ = late.drain;
        Dispatch(machine, event, head + cycles + conflict);
    }
    // A transfer; `cycles` is what it takes a core that is alone.
    void Move(const Machine& machine, const Movement& transfer, double cycles) {
        TapeEvent event = Event(TapeMark::Move, transfer.pipe);
        event.flags = transfer.flags;
        event.a = static_cast<uint32_t>(transfer.piece_bytes);
        event.b = transfer.pieces;
        event.stride = static_cast<int32_t>(transfer.stride);
        if (tape_ != nullptr) event.detail = tape_->Distance(pc_, transfer.address);
        Dispatch(machine, event, cycles);
    }
    // A load or store of the scalar unit itself.
    void Access(double cycles) {
        Scalar(cycles);
        if (tape_ != nullptr) tape_->Scalar(pc_, cycles);
        Begin(Pipe::S);
        if (observer_ != nullptr) observer_->Issued(Pipe::S);
    }
    // Whether a scalar access to global memory, at an address of the device, finds it near.
    Tape::Found Look(uint64_t address) { return tape_ == nullptr ? Tape::Found::L2 : tape_->Look(address); }
    // Whether `pipe` has run dry at the moment an instruction reaches it.
    bool Idle(Pipe pipe) const { return free_[static_cast<int>(pipe)] <= free_[static_cast<int>(Pipe::S)]; }
    void Scalar(double cycles) { Spend(cycles + TakeOperations() * operation_cycles_); }
    // When `pipe` is through with everything it was given so far.
    Moment At(Pipe pipe) const {
        int p = static_cast<int>(pipe);
        Moment moment{free_[p], known_[p], pipe, entries_[p], 0};
        uint32_t scalar_done = moment.known.done[static_cast<int>(Pipe::S)];
        moment.known.Join(known_[static_cast<int>(Pipe::S)]);
        if (!auto_sync_) moment.known.done[static_cast<int>(Pipe::S)] = scalar_done;
        moment.known.done[p] = begun_[p];
        return moment;
    }
    // `pipe` may not go on before `moment` has been reached.
    void HoldUntil(Pipe pipe, const Moment& moment) { Hold(pipe, moment, nullptr); }
    // The same for a buffer that is given out again. `before` is when its last use but one was over.
    void HoldForBuffer(Pipe pipe, const Moment& freed, const Moment& before) { Hold(pipe, freed, &before); }
    // The scalar unit waits for what `pipe` was given, as the compiler has it do. It learns nothing that others could
    // rely on.
    void AwaitScalar(Pipe pipe) {
        int p = static_cast<int>(pipe);
        if (awaited_[p] == entries_[p]) return;
        awaited_[p] = entries_[p];
        Moment moment;
        moment.pipe = pipe;
        moment.entry = entries_[p];
        PushHold(Pipe::S, moment, nullptr);
        Raise(Pipe::S, free_[p]);
    }
    // The scalar unit goes on no earlier than so many cycles after its beginning.
    void AwaitUntil(double cycles) {
        TapeEvent event = Event(TapeMark::Until, Pipe::S);
        event.work = static_cast<float>(cycles);
        Push(event);
        Raise(Pipe::S, cycles);
    }
    double End() const {
        double end = 0;
        for (double t : free_) end = t > end ? t : end;
        return end;
    }
    // Every pipe is through with everything before any goes on, at `time` or `End()` if that is later.
    void HoldAllUntil(double time) {
        double end = End();
        Rejoin(time, time > end ? time - end : 0);
    }
    // Everything is over by `time`, as far as the kernel can tell. Tapes say otherwise what is waited for.
    void AssumeOver(double time) {
        for (int p = 0; p < npukb::kPipes; ++p) {
            Raise(static_cast<Pipe>(p), time);
            for (int q = 0; q < npukb::kPipes; ++q) known_[p].done[q] = begun_[q];
        }
    }
    // A barrier over all pipes.
    void BarrierAll(double cycles) { Rejoin(End() + cycles, cycles, kTapeBarrier); }
    // The core has waited for others, until `time`, and goes on so many cycles later.
    void Meet(double time, double cycles) { Rejoin(time + cycles, cycles); }
    // The same for a flag: what the core's own pipes were given before takes its time, and may not be relied on.
    void MeetFlag(double time, double cycles) {
        PushAll(cycles, 0);
        for (int p = 0; p < npukb::kPipes; ++p) Raise(static_cast<Pipe>(p), time + cycles);
    }
    // Tells other cores: when `pipe` is through with what it was given, or right away where it is the scalar unit.
    void TellFlag(Pipe pipe, const CoreFlagKind& kind, uint64_t nth, int64_t expected) {
        flag_ = 1 + kind.mode * 64 + kind.id * 2 + (kind.of_cube ? 1 : 0);
        Tell(TapeMark::Arrive, pipe, kind.mode == 0 ? int64_t{1} << 41 | flag_ : -(2000 + int64_t{flag_}), nth,
             expected);
        flag_ = 0;
    }
    void Tell(TapeMark mark, Pipe pipe, int64_t signal, uint64_t nth, int64_t expected) {
        TapeEvent event = Event(mark, pipe);
        event.detail = signal;
        event.a = static_cast<uint32_t>(nth);
        event.b = static_cast<uint32_t>(expected);
        event.stride = flag_;
        if (flag_ != 0) event.flags = kTapeCoreFlag;
        if (mark != TapeMark::Wait && pipe != Pipe::S) ++entries_[static_cast<int>(pipe)];
        Push(event);
    }
    // The next instruction of `pipe` begins when those before it are complete.
    void Barrier(Pipe pipe) {
        known_[static_cast<int>(pipe)].done[static_cast<int>(pipe)] = begun_[static_cast<int>(pipe)];
    }
    // The compiler makes the scalar unit wait for the first `count` instructions of `pipe`.
    void Learn(Pipe pipe, uint32_t count) {
        uint32_t& done = known_[static_cast<int>(Pipe::S)].done[static_cast<int>(pipe)];
        done = done < count ? count : done;
    }
    // Instructions that `pipe` was given, and what its latest could rely on.
    uint32_t Begun(Pipe pipe) const { return begun_[static_cast<int>(pipe)]; }
    uint32_t Entries(Pipe pipe) const { return entries_[static_cast<int>(pipe)]; }
    const Knowledge& Known(Pipe pipe) const { return known_[static_cast<int>(pipe)]; }
    // The block has ended.
    void Finish() {
        SpendOperations();
        if (tape_ == nullptr) return;
        if (tape_->full()) tape_->SetRest(End() - full_at_);
        tape_->Close(pending_);
        tape_->SetScalar(scalar_cycles_);
    }

  private:
    // What the scalar unit has waited for is over before it issues anything else. Its own loads and stores are complete
    // for others only after a flag, which the compiler sets and awaits by itself unless told not to.
    void Begin(Pipe pipe) {
        constexpr int s = static_cast<int>(Pipe::S);
        int p = static_cast<int>(pipe);
        uint32_t own = known_[s].done[s];
        known_[s].done[s] = auto_sync_ ? begun_[s] : 0;
        known_[p].Join(known_[s]);
        known_[s].done[s] = own;
        ++begun_[p];
        if (p == s) known_[s].done[s] = begun_[s];
    }
    void Dispatch(const Machine& machine, const TapeEvent& event, double cycles) {
        Scalar(machine.scalar_issue_cycles);
        int p = static_cast<int>(event.pipe);
        double& free = free_[p];
        if (free < scalar()) free = scalar();
        free += cycles;
        ++entries_[p];
        Push(event);
        Begin(event.pipe);
        if (observer_ != nullptr) observer_->Issued(event.pipe);
    }
    void Hold(Pipe pipe, const Moment& moment, const Moment* before) {
        PushHold(pipe, moment, before);
        Raise(pipe, moment.time);
        known_[static_cast<int>(pipe)].Join(moment.known);
    }
    void PushHold(Pipe pipe, const Moment& moment, const Moment* before) {
        uint32_t entries = entries_[static_cast<int>(moment.pipe)];
        TapeEvent event = Event(TapeMark::Hold, pipe);
        event.other = moment.pipe;
        event.work = moment.delay;
        event.a = entries - moment.entry;
        if (before != nullptr) {
            event.flags = kTapeBuffer;
            event.b = entries - before->entry;
        }
        if (pipe != Pipe::S) ++entries_[static_cast<int>(pipe)];
        Push(event);
    }
    void Raise(Pipe pipe, double time) {
        double& free = free_[static_cast<int>(pipe)];
        free = free < time ? time : free;
    }
    void Rejoin(double time, double cycles, uint8_t flags = 0) {
        PushAll(cycles, flags);
        AssumeOver(time);
    }
    void PushAll(double cycles, uint8_t flags) {
        TapeEvent event = Event(TapeMark::All, Pipe::All);
        event.flags = flags;
        event.work = static_cast<float>(cycles);
        Push(event);
    }
    void Spend(double cycles) {
        scalar() += cycles;
        pending_ += cycles;
        scalar_cycles_ += cycles;
    }
    TapeEvent Event(TapeMark mark, Pipe pipe) const {
        TapeEvent event{};
        event.mark = mark;
        event.pipe = pipe;
        event.pc = pc_;
        return event;
    }
    void Push(TapeEvent event) {
        SpendOperations();
        if (tape_ == nullptr || !tape_->open()) return;
        event.scalar = static_cast<float>(pending_);
        pending_ = 0;
        tape_->Push(event);
        if (!tape_->full()) return;
        full_at_ = End();
        tape_->Close(0);
    }
    double& scalar() { return free_[static_cast<int>(Pipe::S)]; }
    double free_[npukb::kPipes] = {};
    uint32_t entries_[npukb::kPipes] = {};  // of the pipes' queues: instructions and waits
    uint32_t awaited_[npukb::kPipes] = {};
    double scalar_cycles_ = 0;
    double operation_cycles_ = 0;
    double pending_ = 0;  // cycles of the scalar unit that are not on the tape yet
    double full_at_ = 0;
    double vector_drain_ = 0;  // of the latest vector instruction
    uint32_t pc_ = 0;
    int32_t flag_ = 0;  // between cores, that the event is about
    Tape* tape_ = nullptr;
    uint32_t begun_[npukb::kPipes] = {};
    Knowledge known_[npukb::kPipes] = {};
    bool auto_sync_ = true;
    Observer* observer_ = nullptr;
};

}  // namespace twin
