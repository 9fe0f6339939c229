// What the generated programs of the tests include instead of the vendor's header.
#pragma once
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
typedef void* aclrtStream;
enum { ACL_MEM_MALLOC_HUGE_FIRST = 0 };
enum { ACL_MEMCPY_HOST_TO_DEVICE = 1, ACL_MEMCPY_DEVICE_TO_HOST = 2 };
int aclInit(const char*);
int aclrtSetDevice(int32_t);
int aclrtCreateStream(aclrtStream*);
int aclrtMalloc(void**, size_t, int);
int aclrtMemcpy(void*, size_t, const void*, size_t, int);
static inline int aclrtSynchronizeStream(aclrtStream stream) {
    int aclrtSynchronizeStreamWithTimeout(void*, int32_t);
    return aclrtSynchronizeStreamWithTimeout(stream, -1);
}
#ifdef __cplusplus
}
#endif
