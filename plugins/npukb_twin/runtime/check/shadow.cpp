// A state per block of 32 bytes, and one per byte only where a block is mixed.
#include "check/shadow.h"

#include <stdlib.h>
#include <string.h>

namespace twin {

constexpr uint32_t kBlock = 32;

Shadow::Shadow(Core& core) : core_(core), size_(core.launch->arena_bytes) {
    uint32_t blocks = (size_ + kBlock - 1) / kBlock;
    blocks_ = static_cast<uint8_t*>(malloc(blocks));
    bytes_ = static_cast<uint8_t*>(malloc(blocks * kBlock));
    fill_ = static_cast<uint8_t*>(malloc(kBlock));
    if (blocks_ == nullptr || bytes_ == nullptr || fill_ == nullptr) abort();
    memset(blocks_, kFresh, blocks);
    memcpy(fill_, core.ub + (core.kind == CoreKind::Vector ? 0 : core.launch->RangeOf(Memory::L1).offset), kBlock);
}

void Shadow::Release() {
    free(blocks_);
    free(bytes_);
    free(fill_);
    blocks_ = bytes_ = fill_ = nullptr;
}

bool Shadow::Clean(uint32_t offset, uint64_t bytes) const {
    if (bytes == 0) return true;
    uint32_t first = offset / kBlock;
    auto last = static_cast<uint32_t>((offset + bytes - 1) / kBlock);
    uint8_t any = 0;
    for (uint32_t b = first; b <= last; ++b) any = static_cast<uint8_t>(any | blocks_[b]);
    return any == kDefined;
}

// Gives every byte of the block a state of its own.
void Shadow::Open(uint32_t block) {
    if (blocks_[block] == kMixed) return;
    memset(bytes_ + block * kBlock, blocks_[block] == kDefined ? kGood : kUnwritten, kBlock);
    blocks_[block] = kMixed;
}

void Shadow::Define(uint32_t offset, uint64_t bytes) {
    auto end = static_cast<uint32_t>(offset + bytes);
    while (offset < end) {
        uint32_t block = offset / kBlock, start = block * kBlock;
        uint32_t stop = end < start + kBlock ? end : start + kBlock;
        if (offset == start && stop == start + kBlock) {
            uint32_t whole = (end - offset) / kBlock;
            memset(blocks_ + block, kDefined, whole);
            offset += whole * kBlock;
            continue;
        }
        if (blocks_[block] != kDefined) {
            Open(block);
            memset(bytes_ + offset, kGood, stop - offset);
            bool all = true;
            for (uint32_t i = start; i < start + kBlock; ++i) all = all && bytes_[i] == kGood;
            if (all) blocks_[block] = kDefined;
        }
        offset = stop;
    }
}

void Shadow::Undefine(uint32_t offset, uint64_t bytes) {
    auto end = static_cast<uint32_t>(offset + bytes);
    for (uint32_t i = offset; i < end; ++i) {
        Open(i / kBlock);
        bytes_[i] = kSpoiled;
    }
}

uint32_t Shadow::FirstUndefined(uint32_t offset, uint64_t bytes) {
    auto end = static_cast<uint32_t>(offset + bytes);
    for (uint32_t i = offset; i < end;) {
        uint32_t block = i / kBlock;
        if (blocks_[block] == kDefined) {
            i = (block + 1) * kBlock;
            continue;
        }
        bool fresh = blocks_[block] == kFresh || bytes_[i] == kUnwritten;
        if (fresh ? memcmp(core_.ub + (i & ~3u), fill_ + (i & ~3u) % kBlock, 4) == 0 : bytes_[i] == kSpoiled) return i;
        ++i;
    }
    return end;
}

}  // namespace twin
