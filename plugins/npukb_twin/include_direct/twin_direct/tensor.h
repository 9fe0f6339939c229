// The part of PyTorch's C++ interface that launch files of extensions use: tensors with shape, type and place. Tensors
// of the device have no values here; those of the host do, and may be copied to it.
#pragma once
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "acl/acl.h"
#if defined(NPUKB_DIRECT_HOST)
#include "twin_direct/call.h"
#endif

namespace c10 {

enum class ScalarType : int8_t {
    Byte,
    Char,
    Short,
    Int,
    Long,
    Half,
    Float,
    Double,
    ComplexFloat = 9,
    ComplexDouble,
    Bool,
    BFloat16 = 15,
    UInt16 = 27,
    UInt32,
    UInt64,
    Undefined = 44
};

inline size_t elementSize(ScalarType type) {
    switch (type) {
        case ScalarType::Byte:
        case ScalarType::Char:
        case ScalarType::Bool: return 1;
        case ScalarType::Short:
        case ScalarType::Half:
        case ScalarType::BFloat16:
        case ScalarType::UInt16: return 2;
        case ScalarType::Int:
        case ScalarType::Float:
        case ScalarType::UInt32: return 4;
        case ScalarType::ComplexDouble: return 16;
        default: return 8;
    }
}

inline const char* toString(ScalarType type) {
    switch (type) {
        case ScalarType::Byte: return "Byte";
        case ScalarType::Char: return "Char";
        case ScalarType::Short: return "Short";
        case ScalarType::Int: return "Int";
        case ScalarType::Long: return "Long";
        case ScalarType::Half: return "Half";
        case ScalarType::Float: return "Float";
        case ScalarType::Double: return "Double";
        case ScalarType::Bool: return "Bool";
        case ScalarType::BFloat16: return "BFloat16";
        default: return "another type";
    }
}
inline std::ostream& operator<<(std::ostream& out, ScalarType type) { return out << toString(type); }

enum class DeviceType : int8_t { CPU = 0, CUDA = 1, PrivateUse1 = 20 };
constexpr DeviceType kCPU = DeviceType::CPU, kPrivateUse1 = DeviceType::PrivateUse1;

struct Device {
    DeviceType kind = DeviceType::CPU;
    int number = 0;
    Device(DeviceType type = DeviceType::CPU, int index = 0) : kind(type), number(index) {}
    DeviceType type() const { return kind; }
    int index() const { return number; }
    bool is_cpu() const { return kind == DeviceType::CPU; }
    bool is_privateuseone() const { return kind == DeviceType::PrivateUse1; }
    bool operator==(const Device& other) const { return kind == other.kind; }
    bool operator!=(const Device& other) const { return kind != other.kind; }
};

template <typename T>
class ArrayRef {
  public:
    ArrayRef() = default;
    ArrayRef(const T* data, size_t size) : items_(data, data + size) {}
    ArrayRef(const std::vector<T>& items) : items_(items) {}
    ArrayRef(std::initializer_list<T> items) : items_(items) {}
    size_t size() const { return items_.size(); }
    bool empty() const { return items_.empty(); }
    const T& operator[](size_t index) const { return items_[index]; }
    const T& at(size_t index) const { return items_.at(index); }
    const T& front() const { return items_.front(); }
    const T& back() const { return items_.back(); }
    const T* data() const { return items_.data(); }
    auto begin() const { return items_.begin(); }
    auto end() const { return items_.end(); }
    std::vector<T> vec() const { return items_; }
    ArrayRef slice(size_t from, size_t count) const { return {items_.data() + from, count}; }
    bool operator==(const ArrayRef& other) const { return items_ == other.items_; }
    bool operator!=(const ArrayRef& other) const { return items_ != other.items_; }

  private:
    std::vector<T> items_;
};
using IntArrayRef = ArrayRef<int64_t>;
template <typename T, unsigned inside = 0>
using SmallVector = std::vector<T>;
template <typename T>
using optional = std::optional<T>;
using std::nullopt;
using std::nullopt_t;
using string_view = std::string;

class Scalar {
  public:
    template <typename T, typename = std::enable_if_t<std::is_arithmetic<T>::value>>
    Scalar(T value) : real_(static_cast<double>(value)), integer_(static_cast<int64_t>(value)) {}
    template <typename T>
    T to() const {
        if constexpr (std::is_floating_point<T>::value) return static_cast<T>(real_);
        return static_cast<T>(integer_);
    }
    float toFloat() const { return static_cast<float>(real_); }
    double toDouble() const { return real_; }
    int64_t toLong() const { return integer_; }
    int toInt() const { return static_cast<int>(integer_); }

  private:
    double real_;
    int64_t integer_;
};

struct TensorOptions {
    ScalarType type = ScalarType::Float;
    Device place;
    TensorOptions() = default;
    TensorOptions(ScalarType wanted) : type(wanted) {}
    TensorOptions(Device wanted) : place(wanted) {}
    ScalarType dtype() const { return type; }
    Device device() const { return place; }
    TensorOptions dtype(ScalarType wanted) const { return With(wanted, place); }
    TensorOptions device(Device wanted) const { return With(type, wanted); }
    TensorOptions device(DeviceType wanted, int = 0) const { return With(type, wanted); }
    TensorOptions requires_grad(bool) const { return *this; }
    TensorOptions pinned_memory(bool) const { return *this; }

  private:
    static TensorOptions With(ScalarType type, Device device) {
        TensorOptions options(type);
        options.place = device;
        return options;
    }
};

struct OptionalDeviceGuard {
    template <typename... Any>
    explicit OptionalDeviceGuard(const Any&...) {}
};
using DeviceGuard = OptionalDeviceGuard;

}  // namespace c10

#if !defined(NPUKB_DIRECT_HOST)
#define TORCH_CHECK(condition, ...) (static_cast<void>(condition))
#else
namespace npukb_direct {
template <typename... Parts>
[[noreturn]] void Failed(const char* condition, const Parts&... parts) {
    std::ostringstream text;
    ((text << parts), ...);
    Refuse("TORCH_CHECK(" + std::string(condition) + ") failed: " + text.str());
}
}  // namespace npukb_direct
#define TORCH_CHECK(condition, ...)                                    \
    if (!(condition)) {                                                \
        ::npukb_direct::Failed(#condition __VA_OPT__(, ) __VA_ARGS__); \
    }
#endif
#define TORCH_INTERNAL_ASSERT TORCH_CHECK
#define TORCH_WARN(...) ((void)0)

namespace at {

using namespace c10;
constexpr ScalarType kByte = ScalarType::Byte, kChar = ScalarType::Char, kShort = ScalarType::Short,
                     kInt = ScalarType::Int, kLong = ScalarType::Long, kHalf = ScalarType::Half,
                     kFloat = ScalarType::Float, kDouble = ScalarType::Double, kBool = ScalarType::Bool,
                     kBFloat16 = ScalarType::BFloat16, kUInt8 = kByte, kInt8 = kChar, kInt16 = kShort, kInt32 = kInt,
                     kInt64 = kLong, kFloat16 = kHalf, kFloat32 = kFloat, kFloat64 = kDouble;

class Tensor;

struct Storage {
    void* address;
    void* data() const { return address; }
    void* mutable_data() const { return address; }
};

class Tensor {
  public:
    Tensor() = default;
    // On the device, at `address`; on the host, with values of its own.
    Tensor(std::vector<int64_t> shape, TensorOptions options, uint64_t address = 0)
        : state_(std::make_shared<State>()), shape_(std::move(shape)), options_(options) {
        state_->address = address;
        if (options.place.is_cpu()) state_->values.resize(nbytes() / 8 + 1);
    }

    bool defined() const { return state_ != nullptr; }
    bool has_value() const { return defined(); }
    int64_t dim() const { return static_cast<int64_t>(shape_.size()); }
    int64_t ndimension() const { return dim(); }
    IntArrayRef sizes() const { return shape_; }
    int64_t size(int64_t axis) const { return shape_.at(static_cast<size_t>(axis < 0 ? axis + dim() : axis)); }
    int64_t stride(int64_t axis) const { return strides()[static_cast<size_t>(axis < 0 ? axis + dim() : axis)]; }
    IntArrayRef strides() const {
        std::vector<int64_t> steps(shape_.size(), 1);
        for (size_t i = shape_.size(); i-- > 1;) steps[i - 1] = steps[i] * shape_[i];
        return steps;
    }
    int64_t numel() const {
        int64_t count = 1;
        for (int64_t extent : shape_) count *= extent;
        return count;
    }
    size_t element_size() const { return elementSize(options_.type); }
    size_t itemsize() const { return element_size(); }
    size_t nbytes() const { return static_cast<size_t>(numel()) * element_size(); }
    ScalarType scalar_type() const { return options_.type; }
    ScalarType dtype() const { return options_.type; }
    TensorOptions options() const { return options_; }
    Device device() const { return options_.place; }
    int64_t get_device() const { return 0; }
    bool is_cpu() const { return options_.place.is_cpu(); }
    bool is_privateuseone() const { return !is_cpu(); }
    bool is_contiguous() const { return true; }
    const Tensor& contiguous() const { return *this; }
    int64_t storage_offset() const { return 0; }
    void* data_ptr() const {
        if (!defined()) return nullptr;
        return is_cpu() ? static_cast<void*>(state_->values.data()) : reinterpret_cast<void*>(state_->address);
    }
    template <typename T>
    T* data_ptr() const {
        return static_cast<T*>(data_ptr());
    }
    void* mutable_data_ptr() const { return data_ptr(); }
    const void* const_data_ptr() const { return data_ptr(); }
    Storage storage() const { return {data_ptr()}; }
    Tensor view(IntArrayRef shape) const { return Shaped(shape.vec()); }
    Tensor reshape(IntArrayRef shape) const { return Shaped(shape.vec()); }
    Tensor flatten() const { return Shaped({numel()}); }
    Tensor unsqueeze(int64_t axis) const {
        std::vector<int64_t> shape = shape_;
        shape.insert(shape.begin() + (axis < 0 ? axis + dim() + 1 : axis), 1);
        return Shaped(shape);
    }
    Tensor squeeze(int64_t axis) const {
        std::vector<int64_t> shape = shape_;
        if (size(axis) == 1) shape.erase(shape.begin() + (axis < 0 ? axis + dim() : axis));
        return Shaped(shape);
    }
    Tensor pin_memory() const { return *this; }
    Tensor detach() const { return *this; }
    Tensor clone() const;
    template <typename T>
    T item() const {
        if (!is_cpu()) npukb_direct::Refuse("item(): the host function reads device memory");
        return *data_ptr<T>();
    }
    template <typename Index>
    Tensor index(std::initializer_list<Index>) const {
        npukb_direct::Refuse("index() is a kernel of the framework's");
    }
    Tensor cpu() const { return to(Device(kCPU)); }
    Tensor to(TensorOptions wanted) const { return to(wanted.place, wanted.type); }
    Tensor to(ScalarType type) const { return to(options_.place, type); }
    Tensor to(Device place) const { return to(place, options_.type); }
    Tensor to(Device place, ScalarType type, bool = false, bool = false) const;
    Tensor& zero_() { return fill_(0); }
    Tensor& fill_(int value) {
        if (value != 0) npukb_direct::Refuse("fill_ with anything but zero is a kernel of the framework's");
        if (is_cpu()) memset(data_ptr(), 0, nbytes());
        if (!is_cpu()) npukb_device_fill(state_->address, 0, nbytes());
        return *this;
    }

  private:
    struct State {
        uint64_t address = 0;
        std::vector<uint64_t> values;
    };
    Tensor Shaped(std::vector<int64_t> shape) const {
        Tensor other = *this;
        int64_t known = 1, *open = nullptr;
        for (int64_t& extent : shape) {
            if (extent < 0) open = &extent;
            if (extent >= 0) known *= extent;
        }
        if (open != nullptr) *open = known == 0 ? 0 : numel() / known;
        other.shape_ = std::move(shape);
        return other;
    }
    std::shared_ptr<State> state_;
    std::vector<int64_t> shape_;
    TensorOptions options_;
};

using TensorList = ArrayRef<Tensor>;

inline Tensor empty(IntArrayRef shape, TensorOptions options = {}) {
    Tensor host(shape.vec(), TensorOptions(options.type));
    if (options.place.is_cpu()) return host;
    return Tensor(shape.vec(), options, npukb_device_allocate(host.nbytes()));
}
inline Tensor zeros(IntArrayRef shape, TensorOptions options = {}) { return empty(shape, options).zero_(); }
inline Tensor empty_like(const Tensor& like) { return empty(like.sizes(), like.options()); }
inline Tensor empty_like(const Tensor& like, TensorOptions options) { return empty(like.sizes(), options); }
inline Tensor zeros_like(const Tensor& like) { return zeros(like.sizes(), like.options()); }
inline Tensor scalar_to_tensor(const Scalar& value) {
    Tensor made({}, TensorOptions(kDouble));
    *made.data_ptr<double>() = value.toDouble();
    return made;
}

inline Tensor Tensor::clone() const {
    Tensor other = empty_like(*this);
    if (is_cpu()) memcpy(other.data_ptr(), data_ptr(), nbytes());
    if (!is_cpu()) npukb_device_move(other.state_->address, state_->address, nbytes());
    return other;
}

inline Tensor Tensor::to(Device place, ScalarType type, bool, bool) const {
    if (type != options_.type) npukb_direct::Refuse("to(): conversion of values is a kernel of the framework's");
    if (place == options_.place) return *this;
    if (place.is_cpu()) npukb_direct::Refuse("the host function reads device memory; its kernels run after it");
    Tensor there = empty(shape_, options_.device(place));
    npukb_device_write(there.state_->address, data_ptr(), nbytes());
    return there;
}

}  // namespace at

namespace c10 {
using at::scalar_to_tensor;
template <typename... Parts>
std::string str(const Parts&... parts) {
    std::ostringstream text;
    ((text << parts), ...);
    return text.str();
}
}  // namespace c10

namespace torch {
using namespace at;
using at::Tensor;
using Dtype = ScalarType;
struct Library {
    template <typename... Any>
    Library& def(const Any&...) {
        return *this;
    }
    template <typename... Any>
    Library& impl(const Any&...) {
        return *this;
    }
};
}  // namespace torch

// Registrations are for Python, which nobody calls here.
#define NPUKB_JOINED_(a, b) a##b
#define NPUKB_JOINED(a, b) NPUKB_JOINED_(a, b)
#define NPUKB_REGISTRATION(m) \
    [[maybe_unused]] static void NPUKB_JOINED(npukb_registers_, __COUNTER__)(torch::Library & m)
#define TORCH_LIBRARY(name, m) NPUKB_REGISTRATION(m)
#define TORCH_LIBRARY_FRAGMENT(name, m) NPUKB_REGISTRATION(m)
#define TORCH_LIBRARY_IMPL(name, key, m) NPUKB_REGISTRATION(m)
#define PYBIND11_MODULE(name, m) NPUKB_REGISTRATION(m)
#define TORCH_EXTENSION_NAME extension
#define TORCH_FN(function) (&function)

#define AT_DISPATCH_CASE(type, ...) \
    case type: __VA_ARGS__(); break;
#define AT_DISPATCH_SWITCH(type, name, ...)                           \
    do {                                                              \
        switch (type) {                                               \
            __VA_ARGS__                                               \
            default: TORCH_CHECK(false, name, ": no such type here"); \
        }                                                             \
    } while (false)

namespace c10_npu {
struct NPUStream {
    void* stream(bool = true) const { return reinterpret_cast<void*>(uintptr_t{0x5ea0}); }
    operator void*() const { return stream(); }
    c10::Device device() const { return c10::Device(c10::kPrivateUse1); }
    int device_index() const { return 0; }
    void synchronize() const {}  // nothing to wait for: kernels run when the function has returned
};
inline NPUStream getCurrentNPUStream(int = 0) { return {}; }
inline int GetDevice(int* device) { return *device = 0; }
}  // namespace c10_npu

namespace at_npu::native {
class OpCommand {
  public:
    OpCommand& Name(const std::string&) { return *this; }
    OpCommand& SetCustomHandler(std::function<int()> handler) {
        handler_ = std::move(handler);
        return *this;
    }
    void Run() { handler_(); }
    static void RunOpApi(const std::string&, const std::function<int()>& handler) { handler(); }
    static void RunOpApiV2(const std::string&, const std::function<int()>& handler) { handler(); }

  private:
    std::function<int()> handler_;
};
}  // namespace at_npu::native

#if defined(NPUKB_DIRECT_HOST)
namespace npukb_direct {

inline at::Tensor MakeTensor(const TensorArgument& given) {
    c10::TensorOptions options(static_cast<c10::ScalarType>(given.type));
    return at::Tensor(given.shape, options.device(c10::kPrivateUse1), given.address);
}

template <>
struct From<at::Tensor> {
    static at::Tensor Of(const Argument& given) {
        if (given.kind == "null") return {};
        if (given.kind != "tensor") Refuse("the host function takes a tensor where it is given a " + given.kind);
        return MakeTensor(given.tensors.at(0));
    }
};
template <typename T>
struct From<std::optional<T>> {
    static std::optional<T> Of(const Argument& given) {
        if (given.kind == "null") return std::nullopt;
        return From<T>::Of(given);
    }
};
template <>
struct From<std::vector<at::Tensor>> {
    static std::vector<at::Tensor> Of(const Argument& given) {
        std::vector<at::Tensor> tensors;
        for (const TensorArgument& tensor : given.tensors) tensors.push_back(MakeTensor(tensor));
        return tensors;
    }
};
template <>
struct From<c10::ArrayRef<at::Tensor>> {
    static c10::ArrayRef<at::Tensor> Of(const Argument& given) { return From<std::vector<at::Tensor>>::Of(given); }
};
template <>
struct From<c10::IntArrayRef> {
    static c10::IntArrayRef Of(const Argument& given) { return given.integers; }
};
template <>
struct From<c10::Scalar> {
    static c10::Scalar Of(const Argument& given) {
        return given.kind == "real" ? c10::Scalar(given.real) : c10::Scalar(given.integer);
    }
};

template <>
struct Returned<at::Tensor> {
    static void Report(const at::Tensor& tensor) {
        npukb_device_result(reinterpret_cast<uint64_t>(tensor.data_ptr()), tensor.nbytes(),
                            static_cast<int>(tensor.scalar_type()));
    }
};
template <>
struct Returned<std::vector<at::Tensor>> {
    static void Report(const std::vector<at::Tensor>& tensors) {
        for (const at::Tensor& tensor : tensors) Returned<at::Tensor>::Report(tensor);
    }
};
template <typename... T>
struct Returned<std::tuple<T...>> {
    static void Report(const std::tuple<T...>& tensors) {
        std::apply([](const auto&... tensor) { (Returned<at::Tensor>::Report(tensor), ...); }, tensors);
    }
};

}  // namespace npukb_direct
#endif
