// What kernels on the stand-in include in place of the toolkit's header. It brings nothing of C++'s library, since
// <cmath> alone takes the compiler five times as long as the rest; tests that need a root call __builtin_sqrtf.
#pragma once
#include <cstdint>
#define __global__
#define __aicore__
#define GM_ADDR uint8_t*
inline thread_local uint32_t standin_blocks = 0;
extern "C" {
void standin_raise(int code) __attribute__((weak));   // the device reports this code
void standin_hang() __attribute__((weak));            // the kernel does not end
void standin_spend(double us) __attribute__((weak));  // how long the kernel takes
void standin_launch(const char* kernel) __attribute__((weak));
void standin_launched() __attribute__((weak));
}
// Brackets of a launch: before and after the kernel's own code.
struct StandinLaunch {
    explicit StandinLaunch(const char* kernel) {
        if (standin_launch) standin_launch(kernel);
    }
    ~StandinLaunch() {
        if (standin_launched) standin_launched();
    }
};
