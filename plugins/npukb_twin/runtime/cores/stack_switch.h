// From one stack to another.
#pragma once

namespace twin {

// Saves the callee-saved registers and the stack pointer into *from, then continues where `to` was left.
extern "C" void npukb_switch(void** from, void* to);

// What a stack holds that has not run yet: room for the registers, and in it the address to begin at.
#if defined(__x86_64__)
inline constexpr int kFrameWords = 8;  // six registers, the return address, and one word that keeps calls aligned
inline constexpr int kReturnWord = 6;
#else
inline constexpr int kFrameWords = 22;
inline constexpr int kReturnWord = 11;
#endif

}  // namespace twin
