// What a kernel's process may not do.
#pragma once

namespace twin {

// From now on this process can start no other program or process, leave its session, or open a socket: such calls fail.
// A kernel that tries cannot outlive its launch. Does nothing where the operating system has no such filter.
void ForbidProcesses();

}  // namespace twin
