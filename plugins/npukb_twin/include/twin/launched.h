// What the code behind a kernel needs (launch.h): how many parameters its entry has, and arguments that become them.
#pragma once
#include "direct.h"
#include "tiling.h"
#include "types.h"

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
