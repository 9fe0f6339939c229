// Bounds-checked copies and printing. Each returns 0 (EOK) or says that the destination is too small.
#pragma once
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
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
inline errno_t strncpy_s(char* to, size_t room, const char* from, size_t count) {
    if (to == nullptr || from == nullptr) return EINVAL;
    size_t length = strnlen(from, count);
    if (length >= room) return ERANGE;
    memcpy(to, from, length);
    to[length] = '\0';
    return EOK;
}
inline errno_t strncat_s(char* to, size_t room, const char* from, size_t count) {
    if (to == nullptr || from == nullptr) return EINVAL;
    size_t used = strnlen(to, room);
    return used == room ? ERANGE : strncpy_s(to + used, room - used, from, count);
}
inline errno_t strcat_s(char* to, size_t room, const char* from) { return strncat_s(to, room, from, SIZE_MAX); }
// Characters that were written; -1 where they do not fit.
inline int vsprintf_s(char* to, size_t room, const char* format, va_list values) {
    int length = to == nullptr ? -1 : vsnprintf(to, room, format, values);
    return length < 0 || static_cast<size_t>(length) >= room ? -1 : length;
}
inline int vsnprintf_s(char* to, size_t room, size_t, const char* format, va_list values) {
    return vsprintf_s(to, room, format, values);
}
#define snprintf_s(to, room, count, ...) snprintf((to), (room), __VA_ARGS__)
#define sprintf_s(to, room, ...) snprintf((to), (room), __VA_ARGS__)
