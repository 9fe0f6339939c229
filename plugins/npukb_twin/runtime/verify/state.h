// What is known at one place of a function, on every way that leads there.
#pragma once
#include <stdint.h>

#include "verify/list.h"
#include "verify/values.h"

namespace twin {

inline constexpr int kRegisters = 16;

// Part of the function's own frame that holds a known value.
struct Slot {
    uint32_t frame;  // kFrame or kAlignedFrame
    uint8_t bytes;
    int64_t at;
    Value value;
};

struct State {
    bool reached = false;
    bool checked = false;    // the second stack's pointer has just been checked
    int64_t aligned_at = 0;  // below this offset of kFrame lies what kAlignedFrame addresses; 0 without
    Value registers[kRegisters];
    List<Slot> slots;

    const Slot* Find(Value place, uint8_t bytes) const {
        for (const Slot& slot : slots) {
            if (slot.frame == place.symbol && slot.at == place.offset && slot.bytes == bytes) return &slot;
        }
        return nullptr;
    }
    // Forgets what lies in [from, to).
    void Forget(uint32_t frame, int64_t from, int64_t to) {
        size_t kept = 0;
        for (const Slot& slot : slots) {
            bool hit = slot.frame == frame && slot.at < to && slot.at + slot.bytes > from;
            if (!hit) slots[kept++] = slot;
        }
        slots.Resize(kept);
    }
    void Keep(Value place, uint8_t bytes, Value value) {
        Forget(place.symbol, place.offset, place.offset + bytes);
        slots.Add({place.symbol, bytes, place.offset, value});
    }
};

}  // namespace twin
