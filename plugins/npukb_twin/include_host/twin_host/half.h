// A half as large as the kernel's, for host code that asks for its size and has none of its own.
#pragma once
#include <cstdint>
struct half {
    uint16_t bits;
};
