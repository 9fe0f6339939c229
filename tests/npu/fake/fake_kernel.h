// What kernels of the tests include instead of a vendor's header.
#pragma once
#include <cmath>
#include <cstdint>
#define __global__
#define __aicore__
#define GM_ADDR uint8_t*
inline thread_local uint32_t fake_blocks = 0;
extern "C" void fake_acl_raise(int code) __attribute__((weak));
