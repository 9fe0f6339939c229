// A fork server: a program is started once, up to where it opens a certain file; copies of it do the work from there.
//
// A compiler that starts anew for every kernel spends a quarter of its time on what is the same each time: loading
// itself, reading its options and the precompiled header. Here it is loaded into a process of ours (program.h), which
// is told of each file that it opens. At `--stop PATH` the process waits for requests; each request is a copy (fork),
// confined like a program that the launcher starts, for which the open goes on. What it had opened to write before,
// `--made PATH`, is the copy's own file of that name. With `--large`, the program's code and what memory it asks for
// lie in large pages: a fifth less time for a compiler, whose copies otherwise wait for their pages, and a hundred
// megabytes.
//
// A request is one message on the socket `--serve FD`: words for measures (measures.h), each ended by a zero byte, the
// first the folder to work in; and two descriptors, a socket for the answer and what standard output and error become.
// The answer is "ended RETURNCODE\n", or why the copy could not be confined. Whoever closes his end of it
// kills the copy. The server ends when nobody holds the other end of its own socket.
#pragma once
#include "launcher/measures.h"

namespace launcher {

// Does not return.
[[noreturn]] void Serve(const Measures& measures, char** program);

}  // namespace launcher
