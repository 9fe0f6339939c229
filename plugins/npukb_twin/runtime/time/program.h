// What one core runs in a launch: the tapes of its blocks, one after another.
#pragma once
#include "time/tape.h"

namespace twin {

class Program {
  public:
    // Blocks `first`, `first + step`, … of `total`.
    void Open(const Tape* const* tapes, int64_t first, int64_t step, int64_t total) {
        tapes_ = tapes;
        next_ = first;
        step_ = step;
        total_ = total;
        OpenNext();
    }
    // The next event; a mark End closes every block; null behind the last.
    const TapeEvent* Next() {
        while (open_) {
            if (const TapeEvent* event = reader_.Next()) return event;
            OpenNext();
        }
        return nullptr;
    }
    uint64_t address() const { return reader_.address(); }
    const Tape& tape() const { return *tape_; }

  private:
    void OpenNext() {
        open_ = next_ < total_ && tapes_[next_] != nullptr;
        if (!open_) return;
        tape_ = tapes_[next_];
        reader_.Open(*tape_);
        next_ += step_;
    }
    const Tape* const* tapes_;
    const Tape* tape_;
    int64_t next_, step_, total_;
    bool open_;
    TapeReader reader_;
};

}  // namespace twin
