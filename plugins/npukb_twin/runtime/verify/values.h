// Names for what registers and stack slots hold: two places with the same name hold the same number.
//
// A value is a symbol and an offset to it. Symbols are numbered per function; the same operation on the same values has
// the same symbol, whatever is computed has one of its own.
#pragma once
#include <stdint.h>

#include "verify/list.h"

namespace twin {

struct Value {
    uint32_t symbol;
    int64_t offset;
    bool operator==(const Value& other) const { return symbol == other.symbol && offset == other.offset; }
    bool operator!=(const Value& other) const { return !(*this == other); }
    Value operator+(int64_t distance) const {
        return {symbol, static_cast<int64_t>(static_cast<uint64_t>(offset) + static_cast<uint64_t>(distance))};
    }
};

enum Symbol : uint32_t {
    kConstant,      // the offset is the number
    kFrame,         // the stack pointer when the function was entered: on x86-64 the return address lies there
    kAlignedFrame,  // the stack pointer after it was aligned, which a function does once
    kImage,         // where the image was loaded
    kPointerPlace,  // where the thread keeps the pointer of its second stack
    kEntered,       // and 39 more: registers when the function was entered
    kFirstOther = kEntered + 40,
};

enum class Origin : uint8_t {
    Built,     // one of those above
    Anything,  // a result that is not followed, or what the runtime returned
    Sealed,    // what lies at a place of the image that nobody writes
    Met,       // different values on different ways to the same place
    Seen,      // the second stack's pointer as the runtime has just checked it
    Aligned,   // Seen, aligned downwards
    Sum,
    Product,
    Extended,
    Used,  // a number for a value
};

class Symbols {
  public:
    Symbols();
    // The symbol for this operation; new where there was none.
    Value Of(Origin origin, uint64_t a, uint64_t b = 0, uint64_t c = 0, uint64_t d = 0, uint64_t e = 0);
    Origin OriginOf(uint32_t symbol) const { return symbol < kFirstOther ? Origin::Built : keys_[symbol].origin; }

    Value Add(Value a, Value b);
    Value Times(Value a, int64_t factor);
    // The lowest bytes of a value, as wide as a register again.
    Value Extend(Value a, uint8_t bytes, bool is_signed, uint8_t width);

  private:
    struct Key {
        Origin origin;
        uint64_t words[5];
    };
    void Grow();
    List<Key> keys_;        // by symbol
    List<uint32_t> found_;  // symbols by their keys' hashes; 0 where there is none
};

}  // namespace twin
