// Prototypes of operators for graphs (REG_OP). The twin takes an operator's interface from its OpDef: a prototype has
// no effect, and there are no classes op::… to build graphs with. Lists of types are text, as prototypes of public
// repositories name types that no toolkit has.
#pragma once
#include "twin_host/host.h"

namespace ge {

// Data types that an argument may have: nothing asks for them here.
class TensorType {
  public:
    explicit TensorType(DataType) {}
    TensorType(const std::initializer_list<DataType>&) {}
#define NPUKB_TYPES(name) \
    static TensorType name() { return {}; }
    NPUKB_TYPES(ALL)
    NPUKB_TYPES(BasicType)
    NPUKB_TYPES(NumberType)
    NPUKB_TYPES(RealNumberType)
    NPUKB_TYPES(FloatingDataType)
    NPUKB_TYPES(ComplexDataType)
    NPUKB_TYPES(IntegerDataType)
    NPUKB_TYPES(SignedDataType)
    NPUKB_TYPES(UnsignedDataType)
    NPUKB_TYPES(IndexNumberType)
    NPUKB_TYPES(UnaryDataType)
    NPUKB_TYPES(QuantifiedType)
    NPUKB_TYPES(OrdinaryType)
#undef NPUKB_TYPES
};

}  // namespace ge

namespace npukb_host {

struct Prototype {
    const Prototype& Tensor(const char*, const char*) const { return *this; }
    const Prototype& Name(const char*) const { return *this; }
};

}  // namespace npukb_host

#define REG_OP(op_type) \
    [[maybe_unused]] static const npukb_host::Prototype npukb_prototype_##op_type = npukb_host::Prototype()
#define INPUT(name, ...) Tensor(#name, #__VA_ARGS__)
#define OPTIONAL_INPUT(name, ...) Tensor(#name, #__VA_ARGS__)
#define DYNAMIC_INPUT(name, ...) Tensor(#name, #__VA_ARGS__)
#define OUTPUT(name, ...) Tensor(#name, #__VA_ARGS__)
#define DYNAMIC_OUTPUT(name, ...) Tensor(#name, #__VA_ARGS__)
#define DATATYPE(name, ...) Tensor(#name, #__VA_ARGS__)
#define ATTR(name, type, ...) Name(#name)
#define REQUIRED_ATTR(name, type) Name(#name)
#define GRAPH(name) Name(#name)
#define DYNAMIC_GRAPH(name) Name(#name)
#define OP_END_FACTORY_REG(op_type) Name(#op_type);
