// AMD's additions to the runtime.
#pragma once

#include <hip/hip_runtime.h>
