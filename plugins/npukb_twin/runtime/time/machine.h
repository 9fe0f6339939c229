// Numbers of one SoC. They come from the machine file of the plugin; nothing here has a default worth trusting.
#pragma once
#include <stdint.h>
#include <string.h>

#include "../../include/twin/abi.h"

namespace twin {

inline const char* const kVectorInstructions[] = {
#define NPUKB_INSTRUCTION(name, ...) #name,
#include "../../include/twin/instructions.def"
};
inline constexpr int kVectorInstructionCount = sizeof kVectorInstructions / sizeof *kVectorInstructions;

struct Machine {
#define NPUKB_NUMBER(name) double name = 0;
#define NPUKB_SIZE(name) uint32_t name = 0;
#include "time/machine.def"
    // Elements per cycle of vector instructions, for types of 16 and of 32 bits, where a machine file says otherwise
    // than the instruction table; 0 where it does not.
    double rates[kVectorInstructionCount][2] = {};

    // Sets the number called `key`. Returns whether there is one.
    bool Set(const char* key, double value) {
#define NPUKB_NUMBER(name) \
    if (strcmp(key, #name) == 0) return name = value, true;
#define NPUKB_SIZE(name) \
    if (strcmp(key, #name) == 0) return name = static_cast<uint32_t>(value), true;
#include "time/machine.def"
        return SetRate(key, value);
    }
    // The same for `Add.b16` and its kind.
    bool SetRate(const char* key, double value) {
        const char* dot = strchr(key, '.');
        if (dot == nullptr || (strcmp(dot, ".b16") != 0 && strcmp(dot, ".b32") != 0)) return false;
        auto length = static_cast<size_t>(dot - key);
        for (int i = 0; i < kVectorInstructionCount; ++i) {
            const char* name = kVectorInstructions[i];
            if (strlen(name) != length || strncmp(name, key, length) != 0) continue;
            return rates[i][dot[2] == '3'] = value, true;
        }
        return false;
    }
};

}  // namespace twin
