// Shapes, tensors, descriptions and attributes as run-time code sees them (namespace gert).
#pragma once
#include "twin_host/types.h"

namespace npukb_host {
struct Call;        // one call of a tiling or inference function; in the host library
struct Attributes;  // attribute values of a call
}  // namespace npukb_host

namespace gert {

class Shape {
  public:
    static constexpr size_t kMaxDimNum = 25;
    static constexpr int64_t kInvalidDimValue = std::numeric_limits<int64_t>::min();

    Shape() = default;
    Shape(std::initializer_list<int64_t> dims);
    bool operator==(const Shape& other) const;
    bool operator!=(const Shape& other) const { return !(*this == other); }
    // Product of the dimensions, 1 for a scalar; negative if a dimension is.
    int64_t GetShapeSize() const;
    bool IsScalar() const { return count_ == 0; }
    void SetScalar() { count_ = 0; }
    size_t GetDimNum() const { return count_; }
    void SetDimNum(size_t count) { count_ = count < kMaxDimNum ? count : kMaxDimNum; }
    int64_t GetDim(size_t index) const { return index < kMaxDimNum ? dims_[index] : kInvalidDimValue; }
    void SetDim(size_t index, int64_t value) {
        if (index < kMaxDimNum) dims_[index] = value;
    }
    const int64_t& operator[](size_t index) const { return dims_[index]; }
    int64_t& operator[](size_t index) { return dims_[index]; }
    Shape& AppendDim(int64_t value) {
        if (count_ < kMaxDimNum) dims_[count_++] = value;
        return *this;
    }

  private:
    size_t count_ = 0;
    int64_t dims_[kMaxDimNum] = {};
};

class StorageShape {
  public:
    StorageShape() = default;
    StorageShape(std::initializer_list<int64_t> origin, std::initializer_list<int64_t> storage)
        : origin_(origin), storage_(storage) {}
    const Shape& GetOriginShape() const { return origin_; }
    const Shape& GetStorageShape() const { return storage_; }
    Shape& MutableOriginShape() { return origin_; }
    Shape& MutableStorageShape() { return storage_; }
    bool operator==(const StorageShape& other) const { return origin_ == other.origin_ && storage_ == other.storage_; }
    bool operator!=(const StorageShape& other) const { return !(*this == other); }

  private:
    Shape origin_;
    Shape storage_;
};

class ExpandDimsType {
  public:
    ExpandDimsType() = default;
    explicit ExpandDimsType(const char* type);
    size_t GetFullSize() const { return size_; }
    bool IsExpandIndex(uint64_t index) const { return index < size_ && ((mask_ >> index) & 1) != 0; }
    bool operator==(const ExpandDimsType& other) const { return size_ == other.size_ && mask_ == other.mask_; }

  private:
    uint64_t size_ = 0;
    uint64_t mask_ = 0;
};

class StorageFormat {
  public:
    StorageFormat() = default;
    StorageFormat(ge::Format origin, ge::Format storage, const ExpandDimsType& expand)
        : origin_(origin), storage_(storage), expand_(expand) {}
    ge::Format GetOriginFormat() const { return origin_; }
    ge::Format GetStorageFormat() const { return storage_; }
    void SetOriginFormat(ge::Format format) { origin_ = format; }
    void SetStorageFormat(ge::Format format) { storage_ = format; }
    ExpandDimsType GetExpandDimsType() const { return expand_; }
    void SetExpandDimsType(ExpandDimsType expand) { expand_ = expand; }

  private:
    ge::Format origin_ = ge::FORMAT_ND;
    ge::Format storage_ = ge::FORMAT_ND;
    ExpandDimsType expand_;
};

enum TensorPlacement {
    kOnDeviceHbm,
    kOnHost,
    kFollowing,
    kOnDeviceP2p,
    kTensorPlacementEnd,
};
class TensorPlacementUtils {
  public:
    static bool IsOnHost(TensorPlacement place) { return place == kOnHost || place == kFollowing; }
    static bool IsOnDevice(TensorPlacement place) { return place == kOnDeviceHbm || place == kOnDeviceP2p; }
    static bool IsOnDeviceHbm(TensorPlacement place) { return place == kOnDeviceHbm; }
    static bool IsOnDeviceP2p(TensorPlacement place) { return place == kOnDeviceP2p; }
};
using TensorAddress = void*;
using ConstTensorAddressPtr = const void*;

class Tensor {
  public:
    Tensor() = default;
    Tensor(const StorageShape& shape, const StorageFormat& format, TensorPlacement placement, ge::DataType type,
           TensorAddress address = nullptr)
        : shape_(shape), format_(format), placement_(placement), type_(type), address_(address) {}

    const Shape& GetStorageShape() const { return shape_.GetStorageShape(); }
    const Shape& GetOriginShape() const { return shape_.GetOriginShape(); }
    Shape& MutableStorageShape() { return shape_.MutableStorageShape(); }
    Shape& MutableOriginShape() { return shape_.MutableOriginShape(); }
    const StorageShape& GetShape() const { return shape_; }
    StorageShape& GetShape() { return shape_; }
    int64_t GetShapeSize() const { return shape_.GetStorageShape().GetShapeSize(); }
    size_t GetSize() const;
    // The values, or nullptr where they are not known on the host.
    template <class T>
    const T* GetData() const {
        return static_cast<const T*>(address_);
    }
    template <class T>
    T* GetData() {
        return static_cast<T*>(address_);
    }
    ConstTensorAddressPtr GetAddr() const { return address_; }
    TensorAddress GetAddr() { return address_; }
    void SetData(TensorAddress address) { address_ = address; }
    ge::DataType GetDataType() const { return type_; }
    void SetDataType(ge::DataType type) { type_ = type; }
    const StorageFormat& GetFormat() const { return format_; }
    ge::Format GetStorageFormat() const { return format_.GetStorageFormat(); }
    ge::Format GetOriginFormat() const { return format_.GetOriginFormat(); }
    void SetStorageFormat(ge::Format format) { format_.SetStorageFormat(format); }
    void SetOriginFormat(ge::Format format) { format_.SetOriginFormat(format); }
    ExpandDimsType GetExpandDimsType() const { return format_.GetExpandDimsType(); }
    TensorPlacement GetPlacement() const { return placement_; }
    void SetPlacement(TensorPlacement placement) { placement_ = placement; }

  private:
    StorageShape shape_;
    StorageFormat format_;
    TensorPlacement placement_ = kOnDeviceHbm;
    ge::DataType type_ = ge::DT_UNDEFINED;
    TensorAddress address_ = nullptr;
};

class CompileTimeTensorDesc {
  public:
    ge::DataType GetDataType() const { return type_; }
    const StorageFormat& GetFormat() const { return format_; }
    ge::Format GetStorageFormat() const { return format_.GetStorageFormat(); }
    ge::Format GetOriginFormat() const { return format_.GetOriginFormat(); }
    ExpandDimsType GetExpandDimsType() const { return format_.GetExpandDimsType(); }
    void SetDataType(ge::DataType type) { type_ = type; }
    void SetStorageFormat(ge::Format format) { format_.SetStorageFormat(format); }
    void SetOriginFormat(ge::Format format) { format_.SetOriginFormat(format); }
    void SetExpandDimsType(const ExpandDimsType& expand) { format_.SetExpandDimsType(expand); }

  private:
    ge::DataType type_ = ge::DT_UNDEFINED;
    StorageFormat format_;
};

// A run of elements behind its own header.
class ContinuousVector {
  public:
    ContinuousVector(const ContinuousVector&) = delete;
    ContinuousVector& operator=(const ContinuousVector&) = delete;
    size_t GetSize() const { return size_; }
    size_t GetCapacity() const { return capacity_; }
    const void* GetData() const { return this + 1; }
    void* MutableData() { return this + 1; }

  protected:
    friend struct npukb_host::Attributes;
    explicit ContinuousVector(size_t size) : capacity_(size), size_(size) {}
    size_t capacity_;
    size_t size_;
};

template <class T>
class TypedContinuousVector : private ContinuousVector {
  public:
    using ContinuousVector::GetCapacity;
    using ContinuousVector::GetSize;
    const T* GetData() const { return static_cast<const T*>(ContinuousVector::GetData()); }
    T* MutableData() { return static_cast<T*>(ContinuousVector::MutableData()); }
};

class ContinuousVectorVector {
  public:
    size_t GetSize() const { return rows_.size(); }
    const ContinuousVector* Get(size_t index) const { return index < rows_.size() ? rows_[index] : nullptr; }

  private:
    friend struct npukb_host::Attributes;
    std::vector<const ContinuousVector*> rows_;
};

// Attribute values by their index in the definition. An integer is stored as int64 and may be read through a pointer
// to a narrower type, as the values are little-endian.
class RuntimeAttrs {
  public:
    template <class T>
    const T* GetAttrPointer(size_t index) const {
        return static_cast<const T*>(Pointer(index));
    }
    const int64_t* GetInt(size_t index) const { return GetAttrPointer<int64_t>(index); }
    const float* GetFloat(size_t index) const { return GetAttrPointer<float>(index); }
    const bool* GetBool(size_t index) const { return GetAttrPointer<bool>(index); }
    const char* GetStr(size_t index) const { return GetAttrPointer<char>(index); }
    const TypedContinuousVector<int64_t>* GetListInt(size_t index) const {
        return GetAttrPointer<TypedContinuousVector<int64_t>>(index);
    }
    const TypedContinuousVector<float>* GetListFloat(size_t index) const {
        return GetAttrPointer<TypedContinuousVector<float>>(index);
    }
    const TypedContinuousVector<bool>* GetListBool(size_t index) const {
        return GetAttrPointer<TypedContinuousVector<bool>>(index);
    }
    const ContinuousVectorVector* GetListListInt(size_t index) const {
        return GetAttrPointer<ContinuousVectorVector>(index);
    }
    size_t GetAttrNum() const;

  private:
    friend struct npukb_host::Attributes;
    const void* Pointer(size_t index) const;
    const npukb_host::Attributes* values_ = nullptr;
};

// Which of the instances of a node belong to one argument of the definition.
class AnchorInstanceInfo {
  public:
    AnchorInstanceInfo() = default;
    AnchorInstanceInfo(uint32_t start, uint32_t count) : start_(start), count_(count) {}
    size_t GetInstanceNum() const { return count_; }
    size_t GetInstanceStart() const { return start_; }

  private:
    uint32_t start_ = 0;
    uint32_t count_ = 0;
};

class ComputeNodeInfo {
  public:
    const char* GetNodeType() const;
    const char* GetNodeName() const;
    size_t GetIrInputsNum() const;
    size_t GetIrOutputsNum() const;
    size_t GetInputsNum() const;
    size_t GetOutputsNum() const;
    const AnchorInstanceInfo* GetInputInstanceInfo(size_t ir_index) const;
    const AnchorInstanceInfo* GetOutputInstanceInfo(size_t ir_index) const;
    const CompileTimeTensorDesc* GetInputTdInfo(size_t index) const;
    const CompileTimeTensorDesc* GetOutputTdInfo(size_t index) const;
    const RuntimeAttrs* GetAttrs() const;

  private:
    friend struct npukb_host::Call;
    npukb_host::Call* call_ = nullptr;
};

}  // namespace gert
