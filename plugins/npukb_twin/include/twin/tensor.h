// Tensors: handles on global memory and on the unified buffer.
#pragma once
#include "types.h"

namespace AscendC {

template <typename T>
class GlobalTensor {
  public:
    using PrimType = T;
    NPUKB_API GlobalTensor() : address_(nullptr), size_(0) {}
    NPUKB_API GlobalTensor(__gm__ T* address, uint64_t size) : address_(address), size_(size) {}
    NPUKB_API void SetGlobalBuffer(__gm__ T* address) {
        address_ = address;
        size_ = 0;
    }
    NPUKB_API void SetGlobalBuffer(__gm__ T* address, uint64_t size) {
        address_ = address;
        size_ = size;
    }
    NPUKB_API __gm__ T* GetPhyAddr() const { return address_; }
    NPUKB_API __gm__ T* GetPhyAddr(uint64_t offset) const { return address_ + offset; }
    NPUKB_API uint64_t GetSize() const { return size_; }
    NPUKB_API GlobalTensor operator[](uint64_t offset) const {
        return GlobalTensor(address_ + offset, size_ - offset);
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
    __gm__ T* address_;
    uint64_t size_;
};

template <typename T>
class LocalTensor {
  public:
    using PrimType = T;
    NPUKB_API LocalTensor() : npukb_view{nullptr, 0, 0} {}
    NPUKB_API explicit LocalTensor(const npukb::BufferView& view) : npukb_view(view) {}
    // Left empty on purpose: the runtime fills it in.
    NPUKB_API explicit LocalTensor(npukb::Unfilled) {}

    NPUKB_API uint32_t GetSize() const { return npukb_view.bytes / sizeof(T); }
    NPUKB_API void SetSize(uint32_t size) { npukb_view.bytes = size * sizeof(T); }
    NPUKB_API __ubuf__ T* GetPhyAddr() const { return static_cast<T*>(npukb_view.address); }
    NPUKB_API __ubuf__ T* GetPhyAddr(uint32_t offset) const { return GetPhyAddr() + offset; }
    NPUKB_API LocalTensor operator[](uint32_t offset) const {
        LocalTensor slice = *this;
        slice.npukb_view.address = static_cast<T*>(npukb_view.address) + offset;
        slice.npukb_view.bytes = npukb_view.bytes - offset * sizeof(T);
        return slice;
    }
    template <typename U>
    NPUKB_API LocalTensor<U> ReinterpretCast() const {
        return LocalTensor<U>(npukb_view);
    }
    NPUKB_API T GetValue(uint32_t index) const {
        npukb_scalar_access(GetPhyAddr() + index, sizeof(T), 0, 0);
        return GetPhyAddr()[index];
    }
    template <typename U>
    NPUKB_API void SetValue(uint32_t index, U value) const {
        npukb_scalar_access(GetPhyAddr() + index, sizeof(T), 1, 0);
        GetPhyAddr()[index] = static_cast<T>(value);
    }
    NPUKB_API T& operator()(uint32_t index) const {
        npukb_scalar_access(GetPhyAddr() + index, sizeof(T), 1, 0);
        return GetPhyAddr()[index];
    }
    // What the runtime knows of this tensor. Not part of Ascend C; read directly because every call would be compiled.
    npukb::BufferView npukb_view;
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
