// An instruction runs when it is issued, but what it stores goes to a place aside, and to memory when it takes effect.
// Between its pieces lie bytes of other cores, which may be writing them meanwhile: those are never touched.
#include "check/late_stores.h"

#include <stdlib.h>
#include <string.h>

#include <new>

#include "cores/core.h"

namespace twin {
namespace {

uint8_t* At(uint64_t address) { return reinterpret_cast<uint8_t*>(address); }

struct Locked {
    explicit Locked(pthread_mutex_t* lock) : lock_(lock) { pthread_mutex_lock(lock_); }
    ~Locked() { pthread_mutex_unlock(lock_); }
    Locked(const Locked&) = delete;
    pthread_mutex_t* lock_;
};

}  // namespace

LateStores::~LateStores() {
    for (int i = 0; i < count_; ++i) free(stores_[i].held);
    free(next_.held);
}

void LateStores::Before(uint64_t begin, uint64_t bytes) {
    Drop();
    placed_ = false;
    bool meets = false;
    {
        Locked locked(&lock_);
        meets = count_ == kMost;
        for (int i = 0; i < count_ && !meets; ++i)
            meets = begin < stores_[i].begin + stores_[i].bytes && stores_[i].begin < begin + bytes;
    }
    if (meets || bytes > kMostBytes) SettleAll();
    if (stopped_ || bytes == 0 || bytes > kMostBytes) return;
    next_.held = static_cast<uint8_t*>(realloc(next_.held, bytes));
    if (next_.held == nullptr) abort();
    next_.begin = begin;
    next_.bytes = bytes;
}

uint8_t* LateStores::Place(uint8_t* to) {
    auto at = reinterpret_cast<uint64_t>(to);
    if (at < next_.begin || at >= next_.begin + next_.bytes) return to;
    placed_ = true;
    return next_.held + (at - next_.begin);
}

void LateStores::After(Pipe pipe, uint32_t number, const Range& pieces) {
    if (next_.bytes != 0 && placed_) {
        next_.pieces = pieces;
        next_.pipe = pipe;
        next_.number = number;
        Locked locked(&lock_);
        stores_[count_] = next_;
        __atomic_store_n(&count_, count_ + 1, __ATOMIC_RELAXED);
        next_.held = nullptr;
    }
    Drop();
}

void LateStores::Apply(const Store& store) {
    for (uint32_t i = 0; i < store.pieces.count; ++i) {
        uint64_t at = i * store.pieces.stride;
        memcpy(At(store.begin + at), store.held + at, store.pieces.bytes);
    }
    free(store.held);
}

void LateStores::Settle(const Knowledge& known) {
    Locked locked(&lock_);
    int kept = 0;
    for (int i = 0; i < count_; ++i) {
        const Store store = stores_[i];
        if (store.number <= known.done[static_cast<int>(store.pipe)])
            Apply(store);
        else
            stores_[kept++] = store;
    }
    __atomic_store_n(&count_, kept, __ATOMIC_RELAXED);
}

void LateStores::SettleBy(const Core& core) {
    Knowledge known{};
    for (int p = 0; p < npukb::kPipes; ++p) known.Join(core.time.Known(static_cast<Pipe>(p)));
    Settle(known);
}

void LateStores::SettleAll() {
    Locked locked(&lock_);
    for (int i = 0; i < count_; ++i) Apply(stores_[i]);
    __atomic_store_n(&count_, 0, __ATOMIC_RELAXED);
}

void LateStores::Stop() {
    Drop();
    SettleAll();
    stopped_ = true;
}

void SettleCores(Core* const* cores, int64_t count) {
    for (int64_t i = count; i-- > 0;) {
        if (cores[i] != nullptr && cores[i]->late != nullptr) cores[i]->late->SettleAll();
    }
}

void StartLate(Core& core) {
    void* memory = malloc(sizeof(LateStores));
    if (memory == nullptr) abort();
    core.late = new (memory) LateStores;
}

void StopLate(Core& core) {
    if (core.late == nullptr) return;
    core.late->~LateStores();
    free(core.late);
    core.late = nullptr;
}

}  // namespace twin
