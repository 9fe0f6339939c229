// A fake of the runtime library for tests: device memory is host memory, a kernel runs when it is launched. Nothing of
// this is a device, and the product does not ship it. ASCEND_FAKE_* in the environment decides what goes wrong.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int g_raised;
static char g_words[64];

static int asked(const char* name) {
    const char* text = getenv(name);
    return text == NULL ? 0 : atoi(text);
}

// Kernels call this to fail at the next synchronisation, as a device reports a fault.
void fake_acl_raise(int code) {
    g_raised = code;
    strcpy(g_words, "the fake device was told to fail");
}

int aclInit(const char* path) { (void)path; return asked("ASCEND_FAKE_INIT"); }
int aclFinalize(void) { return 0; }
int aclrtGetVersion(int32_t* major, int32_t* minor, int32_t* patch) { *major = 1, *minor = 13, *patch = 0; return 0; }
int aclrtSetDevice(int32_t device) { (void)device; return 0; }
int aclrtResetDevice(int32_t device) { (void)device; return 0; }
int aclrtResetDeviceForce(int32_t device) { (void)device; return 0; }
int aclrtGetDeviceCount(uint32_t* count) { *count = 1; return 0; }
const char* aclrtGetSocName(void) { return "Fake910"; }
int aclrtQueryDeviceStatus(int32_t device, int* status) { (void)device; *status = asked("ASCEND_FAKE_STATUS"); return 0; }
int aclrtGetDeviceInfo(uint32_t device, int attribute, int64_t* value) {
    (void)device;
    *value = attribute == 201 ? 4 : attribute == 102 ? 2 : 1 << 16;
    return 0;
}
int aclrtCreateStream(void** stream) { *stream = malloc(1); return 0; }
int aclrtDestroyStreamForce(void* stream) { free(stream); return 0; }
int aclrtSynchronizeStreamWithTimeout(void* stream, int32_t timeout) {
    (void)stream, (void)timeout;
    int code = g_raised;
    g_raised = 0;
    return code;
}
int aclrtMalloc(void** address, size_t size, int policy) {
    (void)policy;
    if (asked("ASCEND_FAKE_OOM") && size > (size_t)asked("ASCEND_FAKE_OOM")) return 207001;
    *address = malloc(size);
    return 0;
}
int aclrtFree(void* address) { free(address); return 0; }
int aclrtMemcpy(void* to, size_t most, const void* from, size_t size, int kind) {
    (void)kind;
    if (size > most) return 107000;
    memcpy(to, from, size);
    return 0;
}
int aclrtMemset(void* address, size_t most, int32_t value, size_t size) {
    if (size > most) return 107000;
    memset(address, value, size);
    return 0;
}
int aclrtCreateEventWithFlag(void** event, uint32_t flag) { (void)flag; *event = calloc(1, sizeof(struct timespec)); return 0; }
int aclrtRecordEvent(void* event, void* stream) { (void)stream; clock_gettime(CLOCK_MONOTONIC, event); return 0; }
int aclrtDestroyEvent(void* event) { free(event); return 0; }
int aclrtEventElapsedTime(float* ms, void* start, void* end) {
    struct timespec *a = start, *b = end;
    *ms = (float)((double)(b->tv_sec - a->tv_sec) * 1e3 + (double)(b->tv_nsec - a->tv_nsec) / 1e6);
    return 0;
}
const char* aclGetRecentErrMsg(void) { return g_words; }

// The library of argument descriptions: a tensor is its address and its number of elements.
typedef struct { void* address; int64_t count; int dtype; } FakeTensor;
void* aclCreateTensor(const int64_t* dims, uint64_t rank, int dtype, const int64_t* strides, int64_t offset, int format,
                      const int64_t* storage, uint64_t storageRank, void* data) {
    (void)strides, (void)offset, (void)format, (void)storage, (void)storageRank;
    FakeTensor* tensor = malloc(sizeof *tensor);
    tensor->address = data, tensor->count = 1, tensor->dtype = dtype;
    for (uint64_t i = 0; i < rank; ++i) tensor->count *= dims[i];
    return tensor;
}
typedef struct { void** members; uint64_t count; } FakeList;
static void* list(void* const* members, uint64_t count) {
    FakeList* made = malloc(sizeof *made);
    made->members = malloc(sizeof(void*) * (count + 1)), made->count = count;
    memcpy(made->members, members, sizeof(void*) * count);
    return made;
}
void* aclCreateTensorList(void* const* members, uint64_t count) { return list(members, count); }
void* aclCreateScalarList(void* const* members, uint64_t count) { return list(members, count); }
typedef struct { uint64_t bits; int dtype; } FakeScalar;
void* aclCreateScalar(void* value, int dtype) {
    FakeScalar* scalar = calloc(1, sizeof *scalar);
    memcpy(&scalar->bits, value, 4), scalar->dtype = dtype;
    return scalar;
}
typedef struct { const void* values; uint64_t count; } FakeArray;
static void* array(const void* values, uint64_t count) {
    FakeArray* made = malloc(sizeof *made);
    made->values = values, made->count = count;
    return made;
}
void* aclCreateIntArray(const int64_t* values, uint64_t count) { return array(values, count); }
void* aclCreateFloatArray(const float* values, uint64_t count) { return array(values, count); }
void* aclCreateBoolArray(const _Bool* values, uint64_t count) { return array(values, count); }
