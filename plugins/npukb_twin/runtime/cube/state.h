// Registers of the cube unit: they outlive the instructions that set them.
#pragma once
#include <stdint.h>

#include "time/timeline.h"

namespace twin {

inline constexpr uint32_t kFractalBytes = 512;
inline constexpr uint32_t kUnitFlags = 256;           // one per 512 bytes of L0C
inline constexpr uint32_t kSparseIndexBytes = 16384;  // a quarter of L0B

struct CubeState {
    bool hf32;
    bool hf32_away;
    uint32_t load_boundary;  // bytes of L1 that LoadData of images stays in; 0 for all
    uint64_t padding_value;
    uint16_t map_height;
    uint16_t map_width;
    uint8_t map_padding[4];
    bool map_set;
    uint32_t repeat_stride;
    uint32_t repeat_times;  // 0 until SetLoadDataRepeat is called: once
    uint32_t repeat_mode;
    bool repeat_set;
    uint64_t nz_to_nd;      // how many matrices, and their distances on both sides
    uint64_t pre_quant;     // scale of a whole matrix
    const uint8_t* scales;  // one per column, in the fixpipe buffer
    uint8_t unit_flags[kUnitFlags];
    Moment unit_set;      // when Mmad last set any
    Moment unit_cleared;  // when Fixpipe last cleared any
    uint8_t sparse_index[kSparseIndexBytes];
};

}  // namespace twin
