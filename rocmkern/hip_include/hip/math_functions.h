// Device maths is there from the start.
#pragma once

#include <hip/hip_runtime.h>
