// Logging of host code. Errors and warnings go to stderr, which the runner captures; the rest is not shown.
#pragma once
#include <cstdarg>
#include <cstdint>
#include <string>

#define DLOG_DEBUG 0x0
#define DLOG_INFO 0x1
#define DLOG_WARN 0x2
#define DLOG_ERROR 0x3
#define DLOG_NULL 0x4
#define DLOG_EVENT 0x10
#ifndef MSG_LENGTH
#define MSG_LENGTH 1024
#endif
#ifndef OPS_UTILS_LOG_SUB_MOD_NAME
#define OPS_UTILS_LOG_SUB_MOD_NAME "OP_TILING"
#endif
#ifndef OPS_UTILS_LOG_PACKAGE_TYPE
#define OPS_UTILS_LOG_PACKAGE_TYPE "OP"
#endif

enum { OP = 63, GE = 45, FE = 30 };

extern "C" {
int CheckLogLevel(int module, int level);
void DlogRecord(int module, int level, const char* format, ...) __attribute__((format(printf, 3, 4)));
// The same with who speaks; a message may be left out.
void NpukbSay(int level, const char* who, const char* format, ...);
// Names of newer toolkits, known from their use: whether a level is on, and a record.
int AlogCheckDebugLevel(unsigned module, int level);
#define AlogRecord(module, type, level, ...) DlogRecord((module), (level), __VA_ARGS__)
}
#define DLOG_TYPE_DEBUG 0
#define DLOG_TYPE_RUN 1
#define DlogSub(module, submodule, level, ...) DlogRecord((module), (level), __VA_ARGS__)
// A helper of repositories that no page describes: written from its use.
#define OpLogSub(module, level, description, ...) DlogRecord((module), (level), __VA_ARGS__)
#define dlog_error(module, ...) DlogRecord((module), DLOG_ERROR, __VA_ARGS__)
#define dlog_warn(module, ...) DlogRecord((module), DLOG_WARN, __VA_ARGS__)
#define dlog_info(module, ...) DlogRecord((module), DLOG_INFO, __VA_ARGS__)
#define dlog_debug(module, ...) DlogRecord((module), DLOG_DEBUG, __VA_ARGS__)

// Messages say who speaks: a context, a name, or an error code.
namespace npukb_host {
inline const char* Speaker(const char* name) { return name == nullptr ? "nil" : name; }
inline const char* Speaker(const std::string& name) { return name.c_str(); }
inline const char* Speaker(int) { return "error"; }
template <class Context>
const char* Speaker(const Context* context) {
    return context == nullptr ? "nil" : Speaker(context->GetNodeName());
}
}  // namespace npukb_host

#define NPUKB_LOG(level, who, ...) NpukbSay(level, npukb_host::Speaker(who), ##__VA_ARGS__, nullptr)

#define REPORT_INNER_ERROR(code, ...) DlogRecord(OP, DLOG_ERROR, __VA_ARGS__)
#define REPORT_CALL_ERROR(code, ...) DlogRecord(OP, DLOG_ERROR, __VA_ARGS__)
#define REPORT_INPUT_ERROR(code, keys, values) DlogRecord(OP, DLOG_ERROR, "%s", code)
