// What a kernel reads of its tiling function's work: the data structure and the key.
//
// The driver puts the structures in front of the kernel, out of the operator's registration: the one that
// GET_TILING_DATA gives is called NpukbTiling. A kernel that registers a plain structure itself
// (REGISTER_TILING_DEFAULT) hides that name inside its entry. Where structures depend on the key, the driver compiles
// one variant per key and redefines TILING_KEY_VAR and the REGISTER_ macros for it.
#pragma once
#include "types.h"

namespace npukb {

// Copies a tiling structure from global memory; checked like any other access.
template <typename T>
NPUKB_API T TilingCopy(const __gm__ uint8_t* tiling) {
    T data;
    npukb_tiling_copy(&data, tiling, sizeof(T));
    return data;
}

// A key that the kernel asks for, in a section of the image that the driver reads.
template <uint64_t key>
struct AskedKey {
    static constexpr uint64_t row __attribute__((used, section("npukb_asked_key"))) = key;
};

// Whether the launch has one of these keys.
template <uint64_t... keys>
NPUKB_API constexpr bool TilingKeyIs(uint64_t launched) {
    return ((static_cast<void>(&AskedKey<keys>::row), launched == keys) || ...);
}

}  // namespace npukb

#define GET_TILING_DATA(name, tiling) \
    NpukbTiling name = npukb::TilingCopy<NpukbTiling>(reinterpret_cast<const uint8_t*>(tiling))
#define GET_TILING_DATA_WITH_STRUCT(type, name, tiling) \
    type name = npukb::TilingCopy<type>(reinterpret_cast<const uint8_t*>(tiling))
#define GET_TILING_DATA_MEMBER(type, member, name, tiling) \
    const auto name = npukb::TilingCopy<type>(reinterpret_cast<const uint8_t*>(tiling)).member
// The structure where it lies, in global memory, to be copied in parts.
#define GET_TILING_DATA_PTR_WITH_STRUCT(type, name, tiling) \
    const __gm__ type* name = reinterpret_cast<const type*>(tiling)
#define COPY_TILING_WITH_STRUCT(type, from, to)                                                 \
    const type to##NpukbCopy = npukb::TilingCopy<type>(reinterpret_cast<const uint8_t*>(from)); \
    const type* to = &to##NpukbCopy
#define COPY_TILING_WITH_ARRAY(type, length, from, to)             \
    type to##NpukbCopy[length];                                    \
    npukb_tiling_copy(to##NpukbCopy, from, sizeof(to##NpukbCopy)); \
    const type(*to)[length] = &to##NpukbCopy

#define TILING_KEY_VAR npukb_tiling_key()
#define TILING_KEY_IS(key) npukb::TilingKeyIs<static_cast<uint64_t>(key)>(TILING_KEY_VAR)
#define TILING_KEY_LIST(...) npukb::TilingKeyIs<__VA_ARGS__>(TILING_KEY_VAR)

#define REGISTER_TILING_DEFAULT(type) using NpukbTiling = type
#define REGISTER_NONE_TILING
