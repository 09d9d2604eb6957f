// Nothing of its own.
#pragma once

#include <hip/hip_runtime_api.h>
