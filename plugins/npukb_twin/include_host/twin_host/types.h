// Data types, formats, status codes and shapes of graph code (namespace ge).
#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace ge {

using char_t = char;
using float32_t = float;
using float64_t = double;
using graphStatus = uint32_t;
constexpr graphStatus GRAPH_SUCCESS = 0;
constexpr graphStatus GRAPH_FAILED = 0xFFFFFFFF;
constexpr graphStatus GRAPH_NOT_CHANGED = 1343242304;
constexpr graphStatus GRAPH_PARAM_INVALID = 50331649;
constexpr graphStatus GRAPH_NODE_WITHOUT_CONST_INPUT = 50331648;
constexpr graphStatus GRAPH_NODE_NEED_REPASS = 50331647;
using Status = uint32_t;
constexpr Status SUCCESS = 0;
constexpr Status FAILED = 0xFFFFFFFF;

enum DataType {
#define NPUKB_DTYPE(name, value, bits) name = value,
#include "twin_host/dtypes.def"
#undef NPUKB_DTYPE
    DT_MAX
};

enum Format {
#define NPUKB_FORMAT(name, value) name = value,
#include "twin_host/formats.def"
#undef NPUKB_FORMAT
    FORMAT_MAX = 0xff
};

constexpr int kDataTypeSizeBitOffset = 1000;

// Bytes of an element. Types below one byte give kDataTypeSizeBitOffset plus their bits; unknown types -1.
int GetSizeByDataType(DataType type);
// Bytes of `count` elements, rounded up; -1 for unknown types.
int64_t GetSizeInBytes(int64_t count, DataType type);
inline int32_t GetPrimaryFormat(int32_t format) { return format & 0xff; }
inline int32_t GetSubFormat(int32_t format) { return (format & 0xffff00) >> 8; }
inline bool HasSubFormat(int32_t format) { return GetSubFormat(format) > 0; }

constexpr int64_t UNKNOWN_DIM = -1;
constexpr int64_t UNKNOWN_DIM_NUM = -2;

// A string whose layout does not depend on the C++ library's version.
class AscendString {
  public:
    AscendString() = default;
    AscendString(const char* text);
    AscendString(const char* text, size_t length);
    const char* GetString() const;
    size_t GetLength() const;
    bool operator<(const AscendString& other) const;
    bool operator==(const AscendString& other) const;
    bool operator!=(const AscendString& other) const { return !(*this == other); }

  private:
    std::shared_ptr<std::string> text_;
};

class Shape {
  public:
    Shape() = default;
    explicit Shape(const std::vector<int64_t>& dims) : dims_(dims) {}
    size_t GetDimNum() const { return dims_.size(); }
    int64_t GetDim(size_t index) const { return index < dims_.size() ? dims_[index] : 0; }
    graphStatus SetDim(size_t index, int64_t value);
    graphStatus SetDimNum(size_t count);
    std::vector<int64_t> GetDims() const { return dims_; }
    // Product of the dimensions; 0 for no dimensions, -1 if one is unknown.
    int64_t GetShapeSize() const;

  private:
    std::vector<int64_t> dims_;
};

class TensorDesc {
  public:
    TensorDesc() = default;
    explicit TensorDesc(Shape shape, Format format = FORMAT_ND, DataType type = DT_FLOAT)
        : shape_(std::move(shape)), format_(format), type_(type) {}
    const Shape& GetShape() const { return shape_; }
    const Shape& GetOriginShape() const { return shape_; }
    Format GetFormat() const { return format_; }
    Format GetOriginFormat() const { return format_; }
    DataType GetDataType() const { return type_; }
    void SetShape(const Shape& shape) { shape_ = shape; }
    void SetFormat(Format format) { format_ = format; }
    void SetDataType(DataType type) { type_ = type; }

  private:
    Shape shape_;
    Format format_ = FORMAT_ND;
    DataType type_ = DT_FLOAT;
};

// A constant of a graph, for functions that the twin compiles and never calls.
class Tensor {
  public:
    const uint8_t* GetData() const;
    size_t GetSize() const;
    TensorDesc GetTensorDesc() const;
};

// A node of a graph, as functions see it that choose among implementations. The twin compiles such functions and never
// calls them: what they ask for is not known.
class Operator {
  public:
    graphStatus GetName(AscendString& name) const;
    graphStatus GetOpType(AscendString& type) const;
    TensorDesc GetInputDesc(uint32_t index) const;
    TensorDesc GetInputDescByName(const char* name) const;
    TensorDesc GetOutputDesc(uint32_t index) const;
    TensorDesc GetOutputDescByName(const char* name) const;
    size_t GetInputsSize() const;
    size_t GetOutputsSize() const;
    template <class T>
    graphStatus GetAttr(const char*, T&) const {
        return GRAPH_FAILED;
    }
};

class TypeUtils {
  public:
    static bool IsDataTypeValid(DataType type);
    static bool IsFormatValid(Format format);
    static std::string DataTypeToSerialString(DataType type);
    static DataType SerialStringToDataType(const std::string& text);
    static std::string FormatToSerialString(Format format);
    static Format SerialStringToFormat(const std::string& text);
    static AscendString DataTypeToAscendString(const DataType& type);
    static AscendString FormatToAscendString(const Format& format);
    static bool GetDataTypeLength(DataType type, uint32_t& length);
};

}  // namespace ge
