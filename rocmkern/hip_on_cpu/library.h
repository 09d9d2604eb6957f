// What the files of the runtime library share.
#pragma once

#include <hip/hip_runtime_api.h>

// Finds the interpreter that answers, or starts it; once in a process.
void rk_require_interpreter(void);

// Keeps a status for hipGetLastError.
hipError_t rk_noted(hipError_t status);

// A kernel or a variable of a compiled program: its address on the host, its name, and the code that has it.
struct rk_symbol {
    const void *host;
    const char *name;
    const void *image;
};
