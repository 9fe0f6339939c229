// Whether a kernel's image can do harm to the process it is loaded into: read from its file, before any of it runs.
//
// Nothing is believed of the compiler. What is shown of every function, on every way through it:
// - it writes its own frame, the image's variables, the part of the second stack that it has taken, and what it has
//   announced just before, at the very address and for the very size (check/raw_access.h refuses what is not the
//   kernel's);
// - what it reads elsewhere is announced likewise, so that it is paid for;
// - it goes on inside itself, at the beginning of functions of the image, or in the linker's table of imports;
// - it returns to its caller, with the caller's registers and stack as they were;
// - it consists of instructions that are known to do nothing else (verify/effects.h);
// - whatever it computes is counted (time/pieces.h).
// The loader's tables may add the image's place to its variables, and start whole functions.
#pragma once
#include <stdint.h>

#include "time/pieces.h"
#include "verify/list.h"

namespace twin {

// Why an image is refused. Tables of the loader that no linker makes of a kernel are a forgery, instructions that no
// device has are the kernel's fault, and what could not be shown of plain code may be a lack of this proof.
enum class Refusal : uint8_t { None, Forged, Foreign, Unproven };

struct Verdict {
    Refusal refusal = Refusal::None;
    const char* reason = nullptr;
    uint64_t place = 0;  // of the instruction, from the image's beginning; 0 where it is none
};

// `addresses` becomes, in order, where instructions lie that only make addresses: none of them is the program's work.
Verdict VerifyImage(const char* path, List<uint64_t>* addresses);

// Gets the name of a function, where it begins, and what it announces; a function with several names several times.
struct Weighed {
    void* context;
    void (*visit)(void* context, const char* name, uint64_t begin, const PiecesOfCode& pieces);
};

// What the pieces of every function hold (time/pieces.h), read from the file: of an image of any processor. `addresses`
// are what VerifyImage found; null: whatever may be an address is one. A file that is no kernel's image has no
// functions.
void WeighImage(const char* path, const List<uint64_t>* addresses, const Weighed& weighed);

}  // namespace twin
