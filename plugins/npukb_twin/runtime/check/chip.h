// What the launch's chip lacks of the tables. They are written for NPU architecture 2201; a chip of another one has a
// column (machines/columns), and the launch file lists what of the tables is not in it. No column, no list, no check.
#pragma once
#include <stdint.h>

#include "../../include/twin/abi.h"

namespace twin {

struct Core;

class Chip {
  public:
    // One directive: NAME DST SRC MODES MESSAGE. Types are those of npukb::DType by name, or * for any; of MODES, each
    // bit is one that is lacking, 0 all. Returns whether that was understood and there was room.
    bool Lack(const char* text);
    // Ends the block when the chip lacks this instruction, on these types or in this mode.
    void Check(Core& core, const npukb::VectorInstruction& v, const void* pc) const;
    // The same for a function that is no row of the table.
    void Check(Core& core, const char* name, npukb::DType type, const void* pc) const;

  private:
    static constexpr int kMost = 512, kAny = -1;
    struct Absence {
        char name[48];
        int op;  // of Op, kAny for a function
        int dst, src;
        uint32_t modes;
        char message[240];
    };
    [[noreturn]] static void Refuse(Core& core, const Absence& absence, const void* pc);
    Absence absences_[kMost];
    int count_ = 0;
};

}  // namespace twin
