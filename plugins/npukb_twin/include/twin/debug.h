// What a kernel says while it runs: printf, dumps of tensors, assertions. It goes into the report, bounded per block.
#pragma once
#include <type_traits>

#include "tensor.h"

namespace npukb {

// A value of printf: its bits, and what kind of argument they are.
enum class PrintKind : uint8_t { Signed, Unsigned, Real, Text };

template <typename T>
struct Printed {
    NPUKB_API static uint64_t Bits(const T& value) {
        if constexpr (std::is_pointer_v<T>) {
            return reinterpret_cast<uint64_t>(value);
        } else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
            return static_cast<uint64_t>(static_cast<int64_t>(value));
        } else {
            double wide = static_cast<double>(static_cast<float>(value));
            uint64_t bits;
            __builtin_memcpy(&bits, &wide, sizeof bits);
            return bits;
        }
    }
    static constexpr PrintKind kKind = std::is_same_v<T, const char*> || std::is_same_v<T, char*> ? PrintKind::Text
                                       : std::is_pointer_v<T> || std::is_unsigned_v<T>            ? PrintKind::Unsigned
                                       : std::is_integral_v<T> || std::is_enum_v<T>               ? PrintKind::Signed
                                                                                                  : PrintKind::Real;
};

}  // namespace npukb

namespace AscendC {

template <typename... Args>
NPUKB_API void printf(__gm__ const char* fmt, Args&&... args) {
    const uint64_t values[] = {npukb::Printed<std::decay_t<Args>>::Bits(args)..., 0};
    const uint8_t kinds[] = {static_cast<uint8_t>(npukb::Printed<std::decay_t<Args>>::kKind)..., 0};
    npukb_print(fmt, sizeof...(Args), values, kinds);
}
template <typename... Args>
NPUKB_API void PRINTF(__gm__ const char* fmt, Args&&... args) {
    const uint64_t values[] = {npukb::Printed<std::decay_t<Args>>::Bits(args)..., 0};
    const uint8_t kinds[] = {static_cast<uint8_t>(npukb::Printed<std::decay_t<Args>>::kKind)..., 0};
    npukb_print(fmt, sizeof...(Args), values, kinds);
}

template <typename T>
NPUKB_API void DumpTensor(const LocalTensor<T>& tensor, uint32_t desc, uint32_t dumpSize) {
    npukb_dump(npukb::DTypeOf<T>::value, tensor.npukb_view.address, 0, desc, dumpSize);
}
template <typename T>
NPUKB_API void DumpTensor(const GlobalTensor<T>& tensor, uint32_t desc, uint32_t dumpSize) {
    npukb_dump(npukb::DTypeOf<T>::value, tensor.GetPhyAddr(), 1, desc, dumpSize);
}
template <typename T>
NPUKB_API void DumpAccChkPoint(const LocalTensor<T>& tensor, uint32_t index, uint32_t countOff, uint32_t dumpSize) {
    npukb_dump(npukb::DTypeOf<T>::value, tensor[countOff].npukb_view.address, 0, index, dumpSize);
}
template <typename T>
NPUKB_API void DumpAccChkPoint(const GlobalTensor<T>& tensor, uint32_t index, uint32_t countOff, uint32_t dumpSize) {
    npukb_dump(npukb::DTypeOf<T>::value, tensor[countOff].GetPhyAddr(), 1, index, dumpSize);
}

// The system counter at this point, with a number of the author's.
NPUKB_API void PrintTimeStamp(uint32_t descId) { AscendC::printf("time stamp %u: %ld", descId, npukb_system_cycle()); }

// Parts of a kernel that the vendor's profiler counts or marks. The twin profiles all of it, and its results do not
// change.
NPUKB_API void MetricsProfStart() {}
NPUKB_API void MetricsProfStop() {}

template <typename... Args>
NPUKB_API void NpukbAssertion(bool holds, const char* condition, Args&&... args) {
    if (holds) return;
    if constexpr (sizeof...(Args) > 0) AscendC::printf(static_cast<Args&&>(args)...);
    npukb_assert(condition);
}

}  // namespace AscendC

#define TRACE_START(apid)
#define TRACE_STOP(apid)
#undef assert
#define assert(expr, ...) AscendC::NpukbAssertion(static_cast<bool>(expr), #expr, ##__VA_ARGS__)
#define ascendc_assert(expr, ...) AscendC::NpukbAssertion(static_cast<bool>(expr), #expr, ##__VA_ARGS__)
