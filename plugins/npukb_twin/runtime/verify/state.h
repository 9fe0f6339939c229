// What is known at one place of a function, on every way that leads there.
#pragma once
#include <stdint.h>

#include "verify/list.h"
#include "verify/values.h"

namespace twin {

inline constexpr int kRegisters = 40;     // the most that a processor's convention follows
inline constexpr int64_t kSlotBytes = 8;  // the most that a slot has

// Part of the function's own frame that holds a known value.
struct Slot {
    uint32_t frame;  // kFrame or kAlignedFrame
    uint8_t bytes;
    int64_t at;
    Value value;
    bool LiesBefore(uint32_t other, int64_t place) const { return frame < other || (frame == other && at < place); }
};

struct State {
    bool reached = false;
    bool checked = false;    // the second stack's pointer has just been checked
    int64_t aligned_at = 0;  // below this offset of kFrame lies what kAlignedFrame addresses; 0 without
    Value registers[kRegisters];
    List<Slot> slots;  // in order, apart from each other

    // The first slot at this place or behind it.
    size_t From(uint32_t frame, int64_t at) const {
        size_t low = 0, high = slots.size();
        while (low < high) {
            size_t middle = (low + high) / 2;
            if (slots[middle].LiesBefore(frame, at))
                low = middle + 1;
            else
                high = middle;
        }
        return low;
    }
    const Slot* Find(Value place, uint8_t bytes) const {
        size_t i = From(place.symbol, place.offset);
        if (i == slots.size()) return nullptr;
        const Slot& slot = slots[i];
        bool same = slot.frame == place.symbol && slot.at == place.offset && slot.bytes == bytes;
        return same ? &slot : nullptr;
    }
    // The slot that lies where `wanted` does, which comes behind those that were asked for before: `at` says how far
    // they lead.
    const Slot* FindNext(size_t* at, const Slot& wanted) const {
        while (*at < slots.size() && slots[*at].LiesBefore(wanted.frame, wanted.at)) ++*at;
        if (*at == slots.size()) return nullptr;
        const Slot& slot = slots[*at];
        bool same = slot.frame == wanted.frame && slot.at == wanted.at && slot.bytes == wanted.bytes;
        return same ? &slot : nullptr;
    }
    // Forgets what lies in [from, to).
    void Forget(uint32_t frame, int64_t from, int64_t to) {
        size_t first = From(frame, from - kSlotBytes + 1);
        while (first < slots.size() && slots[first].frame == frame && slots[first].at + slots[first].bytes <= from)
            ++first;
        size_t last = first;
        while (last < slots.size() && slots[last].frame == frame && slots[last].at < to) ++last;
        slots.Remove(first, last);
    }
    void Keep(Value place, uint8_t bytes, Value value) {
        Forget(place.symbol, place.offset, place.offset + bytes);
        slots.Insert(From(place.symbol, place.offset), {place.symbol, bytes, place.offset, value});
    }
};

}  // namespace twin
