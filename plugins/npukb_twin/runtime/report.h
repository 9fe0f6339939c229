// The report of one launch, as JSON on a private descriptor. Written once; a child that ends without it has proved nothing.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "core.h"

namespace twin {

// Times and bytes of all cores of a launch.
struct Totals {
    double longest_cycles = 0;  // of the blocks of the last wave
    double earlier_waves_cycles = 0;
    int64_t wave = 0;
    double busy_cycles[npukb::kPipes] = {};
    double waited_cycles[npukb::kPipes] = {};
    double core_cycles = 0;
    uint64_t instructions[npukb::kPipes] = {};
    uint64_t bytes_in = 0;
    uint64_t bytes_out = 0;
    Diagnostics diagnostics;

    // Blocks come in order.
    void Add(const Core& core, int64_t in_wave);
};

// Where reports go, and what they begin with to be told from what a kernel may write there.
void SetReportDescriptor(int descriptor, const char* token);
void ReportFailure(const char* status, const char* message);
void ReportFinished(const Launch& launch, const Totals& totals);
// From a signal handler: what happened, where, and that nothing else will follow.
void ReportSignal(int signal, uint64_t pc, uint64_t address, bool stack_overflow);

}  // namespace twin
