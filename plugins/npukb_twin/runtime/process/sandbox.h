// What a process that runs a stranger's code may not do. Nothing here can be undone by the process itself.
#pragma once
#include <stddef.h>

namespace twin {

// The version of Landlock that the operating system has, 0 without it.
int LandlockVersion();

enum class Reach { Read, Run, Change };  // each includes those before it

struct Reachable {
    const char* path;
    Reach reach;
};

// From now on this process and its children reach these files and folders only, no TCP port and, from version 6 on, no
// process outside. What is not there is left out. False when the operating system refuses.
bool ConfineFiles(const Reachable* files, size_t count);

// Behind the name of an image: the one that says what it counts (time/reference.h).
inline constexpr char kReferenceSuffix[] = ".counted";

// From now on this process reads the images it is about to load, what belongs to them, and shared libraries. One that
// is not there is left out.
bool ConfineToImages(const char* image, const char* other = "-");

enum class Children { Forbidden, Allowed };

// From now on this process and its children cannot trace or signal others, open sockets, load code into the kernel,
// change the machine's state or leave their session; without children, they cannot start processes either. False when
// refused.
bool FilterCalls(Children children);

// From now on this process can start no other program or process, leave its session, or open a socket: such calls fail.
// A kernel that tries cannot outlive its launch. False where the operating system has no such filter.
bool ForbidProcesses();

// From now on this process has no capability, network or shared memory of its caller's. False when refused. The text
// lists descriptors of namespaces to join, those for users first; where it lists none, this process makes its own.
bool LeaveNamespaces(const char* descriptors = "");

// From now on this process dies with the one that started it, which has this number. False when it has gone already.
bool DieWith(int parent);

}  // namespace twin
