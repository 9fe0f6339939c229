// What memory held before an instruction wrote to it. Who writes the very bytes that are there races with nobody: no
// device can show whether it waited.
#pragma once
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

namespace twin {

class Snapshot {
  public:
    Snapshot() = default;
    Snapshot(const Snapshot&) = delete;
    ~Snapshot() { free(bytes_); }
    // Of [begin, end), which lies at `memory`.
    void Take(uint64_t begin, uint64_t end, const uint8_t* memory) {
        if (end - begin > room_) {
            room_ = end - begin;
            bytes_ = static_cast<uint8_t*>(realloc(bytes_, room_));
            if (bytes_ == nullptr) abort();
        }
        begin_ = begin;
        end_ = end;
        memory_ = memory;
        memcpy(bytes_, memory, end - begin);
    }
    void Forget() { begin_ = end_ = 0; }
    bool Empty() const { return begin_ == end_; }
    uint64_t begin() const { return begin_; }
    uint64_t end() const { return end_; }
    // Whether the bytes of [from, to) that are remembered are what memory holds now.
    bool Same(uint64_t from, uint64_t to) const {
        from = from < begin_ ? begin_ : from;
        to = to > end_ ? end_ : to;
        return from >= to || memcmp(bytes_ + (from - begin_), memory_ + (from - begin_), to - from) == 0;
    }
    // Whether one number fills all of it: data that say little may be equal by chance, those of a mask for instance.
    bool Plain() const {
        constexpr uint64_t kLargest = 8;  // bytes of an element
        uint64_t bytes = end_ - begin_;
        return bytes <= kLargest || memcmp(bytes_, bytes_ + kLargest, bytes - kLargest) == 0;
    }

  private:
    uint64_t begin_ = 0, end_ = 0;
    uint8_t* bytes_ = nullptr;
    const uint8_t* memory_ = nullptr;
    uint64_t room_ = 0;
};

}  // namespace twin
