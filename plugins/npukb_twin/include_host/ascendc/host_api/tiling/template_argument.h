#pragma once
#include "twin_host/template_argument.h"
