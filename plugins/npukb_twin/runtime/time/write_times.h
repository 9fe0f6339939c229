// Who wrote last to each piece of memory that cores share, and when that was over. A core that reads what another one
// has just written goes on no earlier than that: a chain of cores through plain memory takes as long as its links.
#pragma once
#include <stdint.h>

namespace twin {

class WriteTimes {
  public:
    // For so many bytes, of which none have been written.
    void Open(uint64_t bytes);
    bool open() const { return lines_ != nullptr; }
    // `core` has written [begin, end); the bytes are there after so many cycles of its own time.
    void Note(uint64_t begin, uint64_t end, int64_t core, double cycles);
    // When others have written the last of [begin, end), by their own time, or 0. Only cores of the same `round` count:
    // of so many numbers, from the first on, that are at work at the same time.
    double OthersUntil(uint64_t begin, uint64_t end, int64_t core, int64_t round) const;

  private:
    uint64_t* lines_ = nullptr;
};

}  // namespace twin
