// What static objects of host code register while the library is loaded: definitions, tiling and inference functions.
#include <algorithm>

#include "define.h"

namespace npukb_host {

Registry& TheRegistry() {
    static Registry registry;
    return registry;
}

Operator& Registry::Of(const std::string& type) {
    auto& place = operators[type];
    if (place == nullptr) {
        place = std::make_unique<Operator>();
        place->type = type;
    }
    return *place;
}

void Registry::Define() {
    for (const auto& [type, create] : definitions) {
        if (Of(type).defined) continue;
        Of(type).defined = true;
        create(type.c_str());
    }
}

Definition::Definition(const char* type, ops::OpDef* (*create)(const char*)) {
    TheRegistry().definitions.emplace_back(type, create);
}
TilingClass::TilingClass(const char* key, optiling::TilingDef* (*create)()) {
    TheRegistry().tilings.emplace_back(key, create);
}

namespace {
Argument& Named(Arguments& arguments, const char* name) {
    for (auto& argument : arguments) {
        if (argument.name == name) return argument;
    }
    Argument& added = arguments.emplace_back();
    added.name = name;
    return added;
}

// What is registered again counts from then on.
Value& Private(Operator& owner, const char* name, AttributeKind kind) {
    auto& known = owner.private_attributes;
    auto same = std::find_if(known.begin(), known.end(), [&](const Attribute& a) { return a.name == name; });
    Attribute& attribute = same == known.end() ? known.emplace_back() : *same;
    attribute.name = name;
    attribute.kind = kind;
    attribute.value = {};
    return attribute.value;
}
}  // namespace

}  // namespace npukb_host

namespace gert {

using npukb_host::AttributeKind;
using npukb_host::Private;

OpImplRegisterV2::OpImplRegisterV2(const char* type) : operator_(&npukb_host::TheRegistry().Of(type)) {}
OpImplRegisterV2& OpImplRegisterV2::InferShape(InferShapeKernelFunc function) {
    operator_->infer_shape = function;
    return *this;
}
OpImplRegisterV2& OpImplRegisterV2::InferShapeRange(InferShapeRangeKernelFunc) { return *this; }
OpImplRegisterV2& OpImplRegisterV2::InferDataType(InferDataTypeKernelFunc function) {
    operator_->infer_type = function;
    return *this;
}
OpImplRegisterV2& OpImplRegisterV2::Tiling(TilingKernelFunc function, size_t) {
    operator_->tiling = function;
    return *this;
}
OpImplRegisterV2& OpImplRegisterV2::InputsDataDependency(std::initializer_list<int32_t> inputs) {
    for (int32_t index : inputs) operator_->value_inputs.push_back(static_cast<size_t>(index));
    return *this;
}
OpImplRegisterV2& OpImplRegisterV2::TilingInputsDataDependency(std::initializer_list<int32_t> inputs) {
    return InputsDataDependency(inputs);
}
OpImplRegisterV2& OpImplRegisterV2::TilingInputsDataDependency(std::initializer_list<int32_t> inputs,
                                                               std::initializer_list<TilingPlacement>) {
    return InputsDataDependency(inputs);
}
OpImplRegisterV2& OpImplRegisterV2::PrivateAttr(const char* name) {
    Private(*operator_, name, AttributeKind::kNone);
    return *this;
}
#define NPUKB_PRIVATE(type, kind, member)                                           \
    OpImplRegisterV2& OpImplRegisterV2::PrivateAttr(const char* name, type value) { \
        Private(*operator_, name, AttributeKind::kind).member = value;              \
        return *this;                                                               \
    }
NPUKB_PRIVATE(int64_t, kInt, integer)
NPUKB_PRIVATE(const std::vector<int64_t>&, kListInt, integers)
NPUKB_PRIVATE(const char*, kString, text)
NPUKB_PRIVATE(float, kFloat, real)
NPUKB_PRIVATE(bool, kBool, integer)
NPUKB_PRIVATE(const std::vector<float>&, kListFloat, reals)
#undef NPUKB_PRIVATE
OpImplRegisterV2& OpImplRegisterV2::Parse(TilingParseFunc function, CompileInfoCreatorFunc create) {
    operator_->parse = function;
    operator_->create_compile_info = create;
    return *this;
}

}  // namespace gert

namespace ops {

using npukb_host::AttributeKind;

#define NPUKB_SETTER(signature, statement) \
    OpParamDef& OpParamDef::signature {    \
        statement;                         \
        return *this;                      \
    }
NPUKB_SETTER(ParamType(Option option), data_->option = option)
NPUKB_SETTER(DataType(std::vector<ge::DataType> types), data_->types = std::move(types))
NPUKB_SETTER(DataTypeList(std::vector<ge::DataType> types), data_->types = std::move(types);
             data_->types_multiply = true)
NPUKB_SETTER(DataTypeForBinQuery(std::vector<ge::DataType>), )
NPUKB_SETTER(Format(std::vector<ge::Format> formats), data_->formats = std::move(formats))
NPUKB_SETTER(FormatList(std::vector<ge::Format> formats), data_->formats = std::move(formats);
             data_->formats_multiply = true)
NPUKB_SETTER(FormatForBinQuery(std::vector<ge::Format>), )
NPUKB_SETTER(UnknownShapeFormat(std::vector<ge::Format>), )
NPUKB_SETTER(ValueDepend(Option), data_->value_depend = true)
NPUKB_SETTER(ValueDepend(Option, DependScope), data_->value_depend = true)
NPUKB_SETTER(IgnoreContiguous(), )
NPUKB_SETTER(AutoContiguous(), )
NPUKB_SETTER(Scalar(), data_->scalar = true)
NPUKB_SETTER(ScalarList(), data_->scalar_list = true)
NPUKB_SETTER(To(ge::DataType type), data_->types.assign(data_->types.size(), type))
NPUKB_SETTER(To(const char* name), data_->follows = name; data_->follow = FollowType::DTYPE)
NPUKB_SETTER(Version(uint32_t), )
NPUKB_SETTER(InitValue(uint64_t value), data_->initials = {ScalarVar(ScalarType::UINT64, value)})
NPUKB_SETTER(InitValue(const ScalarVar& value), data_->initials = {value})
NPUKB_SETTER(InitValue(const std::vector<ScalarVar>& values), data_->initials = values)
NPUKB_SETTER(OutputShapeDependOnCompute(), data_->depends_on_compute = true)
NPUKB_SETTER(Follow(const char* name), data_->follows = name; data_->follow = FollowType::ALL)
NPUKB_SETTER(Follow(const char* name, FollowType type), data_->follows = name; data_->follow = type)
NPUKB_SETTER(Comment(const char*), )
#undef NPUKB_SETTER

#define NPUKB_SETTER(signature, statement) \
    OpAttrDef& OpAttrDef::signature {      \
        statement;                         \
        return *this;                      \
    }
#define NPUKB_KIND(Name, kindname, type, member)                \
    NPUKB_SETTER(Name(), data_->kind = AttributeKind::kindname) \
    NPUKB_SETTER(Name(type value), data_->kind = AttributeKind::kindname; data_->has_default = true; member)
NPUKB_SETTER(AttrType(Option option), data_->option = option)
NPUKB_KIND(Bool, kBool, bool, data_->value.integer = value)
NPUKB_KIND(Float, kFloat, float, data_->value.real = value)
NPUKB_KIND(Int, kInt, int64_t, data_->value.integer = value)
NPUKB_KIND(String, kString, const char*, data_->value.text = value)
NPUKB_KIND(ListBool, kListBool, std::vector<bool>, data_->value.integers.assign(value.begin(), value.end()))
NPUKB_KIND(ListFloat, kListFloat, std::vector<float>, data_->value.reals = value)
NPUKB_KIND(ListInt, kListInt, std::vector<int64_t>, data_->value.integers = value)
NPUKB_KIND(ListListInt, kListListInt, std::vector<std::vector<int64_t>>, data_->value.rows = value)
NPUKB_SETTER(Version(uint32_t), )
NPUKB_SETTER(Comment(const char*), )
#undef NPUKB_KIND
#undef NPUKB_SETTER

OpAICoreConfig::OpAICoreConfig() : data_(new npukb_host::Configuration) {}
OpAICoreConfig::OpAICoreConfig(const char*) : OpAICoreConfig() {}
OpAICoreConfig::OpAICoreConfig(const OpAICoreConfig& other) : data_(new npukb_host::Configuration(*other.data_)) {}
OpAICoreConfig& OpAICoreConfig::operator=(const OpAICoreConfig& other) {
    if (this != &other) {
        delete data_;
        data_ = new npukb_host::Configuration(*other.data_);
    }
    return *this;
}
OpAICoreConfig::~OpAICoreConfig() { delete data_; }
OpParamDef& OpAICoreConfig::Input(const char* name) { return npukb_host::Named(data_->inputs, name).handle; }
OpParamDef& OpAICoreConfig::Output(const char* name) { return npukb_host::Named(data_->outputs, name).handle; }
OpAICoreConfig& OpAICoreConfig::DynamicCompileStaticFlag(bool) { return *this; }
OpAICoreConfig& OpAICoreConfig::DynamicFormatFlag(bool) { return *this; }
OpAICoreConfig& OpAICoreConfig::DynamicRankSupportFlag(bool) { return *this; }
OpAICoreConfig& OpAICoreConfig::DynamicShapeSupportFlag(bool) { return *this; }
OpAICoreConfig& OpAICoreConfig::NeedCheckSupportFlag(bool) { return *this; }
OpAICoreConfig& OpAICoreConfig::PrecisionReduceFlag(bool) { return *this; }
OpAICoreConfig& OpAICoreConfig::ExtendCfgInfo(const char*, const char*) { return *this; }

OpAICoreDef& OpAICoreDef::SetTiling(gert::OpImplRegisterV2::TilingKernelFunc function) {
    owner_->tiling = function;
    return *this;
}
OpAICoreDef& OpAICoreDef::AddConfig(const char* soc) {
    owner_->chips[soc];
    return *this;
}
OpAICoreDef& OpAICoreDef::AddConfig(const char* soc, OpAICoreConfig& config) {
    owner_->chips.erase(soc);
    owner_->chips.emplace(soc, *config.data_);
    return *this;
}

OpMC2Def& OpMC2Def::HcclGroup(const char* value) {
    for (const auto& attribute : owner_->attributes) {
        bool named = attribute.name == value;
        if (named && attribute.kind == AttributeKind::kString && attribute.option == REQUIRED) return *this;
    }
    throw npukb_host::Refused{"HcclGroup: '" + std::string(value) +
                              "' is no attribute of text that is required and declared before"};
}
OpMC2Def& OpMC2Def::HcclGroup(std::vector<const char*> value) {
    for (const char* name : value) HcclGroup(name);
    return *this;
}

OpDef::OpDef(const char* type) : data_(&npukb_host::TheRegistry().Of(type)), core_(data_), ranks_(data_) {}
OpParamDef& OpDef::Input(const char* name) { return npukb_host::Named(data_->inputs, name).handle; }
OpParamDef& OpDef::Output(const char* name) { return npukb_host::Named(data_->outputs, name).handle; }
OpAttrDef& OpDef::Attr(const char* name) {
    for (auto& attribute : data_->attributes) {
        if (attribute.name == name) return attribute.handle;
    }
    auto& added = data_->attributes.emplace_back();
    added.name = name;
    return added.handle;
}
OpDef& OpDef::Comment(const char*) { return *this; }
OpDef& OpDef::SetInferShape(gert::OpImplRegisterV2::InferShapeKernelFunc function) {
    data_->infer_shape = function;
    return *this;
}
OpDef& OpDef::SetInferShapeRange(gert::OpImplRegisterV2::InferShapeRangeKernelFunc) { return *this; }
OpDef& OpDef::SetInferDataType(gert::OpImplRegisterV2::InferDataTypeKernelFunc function) {
    data_->infer_type = function;
    return *this;
}
OpDef& OpDef::FormatMatchMode(FormatCheckOption) { return *this; }
OpDef& OpDef::EnableFallBack() { return *this; }

}  // namespace ops
