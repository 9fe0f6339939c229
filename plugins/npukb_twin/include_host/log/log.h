// Logging and checks of operator repositories. A helper of repositories that no page of the documentation describes:
// written from its use. Sources often define these macros themselves, so theirs count.
#pragma once
#include "opdev/op_log.h"
#include "twin_host/host.h"

// An action that runs, and a statement (`return`, `continue`) that follows, where a condition holds.
#define NPUKB_IF(condition, action, then) \
    if (condition) {                      \
        action;                           \
        then;                             \
    }
#ifndef OP_CHECK_IF
#define OP_CHECK_IF(condition, action, then) NPUKB_IF(condition, action, then)
#endif
#ifndef OP_CHECK
#define OP_CHECK(condition, action, then) NPUKB_IF(condition, action, then)
#endif
#ifndef OP_TILING_CHECK
#define OP_TILING_CHECK(condition, action, then) NPUKB_IF(condition, action, then)
#endif
#ifndef OP_CHECK_NULL_WITH_CONTEXT
#define OP_CHECK_NULL_WITH_CONTEXT(context, pointer) \
    NPUKB_IF((pointer) == nullptr, OP_LOGE(context, "%s is null", #pointer), return ge::GRAPH_FAILED)
#endif
#ifndef OP_CHECK_NULL_WITH_CONTEXT_RET
#define OP_CHECK_NULL_WITH_CONTEXT_RET(context, pointer, result) \
    NPUKB_IF((pointer) == nullptr, OP_LOGE(context, "%s is null", #pointer), return result)
#endif
#ifndef OPS_CHECK_NULL_WITH_CONTEXT
#define OPS_CHECK_NULL_WITH_CONTEXT(context, pointer) OP_CHECK_NULL_WITH_CONTEXT(context, pointer)
#endif
#ifndef OP_LOGE_IF
#define OP_LOGE_IF(condition, result, who, ...) NPUKB_IF(condition, OP_LOGE(who, __VA_ARGS__), return result)
#endif
#ifndef OP_LOGW_IF
#define OP_LOGW_IF(condition, who, ...) NPUKB_IF(condition, OP_LOGW(who, __VA_ARGS__), )
#endif
#include "base/err_msg.h"
