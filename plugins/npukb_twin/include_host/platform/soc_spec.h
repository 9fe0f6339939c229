#pragma once
#include "twin_host/host.h"
