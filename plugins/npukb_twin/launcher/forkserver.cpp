// The server's loop, and what a copy does before it goes on.
#include "launcher/forkserver.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launcher/program.h"

namespace launcher {
namespace {

constexpr size_t kMaxCopies = 64, kMaxWords = 64, kMessageBytes = 16384;
constexpr long kPidfdOpen = 434;
constexpr int kLookAfterParentMs = 5000;

struct Copy {
    pid_t pid;
    int ended, answer;  // a descriptor of the process, and the socket of its request
};

Measures g_measures;
Copy g_copies[kMaxCopies];
size_t g_count;
int g_control = -1, g_made = -1;
bool g_is_copy;

struct Request {
    char text[kMessageBytes]{};
    char* words[kMaxWords + 1]{};
    int answer = -1, output = -1;
};

// Reads the next request; false when nobody can make one any more.
bool Receive(Request& request) {
    alignas(cmsghdr) char room[CMSG_SPACE(2 * sizeof(int))];
    iovec text{request.text, sizeof request.text - 1};
    msghdr message{};
    message.msg_iov = &text;
    message.msg_iovlen = 1;
    message.msg_control = room;
    message.msg_controllen = sizeof room;
    const ssize_t length = recvmsg(g_control, &message, MSG_CMSG_CLOEXEC);
    if (length <= 0) return false;
    request.text[length] = '\0';
    size_t count = 0;
    for (char* word = request.text; word < request.text + length && count < kMaxWords; word += strlen(word) + 1)
        request.words[count++] = word;
    request.words[count] = nullptr;
    const cmsghdr* passed = CMSG_FIRSTHDR(&message);
    if (count == 0 || passed == nullptr || passed->cmsg_len != CMSG_LEN(2 * sizeof(int))) return false;
    int descriptors[2];
    memcpy(descriptors, CMSG_DATA(passed), sizeof descriptors);
    request.answer = descriptors[0];
    request.output = descriptors[1];
    return true;
}

// In the copy: nothing of the server's is left to it but its memory.
void Become(Request& request, pid_t server) {
    g_is_copy = true;
    close(g_control);
    for (size_t i = 0; i < g_count; ++i) {
        close(g_copies[i].ended);
        close(g_copies[i].answer);
    }
    g_status = request.answer;
    if (setsid() < 0 || chdir(*request.words) != 0) Refuse(*request.words);
    dup2(request.output, STDOUT_FILENO);
    dup2(request.output, STDERR_FILENO);
    close(request.output);
    if (g_made >= 0) {
        const int made = open(g_measures.made, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        if (made < 0 || dup3(made, g_made, O_CLOEXEC) < 0) Refuse(g_measures.made);
        close(made);
    }
    Read(request.words + 1, g_measures);
    g_measures.parent = server;
    Limit(g_measures);
    Confine(g_measures);
    close(request.answer);
}

// False in the copy.
bool Start(Request& request) {
    const pid_t server = getpid(), copy = fork();
    if (copy == 0) {
        Become(request, server);
        return false;
    }
    close(request.output);
    const int ended = copy < 0 ? -1 : static_cast<int>(syscall(kPidfdOpen, copy, 0));
    if (ended < 0) Refuse("a copy");  // the server's end is that of its copies, and is seen by who waits for them
    g_copies[g_count++] = {copy, ended, request.answer};
    return true;
}

void Answer(Copy& copy) {
    int status = 0;
    waitpid(copy.pid, &status, 0);
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    char text[32];
    const int length = snprintf(text, sizeof text, "ended %d\n", code);
    send(copy.answer, text, static_cast<size_t>(length), MSG_NOSIGNAL);
    close(copy.answer);
    close(copy.ended);
    copy = g_copies[--g_count];
}

void Kill(const Copy& copy) {
    kill(-copy.pid, SIGKILL);
    kill(copy.pid, SIGKILL);
}

// Waits for requests and starts copies; returns in each of them.
void WaitForRequests() {
    static Request request;
    const pid_t parent = getppid();
    for (;;) {
        pollfd looked[1 + 2 * kMaxCopies];
        looked[0] = {g_count < kMaxCopies ? g_control : -1, POLLIN, 0};
        for (size_t i = 0; i < g_count; ++i) {
            looked[1 + 2 * i] = {g_copies[i].ended, POLLIN, 0};
            looked[2 + 2 * i] = {g_copies[i].answer, POLLRDHUP, 0};
        }
        poll(looked, 1 + 2 * g_count, kLookAfterParentMs);
        if (getppid() != parent) _exit(0);  // its copies end with it
        for (size_t i = g_count; i-- > 0;) {
            if (looked[1 + 2 * i].revents != 0)
                Answer(g_copies[i]);
            else if (looked[2 + 2 * i].revents != 0)
                Kill(g_copies[i]);
        }
        if (looked[0].revents == 0) continue;
        if (!Receive(request)) _exit(0);
        if (!Start(request)) return;
    }
}

const char* BeforeOpening(const char* path) {
    if (g_is_copy) return path;
    if (strcmp(path, g_measures.stop) == 0) WaitForRequests();
    return strcmp(path, g_measures.made) == 0 ? "/dev/null" : path;
}

void AfterOpening(const char* path, int descriptor) {
    if (!g_is_copy && strcmp(path, g_measures.made) == 0) g_made = descriptor;
}

}  // namespace

void Serve(const Measures& measures, char** program) {
    g_measures = measures;
    g_control = atoi(measures.control);
    if (measures.stop == nullptr || measures.made == nullptr) {
        errno = EINVAL;
        Refuse("a fork server without a place to stop");
    }
    LeaveNamespaces(measures);
    RunInside(program, BeforeOpening, AfterOpening, measures.large);
    Refuse(*program);
}

}  // namespace launcher
