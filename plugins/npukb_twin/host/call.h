// What the host library keeps: what an image registers, the modelled chip, and one call of a tiling function.
#pragma once
#include <deque>

#include "twin_host/host.h"

namespace npukb_host {

struct ArgumentData {
    std::string name;
    ops::Option option = ops::REQUIRED;
    std::vector<ge::DataType> types;
    std::vector<ge::Format> formats;
    bool types_multiply = false;  // a list by itself: every type with every combination of the others
    bool formats_multiply = false;
    bool scalar = false;
    bool scalar_list = false;
    bool value_depend = false;
    bool depends_on_compute = false;
    std::vector<ops::ScalarVar> initials;  // nothing, one for all types, or one for each
    std::string follows;
    ops::FollowType follow = ops::FollowType::INVALID_TYPE;
};

// With the object that a definition's calls are chained on.
struct Argument : ArgumentData {
    ops::OpParamDef handle{this};

    Argument() = default;
    Argument(const Argument& other) : ArgumentData(other) {}
    Argument& operator=(const Argument& other) {
        ArgumentData::operator=(other);
        return *this;
    }
};

enum class AttributeKind { kNone, kBool, kInt, kFloat, kString, kListBool, kListInt, kListFloat, kListListInt };

// A value of any kind; which member counts is the attribute's kind.
struct Value {
    int64_t integer = 0;
    float real = 0;
    std::string text;
    std::vector<int64_t> integers;  // also of a list of bool
    std::vector<float> reals;
    std::vector<std::vector<int64_t>> rows;
};

struct Attribute {
    std::string name;
    ops::Option option = ops::REQUIRED;
    AttributeKind kind = AttributeKind::kNone;
    bool has_default = false;
    Value value;
    ops::OpAttrDef handle{this};
};

using Arguments = std::deque<Argument>;  // references stay valid

struct Configuration {
    Arguments inputs, outputs;
};

// What is registered for one operator type, in either way.
struct Operator {
    std::string type;
    bool defined = false;
    Arguments inputs, outputs;
    std::deque<Attribute> attributes, private_attributes;
    std::map<std::string, Configuration> chips;
    gert::OpImplRegisterV2::TilingKernelFunc tiling = nullptr;
    gert::OpImplRegisterV2::TilingParseFunc parse = nullptr;
    gert::OpImplRegisterV2::CompileInfoCreatorFunc create_compile_info = nullptr;
    gert::OpImplRegisterV2::InferShapeKernelFunc infer_shape = nullptr;
    gert::OpImplRegisterV2::InferDataTypeKernelFunc infer_type = nullptr;
    std::vector<size_t> value_inputs;
};

struct Registry {
    std::map<std::string, std::unique_ptr<Operator>> operators;
    std::vector<std::pair<std::string, ops::OpDef* (*)(const char*)>> definitions;
    std::vector<std::pair<std::string, optiling::TilingDef* (*)()>> tilings;

    Operator& Of(const std::string& type);
    // Runs every definition's constructor, once.
    void Define();
};
Registry& TheRegistry();

struct Platform {
    uint64_t vector_cores = 0, cube_cores = 0;
    uint64_t ub_bytes = 0, l1_bytes = 0, l0a_bytes = 0, l0b_bytes = 0, l0c_bytes = 0, l2_bytes = 0, hbm_bytes = 0;
    uint64_t bt_bytes = 0;
    uint64_t load_rate = 0, feed_a_rate = 0,
             feed_b_rate = 0;  // bytes a cycle: global memory to L1, L1 to L0A, L1 to L0B
    uint64_t workspace_reserve_bytes = 0;
    std::string soc;
};
Platform& ThePlatform();

struct Attributes {
    // Storage for a value; the pointer is what RuntimeAttrs answers.
    void Add(AttributeKind kind, const Value& value);
    static const void* At(const Attributes* values, size_t index);
    static size_t Count(const Attributes* values);
    void Bind(gert::RuntimeAttrs& attributes) { attributes.values_ = this; }

  private:
    template <class T>
    const gert::ContinuousVector* Vector(const T* data, size_t count);
    const void* Keep(const void* data, size_t bytes);
    std::vector<const void*> pointers_;
    std::vector<std::unique_ptr<uint64_t[]>> blocks_;
    std::deque<gert::ContinuousVectorVector> tables_;
};

struct TensorRecord {
    gert::Tensor tensor;
    gert::CompileTimeTensorDesc description;
    std::vector<uint64_t> data;
};

// Tensors of one side of a node: instances in order, and where each argument's begin.
struct Side {
    std::deque<TensorRecord> tensors;
    std::vector<gert::AnchorInstanceInfo> arguments;

    TensorRecord* Instance(size_t index) { return index < tensors.size() ? &tensors[index] : nullptr; }
    TensorRecord* Of(size_t argument, size_t relative);
};

constexpr size_t kTilingCapacity = 65536;
constexpr size_t kTilingGuard = 4096;
constexpr size_t kMaxWorkspaces = 16;
constexpr unsigned char kGuardByte = 0xA5;

struct Call {
    Operator* target = nullptr;
    std::string name;
    Side inputs, outputs;
    Attributes values;
    gert::RuntimeAttrs attributes;
    gert::ComputeNodeInfo node;
    fe::PlatFormInfos platform;
    void* compile_info = nullptr;
    std::vector<unsigned char> buffer;
    std::unique_ptr<gert::TilingData> data;
    size_t workspace_sizes[kMaxWorkspaces] = {};
    size_t workspace_count = 0;
    uint64_t tiling_key = 0;
    uint32_t block_dim = 0, aicpu_block_dim = 0, schedule_mode = 0, local_memory = 0;
    int32_t condition = 0;
    bool atomic = false;
    bool deterministic = false;

    Call();
    // Whether the bytes behind the tiling buffer are as they were.
    bool GuardIntact() const;
};

}  // namespace npukb_host
