// The table of <cmath>. All numbers are assumed (grade E): no page says what a device's compiler makes of such a call.
// They count what the usual algorithms do in float with sums, products, comparisons and shifts: a range reduced and a
// polynomial, a step of Newton's for every doubling of the digits, a subtraction for every few bits of a quotient. In
// double, which a scalar unit has to put together, each costs twice as much.
#include "time/library_prices.h"

#include <dlfcn.h>
#include <string.h>

extern "C" char __executable_start[], etext[];  // from the linker

namespace twin {
namespace {

struct Price {
    uint32_t operations;
    const char* names;  // between blanks
};

constexpr Price kPrices[] = {
    {1, " abs labs llabs "},
    {2, " fabs copysign fdim fmax fmin nan "},                 // a sign or a comparison
    {6, " frexp ilogb ldexp logb nextafter scalbln scalbn "},  // exponent and fraction apart, or together
    {8, " ceil floor llrint llround lrint lround modf nearbyint rint round trunc "},  // bits masked, a direction
    {16, " sqrt fma "},                                        // an estimate and its steps; two roundings
    {24, " exp exp2 expm1 log log10 log1p log2 cbrt hypot "},  // a range, a polynomial of degree six
    {32, " fmod remainder remquo "},                           // as many steps as the quotient has bits
    {32, " acos acosh asin asinh atan atan2 atanh cos cosh sin sinh tan tanh "},  // a longer range, a quadrant
    {56, " pow "},             // a logarithm of more digits, an exponential
    {64, " erf erfc "},        // one of several polynomials, an exponential
    {128, " lgamma tgamma "},  // a reflection, a logarithm, a power
};
constexpr const char* kStandIn = "__wrap_";  // functions of the runtime's in the place of those that write to pointers
constexpr size_t kLongest = 16;
constexpr uint32_t kOfDouble = 2;
constexpr uint32_t kOfOthers = 64;  // operations of a function of the C library that has no price

// Whether `length` letters of `name` are one of the names.
bool Lists(const char* names, const char* name, size_t length) {
    char word[kLongest + 3] = {' '};
    memcpy(word + 1, name, length);
    word[length + 1] = ' ';
    return strstr(names, word) != nullptr;
}

uint32_t Listed(const char* name, size_t length) {
    for (const Price& price : kPrices) {
        if (length != 0 && length <= kLongest && Lists(price.names, name, length)) return price.operations;
    }
    return 0;
}

}  // namespace

uint32_t PriceOf(const char* name) {
    if (strncmp(name, kStandIn, strlen(kStandIn)) == 0) name += strlen(kStandIn);
    size_t length = strlen(name);
    // Whole names first: `erf` is no `er` in float.
    if (uint32_t known = Listed(name, length)) return kOfDouble * known;
    return name[length - (length != 0)] == 'f' ? Listed(name, length - 1) : 0;
}

uint32_t PriceOfImport(const char* name, const void* function) {
    uint32_t known = name == nullptr ? 0 : PriceOf(name);
    bool of_runtime =
        function >= static_cast<const void*>(__executable_start) && function < static_cast<const void*>(etext);
    return known == 0 && !of_runtime ? kOfOthers : known;  // the rest belongs to the C library
}

uint32_t PriceOfImport(const char* name) { return PriceOfImport(name, dlsym(RTLD_DEFAULT, name)); }

}  // namespace twin
