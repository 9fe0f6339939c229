// Operator definitions: OpDef and what its constructor says, OP_ADD (namespace ops).
#pragma once
#include "twin_host/registry.h"

namespace npukb_host {
struct Argument;
struct Attribute;
struct Configuration;
}  // namespace npukb_host

namespace optiling {
using OP_CHECK_FUNC = ge::graphStatus (*)(const ge::Operator&, ge::AscendString&);
using PARAM_GENERALIZE_FUNC = ge::graphStatus (*)(const ge::Operator&, const ge::AscendString&, ge::AscendString&);
}  // namespace optiling

namespace ops {

enum Option { IGNORE = 0, OPTIONAL = 1, REQUIRED = 2, DYNAMIC = 3, VIRTUAL = 4 };
enum class FollowType { ALL = 0, DTYPE = 1, FORMAT = 2, SHAPE = 3, INVALID_TYPE = 4 };
enum class DependScope { ALL = 0, TILING = 1, INVALID_SCOPE = 2 };
enum class FormatCheckOption { DEFAULT = 0, STRICT = 1, MAX = 2 };
enum class ItemFindStatus { ITEM_FIND = 0, ITEM_NOEXIST = 1 };
enum class HcclServerType : uint32_t { AICPU = 0, AICORE, CCU, MAX };
enum class InitValueType { INIT_VALUE_UINT64_T = 0, INIT_VALUE_DEFAULT };

enum class ScalarType : uint32_t {
    UINT64,
    INT64,
    UINT32,
    INT32,
    UINT16,
    INT16,
    UINT8,
    INT8,
    FLOAT32,
    FLOAT16,
    INVALID_DTYPE = static_cast<uint32_t>(-1),
};

union ScalarNum {
    uint64_t value_u64;
    int64_t value_i64;
    float value_f32;
    ScalarNum() : value_u64(0) {}
    explicit ScalarNum(uint64_t value) : value_u64(value) {}
    explicit ScalarNum(int64_t value) : value_i64(value) {}
    explicit ScalarNum(float value) : value_f32(value) {}
};

// What an output is filled with before the launch.
struct ScalarVar {
    ScalarType scalar_type = ScalarType::INVALID_DTYPE;
    ScalarNum scalar_num;
    ScalarVar() = default;
    template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
    ScalarVar(ScalarType type, T value) : scalar_type(type) {
        if (type == ScalarType::FLOAT32 || type == ScalarType::FLOAT16)
            scalar_num = ScalarNum(static_cast<float>(value));
        else if (type == ScalarType::UINT64)
            scalar_num = ScalarNum(static_cast<uint64_t>(value));
        else
            scalar_num = ScalarNum(static_cast<int64_t>(value));
    }
};

class OpParamDef {
  public:
    explicit OpParamDef(npukb_host::Argument* data) : data_(data) {}
    OpParamDef& ParamType(Option option);
    OpParamDef& DataType(std::vector<ge::DataType> types);
    OpParamDef& DataTypeList(std::vector<ge::DataType> types);
    OpParamDef& DataTypeForBinQuery(std::vector<ge::DataType> types);
    OpParamDef& Format(std::vector<ge::Format> formats);
    OpParamDef& FormatList(std::vector<ge::Format> formats);
    OpParamDef& FormatForBinQuery(std::vector<ge::Format> formats);
    OpParamDef& UnknownShapeFormat(std::vector<ge::Format> formats);
    OpParamDef& ValueDepend(Option option);
    OpParamDef& ValueDepend(Option option, DependScope scope);
    OpParamDef& IgnoreContiguous();
    OpParamDef& AutoContiguous();
    OpParamDef& Scalar();
    OpParamDef& ScalarList();
    OpParamDef& To(ge::DataType type);
    OpParamDef& To(const char* name);
    OpParamDef& Version(uint32_t version);
    OpParamDef& InitValue(uint64_t value);
    OpParamDef& InitValue(const ScalarVar& value);
    OpParamDef& InitValue(const std::vector<ScalarVar>& value);  // one for each of the output's types
    OpParamDef& OutputShapeDependOnCompute();
    OpParamDef& Follow(const char* name);
    OpParamDef& Follow(const char* name, FollowType type);
    OpParamDef& Comment(const char* comment);

  private:
    npukb_host::Argument* data_;
};

class OpAttrDef {
  public:
    explicit OpAttrDef(npukb_host::Attribute* data) : data_(data) {}
    OpAttrDef& AttrType(Option option);
    OpAttrDef& Bool();
    OpAttrDef& Bool(bool value);
    OpAttrDef& Float();
    OpAttrDef& Float(float value);
    OpAttrDef& Int();
    OpAttrDef& Int(int64_t value);
    OpAttrDef& String();
    OpAttrDef& String(const char* value);
    OpAttrDef& ListBool();
    OpAttrDef& ListBool(std::vector<bool> value);
    OpAttrDef& ListFloat();
    OpAttrDef& ListFloat(std::vector<float> value);
    OpAttrDef& ListInt();
    OpAttrDef& ListInt(std::vector<int64_t> value);
    OpAttrDef& ListListInt();
    OpAttrDef& ListListInt(std::vector<std::vector<int64_t>> value);
    OpAttrDef& Version(uint32_t version);
    OpAttrDef& Comment(const char* comment);

  private:
    npukb_host::Attribute* data_;
};

// What one chip supports where it differs from the operator's own definition.
class OpAICoreConfig {
  public:
    OpAICoreConfig();
    explicit OpAICoreConfig(const char* soc);
    OpAICoreConfig(const OpAICoreConfig& other);
    OpAICoreConfig& operator=(const OpAICoreConfig& other);
    ~OpAICoreConfig();
    OpParamDef& Input(const char* name);
    OpParamDef& Output(const char* name);
    OpAICoreConfig& DynamicCompileStaticFlag(bool flag);
    OpAICoreConfig& DynamicFormatFlag(bool flag);
    OpAICoreConfig& DynamicRankSupportFlag(bool flag);
    OpAICoreConfig& DynamicShapeSupportFlag(bool flag);
    OpAICoreConfig& NeedCheckSupportFlag(bool flag);
    OpAICoreConfig& PrecisionReduceFlag(bool flag);
    OpAICoreConfig& ExtendCfgInfo(const char* key, const char* value);

  private:
    friend class OpAICoreDef;
    npukb_host::Configuration* data_;
};

class OpAICoreDef {
  public:
    explicit OpAICoreDef(npukb_host::Operator* owner) : owner_(owner) {}
    OpAICoreDef& SetTiling(gert::OpImplRegisterV2::TilingKernelFunc function);
    // Operator selection belongs to graph compilation: taken and never called.
    OpAICoreDef& SetCheckSupport(optiling::OP_CHECK_FUNC) { return *this; }
    OpAICoreDef& SetOpSelectFormat(optiling::OP_CHECK_FUNC) { return *this; }
    OpAICoreDef& SetOpSupportInfo(optiling::OP_CHECK_FUNC) { return *this; }
    OpAICoreDef& SetOpSpecInfo(optiling::OP_CHECK_FUNC) { return *this; }
    OpAICoreDef& SetParamGeneralize(optiling::PARAM_GENERALIZE_FUNC) { return *this; }
    // The twin launches every case, whatever its outputs hold.
    OpAICoreDef& LaunchWithZeroEleOutputTensors(bool) { return *this; }
    OpAICoreDef& AddConfig(const char* soc);
    OpAICoreDef& AddConfig(const char* soc, OpAICoreConfig& config);

  private:
    npukb_host::Operator* owner_;
};

// The communicators of an operator that communicates while it computes: kernels get them by GetHcclContext.
class OpMC2Def {
  public:
    explicit OpMC2Def(npukb_host::Operator* owner) : owner_(owner) {}
    // Each is the name of a required attribute of text, which is declared before.
    OpMC2Def& HcclGroup(const char* value);
    OpMC2Def& HcclGroup(std::vector<const char*> value);
    // The twin's server is of no kind: there is nothing to exchange.
    void HcclServerType(enum HcclServerType, const char* = nullptr) {}

  private:
    npukb_host::Operator* owner_;
};

class OpDef {
  public:
    explicit OpDef(const char* type);
    OpDef(const OpDef&) = delete;
    OpDef& operator=(const OpDef&) = delete;
    OpParamDef& Input(const char* name);
    OpParamDef& Output(const char* name);
    OpAttrDef& Attr(const char* name);
    OpDef& Comment(const char* comment);
    OpDef& SetInferShape(gert::OpImplRegisterV2::InferShapeKernelFunc function);
    OpDef& SetInferShapeRange(gert::OpImplRegisterV2::InferShapeRangeKernelFunc function);
    OpDef& SetInferDataType(gert::OpImplRegisterV2::InferDataTypeKernelFunc function);
    OpDef& FormatMatchMode(FormatCheckOption option);
    OpDef& EnableFallBack();
    OpAICoreDef& AICore() { return core_; }
    OpMC2Def& MC2() { return ranks_; }

  private:
    npukb_host::Operator* data_;
    OpAICoreDef core_;
    OpMC2Def ranks_;
};

}  // namespace ops

namespace npukb_host {
// Runs a definition's constructor when the image is asked for its operators.
struct Definition {
    Definition(const char* type, ops::OpDef* (*create)(const char*));
};
}  // namespace npukb_host

#define OP_ADD(op_type, ...)                                                   \
    [[maybe_unused]] static npukb_host::Definition npukb_definition_##op_type( \
        #op_type, [](const char* type) -> ops::OpDef* { return new op_type(type); })
