// Logging of the host, in headers that host and device share: a core logs nothing.
#pragma once
#define dlog_error(module, ...)
#define dlog_warn(module, ...)
#define dlog_info(module, ...)
#define dlog_debug(module, ...)
