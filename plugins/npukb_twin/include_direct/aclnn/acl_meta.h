// What calls of the vendor's own operators take: descriptions of tensors and values. There are none of those operators
// here, so that a description is kept and nothing is asked of it.
#pragma once
#include <vector>

#include "acl/acl.h"

typedef int32_t aclnnStatus;

struct aclTensor {
    aclDataType type;
    aclFormat format;
    std::vector<int64_t> view, strides, storage;
    int64_t offset;
    void* data;
};
struct aclScalar {
    aclDataType type;
    std::vector<char> bytes;
};
struct aclIntArray : std::vector<int64_t> {};
struct aclFloatArray : std::vector<float> {};
struct aclBoolArray : std::vector<bool> {};
struct aclTensorList : std::vector<const aclTensor*> {};
struct aclScalarList : std::vector<const aclScalar*> {};
struct aclOpExecutor;

namespace npukb_direct {

// Bytes of one value; 0 for types whose values have none of their own.
inline size_t BytesOf(aclDataType type) {
    switch (type) {
        case ACL_INT8:
        case ACL_UINT8:
        case ACL_BOOL: return 1;
        case ACL_FLOAT16:
        case ACL_BF16:
        case ACL_INT16:
        case ACL_UINT16: return 2;
        case ACL_FLOAT:
        case ACL_INT32:
        case ACL_UINT32:
        case ACL_COMPLEX32: return 4;
        case ACL_DOUBLE:
        case ACL_INT64:
        case ACL_UINT64:
        case ACL_COMPLEX64: return 8;
        case ACL_COMPLEX128: return 16;
        default: return 0;
    }
}

template <typename Array, typename T>
Array* NewArray(const T* values, uint64_t size) {
    auto* array = new Array();
    array->assign(values, values + size);
    return array;
}

template <typename T>
aclnnStatus Delete(const T* described) {
    delete described;
    return 0;
}

}  // namespace npukb_direct

inline aclTensor* aclCreateTensor(const int64_t* viewDims, uint64_t viewDimsNum, aclDataType dataType,
                                  const int64_t* stride, int64_t offset, aclFormat format, const int64_t* storageDims,
                                  uint64_t storageDimsNum, void* tensorData) {
    std::vector<int64_t> strides;
    if (stride != nullptr) strides.assign(stride, stride + viewDimsNum);
    return new aclTensor{
        dataType, format,    {viewDims, viewDims + viewDimsNum}, strides, {storageDims, storageDims + storageDimsNum},
        offset,   tensorData};
}
inline aclScalar* aclCreateScalar(void* value, aclDataType dataType) {
    const auto* bytes = static_cast<const char*>(value);
    return new aclScalar{dataType, {bytes, bytes + npukb_direct::BytesOf(dataType)}};
}
inline aclIntArray* aclCreateIntArray(const int64_t* value, uint64_t size) {
    return npukb_direct::NewArray<aclIntArray>(value, size);
}
inline aclFloatArray* aclCreateFloatArray(const float* value, uint64_t size) {
    return npukb_direct::NewArray<aclFloatArray>(value, size);
}
inline aclBoolArray* aclCreateBoolArray(const bool* value, uint64_t size) {
    return npukb_direct::NewArray<aclBoolArray>(value, size);
}
inline aclTensorList* aclCreateTensorList(const aclTensor* const* value, uint64_t size) {
    return npukb_direct::NewArray<aclTensorList>(value, size);
}
inline aclScalarList* aclCreateScalarList(const aclScalar* const* value, uint64_t size) {
    return npukb_direct::NewArray<aclScalarList>(value, size);
}
inline aclnnStatus aclDestroyTensor(const aclTensor* tensor) { return npukb_direct::Delete(tensor); }
inline aclnnStatus aclDestroyScalar(const aclScalar* scalar) { return npukb_direct::Delete(scalar); }
inline aclnnStatus aclDestroyIntArray(const aclIntArray* array) { return npukb_direct::Delete(array); }
inline aclnnStatus aclDestroyFloatArray(const aclFloatArray* array) { return npukb_direct::Delete(array); }
inline aclnnStatus aclDestroyBoolArray(const aclBoolArray* array) { return npukb_direct::Delete(array); }
inline aclnnStatus aclDestroyTensorList(const aclTensorList* array) { return npukb_direct::Delete(array); }
inline aclnnStatus aclDestroyScalarList(const aclScalarList* array) { return npukb_direct::Delete(array); }
