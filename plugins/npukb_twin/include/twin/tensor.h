// Tensors: handles on global memory and on the unified buffer.
#pragma once
#include "types.h"

namespace AscendC {

template <typename T>
class GlobalTensor {
  public:
    using PrimType = T;
    NPUKB_API void SetGlobalBuffer(__gm__ T* address) { SetGlobalBuffer(address, 0); }
    NPUKB_API void SetGlobalBuffer(__gm__ T* address, uint64_t size) {
        address_ = address;
        size_ = size;
    }
    NPUKB_API __gm__ T* GetPhyAddr() const { return address_; }
    NPUKB_API __gm__ T* GetPhyAddr(uint64_t offset) const { return address_ + offset; }
    NPUKB_API uint64_t GetSize() const { return size_; }
    NPUKB_API GlobalTensor operator[](uint64_t offset) const {
        GlobalTensor slice;
        slice.address_ = address_ + offset;
        slice.size_ = size_ > offset ? size_ - offset : 0;
        return slice;
    }
    NPUKB_API T GetValue(uint64_t offset) const {
        npukb_scalar_access(address_ + offset, sizeof(T), 0, 1);
        return address_[offset];
    }
    NPUKB_API void SetValue(uint64_t offset, T value) const {
        npukb_scalar_access(address_ + offset, sizeof(T), 1, 1);
        address_[offset] = value;
    }

  private:
    __gm__ T* address_ = nullptr;
    uint64_t size_ = 0;
};

template <typename T>
class LocalTensor {
  public:
    using PrimType = T;
    LocalTensor() = default;
    NPUKB_API explicit LocalTensor(npukb::BufferView view)
        : address_(static_cast<T*>(view.address)), bytes_(view.bytes), handle_(view.handle) {}

    NPUKB_API uint32_t GetSize() const { return bytes_ / sizeof(T); }
    NPUKB_API void SetSize(uint32_t size) { bytes_ = size * sizeof(T); }
    NPUKB_API __ubuf__ T* GetPhyAddr() const { return address_; }
    NPUKB_API __ubuf__ T* GetPhyAddr(uint32_t offset) const { return address_ + offset; }
    NPUKB_API LocalTensor operator[](uint32_t offset) const {
        LocalTensor slice = *this;
        slice.address_ = address_ + offset;
        slice.bytes_ = bytes_ > offset * sizeof(T) ? bytes_ - offset * sizeof(T) : 0;
        return slice;
    }
    template <typename U>
    NPUKB_API LocalTensor<U> ReinterpretCast() const {
        return LocalTensor<U>(npukb::BufferView{address_, bytes_, handle_});
    }
    NPUKB_API T GetValue(uint32_t index) const {
        npukb_scalar_access(address_ + index, sizeof(T), 0, 0);
        return address_[index];
    }
    template <typename U>
    NPUKB_API void SetValue(uint32_t index, U value) const {
        npukb_scalar_access(address_ + index, sizeof(T), 1, 0);
        address_[index] = static_cast<T>(value);
    }
    NPUKB_API T& operator()(uint32_t index) const {
        npukb_scalar_access(address_ + index, sizeof(T), 1, 0);
        return address_[index];
    }
    NPUKB_API uint32_t Handle() const { return handle_; }

  private:
    T* address_ = nullptr;
    uint32_t bytes_ = 0;
    uint32_t handle_ = 0;
};

}  // namespace AscendC

namespace npukb {

template <typename T>
NPUKB_API Operand Whole(const AscendC::LocalTensor<T>& tensor) {
    return {tensor.GetPhyAddr(), static_cast<uint32_t>(tensor.GetSize() * sizeof(T)), 1, 8, DTypeOf<T>::value};
}

template <typename T>
NPUKB_API Operand Strided(const AscendC::LocalTensor<T>& tensor, uint16_t block_stride, uint16_t repeat_stride) {
    return {tensor.GetPhyAddr(), static_cast<uint32_t>(tensor.GetSize() * sizeof(T)), block_stride, repeat_stride,
            DTypeOf<T>::value};
}

}  // namespace npukb
