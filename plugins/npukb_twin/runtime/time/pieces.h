// Pieces of a function's code. A piece is what runs from one announcement to the runtime until the next: the compiler
// announces what is a piece to the program, but what it makes of one may hold jumps of its own, as choices between
// bytes, atomic operations and comparisons of a switch do. So a piece is an announced block and every block that is
// reached from it without another announcement.
#pragma once
#include <stdint.h>

#include "time/machine_code.h"
#include "verify/list.h"

namespace twin {

// What a call in the code leads to.
enum class Callee : uint8_t { Other, Announcement, Check, Library };

// Asks an image what lies at `code`: what a call leads to, how many operations that is where it leads to a function of
// <cmath>, and whether the instruction does nothing but make an address.
struct Callees {
    const void* image;
    Callee (*at)(const void* image, const uint8_t* code);
    uint32_t (*price_at)(const void* image, const uint8_t* code);
    bool (*makes_address)(const void* image, const uint8_t* code);
    Callee At(const uint8_t* code) const { return at(image, code); }
    uint32_t PriceAt(const uint8_t* code) const { return price_at(image, code); }
    bool MakesAddress(const uint8_t* code) const { return makes_address(image, code); }
};

struct Piece {
    uint32_t behind;  // where its announcement returns to, from the function's beginning
    uint32_t operations;
};

// Code that no announcement vouches for.
enum class Untold : uint8_t {
    None,
    Unreadable,  // bytes that are no known instruction
    Begins,      // a way through the function on which it computes or decides, and announces nothing
    Loops,       // goes round without an announcement, and not as an atomic operation does
};

struct PiecesOfCode {
    List<Piece> found;
    Untold untold = Untold::None;
    uint32_t place = 0;  // of what is untold, from the function's beginning
};

PiecesOfCode WeighPieces(Processor processor, const uint8_t* code, uint64_t bytes, const Callees& callees);

}  // namespace twin
