// What AddressSanitizer has to be told about stacks that the runtime manages itself. Nothing in other builds.
#pragma once
#include <stddef.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define NPUKB_ADDRESS_SANITIZER 1
#endif
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(NPUKB_ADDRESS_SANITIZER)
#define NPUKB_WATCHED 1
extern "C" {
void __sanitizer_start_switch_fiber(void** own_frames, const void* bottom, size_t size);
void __sanitizer_finish_switch_fiber(void* own_frames, const void** old_bottom, size_t* old_size);
void __asan_unpoison_memory_region(const volatile void* address, size_t size);
}
#endif

namespace twin {

// A stack as AddressSanitizer knows it.
struct KnownStack {
    const void* bottom;
    size_t size;
    void* frames;  // what it keeps of a stack that is left for a while
};

#if defined(NPUKB_WATCHED)
// Around a switch: what is left, for good or not, and what is entered.
inline void BeginSwitch(KnownStack* from, bool for_good, const KnownStack& to) {
    __sanitizer_start_switch_fiber(for_good ? nullptr : &from->frames, to.bottom, to.size);
}
// On arrival at `here`; `from` learns where the stack lies that was left.
inline void EndSwitch(const KnownStack& here, KnownStack* from) {
    __sanitizer_finish_switch_fiber(here.frames, from == nullptr ? nullptr : &from->bottom,
                                    from == nullptr ? nullptr : &from->size);
}
// Frames that were left for good no longer protect what lay between their variables.
inline void Forget(void* stack, size_t bytes) { __asan_unpoison_memory_region(stack, bytes); }
#else
inline void BeginSwitch(KnownStack*, bool, const KnownStack&) {}
inline void EndSwitch(const KnownStack&, KnownStack*) {}
inline void Forget(void*, size_t) {}
#endif

}  // namespace twin
