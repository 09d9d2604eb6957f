// HIP's runtime library for devices that a host elsewhere emulates: the C side, which keeps errors and passes calls on.
#include "library.h"

#include <hip/hiprtc.h>

#include <stdio.h>
#include <string.h>

static __thread hipError_t last_error;

hipError_t rk_noted(hipError_t status) {
    if (status != hipSuccess && status != hipErrorNotReady) {
        last_error = status;
    }
    return status;
}

// Says so once for each call.
static hipError_t missing(const char *name, int *is_told) {
    if (!*is_told) {
        *is_told = 1;
        fprintf(stderr, "hip_on_cpu: %s is not supported\n", name);
    }
    return hipErrorNotSupported;
}

#define RK_API(name, parameters, arguments) static hipError_t(*on_##name) parameters;
#include <rocmkern/api.inc>
#undef RK_API
#define RK_API(name, parameters, arguments) static hiprtcResult(*on_##name) parameters;
#include <rocmkern/hiprtc.inc>
#undef RK_API

static int is_bound;

#define RK_API(name, parameters, arguments)                                                     \
    hipError_t name parameters {                                                                \
        static int is_told;                                                                     \
        if (!is_bound) {                                                                        \
            rk_require_interpreter();                                                           \
        }                                                                                       \
        return rk_noted(on_##name ? on_##name arguments : missing(#name, &is_told));            \
    }
#include <rocmkern/api.inc>
#undef RK_API

#define RK_API(name, parameters, arguments)                                                     \
    hiprtcResult name parameters {                                                              \
        static int is_told;                                                                     \
        if (!is_bound) {                                                                        \
            rk_require_interpreter();                                                           \
        }                                                                                       \
        if (on_##name) {                                                                        \
            return on_##name arguments;                                                         \
        }                                                                                       \
        missing(#name, &is_told);                                                               \
        return HIPRTC_ERROR_INTERNAL_ERROR;                                                     \
    }
#include <rocmkern/hiprtc.inc>
#undef RK_API

static const struct {
    const char *name;
    void *place;
} places[] = {
#define RK_API(name, parameters, arguments) {#name, (void *)&on_##name},
#include <rocmkern/api.inc>
#include <rocmkern/hiprtc.inc>
#undef RK_API
};

// Says who answers the call of that name; 0 where there is no such call.
int rk_bind(const char *name, void *function) {
    is_bound = 1;
    for (size_t i = 0; i < sizeof places / sizeof *places; ++i) {
        if (strcmp(places[i].name, name) == 0) {
            memcpy(places[i].place, &function, sizeof function);
            return 1;
        }
    }
    return 0;
}

hipError_t hipGetLastError(void) {
    const hipError_t status = last_error;
    last_error = hipSuccess;
    return status;
}
hipError_t hipPeekAtLastError(void) { return last_error; }

const char *hipGetErrorName(hipError_t error) {
    switch ((int)error) {
#define RK_ERROR(name, number, meaning) \
    case number:                        \
        return #name;
#include <rocmkern/errors.inc>
#undef RK_ERROR
    }
    return "hipErrorUnknown";
}
const char *hipGetErrorString(hipError_t error) {
    switch ((int)error) {
#define RK_ERROR(name, number, meaning) \
    case number:                        \
        return meaning;
#include <rocmkern/errors.inc>
#undef RK_ERROR
    }
    return "unknown error";
}
const char *hiprtcGetErrorString(hiprtcResult result) {
    switch ((int)result) {
#define RK_RESULT(name, number) \
    case number:                \
        return #name;
#include <rocmkern/hiprtc_results.inc>
#undef RK_RESULT
    }
    return "HIPRTC_ERROR_UNKNOWN";
}
hipError_t hipDrvGetErrorName(hipError_t error, const char **text) {
    *text = hipGetErrorName(error);
    return hipSuccess;
}
hipError_t hipDrvGetErrorString(hipError_t error, const char **text) {
    *text = hipGetErrorString(error);
    return hipSuccess;
}

// What the host knows of a device, in a form that is the same for every release of HIP.
struct rk_device {
    const char *name;
    const char *architecture;
    uint64_t memory_bytes;
    int ordinal, wave, units, threads, lds_bytes, major, minor;
    int block[3], grid[3];
};

void rk_properties(hipDeviceProp_t *properties, const struct rk_device *device) {
    memset(properties, 0, sizeof *properties);
    strncpy(properties->name, device->name, sizeof properties->name - 1);
    strncpy(properties->gcnArchName, device->architecture, sizeof properties->gcnArchName - 1);
    memcpy(properties->uuid.bytes, device->architecture, strnlen(device->architecture, 15));
    properties->uuid.bytes[15] = (char)device->ordinal;
    properties->totalGlobalMem = device->memory_bytes;
    properties->sharedMemPerBlock = (size_t)device->lds_bytes;
    properties->sharedMemPerBlockOptin = (size_t)device->lds_bytes;
    properties->sharedMemPerMultiprocessor = (size_t)device->lds_bytes;
    properties->maxSharedMemoryPerMultiProcessor = (size_t)device->lds_bytes;
    properties->totalConstMem = 0x7fffffff;
    properties->memPitch = 0x7fffffff;
    properties->regsPerBlock = 65536;
    properties->regsPerMultiprocessor = 65536;
    properties->warpSize = device->wave;
    properties->maxThreadsPerBlock = device->threads;
    properties->maxThreadsPerMultiProcessor = 2048;
    properties->maxBlocksPerMultiProcessor = 32;
    memcpy(properties->maxThreadsDim, device->block, sizeof device->block);
    memcpy(properties->maxGridSize, device->grid, sizeof device->grid);
    properties->major = device->major;
    properties->minor = device->minor;
    properties->multiProcessorCount = device->units;
    properties->clockRate = 1000000;
    properties->clockInstructionRate = 100000;
    properties->memoryClockRate = 1000000;
    properties->memoryBusWidth = 64;
    properties->pciBusID = device->ordinal + 1;
    properties->concurrentKernels = 1;
    properties->integrated = 1;
    properties->canMapHostMemory = 1;
    properties->unifiedAddressing = 1;
    properties->managedMemory = 1;
    properties->cooperativeLaunch = 1;
    properties->hostRegisterSupported = 1;
    properties->arch.hasDoubles = 1;
    properties->arch.hasGlobalInt32Atomics = 1;
    properties->arch.hasGlobalInt64Atomics = 1;
    properties->arch.hasSharedInt32Atomics = 1;
    properties->arch.hasSharedInt64Atomics = 1;
    properties->arch.hasFloatAtomicAdd = 1;
    properties->arch.hasWarpBallot = 1;
    properties->arch.hasWarpShuffle = 1;
    properties->arch.hasWarpVote = 1;
    properties->arch.has3dGrid = 1;
}
