// What a program is started with less of: read from words, taken from the process that becomes the program.
#pragma once
#include <stddef.h>
#include <sys/types.h>

#include "process/sandbox.h"

namespace launcher {

inline constexpr size_t kMaxPaths = 128, kMaxLimits = 16;

struct Measures {
    twin::Reachable files[kMaxPaths]{};
    const char* limits[kMaxLimits]{};
    size_t file_count = 0, limit_count = 0;
    pid_t parent = 0;
    bool namespaces = false, filter = false;
    twin::Children children = twin::Children::Forbidden;
    const char *control = nullptr, *stop = nullptr, *made = nullptr;  // of a fork server
    bool large = false;
};

// Where to say why a program is not started: standard error, until a word names another descriptor.
extern int g_status;
[[noreturn]] void Refuse(const char* what);

// Adds what the words ask for, up to "--" or the end; returns what stands behind it, the end if nothing does.
char** Read(char** word, Measures& measures);

// Each ends the process where the operating system refuses it.
void Limit(const Measures& measures);
void LeaveNamespaces(const Measures& measures);
void Confine(const Measures& measures);

}  // namespace launcher
