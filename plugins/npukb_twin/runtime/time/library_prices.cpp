// The table of <cmath>. All numbers are assumed (grade E): no page says what a device's compiler makes of such a call.
// They count what the usual algorithms do in float with sums, products, comparisons and shifts: a step of Newton's for
// every doubling of the digits. In double, which a scalar unit has to put together, each costs twice as much.
#include "time/library_prices.h"

#include <dlfcn.h>
#include <string.h>

extern "C" char __executable_start[], etext[];  // from the linker

namespace twin {
namespace {

struct Price {
    const char* name;  // of the function in double; the one in float has an f behind it
    uint32_t operations;
};

constexpr Price kPrices[] = {
    {"fabs", 2},  {"copysign", 2}, {"fmax", 2}, {"fmin", 2},  // a sign or a comparison
    {"sqrt", 16},                                             // an estimate and its steps
};
constexpr uint32_t kOfDouble = 2;
constexpr uint32_t kOfOthers = 64;  // operations of a function of the C library that has no price

}  // namespace

uint32_t PriceOf(const char* name) {
    for (const Price& price : kPrices) {
        size_t length = strlen(price.name);
        if (strncmp(name, price.name, length) != 0) continue;
        if (name[length] == '\0') return kOfDouble * price.operations;
        if (strcmp(name + length, "f") == 0) return price.operations;
    }
    return 0;
}

uint32_t PriceOfImport(const char* name, const void* function) {
    uint32_t known = name == nullptr ? 0 : PriceOf(name);
    bool of_runtime =
        function >= static_cast<const void*>(__executable_start) && function < static_cast<const void*>(etext);
    return known == 0 && !of_runtime ? kOfOthers : known;  // the rest belongs to the C library
}

uint32_t PriceOfImport(const char* name) { return PriceOfImport(name, dlsym(RTLD_DEFAULT, name)); }

}  // namespace twin
