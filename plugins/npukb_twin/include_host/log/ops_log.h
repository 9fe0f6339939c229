// Logging macros of operator repositories. The first argument says who speaks: a context or a name.
#pragma once
#include "log/log.h"
#include "util/shape_util.h"

#define OPS_LOG_D(who, ...) NPUKB_LOG(DLOG_DEBUG, who, ##__VA_ARGS__)
#define OPS_LOG_I(who, ...) NPUKB_LOG(DLOG_INFO, who, ##__VA_ARGS__)
#define OPS_LOG_W(who, ...) NPUKB_LOG(DLOG_WARN, who, ##__VA_ARGS__)
#define OPS_LOG_E(who, ...) NPUKB_LOG(DLOG_ERROR, who, ##__VA_ARGS__)
#define OPS_LOG_E_WITHOUT_REPORT(who, ...) NPUKB_LOG(DLOG_ERROR, who, ##__VA_ARGS__)
#define OPS_LOG_EVENT(who, ...) NPUKB_LOG(DLOG_EVENT, who, ##__VA_ARGS__)
#define OPS_LOG_FULL(level, who, ...) NPUKB_LOG(level, who, ##__VA_ARGS__)
#define OPS_LOG_D_FULL(who, ...) NPUKB_LOG(DLOG_DEBUG, who, ##__VA_ARGS__)
#define OPS_LOG_I_FULL(who, ...) NPUKB_LOG(DLOG_INFO, who, ##__VA_ARGS__)
#define OPS_LOG_W_FULL(who, ...) NPUKB_LOG(DLOG_WARN, who, ##__VA_ARGS__)
#define NPUKB_WHEN(condition, action, then) \
    do {                                    \
        if (condition) {                    \
            action;                         \
            then;                           \
        }                                   \
    } while (0)
#define OPS_LOG_D_IF(condition, who, then, ...) NPUKB_WHEN(condition, OPS_LOG_D(who, ##__VA_ARGS__), then)
#define OPS_LOG_I_IF(condition, who, then, ...) NPUKB_WHEN(condition, OPS_LOG_I(who, ##__VA_ARGS__), then)
#define OPS_LOG_W_IF(condition, who, then, ...) NPUKB_WHEN(condition, OPS_LOG_W(who, ##__VA_ARGS__), then)
#define OPS_LOG_E_IF(condition, who, then, ...) NPUKB_WHEN(condition, OPS_LOG_E(who, ##__VA_ARGS__), then)
#define OPS_LOG_E_IF_NULL(who, pointer, then) \
    if ((pointer) == nullptr) {               \
        OPS_LOG_E(who, #pointer " is null");  \
        then;                                 \
    }
// No page describes this: written from its use. The empty pack makes a source's own function the better one.
namespace ops {
template <class... None, typename = std::enable_if_t<sizeof...(None) == 0>>
std::string Shape2String(const gert::Shape& shape, None...) {
    return Ops::Base::ToString(shape);
}
}  // namespace ops
#define OPS_CHECK(condition, action, then) \
    if (condition) {                       \
        action;                            \
        then;                              \
    }
