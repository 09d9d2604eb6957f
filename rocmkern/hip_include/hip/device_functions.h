// Device functions are with everything else.
#pragma once

#include <hip/hip_runtime.h>
