// Sizes of a chip as tiling functions of operator repositories ask for them, which no page of the documentation
// describes: written from their use. Bytes of a block of the unified buffer, and of what one repeat takes.
#pragma once
#include <cstdint>

namespace Ops::Base {

template <class Context>
uint32_t GetUbBlockSize(const Context*) {
    return 32;
}
template <class Context>
uint32_t GetVRegSize(const Context*) {
    return 256;
}

}  // namespace Ops::Base
