// Time and order of one core: each pipe runs its instructions in order, flags and barriers tie pipes together. Unit: cycles.
//
// Beside the clock of every pipe stands what the pipe knows: how many instructions of every pipe are complete before its next
// one begins. Time says how long a program takes here, knowledge what it may rely on everywhere.
#pragma once
#include "../include/twin/abi.h"
#include "machine.h"

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
    Moment operator+(double cycles) const { return {time + cycles, known}; }
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
        auto_sync_ = auto_sync;
        observer_ = observer;
    }
    // The scalar unit decodes an instruction and hands it to `pipe`, which runs it for `cycles`.
    void Issue(const Machine& machine, Pipe pipe, double cycles) {
        scalar() += machine.scalar_issue_cycles;
        busy_[static_cast<int>(Pipe::S)] += machine.scalar_issue_cycles;
        double& free = free_[static_cast<int>(pipe)];
        if (free < scalar()) free = scalar();
        free += cycles;
        busy_[static_cast<int>(pipe)] += cycles;
        ++instructions_[static_cast<int>(pipe)];
        Begin(pipe);
        if (observer_ != nullptr) observer_->Issued(pipe);
    }
    // A load or store of the scalar unit itself.
    void Access(double cycles) {
        Scalar(cycles);
        Begin(Pipe::S);
        if (observer_ != nullptr) observer_->Issued(Pipe::S);
    }
    // Whether `pipe` has run dry at the moment an instruction reaches it.
    bool Idle(Pipe pipe) const { return free_[static_cast<int>(pipe)] <= free_[static_cast<int>(Pipe::S)]; }
    void Scalar(double cycles) {
        scalar() += cycles;
        busy_[static_cast<int>(Pipe::S)] += cycles;
    }
    // When `pipe` is through with everything it was given so far.
    Moment At(Pipe pipe) const {
        int p = static_cast<int>(pipe);
        Moment moment{free_[p], known_[p]};
        uint32_t scalar_done = moment.known.done[static_cast<int>(Pipe::S)];
        moment.known.Join(known_[static_cast<int>(Pipe::S)]);
        if (!auto_sync_) moment.known.done[static_cast<int>(Pipe::S)] = scalar_done;
        moment.known.done[p] = begun_[p];
        return moment;
    }
    // `pipe` may not go on before `time`, or before `moment` has been reached.
    void HoldUntil(Pipe pipe, double time) {
        double& free = free_[static_cast<int>(pipe)];
        if (free < time) {
            waited_[static_cast<int>(pipe)] += time - free;
            free = time;
        }
    }
    void HoldUntil(Pipe pipe, const Moment& moment) {
        HoldUntil(pipe, moment.time);
        known_[static_cast<int>(pipe)].Join(moment.known);
    }
    double End() const {
        double end = 0;
        for (double t : free_) end = t > end ? t : end;
        return end;
    }
    // Every pipe is through with everything before any goes on.
    void HoldAllUntil(double time) {
        for (int p = 0; p < npukb::kPipes; ++p) {
            HoldUntil(static_cast<Pipe>(p), time);
            for (int q = 0; q < npukb::kPipes; ++q) known_[p].done[q] = begun_[q];
        }
    }
    // The next instruction of `pipe` begins when those before it are complete.
    void Barrier(Pipe pipe) { known_[static_cast<int>(pipe)].done[static_cast<int>(pipe)] = begun_[static_cast<int>(pipe)]; }
    // The compiler makes the scalar unit wait for the first `count` instructions of `pipe`.
    void Learn(Pipe pipe, uint32_t count) {
        uint32_t& done = known_[static_cast<int>(Pipe::S)].done[static_cast<int>(pipe)];
        done = done < count ? count : done;
    }
    // Instructions that `pipe` was given, and what its latest could rely on.
    uint32_t Begun(Pipe pipe) const { return begun_[static_cast<int>(pipe)]; }
    const Knowledge& Known(Pipe pipe) const { return known_[static_cast<int>(pipe)]; }
    double Busy(Pipe pipe) const { return busy_[static_cast<int>(pipe)]; }
    double Waited(Pipe pipe) const { return waited_[static_cast<int>(pipe)]; }
    uint64_t Instructions(Pipe pipe) const { return instructions_[static_cast<int>(pipe)]; }

  private:
    // What the scalar unit has waited for is over before it issues anything else. Its own loads and stores are complete for
    // others only after a flag, which the compiler sets and awaits by itself unless told not to.
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
    double& scalar() { return free_[static_cast<int>(Pipe::S)]; }
    double free_[npukb::kPipes] = {};
    double busy_[npukb::kPipes] = {};
    double waited_[npukb::kPipes] = {};
    uint64_t instructions_[npukb::kPipes] = {};
    uint32_t begun_[npukb::kPipes] = {};
    Knowledge known_[npukb::kPipes] = {};
    bool auto_sync_ = true;
    Observer* observer_ = nullptr;
};

}  // namespace twin
