// Which bytes of UB hold a value that the program put there. Definedness travels with the data: a lane computed from an
// undefined lane is undefined. That alone is no fault; it becomes one where such bytes decide something or leave the
// core.
#pragma once
#include "cores/core.h"

namespace twin {

class Shadow {
  public:
    explicit Shadow(Core& core);
    ~Shadow() { Release(); }
    // The block has ended: its memory may go to the next one.
    void Release();
    Shadow(const Shadow&) = delete;

    // Whether every byte is defined, by blocks: true is certain.
    bool Clean(uint32_t offset, uint64_t bytes) const;
    void Define(uint32_t offset, uint64_t bytes);
    void Undefine(uint32_t offset, uint64_t bytes);
    // The first undefined byte at or behind `offset`; offset + bytes when there is none. Memory that was written behind
    // the runtime's back (through a raw pointer) no longer holds the pattern that UB was filled with, and counts as
    // defined.
    uint32_t FirstUndefined(uint32_t offset, uint64_t bytes);
    bool Defined(uint32_t offset, uint64_t bytes) { return FirstUndefined(offset, bytes) == offset + bytes; }

  private:
    enum Block : uint8_t { kDefined, kFresh, kMixed };    // all bytes defined, none written since the start, see bytes_
    enum Byte : uint8_t { kGood, kUnwritten, kSpoiled };  // the last: computed from undefined bytes
    void Open(uint32_t block);
    Core& core_;
    uint32_t size_;
    uint8_t* blocks_;
    uint8_t* bytes_;
    uint8_t* fill_;  // one block of the pattern
};

}  // namespace twin
