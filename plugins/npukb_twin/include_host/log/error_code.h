// Codes of error messages in operator repositories, which no page of the documentation describes: the twin keeps the
// text of a message only.
#pragma once
#include "log/log.h"
