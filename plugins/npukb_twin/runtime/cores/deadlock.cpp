// Cores that wait for each other for ever: which, where, and why.

#include <stdio.h>

#include "cores/fiber_state.h"

namespace twin {
namespace {

// "0, 2, 4 and 9 more", of the cores of this kind that wait where `like` does. How many they are.
int ListAlike(const Scheduler* s, const Waiting& like, CoreKind kind, char* text, size_t size) {
    constexpr int kNamed = 6;
    int alike = 0;
    size_t used = 0;
    for (int64_t b = 0; b < s->count; ++b) {
        const Fiber* fiber = s->fibers[b];
        if (fiber == nullptr || fiber->waiting.pc != like.pc || fiber->core.kind != kind) continue;
        if (alike++ >= kNamed) continue;
        used += static_cast<size_t>(snprintf(text + used, size - used, "%s%lld", alike == 1 ? "" : ", ",
                                             static_cast<long long>(fiber->core.index)));
    }
    if (alike > kNamed) snprintf(text + used, size - used, " and %d more", alike - kNamed);
    return alike;
}

int64_t Ended(const Scheduler* s) {
    int64_t ended = 0;
    for (int64_t b = 0; b < s->count; ++b) ended += s->fibers[b] != nullptr && s->fibers[b]->waiting.pc == nullptr;
    return ended;
}

// A core that waits somewhere else: of the same block if there is one.
const Fiber* WaitsElsewhere(const Scheduler* s, const Fiber* fiber) {
    const Fiber* elsewhere = nullptr;
    for (int64_t b = 0; b < s->count; ++b) {
        const Fiber* other = s->fibers[b];
        if (other == nullptr || other->waiting.pc == nullptr || other->waiting.pc == fiber->waiting.pc) continue;
        if (other->core.block == fiber->core.block) return other;
        elsewhere = elsewhere == nullptr ? other : elsewhere;
    }
    return elsewhere;
}

}  // namespace

void ReportDeadlock(const Scheduler* s, Fiber* fiber) {
    char cores[96], why[160] = "", elsewhere[96] = "";
    bool mixed = s->launch->Mixed();
    int alike = ListAlike(s, fiber->waiting, fiber->core.kind, cores, sizeof cores);
    if (fiber->waiting.explain != nullptr) fiber->waiting.explain(fiber->core, why, sizeof why);
    const Fiber* other = mixed ? WaitsElsewhere(s, fiber) : nullptr;
    if (other != nullptr) {
        snprintf(elsewhere, sizeof elsewhere, "; a %s core waits in %s", CoreKindName(other->core.kind),
                 other->waiting.what);
        fiber->core.related = other->waiting.pc;
    }
    const char* unit = mixed ? "core" : "block";
    fiber->core.Violate("deadlock", fiber->waiting.pc, "Let every block that is waited for reach the matching call.",
                        "%s: %s%s%s%s %s wait%s here for ever%s%s; %lld of %lld %ss have ended, the others wait too",
                        fiber->waiting.what, mixed ? CoreKindName(fiber->core.kind) : "", mixed ? " " : "", unit,
                        alike > 1 ? "s" : "", cores, alike > 1 ? "" : "s", why, elsewhere,
                        static_cast<long long>(Ended(s)), static_cast<long long>(s->count), unit);
}

}  // namespace twin
