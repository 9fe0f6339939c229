// Error macros of operator repositories.
#pragma once
#include "log/ops_log.h"

#define OPS_REPORT_VECTOR_INNER_ERR(who, ...) NPUKB_LOG(DLOG_ERROR, who, __VA_ARGS__)
#define OPS_REPORT_CUBE_INNER_ERR(who, ...) NPUKB_LOG(DLOG_ERROR, who, __VA_ARGS__)
#define OPS_ERR_IF(condition, action, then) NPUKB_WHEN(condition, action, then)
