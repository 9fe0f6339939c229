// Element types, formats and shapes: their sizes and names, out of dtypes.def and formats.def.
#include "call.h"

namespace ge {
namespace {

struct TypeRow {
    const char* name;
    DataType type;
    int bits;
};
constexpr TypeRow kTypes[] = {
#define NPUKB_DTYPE(name, value, bits) {#name, name, bits},
#include "twin_host/dtypes.def"
#undef NPUKB_DTYPE
};

struct FormatRow {
    const char* name;
    Format format;
};
constexpr FormatRow kFormats[] = {
#define NPUKB_FORMAT(name, value) {#name, name},
#include "twin_host/formats.def"
#undef NPUKB_FORMAT
};

const TypeRow* Find(DataType type) {
    for (const auto& row : kTypes) {
        if (row.type == type) return &row;
    }
    return nullptr;
}

const FormatRow* Find(Format format) {
    for (const auto& row : kFormats) {
        if (row.format == GetPrimaryFormat(format)) return &row;
    }
    return nullptr;
}

}  // namespace

int GetSizeByDataType(DataType type) {
    const TypeRow* row = Find(type);
    if (row == nullptr || row->bits == 0) return -1;
    return row->bits < 8 ? kDataTypeSizeBitOffset + row->bits : row->bits / 8;
}

int64_t GetSizeInBytes(int64_t count, DataType type) {
    const TypeRow* row = Find(type);
    if (row == nullptr || row->bits == 0 || count < 0) return -1;
    return (count * row->bits + 7) / 8;
}

AscendString::AscendString(const char* text) : text_(text == nullptr ? nullptr : std::make_shared<std::string>(text)) {}
AscendString::AscendString(const char* text, size_t length)
    : text_(text == nullptr ? nullptr : std::make_shared<std::string>(text, length)) {}
const char* AscendString::GetString() const { return text_ == nullptr ? "" : text_->c_str(); }
size_t AscendString::GetLength() const { return text_ == nullptr ? 0 : text_->size(); }
bool AscendString::operator<(const AscendString& other) const { return strcmp(GetString(), other.GetString()) < 0; }
bool AscendString::operator==(const AscendString& other) const { return strcmp(GetString(), other.GetString()) == 0; }

graphStatus Shape::SetDim(size_t index, int64_t value) {
    if (index >= dims_.size()) return GRAPH_FAILED;
    dims_[index] = value;
    return GRAPH_SUCCESS;
}

graphStatus Shape::SetDimNum(size_t count) {
    dims_.resize(count);
    return GRAPH_SUCCESS;
}

int64_t Shape::GetShapeSize() const {
    if (dims_.empty()) return 0;
    int64_t size = 1;
    for (int64_t dim : dims_) {
        if (dim < 0) return -1;
        size *= dim;
    }
    return size;
}

graphStatus Operator::GetName(AscendString&) const { return GRAPH_FAILED; }
graphStatus Operator::GetOpType(AscendString&) const { return GRAPH_FAILED; }
TensorDesc Operator::GetInputDesc(uint32_t) const { return {}; }
TensorDesc Operator::GetInputDescByName(const char*) const { return {}; }
TensorDesc Operator::GetOutputDesc(uint32_t) const { return {}; }
TensorDesc Operator::GetOutputDescByName(const char*) const { return {}; }
size_t Operator::GetInputsSize() const { return 0; }
size_t Operator::GetOutputsSize() const { return 0; }

bool TypeUtils::IsDataTypeValid(DataType type) { return Find(type) != nullptr && type != DT_UNDEFINED; }
bool TypeUtils::IsFormatValid(Format format) { return Find(format) != nullptr; }

std::string TypeUtils::DataTypeToSerialString(DataType type) {
    const TypeRow* row = Find(type);
    return row == nullptr ? "UNDEFINED" : row->name;
}

DataType TypeUtils::SerialStringToDataType(const std::string& text) {
    for (const auto& row : kTypes) {
        if (text == row.name) return row.type;
    }
    return DT_UNDEFINED;
}

std::string TypeUtils::FormatToSerialString(Format format) {
    const FormatRow* row = Find(format);
    return row == nullptr ? "RESERVED" : row->name + strlen("FORMAT_");
}

Format TypeUtils::SerialStringToFormat(const std::string& text) {
    for (const auto& row : kFormats) {
        if (text == row.name + strlen("FORMAT_") || text == row.name) return row.format;
    }
    return FORMAT_RESERVED;
}

AscendString TypeUtils::DataTypeToAscendString(const DataType& type) { return DataTypeToSerialString(type).c_str(); }
AscendString TypeUtils::FormatToAscendString(const Format& format) { return FormatToSerialString(format).c_str(); }

bool TypeUtils::GetDataTypeLength(DataType type, uint32_t& length) {
    int size = GetSizeByDataType(type);
    if (size < 0) return false;
    length = size > kDataTypeSizeBitOffset ? 1 : static_cast<uint32_t>(size);
    return true;
}

}  // namespace ge

namespace gert {

Shape::Shape(std::initializer_list<int64_t> dims) {
    for (int64_t dim : dims) AppendDim(dim);
}

bool Shape::operator==(const Shape& other) const {
    if (count_ != other.count_) return false;
    for (size_t i = 0; i < count_; ++i) {
        if (dims_[i] != other.dims_[i]) return false;
    }
    return true;
}

int64_t Shape::GetShapeSize() const {
    int64_t size = 1;
    for (size_t i = 0; i < count_; ++i) {
        if (__builtin_mul_overflow(size, dims_[i], &size)) return -1;
    }
    return size;
}

ExpandDimsType::ExpandDimsType(const char* type) {
    for (; type != nullptr && type[size_] != 0; ++size_) {
        if (type[size_] == '1') mask_ |= uint64_t{1} << size_;
    }
}

size_t Tensor::GetSize() const {
    int64_t bytes = ge::GetSizeInBytes(GetShapeSize(), type_);
    return bytes < 0 ? 0 : static_cast<size_t>(bytes);
}

}  // namespace gert

namespace {
// Of warnings and errors only.
bool Shown(int level) { return level >= 2 && level < 4; }
void Say(int level, const char* who, const char* format, va_list arguments) {
    if (!Shown(level)) return;
    fputs(level == 2 ? "warning: " : "error: ", stderr);
    if (who != nullptr) fprintf(stderr, format == nullptr ? "%s" : "[%s] ", who);
    if (format != nullptr) vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
}
}  // namespace

extern "C" {

int CheckLogLevel(int, int level) { return Shown(level) ? 1 : 0; }

int AlogCheckDebugLevel(unsigned, int level) { return Shown(level) ? 1 : 0; }

void DlogRecord(int, int level, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    Say(level, nullptr, format, arguments);
    va_end(arguments);
}

void NpukbSay(int level, const char* who, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    Say(level, who, format, arguments);
    va_end(arguments);
}
}
