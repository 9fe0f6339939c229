// Which parts of global memory a kernel's own instructions read and wrote: what its outputs can have come from.
//
// Parts are granules of 32 bytes. An instruction with gaps counts as a whole, so that a granule which is not marked was
// certainly not touched.
#pragma once
#include <stdint.h>

namespace twin {

struct Coverage {
    uint8_t* read;  // one bit per granule; null until something is read
    uint8_t* written;

    // Makes room for a buffer of so many bytes.
    void Open(uint64_t bytes);
    // Bytes [begin, end) of the buffer. Blocks on several threads may do so at once.
    static void Note(uint8_t* bits, uint64_t begin, uint64_t end);
    // How many of the first `bytes` bytes lie in granules that are marked.
    static uint64_t Count(const uint8_t* bits, uint64_t bytes);
};

}  // namespace twin
