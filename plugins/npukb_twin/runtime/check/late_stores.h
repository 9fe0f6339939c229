// Stores to global memory that take effect as late as the order of their core allows: when another of its pipes knows
// that they are complete, or when it tells other cores so. What nothing waits for is seen too late, and becomes wrong
// bytes. Only the second run of a kernel does this.
//
// A core that polls has the stores of all cores take effect, from its own thread: hence the lock.
#pragma once
#include <pthread.h>
#include <stdint.h>

#include "check/range.h"
#include "time/timeline.h"

namespace twin {

struct Core;

class LateStores {
  public:
    LateStores() = default;
    LateStores(const LateStores&) = delete;
    ~LateStores();
    // The next instruction writes in here.
    void Before(uint64_t begin, uint64_t bytes);
    // Where it puts what belongs at `to`: a place of its own, or `to` when it does not wait.
    uint8_t* Place(uint8_t* to);
    // It has run, and these are the pieces that it wrote.
    void After(Pipe pipe, uint32_t number, const Range& pieces);
    // What was about to write was no instruction, or one whose pieces nobody can tell.
    void Drop() { next_.bytes = 0; }
    // So many instructions of every pipe are complete.
    void Settle(const Knowledge& known);
    // The same for all that any pipe of `core` knows.
    void SettleKnown(const Core& core) {
        if (__atomic_load_n(&count_, __ATOMIC_RELAXED) > 0) SettleBy(core);
    }
    // The same for everything. Any thread may ask for it.
    void SettleAll();
    // From here on nothing waits.
    void Stop();

  private:
    static constexpr int kMost = 64;
    static constexpr uint64_t kMostBytes = 1u << 20;  // of one store
    struct Store {
        uint64_t begin, bytes;
        uint8_t* held;
        Range pieces;
        Pipe pipe;
        uint32_t number;
    };
    void SettleBy(const Core& core);
    static void Apply(const Store& store);
    pthread_mutex_t lock_ = PTHREAD_MUTEX_INITIALIZER;
    Store stores_[kMost];
    int count_ = 0;
    Store next_{};
    bool placed_ = false;
    bool stopped_ = false;
};

// Everything that waits on any core takes effect, of the last core first: as they run.
void SettleCores(Core* const* cores, int64_t count);
void StartLate(Core& core);
void StopLate(Core& core);

}  // namespace twin
