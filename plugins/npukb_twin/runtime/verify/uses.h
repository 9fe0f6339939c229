// What becomes of a function's values: whether the program has one, or memory is addressed with it and nothing else.
//
// Values are those of the proof (verify/values.h). The program has a value that it computes with in any other way than
// to make an address of it, stores anywhere but in a slot of the frame, hands to a function or returns. Where values
// meet, as in a loop, they count as the program's as soon as anybody reads what they have become: so an address that
// goes on by a step in every round is the program's work.
#pragma once
#include <stdint.h>

#include "verify/list.h"
#include "verify/state.h"
#include "verify/values.h"

namespace twin {

class Uses {
  public:
    explicit Uses(Symbols& symbols) : symbols_(symbols) {}

    // The program has the value.
    void Have(Value value);
    // Somebody reads the value, if only for an address.
    void Read(Value value);
    // Reads part of the frame of which nothing is known. What was lost on a way to this place may be what is read.
    void ReadFrame(Value place, uint8_t bytes);
    // Puts the value into a slot.
    void Put(Value value);
    // `result` is a sum or a product of `a` and `b`.
    void Make(Value result, Value a, Value b);
    // As much of the instruction at `place` is none of the program's if all of `result` is an address.
    void Doubt(uint64_t place, Value result);
    // None of the instruction at `place` is the program's.
    void Place(uint64_t place) { places_.Add(place); }
    // On one way to the same place a register or slot holds `value`, which is called `met` from there on.
    void Meet(Value met, Value value);
    // On one way to a place `slot` holds a value; on another one nothing is known of it.
    void Lose(const Slot& slot);

    // Adds the places of instructions that make addresses and nothing else.
    void Addresses(List<uint64_t>* places);

  private:
    struct Made {
        uint32_t result, from;  // numbers
    };
    struct Way {
        uint32_t met;  // a symbol
        uint32_t number;
        Value from;
        bool done;
    };
    struct Doubtful {
        uint64_t place;
        uint32_t number;
    };
    static bool InFrame(Value value) { return value.symbol == kFrame || value.symbol == kAlignedFrame; }
    static bool IsPlace(Value value) { return value.symbol <= kPointerPlace; }
    uint32_t Number(Value value);
    bool IsRead(const Slot& slot);
    void Spread();

    Symbols& symbols_;
    List<uint8_t> had_;   // by number; of a place in the frame: read as it says above
    List<uint8_t> read_;  // by number of what met
    List<Made> made_;
    List<Way> met_;
    List<Doubtful> doubtful_;
    List<uint64_t> places_;
    List<Slot> lost_;
    List<Value> put_;
    bool frame_is_known_ = false;  // somebody else has the frame's address
};

}  // namespace twin
