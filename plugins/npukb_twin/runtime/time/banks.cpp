// Conflicts are counted over the blocks of a few repeats, after which the pattern repeats itself.
#include "time/banks.h"

namespace twin {
namespace {

constexpr uint32_t kGroups = 16;
constexpr uint32_t kBlocks = 8;    // of a repeat
constexpr uint32_t kLayer = 2048;  // blocks of a third of UB
constexpr uint32_t kLooked = 4;    // repeats that are looked at when they differ

// Rows that the busiest group serves in repeat `repeat`. Blocks that two operands, or two blocks of one, share are read
// once each.
uint32_t Busiest(const BankUse* uses, int count, uint32_t repeat) {
    uint8_t rows[kGroups] = {};
    uint32_t most = 0;
    for (int i = 0; i < count; ++i) {
        uint32_t block = uses[i].block + repeat * uses[i].repeat_stride;
        uint32_t touched = uses[i].block_stride == 0 ? 1 : kBlocks;
        for (uint32_t k = 0; k < touched; ++k) {
            uint32_t n = ++rows[(block + k * uses[i].block_stride) % kGroups];
            most = n > most ? n : most;
        }
    }
    return most;
}

// A bank is a group within a third of UB.
uint32_t BankOf(uint32_t block) { return block % kGroups + kGroups * (block / kLayer); }

// Whether what repeat `repeat` writes lies in a bank that the next repeat reads at that moment: writing comes one
// repeat later.
bool WriteMeetsRead(const BankUse* reads, int count, const BankUse& write, uint32_t repeat) {
    uint64_t written = 0;
    for (uint32_t k = 0; k < kBlocks; ++k)
        written |= uint64_t{1} << BankOf(write.block + repeat * write.repeat_stride + k * write.block_stride) % 64;
    for (int i = 0; i < count; ++i) {
        uint32_t block = reads[i].block + (repeat + 1) * reads[i].repeat_stride;
        for (uint32_t k = 0; k < kBlocks; ++k) {
            if (written >> BankOf(block + k * reads[i].block_stride) % 64 & 1) return true;
        }
    }
    return false;
}

bool Dense(const BankUse& use) { return use.block_stride == 1 && use.repeat_stride == kBlocks; }

}  // namespace

double BankCycles(const BankUse* reads, int count, const BankUse& write, uint32_t repeats, double read_write) {
    bool dense = Dense(write);
    for (int i = 0; i < count; ++i) dense = dense && Dense(reads[i]);
    uint32_t looked = dense || repeats < 2 ? 1 : (repeats < kLooked ? repeats : kLooked);
    double sum = 0;
    for (uint32_t r = 0; r < looked; ++r) {
        uint32_t in = dense && count < 2 ? 1 : Busiest(reads, count, r), out = dense ? 1 : Busiest(&write, 1, r);
        sum += in > out ? in : out;
        // Sources that wait for each other leave the result a moment of its own.
        if (in == 1 && repeats > 1 && WriteMeetsRead(reads, count, write, r)) sum += read_write;
    }
    return sum / looked;
}

}  // namespace twin
