#pragma once
#include "opdev/op_log.h"
