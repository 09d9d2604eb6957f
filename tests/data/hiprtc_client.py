"""A program on hip-python's run-time compiler that says "all right" where everything that it looks at is."""

import ctypes

from hip import hip, hiprtc

RESULT = hiprtc.hiprtcResult
BITCODE = hip.hipJitInputType.hipJitInputLLVMBitcode
SEVEN = b"__device__ int seven() { return 7; }\n"
TELLING = b"""
__device__ int seven();
extern "C" __global__ void tell() { printf("%d\\n", seven()); }
"""
HEADER = b"template <typename T> __device__ T twice(T x) { return x + x; }\n"
SOURCE = b"""
#include "inc/twice.h"

namespace numbers {
__device__ int added = ADDED;
template <typename T, int N>
__global__ void change(T *x) {
    x[threadIdx.x] = twice(x[threadIdx.x]) + N + added;
}
}
extern "C" __global__ void plain(int *x) { x[0] = 1; }
"""


def ok(answer):
    """What a call answers, without its status, which must be 0."""
    status, *values = answer
    assert int(status) == 0, status
    return values[0] if len(values) == 1 else tuple(values)


def text(program, call):
    """The log or the code of a program."""
    held = bytearray(ok(getattr(hiprtc, f"{call}Size")(program)))
    ok(getattr(hiprtc, call)(program, held))
    return bytes(held)


def compiled(source, *options, names=(), headers=()):
    """A program and the status of its compilation."""
    texts, paths = [text for _, text in headers], [path for path, _ in headers]
    program = ok(hiprtc.hiprtcCreateProgram(source, b"client.hip", len(headers), texts, paths))
    for name in names:
        ok(hiprtc.hiprtcAddNameExpression(program, name))
    (status,) = hiprtc.hiprtcCompileProgram(program, len(options), list(options))
    return program, status


names = (b"&numbers::change<float, 3>", b"numbers::change<int, 1>", b"&numbers::added", b"plain")
program, status = compiled(SOURCE, b"-DADDED=10", names=names, headers=[(b"inc/twice.h", HEADER)])
assert status == RESULT.HIPRTC_SUCCESS, text(program, "hiprtcGetProgramLog")
lowered = [ok(hiprtc.hiprtcGetLoweredName(program, name)) for name in names]
lowered = [ctypes.string_at(int(name)) for name in lowered]
assert lowered[0].startswith(b"_ZN7numbers6changeIfLi3EEE") and lowered[3] == b"plain", lowered
(status, *_) = hiprtc.hiprtcGetLoweredName(program, b"other")
assert status == RESULT.HIPRTC_ERROR_NAME_EXPRESSION_NOT_VALID
code = text(program, "hiprtcGetCode")
module = ok(hip.hipModuleLoadData(code))
kernel = ok(hip.hipModuleGetFunction(module, lowered[0]))
place, nbytes = ok(hip.hipModuleGetGlobal(module, lowered[2]))
assert nbytes == 4
memory, host = ok(hip.hipMalloc(16)), (ctypes.c_float * 4)(1, 2, 3, 4)
ok(hip.hipMemcpy(memory, host, 16, hip.hipMemcpyKind.hipMemcpyHostToDevice))
ok(hip.hipModuleLaunchKernel(kernel, 1, 1, 1, 4, 1, 1, 0, None, None, (memory,)))
ok(hip.hipMemcpy(host, memory, 16, hip.hipMemcpyKind.hipMemcpyDeviceToHost))
assert list(host) == [15, 17, 19, 21], list(host)
(status,) = hiprtc.hiprtcAddNameExpression(program, b"late")
assert status == RESULT.HIPRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION
ok(hiprtc.hiprtcDestroyProgram(program.createRef()))

program, status = compiled(b'extern "C" __global__ void wrong() { return 1 +; }\n')
log = text(program, "hiprtcGetProgramLog")
assert status == RESULT.HIPRTC_ERROR_COMPILATION and b"client.hip:1:" in log and log.endswith(b"\0"), log
(status, *_) = hiprtc.hiprtcGetLoweredName(program, b"wrong")
assert status == RESULT.HIPRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION
assert hiprtc.hiprtcGetErrorString(status) is not None

link = ok(hiprtc.hiprtcLinkCreate(0, None, None))
for source in (SEVEN, TELLING):
    program, status = compiled(source, b"-fgpu-rdc")
    assert status == RESULT.HIPRTC_SUCCESS, text(program, "hiprtcGetProgramLog")
    piece = text(program, "hiprtcGetBitcode")
    ok(hiprtc.hiprtcLinkAddData(link, BITCODE, piece, len(piece), b"piece", 0, None, None))
code, nbytes = ok(hiprtc.hiprtcLinkComplete(link))
assert nbytes
module = ok(hip.hipModuleLoadData(code))
ok(hip.hipModuleLaunchKernel(ok(hip.hipModuleGetFunction(module, b"tell")), 1, 1, 1, 1, 1, 1, 0, None, None, ()))
ok(hiprtc.hiprtcLinkDestroy(link))
print("all right")
