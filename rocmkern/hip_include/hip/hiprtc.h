// The compiler that programs call while they run.
#pragma once

#include <stddef.h>

typedef enum hiprtcResult {
#define RK_RESULT(name, number) name = number,
#include <rocmkern/hiprtc_results.inc>
#undef RK_RESULT
} hiprtcResult;

typedef enum hiprtcJIT_option {
    HIPRTC_JIT_MAX_REGISTERS = 0,
    HIPRTC_JIT_INFO_LOG_BUFFER = 3,
    HIPRTC_JIT_INFO_LOG_BUFFER_SIZE_BYTES = 4,
    HIPRTC_JIT_ERROR_LOG_BUFFER = 5,
    HIPRTC_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6,
    HIPRTC_JIT_OPTIMIZATION_LEVEL = 7,
    HIPRTC_JIT_IR_TO_ISA_OPT_EXT = 10000,
    HIPRTC_JIT_IR_TO_ISA_OPT_COUNT_EXT = 10001,
} hiprtcJIT_option;

typedef enum hiprtcJITInputType {
    HIPRTC_JIT_INPUT_CUBIN = 0,
    HIPRTC_JIT_INPUT_OBJECT = 3,
    HIPRTC_JIT_INPUT_LLVM_BITCODE = 100,
    HIPRTC_JIT_INPUT_LLVM_BUNDLED_BITCODE = 101,
    HIPRTC_JIT_INPUT_LLVM_ARCHIVES_OF_BUNDLED_BITCODE = 102,
} hiprtcJITInputType;

typedef struct ihiprtcProgram *hiprtcProgram;
typedef struct ihiprtcLinkState *hiprtcLinkState;

#ifdef __cplusplus
extern "C" {
#endif

#define RK_API(name, parameters, arguments) hiprtcResult name parameters;
#include <rocmkern/hiprtc.inc>
#undef RK_API

const char *hiprtcGetErrorString(hiprtcResult result);

#ifdef __cplusplus
}
#endif
