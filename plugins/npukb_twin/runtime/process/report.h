// The report of one launch, as JSON on a private descriptor. Written once; a child that ends without it has proved
// nothing.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "cores/core.h"
#include "verify/image.h"

namespace twin {

// What all cores of a launch did.
struct Totals {
    uint64_t bytes_in = 0;
    uint64_t bytes_out = 0;
    uint64_t transfers = 0;
    uint32_t ub_used = 0;  // the most that buffers of one core took
    Diagnostics diagnostics;

    // Blocks come in order.
    void Add(const Core& core);
};

// Where reports go, and what they begin with to be told from what a kernel may write there.
void SetReportDescriptor(int descriptor, const char* token);
void ReportFailure(const char* status, const char* message);
// The image is not run.
void ReportRefused(const Verdict& verdict);
void ReportFinished(const Launch& launch, const Totals& totals);
// From a signal handler: what happened, where, and that nothing else will follow.
void ReportSignal(int signal, uint64_t pc, uint64_t address, bool stack_overflow);

}  // namespace twin
