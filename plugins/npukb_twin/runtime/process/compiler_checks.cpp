// What the compiler has kernels ask the runtime (build.py): a division by zero, and a number that loses bits on its way
// into a narrower type without a cast. Kernels do the latter as they like; only parameters of the API are looked at,
// which are types of their own names (include/twin/narrow.h).
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "cores/core.h"
#include "cores/fiber.h"

namespace twin {
namespace {

constexpr char kParameter[] = "'npukb::of::";
constexpr uint64_t kPrefix = sizeof kParameter - 1;
constexpr uint32_t kLongest = 96;  // of a type's name

// As the compiler lays them out: what a type is called, and the two types of a conversion.
struct Type {
    uint16_t kind;  // 0: an integer
    uint16_t about;
    char name[1];
    uint32_t bits() const { return 1u << (about >> 1); }
    bool has_sign() const { return about & 1; }
};
struct Conversion {
    const char* file;
    uint32_t line, column;
    const Type* from;
    const Type* to;
};

// The parameter that a type is: the instruction or structure, and the name.
struct Parameter {
    char owner[kLongest];
    char name[kLongest];
};

// What lies in the image of `core`: a kernel may call with an address of its own choice.
struct Extent {
    uint64_t begin, end;
    explicit Extent(const Core& core) {
        const Image& image = core.launch->images[static_cast<int>(core.kind)];
        begin = image.base;
        end = image.end;
    }
    // Bytes from `address` on, 0 outside.
    uint64_t Room(const void* address) const {
        auto at = reinterpret_cast<uint64_t>(address);
        return at >= begin && at < end ? end - at : 0;
    }
};

// The parameter that a type is, as its name says; `room` is how much of the name can be read.
bool Parse(const Type& type, uint64_t room, Parameter& parameter) {
    char name[2 * kLongest] = {};
    strncpy(name, type.name, room < sizeof name ? room : sizeof name - 1);
    if (type.kind != 0 || strncmp(name, kParameter, kPrefix) != 0) return false;
    const char* owner = name + kPrefix;
    const char* between = strstr(owner, "::");
    const char* end = between == nullptr ? nullptr : strchr(between, '\'');
    if (end == nullptr) return false;
    snprintf(parameter.owner, kLongest, "%.*s", static_cast<int>(between - owner), owner);
    snprintf(parameter.name, kLongest, "%.*s", static_cast<int>(end - between) - 2, between + 2);
    return true;
}

// What only says where the next repeat or block lies: with one of them it is not looked at.
bool IsStep(const char* name) {
    return strstr(name, "Stride") != nullptr || strstr(name, "Gap") != nullptr || strstr(name, "RepeatSize") != nullptr;
}

int64_t ValueOf(const Type& type, uint64_t raw) {
    if (!type.has_sign() || type.bits() >= 64) return static_cast<int64_t>(raw);
    uint32_t above = 64 - type.bits();
    return static_cast<int64_t>(raw << above) >> above;
}

void LoseBits(Core& core, const Conversion& conversion, uint64_t from, uint64_t to, const void* pc) {
    const Extent image(core);
    if (image.Room(&conversion) < sizeof conversion || image.Room(conversion.from) < sizeof(Type)) return;
    uint64_t room = image.Room(conversion.to);
    Parameter parameter;
    if (room < sizeof(Type) || !Parse(*conversion.to, room - offsetof(Type, name), parameter)) return;
    long long value = ValueOf(*conversion.from, from);
    uint32_t bits = conversion.to->bits();
    constexpr char kSays[] = "%s: %s is %lld, but the device keeps %u bits of it (at most %llu) and sees %llu";
    constexpr char kRemedy[] = "Split the work so that the number fits; a cast says that bits are meant to be lost.";
    unsigned long long seen = to, most = (1ull << bits) - 1;
    if (IsStep(parameter.name))
        core.Warn("lost_bits", pc, kRemedy, kSays, parameter.owner, parameter.name, value, bits, most, seen);
    else
        core.Violate("lost_bits", pc, kRemedy, kSays, parameter.owner, parameter.name, value, bits, most, seen);
}

}  // namespace
}  // namespace twin

#pragma GCC visibility push(default)
extern "C" {

void __ubsan_handle_divrem_overflow(const void*, uint64_t, uint64_t) {
    twin::ThisCore().Warn("division_by_zero", NPUKB_PC, "Check the divisor before dividing.",
                          "an integer is divided by zero; the result is undefined, and the device may report an error");
}

void __ubsan_handle_implicit_conversion(const twin::Conversion* conversion, uint64_t from, uint64_t to) {
    using namespace twin;
    Core* core = RunningCore();
    if (core != nullptr) LoseBits(*core, *conversion, from, to, NPUKB_PC);
}
}
#pragma GCC visibility pop
