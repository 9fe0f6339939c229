#pragma once
#include "twin_host/ranks.h"
