// Numbers of one SoC. They come from the machine file of the plugin; nothing here has a default worth trusting.
#pragma once
#include <stdint.h>

namespace twin {

struct Machine {
    uint32_t ub_bytes = 0;
    double clock_hz = 0;
    double vector_head_cycles = 0;       // issue to first result, instructions queued back to back
    double vector_idle_head_cycles = 0;  // the same when the pipe was idle
    double scalar_issue_cycles = 0;      // decode and dispatch of one instruction
    double scalar_access_cycles = 0;     // one scalar load or store on UB
    double gm_scalar_cycles = 0;         // one scalar load or store on global memory
    double copy_in_latency_s = 0;        // GM to UB
    double copy_out_latency_s = 0;       // UB to GM
    double copy_in_bytes_per_s = 0;      // one core, streaming
    double copy_out_bytes_per_s = 0;
    double hbm_bytes_per_s = 0;          // whole die, sustained
    double unaligned_factor = 0;         // rate of transfers whose GM address is not a multiple of 512
    double flag_cycles = 0;              // hand-off from one pipe to another
    double barrier_cycles = 0;           // PipeBarrier of one pipe
    double barrier_all_cycles = 0;
    double sync_all_s = 0;               // barrier over all cores
    double launch_s = 0;                 // task overhead
    double launch_per_core_s = 0;
};

}  // namespace twin
