// What a kernel sees of its template arguments' declaration: nothing. The driver reads the declaration itself and
// instantiates the entry for the tiling key of a launch.
#pragma once

#define ASCENDC_TPL_ARGS_DECL(...)
#define ASCENDC_TPL_SEL(...)
