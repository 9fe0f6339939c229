// Time of one core: each pipe runs its instructions in order, flags and barriers tie pipes together. Unit: cycles.
#pragma once
#include "../include/twin/abi.h"
#include "machine.h"

namespace twin {

using npukb::Pipe;

class Timeline {
  public:
    // The scalar unit decodes an instruction and hands it to `pipe`, which runs it for `cycles`.
    void Issue(const Machine& machine, Pipe pipe, double cycles) {
        scalar() += machine.scalar_issue_cycles;
        busy_[static_cast<int>(Pipe::S)] += machine.scalar_issue_cycles;
        double& free = free_[static_cast<int>(pipe)];
        if (free < scalar()) free = scalar();
        free += cycles;
        busy_[static_cast<int>(pipe)] += cycles;
        ++instructions_[static_cast<int>(pipe)];
    }
    // Whether `pipe` has run dry at the moment an instruction reaches it.
    bool Idle(Pipe pipe) const { return free_[static_cast<int>(pipe)] <= free_[static_cast<int>(Pipe::S)]; }
    void Scalar(double cycles) {
        scalar() += cycles;
        busy_[static_cast<int>(Pipe::S)] += cycles;
    }
    double At(Pipe pipe) const { return free_[static_cast<int>(pipe)]; }
    // `pipe` may not go on before `time`.
    void HoldUntil(Pipe pipe, double time) {
        double& free = free_[static_cast<int>(pipe)];
        if (free < time) {
            waited_[static_cast<int>(pipe)] += time - free;
            free = time;
        }
    }
    double End() const {
        double end = 0;
        for (double t : free_) end = t > end ? t : end;
        return end;
    }
    void HoldAllUntil(double time) {
        for (int p = 0; p < npukb::kPipes; ++p) HoldUntil(static_cast<Pipe>(p), time);
    }
    double Busy(Pipe pipe) const { return busy_[static_cast<int>(pipe)]; }
    double Waited(Pipe pipe) const { return waited_[static_cast<int>(pipe)]; }
    uint64_t Instructions(Pipe pipe) const { return instructions_[static_cast<int>(pipe)]; }

  private:
    double& scalar() { return free_[static_cast<int>(Pipe::S)]; }
    double free_[npukb::kPipes] = {};
    double busy_[npukb::kPipes] = {};
    double waited_[npukb::kPipes] = {};
    uint64_t instructions_[npukb::kPipes] = {};
};

}  // namespace twin
