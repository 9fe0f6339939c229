// Numbers for values, and ways from each to what it is made of. What the program has spreads along them.
#include "verify/uses.h"

namespace twin {

uint32_t Uses::Number(Value value) {
    uint32_t number = symbols_.Of(Origin::Used, value.symbol, static_cast<uint64_t>(value.offset)).symbol;
    if (number >= had_.size()) had_.Resize(number + 1);
    return number;
}

void Uses::Have(Value value) {
    frame_is_known_ = frame_is_known_ || InFrame(value);
    Read(value);
    if (!IsPlace(value)) had_[Number(value)] = 1;
}

void Uses::Read(Value value) {
    if (symbols_.OriginOf(value.symbol) != Origin::Met) return;
    if (value.symbol >= read_.size()) read_.Resize(value.symbol + 1);
    read_[value.symbol] = 1;
}

void Uses::ReadFrame(Value place, uint8_t bytes) {
    for (int i = 0; i < bytes; ++i) had_[Number(place + i)] = 1;
}

void Uses::Put(Value value) { put_.Add(value); }

void Uses::Make(Value result, Value a, Value b) {
    Read(a);
    Read(b);
    frame_is_known_ = frame_is_known_ || (InFrame(a) && b.symbol != kConstant) || (InFrame(b) && a.symbol != kConstant);
    uint32_t made = Number(result);
    if (!IsPlace(a)) made_.Add({made, Number(a)});
    if (!IsPlace(b)) made_.Add({made, Number(b)});
}

void Uses::Doubt(uint64_t place, Value result) { doubtful_.Add({place, Number(result)}); }

void Uses::Meet(Value met, Value value) {
    if (!IsPlace(value)) met_.Add({met.symbol, Number(value), value, false});
}

void Uses::Lose(const Slot& slot) { lost_.Add(slot); }

bool Uses::IsRead(const Slot& slot) {
    for (int i = 0; i < slot.bytes; ++i) {
        if (had_[Number(Value{slot.frame, slot.at} + i)]) return true;
    }
    return false;
}

void Uses::Spread() {
    for (size_t i = 0; frame_is_known_ && i < put_.size(); ++i) Have(put_[i]);
    for (const Slot& slot : lost_) {
        if (IsRead(slot)) Have(slot.value);
    }
    for (bool changed = true; changed;) {  // what met may have met before
        changed = false;
        for (Way& one : met_) {
            if (one.done || one.met >= read_.size() || !read_[one.met]) continue;
            one.done = true;
            had_[one.number] = 1;
            Read(one.from);
            changed = true;
        }
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = made_.size(); i-- > 0;) {
            if (!had_[made_[i].result] || had_[made_[i].from]) continue;
            had_[made_[i].from] = 1;
            changed = true;
        }
    }
}

void Uses::Addresses(List<uint64_t>* places) {
    Spread();
    for (uint64_t place : places_) places->Add(place);
    for (const Doubtful& one : doubtful_) {
        if (!had_[one.number]) places->Add(one.place);
    }
}

}  // namespace twin
