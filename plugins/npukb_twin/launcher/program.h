// A statically linked program that runs inside this process, with the files that it opens told to us.
#pragma once

namespace launcher {

// The program is about to open `path` to read; it opens what the returned path names.
using Opening = const char* (*)(const char* path);
// It has opened `path` to write.
using Opened = void (*)(const char* path, int descriptor);

// Loads `program[0]`, whose arguments are `program`, and starts it as the operating system would; returns only when
// that is not possible, with errno set. x86-64 only: elsewhere it is never possible.
// With `large`, its code and its memory lie in large pages of this process's own.
void RunInside(char** program, Opening opening, Opened opened, bool large);

}  // namespace launcher
