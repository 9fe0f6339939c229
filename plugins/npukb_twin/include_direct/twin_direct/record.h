// What a host function of a direct launch does on the device, as the twin notes it: memory, copies and launches, in
// order. Nothing runs meanwhile: device memory is a range of addresses that holds nothing a host could read.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <stdexcept>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "twin/direct.h"
#if defined(NPUKB_DIRECT_HOST)
#include "twin_host/arrays.h"
#endif

extern "C" {
uint64_t npukb_device_allocate(uint64_t bytes);
void npukb_device_write(uint64_t to, const void* from, uint64_t bytes);
void npukb_device_move(uint64_t to, uint64_t from, uint64_t bytes);
void npukb_device_fill(uint64_t to, int value, uint64_t bytes);
void npukb_device_launch(const char* kernel, uint64_t blocks, const uint8_t* arguments, uint64_t bytes);
// A number of aclDeviceInfo; negative where it is none.
int64_t npukb_device_property(int what);
void npukb_device_result(uint64_t address, uint64_t bytes, int type);
}

namespace npukb_direct {

// What a host cannot do, or no host does here. A compilation for the device leaves out what calls it.
#if defined(NPUKB_DIRECT_HOST)
[[noreturn]] inline void Refuse(const std::string& what) { throw std::runtime_error(what); }
#else
[[noreturn]] inline void Refuse(const std::string&) { __builtin_trap(); }
#endif

class Pack {
  public:
    template <typename T>
    void Add(const T& value) {
        constexpr npukb::DirectKind kind = npukb::DirectKindOf<T>();
        if constexpr (kind == npukb::DirectKind::kInteger) {
            Put(kind, static_cast<int64_t>(value));
        } else if constexpr (kind == npukb::DirectKind::kReal) {
            Put(kind, static_cast<double>(value));
        } else if constexpr (std::is_null_pointer<T>::value) {
            Put(kind, uint64_t{0});
        } else if constexpr (kind == npukb::DirectKind::kPointer) {
            Put(kind, reinterpret_cast<uint64_t>(value));
        } else {
            static_assert(std::is_trivially_copyable<T>::value, "an argument of a kernel is copied byte by byte");
            Put(kind, value);
        }
    }
    void Launch(const char* kernel, uint64_t blocks) {
        bytes_[0] = static_cast<uint8_t>(count_), bytes_[1] = static_cast<uint8_t>(count_ >> 8);
        npukb_device_launch(kernel, blocks, bytes_.data(), bytes_.size());
    }

  private:
    template <typename T>
    void Put(npukb::DirectKind kind, const T& value) {
        const uint32_t head[2] = {static_cast<uint32_t>(kind), static_cast<uint32_t>(sizeof value)};
        Append(head, sizeof head);
        Append(&value, sizeof value);
        bytes_.resize((bytes_.size() + 7) / 8 * 8);
        ++count_;
    }
    void Append(const void* from, size_t bytes) {
        const auto* at = static_cast<const uint8_t*>(from);
        bytes_.insert(bytes_.end(), at, at + bytes);
    }
    std::vector<uint8_t> bytes_ = std::vector<uint8_t>(8);
    uint32_t count_ = 0;
};

#if defined(NPUKB_DIRECT_HOST)
// `kernel<<<blocks, l2ctrl, stream>>>(arguments)`, which the twin writes as Launch<&kernel>(blocks, l2ctrl, stream)
// (arguments): each as the kernel declares it.
template <auto kernel>
struct Launched;

// What may be passed for an address of the device: what C++ takes, and one without a type.
template <typename T>
struct Address {
    T value;
    Address(T given) : value(given) {}
    template <typename U, std::enable_if_t<
                              std::is_convertible<U, T>::value || std::is_same<std::decay_t<U>, void*>::value, int> = 0>
    Address(U&& given) : value(static_cast<T>(std::forward<U>(given))) {}
    operator T() const { return value; }
};
template <typename T>
using Passed = std::conditional_t<std::is_pointer<T>::value, Address<T>, T>;

template <typename... Parameters, void (*kernel)(Parameters...)>
struct Launched<kernel> {
    uint64_t blocks;
    void operator()(Passed<std::decay_t<Parameters>>... arguments) const {
        Pack pack;
        (pack.Add(static_cast<std::decay_t<Parameters>>(arguments)), ...);
        pack.Launch(typeid(Launched).name(), blocks);
    }
};

template <auto kernel, typename Blocks, typename... Others>
Launched<kernel> Launch(Blocks blocks, const Others&...) {
    return {static_cast<uint64_t>(blocks)};
}

#endif

// aclrtlaunch_NAME(blocks, stream, arguments…): as they are given.
template <typename... Arguments>
uint32_t LaunchByName(const char* kernel, uint64_t blocks, const Arguments&... arguments) {
    Pack pack;
    (pack.Add(arguments), ...);
    pack.Launch(kernel, blocks);
    return 0;
}

}  // namespace npukb_direct
