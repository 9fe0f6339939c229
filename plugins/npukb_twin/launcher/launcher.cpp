// Starts a program with less power than its caller has.
//
//   npukb-sandbox MEASURE... -- PROGRAM ARGUMENT...
//   npukb-sandbox --probe
//   npukb-sandbox --hold
//
// Measures, in any order; what is not asked for is left alone, and what is asked for and refused ends the launch:
//   --status FD         where to say why the program was not started; closed when it starts
//   --parent PID        die with this process
//   --limit NAME=N      AS, FSIZE, CORE, CPU, NOFILE or NPROC, as setrlimit has them
//   --namespaces        no capability, network or shared memory of the caller's
//   --read, --run, --change PATH   files or folders that can be reached (Landlock); without any, all can
//   --filter            no system calls that reach beyond the process
//   --children          the filter lets the program start others
//   --serve FD --stop PATH --made PATH [--large]   as a fork server, see forkserver.h
// The probe prints what this machine allows: `landlock N`, `filter 0|1`, `namespaces 0|1`. `--hold` makes namespaces,
// prints a line when it is in them, and stays until its input ends: others join them meanwhile.
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launcher/forkserver.h"
#include "launcher/measures.h"
#include "process/sandbox.h"

namespace {

// Whether `attempt` succeeds, tried in a child so that this process stays as it is.
bool Possible(bool (*attempt)()) {
    pid_t child = fork();
    if (child == 0) _exit(attempt() ? 0 : 1);
    int status = 1;
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

int Probe() {
    const bool files = Possible([] {
        const twin::Reachable root{"/", twin::Reach::Read};
        return twin::ConfineFiles(&root, 1);
    });
    printf("landlock %d\n", files ? twin::LandlockVersion() : 0);
    printf("filter %d\n", Possible([] { return twin::FilterCalls(twin::Children::Forbidden); }));
    printf("namespaces %d\n", Possible([] { return twin::LeaveNamespaces(); }));
    return 0;
}

int Hold() {
    if (!twin::LeaveNamespaces()) return 1;
    char input;
    return write(STDOUT_FILENO, "\n", 1) == 1 && read(STDIN_FILENO, &input, 1) == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 2 && strcmp(argv[1], "--probe") == 0) return Probe();
    if (argc == 2 && strcmp(argv[1], "--hold") == 0) return Hold();
    static launcher::Measures measures;
    char** program = launcher::Read(argv + 1, measures);
    if (*program == nullptr) {
        errno = EINVAL;
        launcher::Refuse("no program");
    }
    if (measures.control != nullptr) launcher::Serve(measures, program);
    launcher::Limit(measures);
    launcher::LeaveNamespaces(measures);
    launcher::Confine(measures);
    execv(*program, program);
    launcher::Refuse(*program);
}
