// The part of the host's runtime API that direct launches use: memory, copies and streams, noted in order. What would
// wait for a kernel's result is refused: kernels run after the host function has returned.
#pragma once
#include <stdint.h>
#include <stdlib.h>
#if !defined(NPUKB_DIRECT_HOST)
#include "kernel_operator.h"
#endif
#include "twin_direct/record.h"

typedef void* aclrtStream;
typedef void* aclrtContext;
typedef void* aclrtEvent;
typedef void* rtStream_t;
typedef int aclError;
typedef int rtError_t;
typedef uint16_t aclFloat16;  // its bits
static const int ACL_SUCCESS = 0;
static const int ACL_ERROR_NONE = 0;
static const int RT_ERROR_NONE = 0;
static const int ACL_ERROR_INVALID_PARAM = 100000;
static const int ACL_ERROR_UNINITIALIZE = 100001;
static const int ACL_ERROR_BAD_ALLOC = 200000;
static const int ACL_ERROR_API_NOT_SUPPORT = 200001;
static const int ACL_ERROR_INVALID_DEVICE = 200002;
static const int ACL_ERROR_INTERNAL_ERROR = 500000;
static const int ACL_ERROR_FAILURE = 500001;

typedef enum { ACL_MEM_MALLOC_HUGE_FIRST, ACL_MEM_MALLOC_HUGE_ONLY, ACL_MEM_MALLOC_NORMAL_ONLY } aclrtMemMallocPolicy;
typedef enum {
    ACL_MEMCPY_HOST_TO_HOST,
    ACL_MEMCPY_HOST_TO_DEVICE,
    ACL_MEMCPY_DEVICE_TO_HOST,
    ACL_MEMCPY_DEVICE_TO_DEVICE
} aclrtMemcpyKind;

typedef enum {
    ACL_DT_UNDEFINED = -1,
    ACL_FLOAT = 0,
    ACL_FLOAT16 = 1,
    ACL_INT8 = 2,
    ACL_INT32 = 3,
    ACL_UINT8 = 4,
    ACL_INT16 = 6,
    ACL_UINT16 = 7,
    ACL_UINT32 = 8,
    ACL_INT64 = 9,
    ACL_UINT64 = 10,
    ACL_DOUBLE = 11,
    ACL_BOOL = 12,
    ACL_STRING = 13,
    ACL_COMPLEX64 = 16,
    ACL_COMPLEX128 = 17,
    ACL_BF16 = 27,
    ACL_INT4 = 29,
    ACL_UINT1 = 30,
    ACL_COMPLEX32 = 33
} aclDataType;
typedef enum {
    ACL_FORMAT_UNDEFINED = -1,
    ACL_FORMAT_NCHW = 0,
    ACL_FORMAT_NHWC = 1,
    ACL_FORMAT_ND = 2,
    ACL_FORMAT_NC1HWC0 = 3,
    ACL_FORMAT_FRACTAL_Z = 4,
    ACL_FORMAT_NC1HWC0_C04 = 12,
    ACL_FORMAT_HWCN = 16,
    ACL_FORMAT_NDHWC = 27,
    ACL_FORMAT_FRACTAL_NZ = 29,
    ACL_FORMAT_NCDHW = 30,
    ACL_FORMAT_NDC1HWC0 = 32,
    ACL_FRACTAL_Z_3D = 33,
    ACL_FORMAT_NC = 35,
    ACL_FORMAT_NCL = 47
} aclFormat;

// What may be asked of the chip, in the two ways that there are.
typedef enum {
    ACL_DEVICE_INFO_UNDEFINED = -1,
    ACL_DEVICE_INFO_AI_CORE_NUM = 0,
    ACL_DEVICE_INFO_VECTOR_CORE_NUM = 1,
    ACL_DEVICE_INFO_L2_SIZE = 2
} aclDeviceInfo;
typedef enum {
    ACL_DEV_ATTR_AICPU_CORE_NUM = 1,
    ACL_DEV_ATTR_AICORE_CORE_NUM = 101,
    ACL_DEV_ATTR_VECTOR_CORE_NUM = 201
} aclrtDevAttr;

#define ACLRT_LAUNCH_KERNEL(kernel) aclrtlaunch_##kernel

// Graphs are captured nowhere here.
typedef void* aclmdlRI;
typedef enum {
    ACL_MODEL_RI_CAPTURE_STATUS_NONE = 0,
    ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE,
    ACL_MODEL_RI_CAPTURE_STATUS_INVALIDATED
} aclmdlRICaptureStatus;
inline aclError aclmdlRICaptureGetInfo(aclrtStream, aclmdlRICaptureStatus* status, aclmdlRI* model) {
    *status = ACL_MODEL_RI_CAPTURE_STATUS_NONE, *model = nullptr;
    return 0;
}
inline const char* aclGetRecentErrMsg() { return ""; }
inline aclError aclInit(const char*) { return 0; }
inline aclError aclFinalize() { return 0; }
inline aclError aclrtSetDevice(int32_t) { return 0; }
inline aclError aclrtResetDevice(int32_t) { return 0; }
inline aclError aclrtGetDevice(int32_t* device) { return *device = 0; }
inline aclError aclrtGetDeviceCount(uint32_t* count) { return *count = 1, 0; }
inline aclError aclGetDeviceCapability(uint32_t, aclDeviceInfo what, int64_t* value) {
    *value = npukb_device_property(what);
    return *value < 0 ? ACL_ERROR_INVALID_PARAM : ACL_SUCCESS;
}
inline aclError aclrtGetDeviceInfo(uint32_t, aclrtDevAttr what, int64_t* value) {
    const bool vector = what == ACL_DEV_ATTR_VECTOR_CORE_NUM;
    if (!vector && what != ACL_DEV_ATTR_AICORE_CORE_NUM) return ACL_ERROR_API_NOT_SUPPORT;
    return aclGetDeviceCapability(0, vector ? ACL_DEVICE_INFO_VECTOR_CORE_NUM : ACL_DEVICE_INFO_AI_CORE_NUM, value);
}
// Half precision on the host.
inline float aclFloat16ToFloat(aclFloat16 value) {
    const uint32_t sign = (value & 0x8000u) << 16, rest = value & 0x7fffu;
    const bool special = rest >= 0x7c00u;
    // Shifted into place the exponent is too small by 112; a product with 2^112 is exact, also of subnormal numbers.
    uint32_t bits = special ? (rest << 13) | 0x7f800000u : rest << 13;
    float result;
    __builtin_memcpy(&result, &bits, sizeof bits);
    if (!special) result *= 0x1p112f;
    __builtin_memcpy(&bits, &result, sizeof bits);
    bits |= sign;
    __builtin_memcpy(&result, &bits, sizeof bits);
    return result;
}
inline aclFloat16 aclFloatToFloat16(float value) {
    uint32_t bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
    bits &= 0x7fffffffu;
    if (bits > 0x7f800000u) return sign | 0x7e00u;
    if (bits >= 0x477ff000u) return sign | 0x7c00u;
    if (bits < 0x38800000u) {
        // The sum has the unit of a subnormal half in its last place, so that adding rounds to it, half to even.
        float magnitude;
        __builtin_memcpy(&magnitude, &bits, sizeof bits);
        magnitude += 0.5f;
        __builtin_memcpy(&bits, &magnitude, sizeof bits);
        return sign | static_cast<uint16_t>(bits - 0x3f000000u);
    }
    bits += 0xc8000fffu + ((bits >> 13) & 1);
    return sign | static_cast<uint16_t>(bits >> 13);
}
inline aclError aclrtCreateContext(aclrtContext* context, int32_t) { return *context = nullptr, 0; }
inline aclError aclrtDestroyContext(aclrtContext) { return 0; }
inline aclError aclrtSetCurrentContext(aclrtContext) { return 0; }
inline aclError aclrtCreateStream(aclrtStream* stream) { return *stream = nullptr, 0; }
inline aclError aclrtDestroyStream(aclrtStream) { return 0; }
inline aclError aclrtSynchronizeStream(aclrtStream) { return 0; }
inline aclError aclrtSynchronizeStreamWithTimeout(aclrtStream, int32_t) { return 0; }
inline aclError aclrtSynchronizeDevice() { return 0; }
inline aclError aclrtMallocHost(void** at, size_t bytes) { return (*at = calloc(bytes, 1)) == nullptr; }
inline aclError aclrtFreeHost(void* at) { return free(at), 0; }
inline aclError aclrtMalloc(void** at, size_t bytes, aclrtMemMallocPolicy) {
    *at = reinterpret_cast<void*>(npukb_device_allocate(bytes));
    return 0;
}
inline aclError aclrtFree(void*) { return 0; }
inline aclError aclrtMemset(void* at, size_t, int32_t value, size_t count) {
    npukb_device_fill(reinterpret_cast<uint64_t>(at), value, count);
    return 0;
}
inline aclError aclrtMemsetAsync(void* at, size_t room, int32_t value, size_t count, aclrtStream) {
    return aclrtMemset(at, room, value, count);
}
inline aclError aclrtMemcpy(void* to, size_t, const void* from, size_t count, aclrtMemcpyKind kind) {
    if (kind == ACL_MEMCPY_HOST_TO_DEVICE) npukb_device_write(reinterpret_cast<uint64_t>(to), from, count);
    if (kind == ACL_MEMCPY_DEVICE_TO_DEVICE)
        npukb_device_move(reinterpret_cast<uint64_t>(to), reinterpret_cast<uint64_t>(from), count);
    if (kind == ACL_MEMCPY_HOST_TO_HOST) __builtin_memcpy(to, from, count);
    if (kind == ACL_MEMCPY_DEVICE_TO_HOST)
#if defined(NPUKB_APPLICATION)
        __builtin_memcpy(to, from, count);
#else
        npukb_direct::Refuse("the host function reads device memory; its kernels run after it has returned");
#endif
    return 0;
}
inline aclError aclrtMemcpyAsync(void* to, size_t room, const void* from, size_t count, aclrtMemcpyKind kind,
                                 aclrtStream) {
    return aclrtMemcpy(to, room, from, count, kind);
}
inline rtError_t rtGetC2cCtrlAddr(uint64_t* address, uint32_t* length) {
    *address = 0;
    *length = 0;
    return 0;
}
