// Appended behind the candidate's source by the driver: checks the entry's interface and makes it callable.
#pragma once

#ifndef NPUKB_KERNEL_OPERATOR_INCLUDED
#error "the kernel does not include kernel_operator.h"
#endif
#include "twin/direct.h"

namespace npukb {

template <typename... Arguments>
constexpr int ArityOf(void (*)(Arguments...)) {
    return sizeof...(Arguments);
}

// A launch argument, which becomes whatever pointer the entry declares.
struct Argument {
    void* address;
    template <typename T>
    NPUKB_API operator T*() const {
        return static_cast<T*>(address);
    }
};

// Calls an entry with what a host function passed by value, each argument as the entry declares it.
template <auto entry>
struct Direct;

template <typename... Parameters, void (*entry)(Parameters...)>
struct Direct<entry> {
    template <size_t... index>
    static void Call(std::index_sequence<index...>) {
        entry(Value<Parameters>(index)...);
    }
    static void Call() { Call(std::index_sequence_for<Parameters...>()); }

  private:
    template <typename T>
    static T Value(uint32_t index) {
        alignas(T) unsigned char value[sizeof(T)];
        npukb_tiling_argument(value, sizeof(T), static_cast<int>(DirectKindOf<T>()), index, sizeof...(Parameters));
        return *reinterpret_cast<T*>(value);
    }
};

}  // namespace npukb

// A direct launch: the arguments lie packed where the runtime knows.
#define NPUKB_LAUNCH_DIRECT(entry)                                                          \
    extern "C" __attribute__((visibility("default"))) void npukb_launch(npukb::Argument*) { \
        npukb::Direct<&entry>::Call();                                                      \
    }

// `...` are the arguments, a[0], a[1] and so on, one per pointer of the interface.
#define NPUKB_LAUNCH(entry, arity, interface, ...)                                                                \
    static_assert(npukb::ArityOf(&entry) == arity, "the kernel entry must take " #arity " pointers: " interface); \
    extern "C" __attribute__((visibility("default"))) void npukb_launch(npukb::Argument* a) { entry(__VA_ARGS__); }
