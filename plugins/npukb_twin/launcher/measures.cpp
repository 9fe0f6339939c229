// The words for measures, and how each is taken.
#include "launcher/measures.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

namespace launcher {

int g_status = STDERR_FILENO;

void Refuse(const char* what) {
    dprintf(g_status, "%s: %s\n", what, strerror(errno));
    _exit(125);
}

namespace {

[[noreturn]] void RefuseWords() {
    errno = EINVAL;
    Refuse("the launcher's arguments");
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

// The places of words that have a value of their own; null for every other.
const char** TextOf(const char* name, Measures& measures) {
    if (strcmp(name, "--serve") == 0) return &measures.control;
    if (strcmp(name, "--stop") == 0) return &measures.stop;
    if (strcmp(name, "--made") == 0) return &measures.made;
    if (strcmp(name, "--limit") != 0) return nullptr;
    if (measures.limit_count == kMaxLimits) RefuseWords();
    return &measures.limits[measures.limit_count++];
}

}  // namespace

char** Read(char** word, Measures& measures) {
    for (; *word != nullptr; ++word) {
        const char* name = *word;
        if (strcmp(name, "--") == 0) return word + 1;
        if (strcmp(name, "--namespaces") == 0)
            measures.namespaces = true;
        else if (strcmp(name, "--filter") == 0)
            measures.filter = true;
        else if (strcmp(name, "--large") == 0)
            measures.large = true;
        else if (strcmp(name, "--children") == 0)
            measures.children = twin::Children::Allowed;
        else if (word[1] == nullptr)
            RefuseWords();
        else if (const char* value = *++word; const char** text = TextOf(name, measures))
            *text = value;
        else if (strcmp(name, "--status") == 0)
            fcntl(g_status = atoi(value), F_SETFD, FD_CLOEXEC);
        else if (strcmp(name, "--parent") == 0)
            measures.parent = atoi(value);
        else {
            const bool run = strcmp(name, "--run") == 0, change = strcmp(name, "--change") == 0;
            if ((!run && !change && strcmp(name, "--read") != 0) || measures.file_count == kMaxPaths) RefuseWords();
            measures.files[measures.file_count++] = {value, change ? twin::Reach::Change
                                                            : run  ? twin::Reach::Run
                                                                   : twin::Reach::Read};
        }
    }
    return word;
}

void Limit(const Measures& measures) {
    for (size_t i = 0; i < measures.limit_count; ++i) Limit(measures.limits[i]);
}

void LeaveNamespaces(const Measures& measures) {
    if (measures.namespaces && !twin::LeaveNamespaces()) Refuse("namespaces");
}

void Confine(const Measures& measures) {
    if (measures.parent != 0 && !twin::DieWith(measures.parent)) _exit(125);
    if (measures.file_count != 0 && !twin::ConfineFiles(measures.files, measures.file_count)) Refuse("Landlock");
    if (measures.filter && !twin::FilterCalls(measures.children)) Refuse("seccomp");
}

}  // namespace launcher
