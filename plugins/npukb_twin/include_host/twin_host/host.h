// Everything that host code of an operator may include, behind the many paths it is included by.
#pragma once
#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iomanip>
#include <iostream>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <queue>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <sys/syscall.h>
#include <unistd.h>

#include "securec.h"
#include "twin_host/arrays.h"
#if defined(__clang__)  // another compiler would make the instances anew in every unit
#include "twin_host/instances.h"
#endif
#include "twin_host/matmul_tiling.h"
#include "twin_host/op_def.h"
#include "twin_host/tiling_shape.h"
