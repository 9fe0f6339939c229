// Appended behind the candidate's source by the driver: checks the entry's interface and makes it callable.
#pragma once

#ifndef NPUKB_KERNEL_OPERATOR_INCLUDED
#error "the kernel does not include kernel_operator.h"
#endif
// A direct launch: the arguments lie packed where the runtime knows.
#define NPUKB_LAUNCH_DIRECT(entry)                                                          \
    extern "C" __attribute__((visibility("default"))) void npukb_launch(npukb::Argument*) { \
        npukb::Direct<&entry>::Call();                                                      \
    }

// `...` are the arguments, a[0], a[1] and so on, one per pointer of the interface.
#define NPUKB_LAUNCH(entry, arity, interface, ...)                                                                \
    static_assert(npukb::ArityOf(&entry) == arity, "the kernel entry must take " #arity " pointers: " interface); \
    extern "C" __attribute__((visibility("default"))) void npukb_launch(npukb::Argument* a) { entry(__VA_ARGS__); }
