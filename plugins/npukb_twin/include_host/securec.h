// Bounds-checked copies and printing. Each returns 0 (EOK) or says that the destination is too small.
#pragma once
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>

using errno_t = int;
#ifndef EOK
#define EOK 0
#endif

inline errno_t memcpy_s(void* to, size_t room, const void* from, size_t count) {
    if (to == nullptr || from == nullptr) return EINVAL;
    if (count > room) return ERANGE;
    memcpy(to, from, count);
    return EOK;
}
inline errno_t memmove_s(void* to, size_t room, const void* from, size_t count) {
    if (to == nullptr || from == nullptr) return EINVAL;
    if (count > room) return ERANGE;
    memmove(to, from, count);
    return EOK;
}
inline errno_t memset_s(void* to, size_t room, int value, size_t count) {
    if (to == nullptr) return EINVAL;
    if (count > room) return ERANGE;
    memset(to, value, count);
    return EOK;
}
inline errno_t strcpy_s(char* to, size_t room, const char* from) {
    return memcpy_s(to, room, from, from == nullptr ? 0 : strlen(from) + 1);
}
#define snprintf_s(to, room, count, ...) snprintf((to), (room), __VA_ARGS__)
#define sprintf_s(to, room, ...) snprintf((to), (room), __VA_ARGS__)
