// The contexts that tiling and inference functions see: views of one call, which owns every tensor, attribute and
// buffer that they lead to.
#include "call.h"

namespace npukb_host {

TensorRecord* Side::Of(size_t argument, size_t relative) {
    if (argument >= arguments.size() || relative >= arguments[argument].GetInstanceNum()) return nullptr;
    return Instance(arguments[argument].GetInstanceStart() + relative);
}

Call::Call() : buffer(kTilingCapacity + kTilingGuard, 0) {
    memset(buffer.data() + kTilingCapacity, kGuardByte, kTilingGuard);
    data.reset(new gert::TilingData(buffer.data(), kTilingCapacity));
    node.call_ = this;
    values.Bind(attributes);
}

bool Call::GuardIntact() const {
    for (size_t i = 0; i < kTilingGuard; ++i) {
        if (buffer[kTilingCapacity + i] != kGuardByte) return false;
    }
    return true;
}

const void* Attributes::At(const Attributes* values, size_t index) {
    return values != nullptr && index < values->pointers_.size() ? values->pointers_[index] : nullptr;
}

size_t Attributes::Count(const Attributes* values) { return values == nullptr ? 0 : values->pointers_.size(); }

const void* Attributes::Keep(const void* data, size_t bytes) {
    blocks_.emplace_back(new uint64_t[bytes / 8 + 1]());  // zeros behind a value, so that wider reads find zeros
    memcpy(blocks_.back().get(), data, bytes);
    return blocks_.back().get();
}

template <class T>
const gert::ContinuousVector* Attributes::Vector(const T* data, size_t count) {
    size_t bytes = sizeof(gert::ContinuousVector) + count * sizeof(T);
    blocks_.emplace_back(new uint64_t[bytes / 8 + 1]());
    auto* vector = new (blocks_.back().get()) gert::ContinuousVector(count);
    if (count != 0) memcpy(vector->MutableData(), data, count * sizeof(T));
    return vector;
}

void Attributes::Add(AttributeKind kind, const Value& value) {
    const void* pointer = nullptr;
    switch (kind) {
        case AttributeKind::kBool:
        case AttributeKind::kInt: pointer = Keep(&value.integer, sizeof value.integer); break;
        case AttributeKind::kFloat: pointer = Keep(&value.real, sizeof value.real); break;
        case AttributeKind::kString: pointer = Keep(value.text.c_str(), value.text.size() + 1); break;
        case AttributeKind::kListInt: pointer = Vector(value.integers.data(), value.integers.size()); break;
        case AttributeKind::kListFloat: pointer = Vector(value.reals.data(), value.reals.size()); break;
        case AttributeKind::kListBool: {
            std::vector<uint8_t> flags(value.integers.begin(), value.integers.end());
            pointer = Vector(flags.data(), flags.size());
            break;
        }
        case AttributeKind::kListListInt: {
            auto& table = tables_.emplace_back();
            for (const auto& row : value.rows) table.rows_.push_back(Vector(row.data(), row.size()));
            pointer = &table;
            break;
        }
        case AttributeKind::kNone: break;
    }
    pointers_.push_back(pointer);
}

}  // namespace npukb_host

namespace gert {
namespace {

using npukb_host::TensorRecord;

const CompileTimeTensorDesc* Description(TensorRecord* record) {
    return record == nullptr ? nullptr : &record->description;
}
const StorageShape* ShapeOf(TensorRecord* record) { return record == nullptr ? nullptr : &record->tensor.GetShape(); }
const Shape* PlainShape(TensorRecord* record) {
    return record == nullptr ? nullptr : &record->tensor.GetStorageShape();
}
const Tensor* TensorOf(TensorRecord* record) { return record == nullptr ? nullptr : &record->tensor; }
ge::DataType TypeOf(TensorRecord* record) {
    return record == nullptr ? ge::DT_UNDEFINED : record->description.GetDataType();
}
const AnchorInstanceInfo* Instances(const npukb_host::Side& side, size_t index) {
    return index < side.arguments.size() ? &side.arguments[index] : nullptr;
}

}  // namespace

const void* RuntimeAttrs::Pointer(size_t index) const { return npukb_host::Attributes::At(values_, index); }
size_t RuntimeAttrs::GetAttrNum() const { return npukb_host::Attributes::Count(values_); }

const char* ComputeNodeInfo::GetNodeType() const { return call_->target->type.c_str(); }
const char* ComputeNodeInfo::GetNodeName() const { return call_->name.c_str(); }
size_t ComputeNodeInfo::GetIrInputsNum() const { return call_->inputs.arguments.size(); }
size_t ComputeNodeInfo::GetIrOutputsNum() const { return call_->outputs.arguments.size(); }
size_t ComputeNodeInfo::GetInputsNum() const { return call_->inputs.tensors.size(); }
size_t ComputeNodeInfo::GetOutputsNum() const { return call_->outputs.tensors.size(); }
const AnchorInstanceInfo* ComputeNodeInfo::GetInputInstanceInfo(size_t i) const { return Instances(call_->inputs, i); }
const AnchorInstanceInfo* ComputeNodeInfo::GetOutputInstanceInfo(size_t i) const {
    return Instances(call_->outputs, i);
}
const CompileTimeTensorDesc* ComputeNodeInfo::GetInputTdInfo(size_t i) const {
    return Description(call_->inputs.Instance(i));
}
const CompileTimeTensorDesc* ComputeNodeInfo::GetOutputTdInfo(size_t i) const {
    return Description(call_->outputs.Instance(i));
}
const RuntimeAttrs* ComputeNodeInfo::GetAttrs() const { return &call_->attributes; }

const char* ExtendedKernelContext::GetNodeType() const { return call_->node.GetNodeType(); }
const char* ExtendedKernelContext::GetNodeName() const { return call_->node.GetNodeName(); }
size_t ExtendedKernelContext::GetComputeNodeInputNum() const { return call_->inputs.tensors.size(); }
size_t ExtendedKernelContext::GetComputeNodeOutputNum() const { return call_->outputs.tensors.size(); }
const ComputeNodeInfo* ExtendedKernelContext::GetComputeNodeInfo() const { return &call_->node; }
const RuntimeAttrs* ExtendedKernelContext::GetAttrs() const { return &call_->attributes; }
const AnchorInstanceInfo* ExtendedKernelContext::GetIrInputInstanceInfo(size_t i) const {
    return Instances(call_->inputs, i);
}
const AnchorInstanceInfo* ExtendedKernelContext::GetIrOutputInstanceInfo(size_t i) const {
    return Instances(call_->outputs, i);
}
const CompileTimeTensorDesc* ExtendedKernelContext::GetInputDesc(size_t i) const {
    return Description(call_->inputs.Instance(i));
}
const CompileTimeTensorDesc* ExtendedKernelContext::GetOutputDesc(size_t i) const {
    return Description(call_->outputs.Instance(i));
}
const CompileTimeTensorDesc* ExtendedKernelContext::GetOptionalInputDesc(size_t i) const {
    return Description(call_->inputs.Of(i, 0));
}
const CompileTimeTensorDesc* ExtendedKernelContext::GetDynamicInputDesc(size_t i, size_t relative) const {
    return Description(call_->inputs.Of(i, relative));
}
const CompileTimeTensorDesc* ExtendedKernelContext::GetDynamicOutputDesc(size_t i, size_t relative) const {
    return Description(call_->outputs.Of(i, relative));
}

ge::graphStatus TilingData::AppendBytes(const void* data, size_t bytes) {
    if (bytes > capacity_ - size_) return ge::GRAPH_FAILED;
    memcpy(static_cast<char*>(data_) + size_, data, bytes);
    size_ += bytes;
    return ge::GRAPH_SUCCESS;
}

const void* TilingContext::GetCompileInfo() const { return call_->compile_info; }
fe::PlatFormInfos* TilingContext::GetPlatformInfo() const { return &call_->platform; }
int32_t TilingContext::GetDeterministic() const { return call_->deterministic ? 1 : 0; }
const StorageShape* TilingContext::GetInputShape(size_t i) const { return ShapeOf(call_->inputs.Instance(i)); }
const Tensor* TilingContext::GetInputTensor(size_t i) const { return TensorOf(call_->inputs.Instance(i)); }
const StorageShape* TilingContext::GetOptionalInputShape(size_t i) const { return ShapeOf(call_->inputs.Of(i, 0)); }
const Tensor* TilingContext::GetOptionalInputTensor(size_t i) const { return TensorOf(call_->inputs.Of(i, 0)); }
const StorageShape* TilingContext::GetDynamicInputShape(size_t i, size_t relative) const {
    return ShapeOf(call_->inputs.Of(i, relative));
}
const Tensor* TilingContext::GetDynamicInputTensor(size_t i, size_t relative) const {
    return TensorOf(call_->inputs.Of(i, relative));
}
const StorageShape* TilingContext::GetOutputShape(size_t i) const { return ShapeOf(call_->outputs.Instance(i)); }
const StorageShape* TilingContext::GetDynamicOutputShape(size_t i, size_t relative) const {
    return ShapeOf(call_->outputs.Of(i, relative));
}

namespace {
template <class T>
ge::graphStatus Set(T& place, T value) {
    place = value;
    return ge::GRAPH_SUCCESS;
}
}  // namespace

ge::graphStatus TilingContext::SetTilingKey(uint64_t key) { return Set(call_->tiling_key, key); }
uint64_t TilingContext::GetTilingKey() const { return call_->tiling_key; }
ge::graphStatus TilingContext::SetBlockDim(uint32_t blocks) { return Set(call_->block_dim, blocks); }
uint32_t TilingContext::GetBlockDim() const { return call_->block_dim; }
ge::graphStatus TilingContext::SetAicpuBlockDim(uint32_t blocks) { return Set(call_->aicpu_block_dim, blocks); }
uint32_t TilingContext::GetAicpuBlockDim() const { return call_->aicpu_block_dim; }
ge::graphStatus TilingContext::SetNeedAtomic(bool needed) { return Set(call_->atomic, needed); }
bool TilingContext::NeedAtomic() const { return call_->atomic; }
ge::graphStatus TilingContext::SetTilingCond(int32_t condition) { return Set(call_->condition, condition); }
int32_t TilingContext::GetTilingCond() const { return call_->condition; }
ge::graphStatus TilingContext::SetScheduleMode(uint32_t mode) { return Set(call_->schedule_mode, mode); }
uint32_t TilingContext::GetScheduleMode() const { return call_->schedule_mode; }
ge::graphStatus TilingContext::SetLocalMemorySize(uint32_t bytes) { return Set(call_->local_memory, bytes); }
uint32_t TilingContext::GetLocalMemorySize() const { return call_->local_memory; }
TilingData* TilingContext::GetRawTilingData() const { return call_->data.get(); }

void* TilingContext::Structured(size_t bytes) {
    TilingData& data = *call_->data;
    if (bytes > data.GetCapacity()) return nullptr;
    data.SetDataSize(bytes);
    return data.GetData();
}

size_t* TilingContext::GetWorkspaceSizes(size_t count) {
    if (count > npukb_host::kMaxWorkspaces) return nullptr;
    call_->workspace_count = count;
    return call_->workspace_sizes;
}
size_t TilingContext::GetWorkspaceNum() const { return call_->workspace_count; }

const char* TilingParseContext::GetCompiledJson() const { return "{}"; }
void* TilingParseContext::CompiledInfo() const { return call_->compile_info; }
fe::PlatFormInfos* TilingParseContext::GetPlatformInfo() const { return &call_->platform; }

const Shape* InferShapeContext::GetInputShape(size_t i) const { return PlainShape(call_->inputs.Instance(i)); }
const Tensor* InferShapeContext::GetInputTensor(size_t i) const { return TensorOf(call_->inputs.Instance(i)); }
const Shape* InferShapeContext::GetOptionalInputShape(size_t i) const { return PlainShape(call_->inputs.Of(i, 0)); }
const Tensor* InferShapeContext::GetOptionalInputTensor(size_t i) const { return TensorOf(call_->inputs.Of(i, 0)); }
const Shape* InferShapeContext::GetDynamicInputShape(size_t i, size_t relative) const {
    return PlainShape(call_->inputs.Of(i, relative));
}
const Tensor* InferShapeContext::GetDynamicInputTensor(size_t i, size_t relative) const {
    return TensorOf(call_->inputs.Of(i, relative));
}
Shape* InferShapeContext::GetOutputShape(size_t i) {
    TensorRecord* record = call_->outputs.Instance(i);
    return record == nullptr ? nullptr : &record->tensor.MutableStorageShape();
}

ge::DataType InferDataTypeContext::GetInputDataType(size_t i) const { return TypeOf(call_->inputs.Instance(i)); }
ge::DataType InferDataTypeContext::GetOptionalInputDataType(size_t i) const { return TypeOf(call_->inputs.Of(i, 0)); }
ge::DataType InferDataTypeContext::GetDynamicInputDataType(size_t i, size_t relative) const {
    return TypeOf(call_->inputs.Of(i, relative));
}
ge::DataType InferDataTypeContext::GetOutputDataType(size_t i) const { return TypeOf(call_->outputs.Instance(i)); }
ge::graphStatus InferDataTypeContext::SetOutputDataType(size_t i, ge::DataType type) {
    TensorRecord* record = call_->outputs.Instance(i);
    if (record == nullptr) return ge::GRAPH_FAILED;
    record->description.SetDataType(type);
    return ge::GRAPH_SUCCESS;
}

const Range<Shape>* InferShapeRangeContext::GetInputShapeRange(size_t) const { return nullptr; }
const Range<Shape>* InferShapeRangeContext::GetOptionalInputShapeRange(size_t) const { return nullptr; }
const Range<Shape>* InferShapeRangeContext::GetDynamicInputShapeRange(size_t, size_t) const { return nullptr; }
Range<Shape>* InferShapeRangeContext::GetOutputShapeRange(size_t) { return nullptr; }

}  // namespace gert
