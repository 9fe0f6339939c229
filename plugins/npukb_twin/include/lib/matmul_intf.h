// What a kernel includes to multiply matrices with objects.
//
// Branches of these headers count like the kernel's own, other than those of kernel_operator.h: the attribute that
// leaves them out is one of the names that are poisoned by now.
#include "kernel_operator.h"
#include "twin/matmul/matmul.h"
#include "twin/matmul/callbacks.h"
