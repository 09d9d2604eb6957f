// Vector types.
#pragma once

#include <rocmkern/vectors.h>
