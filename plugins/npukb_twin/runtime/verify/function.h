// The proof for one function: what its registers and its frame hold is followed along every way through it.
#pragma once
#include <stdint.h>

#include "time/machine_code.h"
#include "verify/image.h"
#include "verify/list.h"

namespace twin {

// What a call of the runtime means to the proof.
enum class ImportKind : uint8_t {
    None,  // no import lies there
    Other,
    Announce,      // an access of so many bytes to the address in the first argument; 0: the second one says
                   // how many
    Count,         // announces a piece of code
    Fill,          // writes as many bytes as the third argument says, and checks it itself
    PointerPlace,  // checks the second stack's pointer, and says where it lies
    Computed,      // goes on at an address that it checks: any function of the image
};

struct Import {
    ImportKind kind = ImportKind::None;
    uint8_t bytes = 0;
    bool write = false;
};

// What an image is to the functions in it. Places are offsets from its beginning.
class Surroundings {
  public:
    virtual Processor Code() const = 0;
    virtual const uint8_t* CodeAt(uint64_t place) const = 0;
    virtual bool Holds(uint64_t place, uint64_t bytes) const = 0;
    virtual bool Writable(uint64_t place, uint64_t bytes) const = 0;
    // Whether nobody writes there once the image is loaded.
    virtual bool Sealed(uint64_t place, uint64_t bytes) const = 0;
    virtual Import ImportAt(uint64_t place) const = 0;
    // Whether a function begins there; `argument_bytes` is how much of its caller's stack it writes.
    virtual bool Begins(uint64_t place, uint32_t* argument_bytes) const = 0;
    // The most that any function writes of its caller's stack.
    virtual uint32_t MostArgumentBytes() const = 0;

  protected:
    ~Surroundings() = default;
};

// What was found out about a function.
struct Findings {
    uint32_t argument_bytes;   // how much of its caller's stack it writes
    List<uint64_t> addresses;  // places of instructions that do nothing but make addresses (verify/uses.h), in order
};

Verdict VerifyFunction(const Surroundings& image, uint64_t begin, uint64_t bytes, Findings* findings);

}  // namespace twin
