#pragma once
#include "twin_direct/tensor.h"
