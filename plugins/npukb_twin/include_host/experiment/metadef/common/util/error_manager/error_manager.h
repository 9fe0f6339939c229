#pragma once
#include "twin_host/log.h"
