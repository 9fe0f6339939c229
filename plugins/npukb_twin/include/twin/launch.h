// Appended behind the candidate's source by the driver: checks the entry's interface and makes it callable.
#pragma once

#ifndef NPUKB_KERNEL_OPERATOR_INCLUDED
#error "the kernel does not include kernel_operator.h"
#endif

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

}  // namespace npukb

// `...` are the arguments, a[0], a[1] and so on, one per pointer of the interface.
#define NPUKB_LAUNCH(entry, arity, interface, ...)                                                                \
    static_assert(npukb::ArityOf(&entry) == arity, "the kernel entry must take " #arity " pointers: " interface); \
    extern "C" __attribute__((visibility("default"))) void npukb_launch(npukb::Argument* a) { entry(__VA_ARGS__); }
