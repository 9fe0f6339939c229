// Tensors: handles on global memory and on the unified buffer.
#pragma once
#include "both_sides.h"
#include "move_abi.h"
#include "types.h"

namespace npukb {

template <typename T>
inline constexpr bool kHalfByte = kSame<T, AscendC::int4b_t>;

// Elements in so many bytes, and bytes of so many elements: two int4b_t share one.
template <typename T>
NPUKB_API constexpr uint64_t BytesOf(uint64_t elements) {
    if constexpr (kHalfByte<T>) return elements / 2;
    return elements * sizeof(T);
}
template <typename T>
NPUKB_API constexpr uint64_t ElementsIn(uint64_t bytes) {
    if constexpr (kHalfByte<T>) return bytes * 2;
    return bytes / sizeof(T);
}

// `dst = a + b` on tensors: the operation waits for the tensor it is assigned to.
template <Op op, uint8_t mode, typename T>
struct Expression {
    const BufferView* a;
    const BufferView* b;
};

// A tensor's `address_`, through which kernels place tensors themselves. Its parts lie over the tensor's own view, so
// that they take no room and what is written into one is seen by all.
struct LogicPosition {
    BufferView view;
    NPUKB_API operator uint8_t() const { return static_cast<uint8_t>(npukb_tensor_position(view.handle)); }
    // The address in the memory stays.
    NPUKB_API void operator=(uint8_t position) {
        uint64_t offset = view.address == nullptr ? 0 : reinterpret_cast<uint64_t>(view.address) - Begin(view.address);
        npukb_memory_at(&view, position, offset, ~0ull);
    }
    // Where the memory that an address lies in begins; the unified buffer for none.
    NPUKB_API static uint64_t Begin(const void* address) { return npukb_memory_base(Of(address)); }
    NPUKB_API static int Of(const void* address) {
        constexpr int kUnified = static_cast<int>(AscendC::TPosition::VECCALC);
        if (address == nullptr) return kUnified;
        int found = kUnified;
        uint64_t nearest = 0;
        for (int position = 1; position < 16; ++position) {
            uint64_t begin = npukb_memory_base(position);
            if (begin > reinterpret_cast<uint64_t>(address) || begin <= nearest) continue;
            nearest = begin;
            found = position;
        }
        return found;
    }
};
struct BufferAddress {
    BufferView view;
    NPUKB_API operator uint64_t() const { return reinterpret_cast<uint64_t>(view.address); }
    template <typename T>
    NPUKB_API explicit operator T*() const {
        return static_cast<T*>(view.address);
    }
    // An offset in the tensor's memory, or what GetPhyAddr returns.
    NPUKB_API void operator=(uint64_t address) {
        bool offset = address < (1ull << 32);
        int position = LogicPosition::Of(offset ? view.address : reinterpret_cast<void*>(address));
        npukb_memory_at(&view, position, offset ? address : address - npukb_memory_base(position), ~0ull);
    }
};
struct DataLength {
    BufferView view;
    NPUKB_API operator uint32_t() const { return view.bytes; }
    NPUKB_API void operator=(uint32_t bytes) { view.bytes = bytes; }
};
union TensorAddress {
    LogicPosition logicPos;
    BufferAddress bufferAddr;
    DataLength dataLen;
};

}  // namespace npukb

namespace AscendC {

// The same as a value of its own.
struct TBuffAddr {
    uint32_t dataLen;
    uint64_t bufferAddr;
    uint8_t logicPos;
};

inline constexpr uint32_t K_MAX_SHAPE_DIM = 8;

struct ShapeInfo {
    constexpr ShapeInfo() = default;
    NPUKB_API ShapeInfo(uint8_t inputShapeDim, const uint32_t inputShape[], uint8_t inputOriginalShapeDim,
                        const uint32_t inputOriginalShape[], DataFormat inputFormat)
        : shapeDim(inputShapeDim), originalShapeDim(inputOriginalShapeDim), dataFormat(inputFormat) {
        for (uint32_t i = 0; i < shapeDim && i < K_MAX_SHAPE_DIM; ++i) shape[i] = inputShape[i];
        for (uint32_t i = 0; i < originalShapeDim && i < K_MAX_SHAPE_DIM; ++i) originalShape[i] = inputOriginalShape[i];
    }
    NPUKB_API ShapeInfo(uint8_t inputShapeDim, const uint32_t inputShape[], DataFormat inputFormat)
        : ShapeInfo(inputShapeDim, inputShape, inputShapeDim, inputShape, inputFormat) {}
    NPUKB_API ShapeInfo(uint8_t inputShapeDim, const uint32_t inputShape[])
        : ShapeInfo(inputShapeDim, inputShape, inputShapeDim, inputShape, DataFormat::ND) {}
    uint8_t shapeDim = 0;
    uint8_t originalShapeDim = 0;
    uint32_t shape[K_MAX_SHAPE_DIM] = {};
    uint32_t originalShape[K_MAX_SHAPE_DIM] = {};
    DataFormat dataFormat = DataFormat::ND;
};

NPUKB_API uint64_t GetShapeSize(const ShapeInfo& shapeInfo) {
    uint64_t size = 1;
    for (uint32_t i = 0; i < shapeInfo.shapeDim; ++i) size *= shapeInfo.shape[i];
    return size;
}

enum class CacheMode { CACHE_MODE_DISABLE, CACHE_MODE_NORMAL, CACHE_MODE_LAST, CACHE_MODE_PERSISTENT };
enum class CacheRwMode { READ = 1, WRITE = 2, RW = 3 };

typedef int32_t TTagType;

template <typename T>
class GlobalTensor {
  public:
    using PrimType = T;
    NPUKB_API GlobalTensor() : address_(nullptr), size_(0), origin_(nullptr), notes_(0) {}
    NPUKB_API GlobalTensor(__gm__ T* address, uint64_t size) : GlobalTensor(address, size, address, 0) {}
    NPUKB_API void SetGlobalBuffer(__gm__ T* address) { SetGlobalBuffer(address, 0); }
    NPUKB_API void SetGlobalBuffer(__gm__ T* address, uint64_t size) {
        address_ = address;
        size_ = size;
        origin_ = address;
    }
    NPUKB_API __gm__ T* GetPhyAddr() const { return address_; }
    NPUKB_API __gm__ T* GetPhyAddr(uint64_t offset) const {
        return reinterpret_cast<T*>(reinterpret_cast<uint8_t*>(address_) + npukb::BytesOf<T>(offset));
    }
    NPUKB_API uint64_t GetSize() const { return size_; }
    // A tensor whose size was not told stays without one.
    NPUKB_API GlobalTensor operator[](uint64_t offset) const {
        return GlobalTensor(GetPhyAddr(offset), size_ > offset ? size_ - offset : 0, origin_, notes_);
    }
    NPUKB_API __gm__ T& operator()(uint64_t offset) const { return *Element(offset, 0); }
    NPUKB_API T GetValue(uint64_t offset) const {
        static_assert(!npukb::kHalfByte<T>, "GetValue: int4b_t elements cannot be addressed one by one");
        return *Element(offset, 0);
    }
    NPUKB_API void SetValue(uint64_t offset, T value) const {
        static_assert(!npukb::kHalfByte<T>, "SetValue: int4b_t elements cannot be addressed one by one");
        *Element(offset, 1) = value;
    }
    NPUKB_API void SetShapeInfo(const ShapeInfo& shapeInfo) { notes_ = npukb_notes_set(notes_, &shapeInfo, 0, 0); }
    NPUKB_API ShapeInfo GetShapeInfo() const {
        ShapeInfo shape;
        npukb_notes_shape(notes_, &shape);
        return shape;
    }
    // How a tensor uses the L2 cache decides the speed of its transfers, never their result.
    template <CacheRwMode rwMode = CacheRwMode::RW>
    NPUKB_API void SetL2CacheHint(CacheMode mode) {
        npukb_l2_hint(this, static_cast<int>(rwMode), static_cast<int>(mode));
    }

  private:
    NPUKB_API GlobalTensor(__gm__ T* address, uint64_t size, __gm__ T* origin, uint32_t notes)
        : address_(address), size_(size), origin_(origin), notes_(notes) {}
    NPUKB_API __gm__ T* Element(uint64_t offset, int write) const {
        return static_cast<T*>(npukb_scalar_global(this, offset * sizeof(T), sizeof(T), write));
    }
    // As the runtime's GlobalView has it.
    __gm__ T* address_;
    uint64_t size_;
    __gm__ T* origin_;  // what SetGlobalBuffer was given: the buffer it lies in is the one that the tensor may touch
    uint32_t notes_;
};

template <typename T>
class LocalTensor {
  public:
    using PrimType = T;
    NPUKB_API LocalTensor() : npukb_view{nullptr, 0, 0, 0} {}
    NPUKB_API explicit LocalTensor(const npukb::BufferView& view) : npukb_view(view) {}
    // A tensor at a place of its author's choice, in programs that have no TPipe.
    NPUKB_API LocalTensor(TPosition pos, uint32_t addr, uint32_t tileSize) {
        npukb_memory_at(&npukb_view, static_cast<int>(pos), addr, npukb::BytesOf<T>(tileSize));
    }
    NPUKB_API explicit LocalTensor(uint32_t addr) {
        npukb_memory_at(&npukb_view, static_cast<int>(TPosition::VECCALC), addr, ~0ull);
    }
    // Left empty on purpose: the runtime fills it in.
    NPUKB_API explicit LocalTensor(npukb::Unfilled) {}

    // Writes the result of a whole-tensor operation into this tensor; `a = b` of two tensors copies the handle.
    template <npukb::Op op, uint8_t mode, typename S>
    NPUKB_API void operator=(const npukb::Expression<op, mode, S>& expression) const {
        Evaluate(*this, expression);
    }

    NPUKB_API uint32_t GetSize() const { return static_cast<uint32_t>(npukb::ElementsIn<T>(npukb_view.bytes)); }
    NPUKB_API void SetSize(uint32_t size) { npukb_view.bytes = static_cast<uint32_t>(npukb::BytesOf<T>(size)); }
    NPUKB_API uint32_t GetLength() const { return npukb_view.bytes; }
    NPUKB_API void SetBufferLen(uint32_t dataLen) { npukb_view.bytes = dataLen; }
    NPUKB_API uint64_t GetPhyAddr() const { return reinterpret_cast<uint64_t>(npukb_view.address); }
    NPUKB_API uint64_t GetPhyAddr(uint32_t offset) const {
        return reinterpret_cast<uint64_t>(npukb_view.address) + npukb::BytesOf<T>(offset);
    }
    NPUKB_API LocalTensor operator[](uint32_t offset) const {
        LocalTensor slice = *this;
        slice.npukb_view.address = static_cast<uint8_t*>(npukb_view.address) + npukb::BytesOf<T>(offset);
        slice.npukb_view.bytes = npukb_view.bytes - static_cast<uint32_t>(npukb::BytesOf<T>(offset));
        return slice;
    }
    template <typename U>
    NPUKB_API void SetAddrWithOffset(LocalTensor<U>& src, uint32_t offset) {
        npukb_view = src[offset].npukb_view;
    }
    template <typename U>
    NPUKB_API LocalTensor<U> ReinterpretCast() const {
        return LocalTensor<U>(npukb_view);
    }
    NPUKB_API T GetValue(uint32_t index) const { return *Element(index, 0); }
    template <typename U>
    NPUKB_API void SetValue(uint32_t index, U value) const {
        *Element(index, 1) = static_cast<T>(value);
    }
    NPUKB_API __ubuf__ T& operator()(uint32_t index) const { return *Element(index, 1); }
    NPUKB_API int32_t GetPosition() const { return npukb_tensor_position(npukb_view.handle); }
    NPUKB_API void SetShapeInfo(const ShapeInfo& shapeInfo) { Note(&shapeInfo, 0, 0); }
    NPUKB_API ShapeInfo GetShapeInfo() const {
        ShapeInfo shape;
        npukb_notes_shape(npukb_view.notes, &shape);
        return shape;
    }
    NPUKB_API void SetUserTag(TTagType tag) { Note(nullptr, tag, 1); }
    NPUKB_API TTagType GetUserTag() const { return npukb_notes_tag(npukb_view.notes); }
    NPUKB_API explicit LocalTensor(TBuffAddr& address) : LocalTensor() { SetAddr(address); }
    NPUKB_API void SetAddr(const TBuffAddr& address) {
        address_.logicPos = address.logicPos;
        address_.bufferAddr = address.bufferAddr;
        address_.dataLen = address.dataLen;
    }
    // A part of the memory that the tensor lies in.
    NPUKB_API void InitBuffer(uint32_t bufferOffset, uint32_t bufferElementSize) {
        npukb_view.address = reinterpret_cast<void*>(npukb::LogicPosition::Begin(npukb_view.address) + bufferOffset);
        SetSize(bufferElementSize);
    }
    union {
        // What the runtime knows of this tensor. Not part of Ascend C; read directly because every call would be
        // compiled.
        npukb::BufferView npukb_view;
        npukb::TensorAddress address_;
    };

  private:
    NPUKB_API T* Element(uint32_t index, int write) const {
        static_assert(!npukb::kHalfByte<T>, "int4b_t elements cannot be addressed one by one");
        T* element = static_cast<T*>(npukb_view.address) + index;
        npukb_scalar_access(element, sizeof(T), write, index, npukb_view.bytes);
        return element;
    }
    NPUKB_API void Note(const ShapeInfo* shape, int32_t tag, int what) {
        npukb_view.notes = npukb_notes_set(npukb_view.notes, shape, tag, what);
    }
};

}  // namespace AscendC

namespace npukb {

template <typename T>
NPUKB_API Operand Whole(const AscendC::LocalTensor<T>& tensor) {
    return {tensor.npukb_view.address, tensor.npukb_view.bytes, 1, 8, DTypeOf<T>::value};
}

template <typename T>
NPUKB_API Operand Strided(const AscendC::LocalTensor<T>& tensor, uint16_t block_stride, uint16_t repeat_stride) {
    return {tensor.npukb_view.address, tensor.npukb_view.bytes, block_stride, repeat_stride, DTypeOf<T>::value};
}

}  // namespace npukb
