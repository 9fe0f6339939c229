// Lists of tensors as a kernel gets them: a table in global memory with shapes and addresses.
#pragma once
#include "tensor.h"

namespace AscendC {

template <typename T>
class TensorDesc {
  public:
    NPUKB_API TensorDesc() : shape_(nullptr), data_(nullptr), dim_(0), index_(0) {}
    NPUKB_API void SetShapeAddr(uint64_t* shapePtr) { shape_ = shapePtr; }
    NPUKB_API uint64_t GetDim() const { return dim_; }
    NPUKB_API uint64_t GetIndex() const { return index_; }
    NPUKB_API uint64_t GetShape(uint32_t offset) const { return shape_[offset]; }
    NPUKB_API T* GetDataPtr() const { return data_; }
    NPUKB_API GlobalTensor<T> GetDataObj() const {
        uint64_t size = 1;
        for (uint64_t i = 0; i < dim_; ++i) size *= shape_[i];
        return GlobalTensor<T>(data_, size);
    }

  private:
    friend class ListTensorDesc;
    uint64_t* shape_;
    T* data_;
    uint64_t dim_;
    uint64_t index_;
};

class ListTensorDesc {
  public:
    NPUKB_API ListTensorDesc() : table_(nullptr) {}
    NPUKB_API ListTensorDesc(__gm__ void* data, uint32_t length = 0xffffffff, uint32_t shapeSize = 0xffffffff) {
        Init(data, length, shapeSize);
    }
    NPUKB_API void Init(__gm__ void* data, uint32_t length = 0xffffffff, uint32_t shapeSize = 0xffffffff) {
        table_ = data;
        npukb_list_open(data, length, shapeSize);
    }
    template <class T>
    NPUKB_API void GetDesc(TensorDesc<T>& desc, uint32_t index) const {
        desc.data_ = static_cast<T*>(npukb_list_shape(table_, index, desc.shape_, &desc.dim_));
        desc.index_ = index;
    }
    template <class T>
    NPUKB_API T* GetDataPtr(uint32_t index) const {
        return static_cast<T*>(npukb_list_data(table_, index));
    }
    NPUKB_API uint32_t GetSize() const { return npukb_list_size(table_); }

  private:
    const void* table_;
};

}  // namespace AscendC
