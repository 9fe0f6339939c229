// Error messages of operator repositories. What their names say is known; the codes that a device would report are not,
// and only the text is kept.
#pragma once
#include "opdev/op_log.h"
#include "util/shape_util.h"

namespace npukb_host {

inline std::string Words() { return {}; }
// What a message is about, in the order it was given: a parameter, what it is, what it should be and why.
template <class... Rest>
std::string Words(const std::string& first, const Rest&... rest) {
    std::string more = Words(rest...);
    return more.empty() ? first : first + ", " + more;
}

template <class Who, class... Parts>
void Refuse(const char* what, const Who& who, const Parts&... parts) {
    OP_LOGE(who, "invalid %s: %s", what, Words(parts...).c_str());
}

}  // namespace npukb_host

#ifndef OP_LOGE_FOR_INVALID_VALUE
#define OP_LOGE_FOR_INVALID_VALUE(who, ...) npukb_host::Refuse("value", who, __VA_ARGS__)
#define OP_LOGE_FOR_INVALID_VALUES(who, ...) npukb_host::Refuse("values", who, __VA_ARGS__)
#define OP_LOGE_FOR_INVALID_SHAPE(who, ...) npukb_host::Refuse("shape", who, __VA_ARGS__)
#define OP_LOGE_FOR_INVALID_SHAPES(who, ...) npukb_host::Refuse("shapes", who, __VA_ARGS__)
#define OP_LOGE_FOR_INVALID_SHAPEDIM(who, ...) npukb_host::Refuse("number of dimensions", who, __VA_ARGS__)
#define OP_LOGE_FOR_INVALID_SHAPEDIMS(who, ...) npukb_host::Refuse("numbers of dimensions", who, __VA_ARGS__)
#define OP_LOGE_FOR_INVALID_SHAPESIZE(who, ...) npukb_host::Refuse("number of elements", who, __VA_ARGS__)
#define OP_LOGE_FOR_INVALID_SHAPESIZES(who, ...) npukb_host::Refuse("numbers of elements", who, __VA_ARGS__)
#define OP_LOGE_FOR_INVALID_DTYPE(who, ...) npukb_host::Refuse("data type", who, __VA_ARGS__)
#define OP_LOGE_FOR_INVALID_DTYPES(who, ...) npukb_host::Refuse("data types", who, __VA_ARGS__)
#define OP_LOGE_FOR_INVALID_FORMAT(who, ...) npukb_host::Refuse("format", who, __VA_ARGS__)
#define OP_LOGE_FOR_INVALID_FORMATS(who, ...) npukb_host::Refuse("formats", who, __VA_ARGS__)
#define OP_LOGE_FOR_INVALID_TENSORNUM(who, ...) npukb_host::Refuse("number of tensors", who, __VA_ARGS__)
#endif
#ifndef OP_LOGE_FOR_INVALID_VALUE_WITH_REASON
#define OP_LOGE_FOR_INVALID_VALUE_WITH_REASON OP_LOGE_FOR_INVALID_VALUE
#define OP_LOGE_FOR_INVALID_VALUES_WITH_REASON OP_LOGE_FOR_INVALID_VALUES
#define OP_LOGE_FOR_INVALID_SHAPE_WITH_REASON OP_LOGE_FOR_INVALID_SHAPE
#define OP_LOGE_FOR_INVALID_SHAPES_WITH_REASON OP_LOGE_FOR_INVALID_SHAPES
#define OP_LOGE_FOR_INVALID_SHAPEDIM_WITH_REASON OP_LOGE_FOR_INVALID_SHAPEDIM
#define OP_LOGE_FOR_INVALID_SHAPEDIMS_WITH_REASON OP_LOGE_FOR_INVALID_SHAPEDIMS
#define OP_LOGE_FOR_INVALID_SHAPESIZE_WITH_REASON OP_LOGE_FOR_INVALID_SHAPESIZE
#define OP_LOGE_FOR_INVALID_SHAPESIZES_WITH_REASON OP_LOGE_FOR_INVALID_SHAPESIZES
#define OP_LOGE_FOR_INVALID_DTYPE_WITH_REASON OP_LOGE_FOR_INVALID_DTYPE
#define OP_LOGE_FOR_INVALID_DTYPES_WITH_REASON OP_LOGE_FOR_INVALID_DTYPES
#define OP_LOGE_FOR_INVALID_FORMAT_WITH_REASON OP_LOGE_FOR_INVALID_FORMAT
#define OP_LOGE_FOR_INVALID_FORMATS_WITH_REASON OP_LOGE_FOR_INVALID_FORMATS
#endif
#ifndef OP_LOGE_WITH_INVALID_INPUT
#define OP_LOGE_WITH_INVALID_INPUT(who, ...) npukb_host::Refuse("input", who, __VA_ARGS__)
#define OP_LOGE_WITH_INVALID_ATTR(who, ...) npukb_host::Refuse("attribute", who, __VA_ARGS__)
#endif
#ifndef VECTOR_INNER_ERR_REPORT_TILIING
#define VECTOR_INNER_ERR_REPORT_TILIING(who, ...) OP_LOGE(who, __VA_ARGS__)
#endif
#ifndef OPS_REPORT_VECTOR_INNER_ERR
#define OPS_REPORT_VECTOR_INNER_ERR(who, ...) NPUKB_LOG(DLOG_ERROR, who, ##__VA_ARGS__)
#endif
#ifndef OPS_REPORT_CUBE_INNER_ERR
#define OPS_REPORT_CUBE_INNER_ERR(who, ...) NPUKB_LOG(DLOG_ERROR, who, ##__VA_ARGS__)
#endif
#ifndef VECTOR_INNER_ERR_REPORT
#define VECTOR_INNER_ERR_REPORT(who, ...) OP_LOGE(who, __VA_ARGS__)
#endif
#ifndef CUBE_INNER_ERR_REPORT
#define CUBE_INNER_ERR_REPORT(who, ...) OP_LOGE(who, __VA_ARGS__)
#endif
#ifndef REPORT_INNER_ERR_MSG
#define REPORT_INNER_ERR_MSG(code, ...) DlogRecord(OP, DLOG_ERROR, __VA_ARGS__)
#define REPORT_USER_ERR_MSG(code, ...) DlogRecord(OP, DLOG_ERROR, __VA_ARGS__)
#define REPORT_PREDEFINED_ERR_MSG(code, ...) DlogRecord(OP, DLOG_ERROR, "%s", code)
#endif
