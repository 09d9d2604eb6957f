// The older name of the bfloat16 header, and of its type.
#pragma once

#include <hip/hip_bf16.h>

using hip_bfloat16 = __hip_bfloat16;
