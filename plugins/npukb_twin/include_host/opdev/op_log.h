// Logging macros of the call interface, which some shape inference sources use.
#pragma once
#include "twin_host/log.h"

#ifndef OP_LOGD
#define OP_LOGD(...) NPUKB_LOG(DLOG_DEBUG, __VA_ARGS__)
#endif
#ifndef OP_LOGI
#define OP_LOGI(...) NPUKB_LOG(DLOG_INFO, __VA_ARGS__)
#endif
#ifndef OP_LOGW
#define OP_LOGW(...) NPUKB_LOG(DLOG_WARN, __VA_ARGS__)
#endif
#ifndef OP_LOGE
#define OP_LOGE(...) NPUKB_LOG(DLOG_ERROR, __VA_ARGS__)
#endif
#ifndef OP_LOGE_WITHOUT_REPORT
#define OP_LOGE_WITHOUT_REPORT(...) NPUKB_LOG(DLOG_ERROR, __VA_ARGS__)
#endif
#ifndef OP_EVENT
#define OP_EVENT(...) NPUKB_LOG(DLOG_EVENT, __VA_ARGS__)
#endif
