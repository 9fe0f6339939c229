// How fast the cube unit multiplies.
#pragma once
#include "../../include/twin/abi.h"
#include "time/machine.h"

namespace twin {

// Products along k that it adds to 16 by 16 sums in a cycle.
inline double DepthPerCycle(const Machine& m, npukb::DType type, bool hf32) {
    switch (type) {
        case npukb::DType::I4: return m.mmad_depth_b4;
        case npukb::DType::I8: return m.mmad_depth_b8;
        case npukb::DType::F32: return hf32 ? m.mmad_depth_hf32 : m.mmad_depth_f32;
        default: return m.mmad_depth_b16;
    }
}

}  // namespace twin
