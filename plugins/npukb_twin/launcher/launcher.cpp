// Starts a program with less power than its caller has.
//
//   npukb-sandbox MEASURE... -- PROGRAM ARGUMENT...
//   npukb-sandbox --probe
//
// Measures, in any order; what is not asked for is left alone, and what is asked for and refused ends the launch:
//   --status FD         where to say why the program was not started; closed when it starts
//   --parent PID        die with this process
//   --limit NAME=N      AS, FSIZE, CORE, CPU, NOFILE or NPROC, as setrlimit has them
//   --namespaces        no capability, network or shared memory of the caller's
//   --read, --run, --change PATH   files or folders that can be reached (Landlock); without any, all can
//   --filter            no system calls that reach beyond the process
//   --children          the filter lets the program start others
// The probe prints what this machine allows: `landlock N`, `filter 0|1`, `namespaces 0|1`.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/sandbox.h"

namespace {

constexpr size_t kMaxPaths = 128;

struct Wanted {
    twin::Reachable files[kMaxPaths];
    size_t count = 0;
    pid_t parent = 0;
    bool namespaces = false, filter = false;
    twin::Children children = twin::Children::Forbidden;
};

int g_status = STDERR_FILENO;

[[noreturn]] void Refuse(const char* what) {
    dprintf(g_status, "%s: %s\n", what, strerror(errno));
    _exit(125);
}

void Limit(const char* text) {
    struct {
        const char* name;
        int resource;
    } const table[] = {{"AS", RLIMIT_AS},   {"FSIZE", RLIMIT_FSIZE},   {"CORE", RLIMIT_CORE},
                       {"CPU", RLIMIT_CPU}, {"NOFILE", RLIMIT_NOFILE}, {"NPROC", RLIMIT_NPROC}};
    const char* equals = strchr(text, '=');
    for (const auto& row : table) {
        size_t length = strlen(row.name);
        if (equals == nullptr || static_cast<size_t>(equals - text) != length || strncmp(text, row.name, length) != 0)
            continue;
        auto value = static_cast<rlim_t>(strtoull(equals + 1, nullptr, 10));
        auto resource = static_cast<__rlimit_resource_t>(row.resource);
        const rlim_t grace = row.resource == RLIMIT_CPU ? 1 : 0;  // so that its end tells what ended it
        rlimit limit{value, value + grace}, before{};
        if (getrlimit(resource, &before) == 0 && before.rlim_max < value) limit = {before.rlim_max, before.rlim_max};
        if (setrlimit(resource, &limit) != 0) Refuse(text);
        return;
    }
    errno = EINVAL;
    Refuse(text);
}

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
    printf("namespaces %d\n", Possible(twin::LeaveNamespaces));
    return 0;
}

char** Read(char** word, Wanted& wanted) {
    for (; *word != nullptr; ++word) {
        const char* name = *word;
        if (strcmp(name, "--") == 0) return word + 1;
        if (strcmp(name, "--namespaces") == 0)
            wanted.namespaces = true;
        else if (strcmp(name, "--filter") == 0)
            wanted.filter = true;
        else if (strcmp(name, "--children") == 0)
            wanted.children = twin::Children::Allowed;
        else if (word[1] == nullptr)
            break;
        else if (const char* value = *++word; strcmp(name, "--status") == 0)
            fcntl(g_status = atoi(value), F_SETFD, FD_CLOEXEC);
        else if (strcmp(name, "--parent") == 0)
            wanted.parent = atoi(value);
        else if (strcmp(name, "--limit") == 0)
            Limit(value);
        else {
            const bool run = strcmp(name, "--run") == 0, change = strcmp(name, "--change") == 0;
            if ((!run && !change && strcmp(name, "--read") != 0) || wanted.count == kMaxPaths) break;
            wanted.files[wanted.count++] = {value, change ? twin::Reach::Change
                                                   : run  ? twin::Reach::Run
                                                          : twin::Reach::Read};
        }
    }
    errno = EINVAL;
    Refuse("the launcher's arguments");
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 2 && strcmp(argv[1], "--probe") == 0) return Probe();
    Wanted wanted;
    char** program = Read(argv + 1, wanted);
    if (*program == nullptr) {
        errno = EINVAL;
        Refuse("no program");
    }
    if (wanted.namespaces && !twin::LeaveNamespaces()) Refuse("namespaces");
    if (wanted.parent != 0 && !twin::DieWith(wanted.parent)) _exit(125);
    if (wanted.count != 0 && !twin::ConfineFiles(wanted.files, wanted.count)) Refuse("Landlock");
    if (wanted.filter && !twin::FilterCalls(wanted.children)) Refuse("seccomp");
    execv(*program, program);
    Refuse(*program);
}
