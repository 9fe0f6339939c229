// Divisions that x86 processors refuse to do.
#pragma once

namespace twin {

// The scalar unit of an AI core does not trap on a division of integers by zero, and neither do ARM hosts: the quotient
// is 0 there and the remainder the dividend. On x86 the processor raises SIGFPE. Given the context of that signal, does
// what ARM does and steps over the instruction; false when it is no such division.
bool StepOverDivision(void* context);

}  // namespace twin
