// Names of the host's runtime that launch stubs in kernel files mention. Nothing here is ever called.
#pragma once
#include <stddef.h>
#include <stdint.h>

typedef void* aclrtStream;
typedef void* aclrtContext;
typedef int aclError;
