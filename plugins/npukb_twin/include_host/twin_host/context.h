// Contexts of tiling and inference functions (namespace gert).
//
// Arguments can be asked for in two ways: by instance (a list counts once per tensor, an absent optional argument not
// at all) or by the index of the definition. Whatever is not there is nullptr.
#pragma once
#include "twin_host/tensor.h"

namespace fe {
class PlatFormInfos;
}

namespace gert {

class KernelContext {
  public:
    explicit KernelContext(npukb_host::Call* call) : call_(call) {}
    KernelContext(const KernelContext&) = delete;
    KernelContext& operator=(const KernelContext&) = delete;

  protected:
    npukb_host::Call* call_;
};

class ExtendedKernelContext : public KernelContext {
  public:
    using KernelContext::KernelContext;
    const char* GetNodeType() const;
    const char* GetNodeName() const;
    const char* GetKernelName() const { return GetNodeName(); }
    const char* GetKernelType() const { return GetNodeType(); }
    size_t GetComputeNodeInputNum() const;
    size_t GetComputeNodeOutputNum() const;
    const ComputeNodeInfo* GetComputeNodeInfo() const;
    const RuntimeAttrs* GetAttrs() const;
    const AnchorInstanceInfo* GetIrInputInstanceInfo(size_t ir_index) const;
    const AnchorInstanceInfo* GetIrOutputInstanceInfo(size_t ir_index) const;
    const CompileTimeTensorDesc* GetInputDesc(size_t index) const;
    const CompileTimeTensorDesc* GetOutputDesc(size_t index) const;
    const CompileTimeTensorDesc* GetOptionalInputDesc(size_t ir_index) const;
    const CompileTimeTensorDesc* GetRequiredInputDesc(size_t ir_index) const { return GetOptionalInputDesc(ir_index); }
    const CompileTimeTensorDesc* GetDynamicInputDesc(size_t ir_index, size_t relative) const;
    const CompileTimeTensorDesc* GetRequiredOutputDesc(size_t ir_index) const {
        return GetDynamicOutputDesc(ir_index, 0);
    }
    const CompileTimeTensorDesc* GetDynamicOutputDesc(size_t ir_index, size_t relative) const;
};

// The buffer that travels to the kernel.
class TilingData {
  public:
    TilingData(const TilingData&) = delete;
    TilingData& operator=(const TilingData&) = delete;
    size_t GetCapacity() const { return capacity_; }
    size_t GetDataSize() const { return size_; }
    void SetDataSize(size_t size) { size_ = size; }
    void* GetData() { return data_; }
    const void* GetData() const { return data_; }
    // Appends bytes; GRAPH_FAILED where they do not fit.
    ge::graphStatus AppendBytes(const void* data, size_t bytes);
    template <class T>
    ge::graphStatus Append(const T& data) {
        return AppendBytes(&data, sizeof data);
    }
    template <class T>
    ge::graphStatus Append(const T* data, size_t count) {
        return AppendBytes(data, count * sizeof(T));
    }

  private:
    friend struct npukb_host::Call;
    TilingData(void* data, size_t capacity) : data_(data), capacity_(capacity) {}
    void* data_;
    size_t capacity_;
    size_t size_ = 0;
};

template <class T>
TilingData& operator<<(TilingData& out, const T& data) {
    out.Append(data);
    return out;
}

// Steps between the elements of a tensor, dimension by dimension.
class Stride {
  public:
    Stride() = default;
    Stride(const std::initializer_list<int64_t>& steps) : count_(std::min(steps.size(), kMaxDimNum)) {
        std::copy_n(steps.begin(), count_, steps_);
    }
    static constexpr size_t kMaxDimNum = 25;
    size_t GetDimNum() const { return count_; }
    void SetDimNum(const size_t count) { count_ = count; }
    int64_t GetStride(const size_t index) const { return index < count_ ? steps_[index] : 0; }
    void SetStride(const size_t index, const int64_t step) {
        if (index < kMaxDimNum) steps_[index] = step;
    }

  private:
    size_t count_ = 0;
    int64_t steps_[kMaxDimNum] = {};
};

class TilingContext : public ExtendedKernelContext {
  public:
    using ExtendedKernelContext::ExtendedKernelContext;
    const void* GetCompileInfo() const;
    template <class T>
    const T* GetCompileInfo() const {
        return static_cast<const T*>(GetCompileInfo());
    }
    fe::PlatFormInfos* GetPlatformInfo() const;
    int32_t GetDeterministic() const;

    const StorageShape* GetInputShape(size_t index) const;
    const Tensor* GetInputTensor(size_t index) const;
    const StorageShape* GetOptionalInputShape(size_t ir_index) const;
    const Tensor* GetOptionalInputTensor(size_t ir_index) const;
    const StorageShape* GetRequiredInputShape(size_t ir_index) const { return GetOptionalInputShape(ir_index); }
    const Tensor* GetRequiredInputTensor(size_t ir_index) const { return GetOptionalInputTensor(ir_index); }
    const StorageShape* GetDynamicInputShape(size_t ir_index, size_t relative) const;
    const Tensor* GetDynamicInputTensor(size_t ir_index, size_t relative) const;
    const StorageShape* GetOutputShape(size_t index) const;
    const StorageShape* GetRequiredOutputShape(size_t ir_index) const { return GetDynamicOutputShape(ir_index, 0); }
    const StorageShape* GetDynamicOutputShape(size_t ir_index, size_t relative) const;

    // Documented as reserved: no tensor carries a description of strides, so there is none.
    const Stride* GetInputStride(size_t) const { return nullptr; }
    const Stride* GetOptionalInputStride(size_t) const { return nullptr; }
    const Stride* GetRequiredInputStride(size_t) const { return nullptr; }
    const Stride* GetDynamicInputStride(size_t, size_t) const { return nullptr; }
    const Stride* GetOutputStride(size_t) const { return nullptr; }
    bool InputIsView(size_t) const { return false; }
    bool OptionalInputIsView(size_t) const { return false; }
    bool RequiredInputIsView(size_t) const { return false; }
    bool DynamicInputIsView(size_t, size_t) const { return false; }
    bool OutputIsView(size_t) const { return false; }
    int64_t GetInputOffset(size_t) const { return 0; }
    int64_t GetOptionalInputOffset(size_t) const { return 0; }
    int64_t GetRequiredInputOffset(size_t) const { return 0; }
    int64_t GetDynamicInputOffset(size_t, size_t) const { return 0; }
    int64_t GetOutputOffset(size_t) const { return 0; }

    ge::graphStatus SetTilingKey(uint64_t key);
    uint64_t GetTilingKey() const;
    ge::graphStatus SetBlockDim(uint32_t blocks);
    uint32_t GetBlockDim() const;
    ge::graphStatus SetSimdNumBlocks(uint32_t blocks) { return SetBlockDim(blocks); }
    uint32_t GetSimdNumBlocks() const { return GetBlockDim(); }
    ge::graphStatus SetAicpuBlockDim(uint32_t blocks);
    uint32_t GetAicpuBlockDim() const;
    ge::graphStatus SetNeedAtomic(bool needed);
    bool NeedAtomic() const;
    ge::graphStatus SetTilingCond(int32_t condition);
    int32_t GetTilingCond() const;
    ge::graphStatus SetScheduleMode(uint32_t mode);
    uint32_t GetScheduleMode() const;
    ge::graphStatus SetLocalMemorySize(uint32_t bytes);
    uint32_t GetLocalMemorySize() const;

    TilingData* GetRawTilingData() const;
    // The buffer as a T, which is counted as written; nullptr where it does not fit.
    template <class T>
    T* GetTilingData() {
        return static_cast<T*>(Structured(sizeof(T)));
    }
    // Room for the sizes of `count` workspaces.
    size_t* GetWorkspaceSizes(size_t count);
    size_t GetWorkspaceNum() const;

  private:
    void* Structured(size_t bytes);
};

class TilingParseContext : public ExtendedKernelContext {
  public:
    using ExtendedKernelContext::ExtendedKernelContext;
    const char* GetCompiledJson() const;
    template <class T>
    T* GetCompiledInfo() {
        return static_cast<T*>(CompiledInfo());
    }
    fe::PlatFormInfos* GetPlatformInfo() const;

  private:
    void* CompiledInfo() const;
};

class InferShapeContext : public ExtendedKernelContext {
  public:
    using ExtendedKernelContext::ExtendedKernelContext;
    const Shape* GetInputShape(size_t index) const;
    const Tensor* GetInputTensor(size_t index) const;
    const Shape* GetOptionalInputShape(size_t ir_index) const;
    const Tensor* GetOptionalInputTensor(size_t ir_index) const;
    const Shape* GetRequiredInputShape(size_t ir_index) const { return GetOptionalInputShape(ir_index); }
    const Tensor* GetRequiredInputTensor(size_t ir_index) const { return GetOptionalInputTensor(ir_index); }
    const Shape* GetDynamicInputShape(size_t ir_index, size_t relative) const;
    const Tensor* GetDynamicInputTensor(size_t ir_index, size_t relative) const;
    Shape* GetOutputShape(size_t index);
};

class InferDataTypeContext : public ExtendedKernelContext {
  public:
    using ExtendedKernelContext::ExtendedKernelContext;
    ge::DataType GetInputDataType(size_t index) const;
    ge::DataType GetOptionalInputDataType(size_t ir_index) const;
    ge::DataType GetRequiredInputDataType(size_t ir_index) const { return GetOptionalInputDataType(ir_index); }
    ge::DataType GetDynamicInputDataType(size_t ir_index, size_t relative) const;
    ge::DataType GetOutputDataType(size_t index) const;
    ge::graphStatus SetOutputDataType(size_t index, ge::DataType type);
};

template <class T>
class Range {
  public:
    Range() = default;
    Range(T* least, T* most) : least_(least), most_(most) {}
    explicit Range(T* same) : least_(same), most_(same) {}
    const T* GetMin() const { return least_; }
    const T* GetMax() const { return most_; }
    T* GetMin() { return least_; }
    T* GetMax() { return most_; }
    void SetMin(T* least) { least_ = least; }
    void SetMax(T* most) { most_ = most; }

  private:
    T* least_ = nullptr;
    T* most_ = nullptr;
};

// Shape ranges belong to graph compilation: the twin compiles such functions and never calls them.
class InferShapeRangeContext : public ExtendedKernelContext {
  public:
    using ExtendedKernelContext::ExtendedKernelContext;
    const Range<Shape>* GetInputShapeRange(size_t index) const;
    const Range<Shape>* GetOptionalInputShapeRange(size_t ir_index) const;
    const Range<Shape>* GetDynamicInputShapeRange(size_t ir_index, size_t relative) const;
    Range<Shape>* GetOutputShapeRange(size_t index);
};

}  // namespace gert
