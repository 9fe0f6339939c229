// Error macros of operator repositories.
#pragma once
#include "log/ops_log.h"

#define OPS_ERR_IF(condition, action, then) NPUKB_WHEN(condition, action, then)
