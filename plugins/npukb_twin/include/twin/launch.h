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

template <int... I>
struct Indices {};
template <int N, int... I>
struct MakeIndices : MakeIndices<N - 1, N - 1, I...> {};
template <int... I>
struct MakeIndices<0, I...> {
    using type = Indices<I...>;
};

template <typename... Arguments, int... I>
void Call(void (*entry)(Arguments...), void** arguments, Indices<I...>) {
    entry((Arguments)arguments[I]...);
}

template <typename... Arguments>
void CallWith(void (*entry)(Arguments...), void** arguments) {
    Call(entry, arguments, typename MakeIndices<sizeof...(Arguments)>::type{});
}

}  // namespace npukb

#define NPUKB_LAUNCH(entry, arity, interface)                                                                     \
    static_assert(npukb::ArityOf(&entry) == arity, "the kernel entry must take " #arity " pointers: " interface); \
    extern "C" __attribute__((visibility("default"))) void npukb_launch(void** arguments) {                       \
        npukb::CallWith(&entry, arguments);                                                                       \
    }
