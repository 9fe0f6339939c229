// Repetitions are found through hashes of the latest events: what equals the events before it is counted, not kept.
#include "time/tape.h"

#include <stdlib.h>
#include <string.h>

namespace twin {
namespace {

uint32_t HashOf(const TapeEvent& event) {
    uint64_t words[sizeof event / 8];
    memcpy(words, &event, sizeof words);
    uint64_t hash = 0x9e3779b97f4a7c15ull;
    for (uint64_t word : words) hash = (hash ^ word) * 0xff51afd7ed558ccdull;
    return static_cast<uint32_t>(hash >> 32);
}

}  // namespace

Tape* Tape::New(uint32_t most) {
    auto* tape = static_cast<Tape*>(calloc(1, sizeof(Tape)));
    auto* window = static_cast<Window*>(calloc(1, sizeof(Window)));
    if (tape == nullptr || window == nullptr) abort();
    tape->window_ = window;
    tape->most_ = most;
    return tape;
}

void Tape::Free() {
    free(window_);
    free(log_);
    free(this);
}

// The event is not what the loop so far would bring next: a new loop begins, or something that was not seen before.
void Tape::Begin(const TapeEvent& event) {
    Flush();
    uint32_t& head = window_->heads[HashOf(event) % kHeads];
    auto now = static_cast<uint32_t>(count_);
    uint32_t back = head == 0 ? 0 : now + 1 - head;
    distance_ = 0;
    if (back > 0 && back < kTapeWindow && Same(event, window_->ring[(count_ - back) % kTapeWindow])) {
        distance_ = back;
        length_ = 1;
    } else {
        Append(event);
    }
    head = now + 1;
    window_->ring[count_ % kTapeWindow] = event;
    ++count_;
}

void Tape::Flush() {
    if (length_ == 0) return;
    TapeEvent again{};
    again.mark = TapeMark::Again;
    again.a = distance_;
    again.b = length_;
    length_ = 0;
    Append(again);
}

void Tape::Append(const TapeEvent& event) {
    if (size_ == room_) {
        room_ = room_ == 0 ? 256 : 2 * room_;
        log_ = static_cast<TapeEvent*>(realloc(log_, room_ * sizeof(TapeEvent)));
        if (log_ == nullptr) abort();
    }
    log_[size_++] = event;
    if (size_ >= most_) full_ = true;
}

void Tape::Scalar(uint32_t pc, double cycles) {
    access_cycles_ += cycles;
    for (uint32_t i = 0; i < 4; ++i) {
        ScalarSite& site = scalar_[(Site(pc) * 2 + i) % kScalarSites];
        if (site.count != 0 && site.pc != pc) continue;
        site.pc = pc;
        ++site.count;
        site.cycles += cycles;
        return;
    }
}

Tape::Found Tape::Look(uint64_t address) {
    if (window_ == nullptr) return Found::L2;
    auto line = static_cast<uint32_t>(address / 64) + 1;
    uint32_t& slot = window_->lines[line % kCacheLines];
    if (slot == line) return Found::Cache;
    slot = line;
    uint64_t granule = address / 512 * 0x9e3779b97f4a7c15ull >> 48;
    uint64_t& word = window_->seen[granule / 64];
    bool seen = word >> (granule % 64) & 1;
    word |= 1ull << (granule % 64);
    return seen ? Found::L2 : Found::Nowhere;
}

void Tape::Close(double scalar) {
    if (window_ == nullptr) return;
    TapeEvent end{};
    end.mark = TapeMark::End;
    end.scalar = static_cast<float>(scalar);
    Flush();
    Append(end);
    free(window_);
    window_ = nullptr;
}

}  // namespace twin
