// Calls a candidate's host function with what the task's YAML says its arguments are, and takes what it returns.
#pragma once
#include <string>
#include <tuple>

#include "twin_direct/record.h"

namespace npukb_direct {

struct TensorArgument {
    uint64_t address = 0;  // 0: absent
    int type = 0;
    std::vector<int64_t> shape;
};

struct Argument {
    std::string kind;  // tensor, tensors, null, stream, integer, real, text, integers, reals
    int64_t integer = 0;
    double real = 0;
    std::string text;
    std::vector<int64_t> integers;
    std::vector<double> reals;
    std::vector<TensorArgument> tensors;
};

inline void* const kStream = reinterpret_cast<void*>(uintptr_t{0x5ea0});

template <typename T, typename Enable = void>
struct From {
    static T Of(const Argument& given) {
        if constexpr (std::is_same<T, const char*>::value || std::is_same<T, char*>::value) {
            if (given.kind == "text") return const_cast<T>(given.text.c_str());
        }
        if constexpr (std::is_pointer<T>::value) {
            if (given.kind == "tensor") return reinterpret_cast<T>(given.tensors.at(0).address);
            if (given.kind == "stream") return reinterpret_cast<T>(kStream);
            if (given.kind == "null") return nullptr;
        } else if constexpr (std::is_arithmetic<T>::value || std::is_enum<T>::value) {
            if (given.kind == "integer") return static_cast<T>(given.integer);
            if (given.kind == "real") return static_cast<T>(given.real);
            if (given.kind == "tensor") return static_cast<T>(given.tensors.at(0).address);
        } else if constexpr (std::is_same<T, std::string>::value) {
            if (given.kind == "text") return given.text;
        } else if constexpr (std::is_same<T, std::vector<int64_t>>::value) {
            if (given.kind == "integers") return given.integers;
        } else if constexpr (std::is_same<T, std::vector<double>>::value) {
            if (given.kind == "reals") return given.reals;
        }
        Refuse("an argument of the host function has a type that cannot be made of a value of kind " + given.kind);
    }
};

// What a host function returns that is no tensor says nothing about the device.
template <typename T>
struct Returned {
    static void Report(const T&) {}
};

template <typename... P, typename R, size_t... index>
void CallWith(R (*function)(P...), const std::vector<Argument>& given, std::index_sequence<index...>) {
    std::tuple<std::decay_t<P>...> values{From<std::decay_t<P>>::Of(given[index])...};
    if constexpr (std::is_void<R>::value) {
        function(static_cast<P>(std::get<index>(values))...);
    } else {
        Returned<std::decay_t<R>>::Report(function(static_cast<P>(std::get<index>(values))...));
    }
}

template <typename... P, typename R>
void Call(R (*function)(P...), const std::vector<Argument>& given) {
    if (given.size() != sizeof...(P)) {
        Refuse("the host function takes " + std::to_string(sizeof...(P)) + " arguments, the call has " +
               std::to_string(given.size()));
    }
    CallWith(function, given, std::index_sequence_for<P...>());
}

}  // namespace npukb_direct

// The function's name may have template arguments, with commas between them.
#define NPUKB_DIRECT(...)                                                     \
    extern "C" __attribute__((visibility("default"))) void npukb_direct_call( \
        const std::vector<npukb_direct::Argument>& given) {                   \
        npukb_direct::Call(&__VA_ARGS__, given);                              \
    }
