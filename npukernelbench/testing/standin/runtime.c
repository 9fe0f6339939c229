// The runtime library of the stand-in: device memory is host memory, and time is a virtual clock that only calls
// advance. What each part behaves after is listed in __init__.py. ASCEND_STANDIN_* in the environment decides what goes
// wrong.
//
// A device is a file, $ASCEND_STANDIN_ROOT/dev/davinciN: what it holds is how many more openings fail, which is how a
// hang outlives its process.
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kMostDevices = 64, kNameBytes = 4096 };
static const double kFirstLaunchUs = 2000.0, kMemoryBytesPerUs = 1e5;

static int g_raised;     // what the next synchronisation reports
static int g_sticky;     // a fault poisons the context: every later call of this process reports it
static int g_hung;       // a kernel that does not end is on the device
static int g_node = -1;  // number of the node that is open
static uint64_t g_used_bytes, g_execute_us;
static double g_host_us, g_device_us, g_kernel_us;
static uint64_t g_launches;
static char g_kernel[256], g_kernels[kNameBytes];
static char g_words[256];

static long asked(const char* name, long otherwise) {
    const char* text = getenv(name);
    return text == NULL || *text == 0 ? otherwise : atol(text);
}

static int fail(int code, const char* words) {
    snprintf(g_words, sizeof g_words, "%s", words);
    return code;
}

// Kernels call these to misbehave as a device reports it.
void standin_raise(int code) { g_raised = code; }
void standin_hang(void) { g_hung = 1; }
void standin_spend(double us) { g_kernel_us = us; }

// The device takes up a task when it is free and the host has sent it.
static void enqueue(double host_us, double device_us) {
    g_host_us += host_us;
    g_device_us = (g_device_us > g_host_us ? g_device_us : g_host_us) + device_us;
}

void standin_launch(const char* kernel) {
    snprintf(g_kernel, sizeof g_kernel, "%s", kernel);
    g_kernel_us = asked("ASCEND_STANDIN_KERNEL_US", 3);
    enqueue(asked("ASCEND_STANDIN_DISPATCH_US", 20), 0);
}

// After the kernel's own code, which says how long it takes.
void standin_launched(void) {
    const size_t used = strlen(g_kernels);
    snprintf(g_kernels + used, sizeof g_kernels - used, "%s %g\n", g_kernel, g_kernel_us);
    g_device_us += g_kernel_us + (g_launches++ == 0 ? kFirstLaunchUs : 0);
}

static int visible(int* nodes) {
    int all = 0, most = 0, seen = 0;
    int numbers[kMostDevices];
    char path[kNameBytes];
    for (int node = 0; node < kMostDevices; ++node) {
        snprintf(path, sizeof path, "%s/dev/davinci%d", getenv("ASCEND_STANDIN_ROOT"), node);
        if (access(path, F_OK) == 0) numbers[all++] = node;
    }
    const char* text = getenv("ASCEND_RT_VISIBLE_DEVICES");
    if (text == NULL) {
        memcpy(nodes, numbers, sizeof(int) * (size_t)all);
        return all;
    }
    for (most = 0; *text; ++most) {
        char* end = NULL;
        long logical = strtol(text, &end, 10);
        if (end == text || *text == ' ' || logical < 0 || logical >= all || (*end != 0 && *end != ',')) break;
        nodes[seen++] = numbers[logical];
        text = *end == ',' ? end + 1 : end;
    }
    return seen;
}

static int opened(const char* name) {
    char path[kNameBytes];
    snprintf(path, sizeof path, "%s/dev/%s", getenv("ASCEND_STANDIN_ROOT"), name);
    return open(path, O_RDWR);
}

static int failures_left(int handle) {
    char text[16] = {0};
    return pread(handle, text, sizeof text - 1, 0) > 0 ? atoi(text) : 0;
}

static void leave(int handle, int failures) {
    char text[16];
    int size = snprintf(text, sizeof text, "%d\n", failures);
    if (pwrite(handle, text, (size_t)size, 0) != size || ftruncate(handle, size) != 0) abort();
}

int aclInit(const char* path) {
    (void)path;
    char name[64];
    snprintf(name, sizeof name, "/dev/shm/npukb-standin-%d", (int)getpid());
    int shared = open(name, O_RDWR | O_CREAT, 0600);  // driver and process exchange messages there
    if (shared < 0) return fail(507899, "the driver cannot make its shared memory");
    close(shared);
    unlink(name);
    return (int)asked("ASCEND_STANDIN_INIT", 0);
}

int aclrtSetDevice(int32_t device) {
    int nodes[kMostDevices];
    char name[32];
    if (!asked("ASCEND_STANDIN_NODES", 1)) return 0;  // the toolkit's own modes on the host need no driver
    if (device < 0 || device >= visible(nodes)) return fail(107001, "there is no device of that index");
    const char* needed[] = {"davinci_manager", "devmm_svm", "hisi_hdc"};
    for (int i = 0; i < 3; ++i) {
        int handle = opened(needed[i]);
        if (handle < 0) return fail(507899, "a node of the driver cannot be opened");
        close(handle);
    }
    snprintf(name, sizeof name, "davinci%d", nodes[device]);
    int handle = opened(name);
    if (handle < 0) return fail(507033, "the device's node cannot be opened");
    int left = failures_left(handle);
    if (left > 0) leave(handle, left - 1);
    close(handle);
    if (left > 0) return fail(507033, "a kernel is still running on the device");
    g_node = nodes[device];
    return 0;
}

int aclFinalize(void) {
    const char* path = getenv("ASCEND_STANDIN_LAUNCHES");  // the profiler's: flushed at an orderly end only
    FILE* file = path == NULL ? NULL : fopen(path, "w");
    if (file != NULL) {
        fputs(g_kernels, file);
        fclose(file);
    }
    return 0;
}

int aclrtGetVersion(int32_t* major, int32_t* minor, int32_t* patch) {
    *major = 1, *minor = 13, *patch = 0;
    return 0;
}
int aclrtResetDevice(int32_t device) {
    (void)device;
    return 0;
}
int aclrtGetDeviceCount(uint32_t* count) {
    int nodes[kMostDevices];
    *count = (uint32_t)visible(nodes);
    return 0;
}
const char* aclrtGetSocName(void) {
    const char* name = getenv("ASCEND_STANDIN_SOC");
    return name == NULL ? "StandIn910B3" : name;
}
int aclrtQueryDeviceStatus(int32_t device, int* status) {
    (void)device;
    *status = (int)asked("ASCEND_STANDIN_STATUS", 0);
    return 0;
}
int aclrtGetDeviceInfo(uint32_t device, int attribute, int64_t* value) {
    (void)device;
    *value = attribute == 201 ? 4 : attribute == 102 ? 2 : 1 << 16;
    return 0;
}
#ifdef STANDIN_SECONDS
int aclrtSetOpExecuteTimeOut(uint32_t seconds) {
    g_execute_us = asked("ASCEND_STANDIN_LIMIT", 1) ? seconds * 1000000ULL : 0;
    return 0;
}
#else
int aclrtSetOpExecuteTimeOutV2(uint64_t us, uint64_t* actual) {
    g_execute_us = asked("ASCEND_STANDIN_LIMIT", 1) ? us : 0;
    *actual = us;
    return 0;
}
#endif
int aclrtCreateStream(void** stream) {
    *stream = malloc(1);
    return g_sticky;
}

int aclrtSynchronizeStreamWithTimeout(void* stream, int32_t timeout_ms) {
    (void)stream;
    if (g_sticky) return fail(g_sticky, "the context is lost after an earlier fault");
    if (g_hung && g_execute_us > 0 && g_execute_us <= (uint64_t)timeout_ms * 1000) {
        g_sticky = 507014;  // the hardware ends the kernel: the next process finds the device well
        return fail(g_sticky, "the kernel was stopped at its time-out");
    }
    if (g_hung) {
        char name[32];
        snprintf(name, sizeof name, "davinci%d", g_node);
        int handle = opened(name);
        if (handle >= 0) leave(handle, (int)asked("ASCEND_STANDIN_HEALS_AFTER", 3)), close(handle);
        g_sticky = 507046;
        return fail(g_sticky, "the stream did not end in time");
    }
    if (g_raised) {
        g_sticky = g_raised;
        return fail(g_sticky, "the stand-in was told to fail");
    }
    if (g_device_us > g_host_us) g_host_us = g_device_us;
    return 0;
}

int aclrtMalloc(void** address, size_t size, int policy) {
    (void)policy;
    uint64_t most = (uint64_t)asked("ASCEND_STANDIN_HBM", 0);
    if (g_sticky) return fail(g_sticky, "the context is lost after an earlier fault");
    if (most && g_used_bytes + size > most) return fail(207001, "the device's memory is used up");
    g_used_bytes += size;
    *address = malloc(size);
    return 0;
}
int aclrtFree(void* address) {
    free(address);
    return 0;
}
int aclrtMemcpy(void* to, size_t most, const void* from, size_t size, int kind) {
    (void)kind;
    if (g_sticky) return fail(g_sticky, "the context is lost after an earlier fault");
    if (size > most) return fail(107000, "more bytes than there is room for");
    memcpy(to, from, size);
    return 0;
}
int aclrtMemsetAsync(void* address, size_t most, int32_t value, size_t size, void* stream) {
    (void)stream;
    if (g_sticky) return fail(g_sticky, "the context is lost after an earlier fault");
    if (size > most) return fail(107000, "more bytes than there is room for");
    memset(address, value, size);
    enqueue(5, (double)asked("ASCEND_STANDIN_FLUSH_US", 500) + (double)size / kMemoryBytesPerUs);
    return 0;
}
int aclrtMemset(void* address, size_t most, int32_t value, size_t size) {
    int code = aclrtMemsetAsync(address, most, value, size, NULL);
    if (g_device_us > g_host_us) g_host_us = g_device_us;
    return code;
}

int aclrtCreateEventWithFlag(void** event, uint32_t flag) {
    (void)flag;
    *event = calloc(1, sizeof(double));
    return 0;
}
int aclrtRecordEvent(void* event, void* stream) {
    (void)stream;
    enqueue(1, 0);
    *(double*)event = g_device_us;
    return 0;
}
int aclrtDestroyEvent(void* event) {
    free(event);
    return 0;
}
int aclrtEventElapsedTime(float* ms, void* start, void* end) {
    *ms = (float)((*(double*)end - *(double*)start) / 1e3);
    return 0;
}
const char* aclGetRecentErrMsg(void) { return g_words; }

// The library of argument descriptions: a tensor is its address, its number of elements and its shape.
typedef struct {
    void* address;
    int64_t count;
    int dtype;
    uint64_t rank;
    int64_t dims[8];
} StandinTensor;
void* aclCreateTensor(const int64_t* dims, uint64_t rank, int dtype, const int64_t* strides, int64_t offset, int format,
                      const int64_t* storage, uint64_t storageRank, void* data) {
    (void)strides, (void)offset, (void)format, (void)storage, (void)storageRank;
    StandinTensor* tensor = calloc(1, sizeof *tensor);
    tensor->address = data, tensor->count = 1, tensor->dtype = dtype, tensor->rank = rank;
    for (uint64_t i = 0; i < rank; ++i) tensor->count *= tensor->dims[i] = dims[i];
    return tensor;
}
int aclGetViewShape(const void* described, int64_t** dims, uint64_t* rank) {
    StandinTensor* tensor = (StandinTensor*)described;
    *dims = malloc(sizeof tensor->dims), *rank = tensor->rank;
    memcpy(*dims, tensor->dims, sizeof tensor->dims);
    return 0;
}
typedef struct {
    void** members;
    uint64_t count;
} StandinList;
static void* list(void* const* members, uint64_t count) {
    StandinList* made = malloc(sizeof *made);
    made->members = malloc(sizeof(void*) * (count + 1)), made->count = count;
    memcpy(made->members, members, sizeof(void*) * count);
    return made;
}
void* aclCreateTensorList(void* const* members, uint64_t count) { return list(members, count); }
void* aclCreateScalarList(void* const* members, uint64_t count) { return list(members, count); }
typedef struct {
    uint64_t bits;
    int dtype;
} StandinScalar;
void* aclCreateScalar(void* value, int dtype) {
    StandinScalar* scalar = calloc(1, sizeof *scalar);
    memcpy(&scalar->bits, value, 4), scalar->dtype = dtype;
    return scalar;
}
typedef struct {
    const void* values;
    uint64_t count;
} StandinArray;
static void* array(const void* values, uint64_t count) {
    StandinArray* made = malloc(sizeof *made);
    made->values = values, made->count = count;
    return made;
}
void* aclCreateIntArray(const int64_t* values, uint64_t count) { return array(values, count); }
void* aclCreateFloatArray(const float* values, uint64_t count) { return array(values, count); }
void* aclCreateBoolArray(const _Bool* values, uint64_t count) { return array(values, count); }
