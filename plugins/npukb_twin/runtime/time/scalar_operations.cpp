// The callback that compilers put into every piece of code: it adds the piece's operations to the thread's counter.
#include "time/scalar_operations.h"

#include "time/announcements.h"

namespace twin {

thread_local uint64_t t_operations;

}  // namespace twin

#pragma GCC visibility push(default)
extern "C" void __sanitizer_cov_trace_pc() {
    twin::t_operations += twin::OperationsBehind(reinterpret_cast<uint64_t>(__builtin_return_address(0)));
}
#pragma GCC visibility pop
