// Registration of tiling and inference functions: IMPL_OP, IMPL_OP_OPTILING, IMPL_OP_INFERSHAPE.
#pragma once
#include "twin_host/context.h"

namespace npukb_host {
struct Operator;  // what is registered for one operator type; in the host library
}

namespace gert {

// Where a tiling function may run. Here it runs on the host, wherever it may.
enum class TilingPlacement : uint32_t { TILING_ON_HOST = 0, TILING_ON_AICPU = 1 };

class OpImplRegisterV2 {
  public:
    using InferShapeKernelFunc = ge::graphStatus (*)(InferShapeContext*);
    using InferShapeRangeKernelFunc = ge::graphStatus (*)(InferShapeRangeContext*);
    using InferDataTypeKernelFunc = ge::graphStatus (*)(InferDataTypeContext*);
    using TilingKernelFunc = ge::graphStatus (*)(TilingContext*);
    using TilingParseFunc = ge::graphStatus (*)(TilingParseContext*);
    using CompileInfoCreatorFunc = void* (*)();

    explicit OpImplRegisterV2(const char* type);
    OpImplRegisterV2& InferShape(InferShapeKernelFunc function);
    OpImplRegisterV2& InferShapeRange(InferShapeRangeKernelFunc function);
    OpImplRegisterV2& InferDataType(InferDataTypeKernelFunc function);
    OpImplRegisterV2& Tiling(TilingKernelFunc function, size_t max_tiling_data_size = 2048);
    // Inputs whose values a function needs on the host, by index.
    OpImplRegisterV2& InputsDataDependency(std::initializer_list<int32_t> inputs);
    OpImplRegisterV2& TilingInputsDataDependency(std::initializer_list<int32_t> inputs);
    OpImplRegisterV2& TilingInputsDataDependency(std::initializer_list<int32_t> inputs,
                                                 std::initializer_list<TilingPlacement> placements);
    // Attributes that only the tiling function sees, behind those of the definition. Without a value it is that of the
    // definition's attribute of the same name.
    OpImplRegisterV2& PrivateAttr(const char* name);
    OpImplRegisterV2& PrivateAttr(const char* name, int64_t value);
    OpImplRegisterV2& PrivateAttr(const char* name, const std::vector<int64_t>& value);
    OpImplRegisterV2& PrivateAttr(const char* name, const char* value);
    OpImplRegisterV2& PrivateAttr(const char* name, float value);
    OpImplRegisterV2& PrivateAttr(const char* name, bool value);
    OpImplRegisterV2& PrivateAttr(const char* name, const std::vector<float>& value);
    template <class T>
    OpImplRegisterV2& TilingParse(TilingParseFunc function) {
        return Parse(function, []() -> void* { return new T(); });
    }
    template <class T>
    OpImplRegisterV2& TilingParse(ge::graphStatus (*function)(KernelContext*)) {
        return Parse(reinterpret_cast<TilingParseFunc>(function), []() -> void* { return new T(); });
    }

  private:
    OpImplRegisterV2& Parse(TilingParseFunc function, CompileInfoCreatorFunc create);
    npukb_host::Operator* operator_;
};
using OpImplRegister = OpImplRegisterV2;

}  // namespace gert

#define NPUKB_JOIN_AGAIN(a, b) a##b
#define NPUKB_JOIN(a, b) NPUKB_JOIN_AGAIN(a, b)
#define IMPL_OP(op_type)                                                                                        \
    [[maybe_unused]] static gert::OpImplRegisterV2 NPUKB_JOIN(npukb_implementation_##op_type##_, __COUNTER__) = \
        gert::OpImplRegisterV2(#op_type)
#define IMPL_OP_OPTILING(op_type) IMPL_OP(op_type)
#define IMPL_OP_INFERSHAPE(op_type) IMPL_OP(op_type)
// Tiling that a device may run by itself: here it runs on the host like any other.
#define DEVICE_IMPL_OP_OPTILING(op_type) IMPL_OP(op_type)
