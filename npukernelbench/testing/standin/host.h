// As much of operator definitions as the stand-in reads: everything is accepted, nothing is kept. What a definition
// says is taken from its text by opbuild.py.
#pragma once
#include <cstdint>
#include <initializer_list>
enum StandinPresence { REQUIRED, OPTIONAL, DYNAMIC };
namespace ops {
struct OpArgument {
    OpArgument& ParamType(StandinPresence) { return *this; }
    OpArgument& AttrType(StandinPresence) { return *this; }
    OpArgument& DataType(std::initializer_list<int>) { return *this; }
    OpArgument& Format(std::initializer_list<int>) { return *this; }
    OpArgument& Float(float) { return *this; }
    OpArgument& OutputShapeDependOnCompute() { return *this; }
};
struct OpCore {
    void AddConfig(const char*) {}
};
struct OpDef {
    explicit OpDef(const char*) {}
    OpArgument& Input(const char*) { return argument_; }
    OpArgument& Output(const char*) { return argument_; }
    OpArgument& Attr(const char*) { return argument_; }
    OpCore& AICore() { return core_; }
    OpArgument argument_;
    OpCore core_;
};
}  // namespace ops
#define OP_ADD(name) \
    extern "C" const char* standin_operator_##name() { return #name; }
