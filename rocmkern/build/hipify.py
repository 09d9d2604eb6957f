"""CUDA's names to HIP's, by a table: what rewrites a source, and says which names it does not know."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from attrs import frozen

from rocmkern.build import hip_source, source_text

_DEFINE: Final = re.compile(r"^#define (\w+) (\w+)$", re.MULTILINE)
_USING: Final = re.compile(r"^using (\w+) = (\w+);$", re.MULTILINE)
_INCLUDED: Final = re.compile(r'(#[ \t]*include[ \t]*[<"])([^>"\n]+)([>"])')
_WORD: Final = re.compile(r"\b[A-Za-z_]\w*\b")
_FOREIGN: Final = re.compile(
    r"cuda[A-Z]\w*|cu[A-Z]\w*|CU(?:DA)?_\w+|CU[a-z]\w+|nvrtc\w+|NVRTC_\w+|__CUDA_ARCH__|nvtx\w+|__nv_\w+|nv_bfloat16\w*"
    r"|(?:cublas|curand|cufft|cusparse|cusolver|cudnn|cutensor)\w+"
)

HEADERS: Final = {
    "cuda.h": "hip/hip_runtime.h", "cuda_runtime.h": "hip/hip_runtime.h", "cuda_runtime_api.h": "hip/hip_runtime_api.h",
    "device_launch_parameters.h": "hip/hip_runtime.h", "device_functions.h": "hip/hip_runtime.h",
    "cuda_fp16.h": "hip/hip_fp16.h", "cuda_bf16.h": "hip/hip_bf16.h", "cuda_fp8.h": "hip/hip_fp8.h",
    "cooperative_groups.h": "hip/hip_cooperative_groups.h", "cuComplex.h": "hip/hip_complex.h",
    "nvrtc.h": "hip/hiprtc.h",
    "vector_types.h": "hip/hip_vector_types.h", "math_functions.h": "hip/math_functions.h",
    "cublas_v2.h": "hipblas/hipblas.h", "curand.h": "hiprand/hiprand.h", "curand_kernel.h": "hiprand/hiprand_kernel.h",
    "cufft.h": "hipfft/hipfft.h", "cusparse.h": "hipsparse/hipsparse.h", "cub/cub.cuh": "hipcub/hipcub.hpp",
}  # fmt: skip

# Runtime names that only change their beginning and that the headers here don't have.
_REGULAR: Final = """
ArrayDefault ChannelFormatDesc ChannelFormatKindFloat ChannelFormatKindSigned ChannelFormatKindUnsigned
CreateChannelDesc CreateTextureObject DestroyTextureObject DeviceGetByPCIBusId DeviceGetMemPool DeviceGetP2PAttribute
DeviceProp Extent FilterModeLinear FilterModePoint FreeArray Graph_t GraphAddChildGraphNode GraphAddHostNode
GraphAddMemcpyNode GraphClone GraphExec_t GraphGetNodes GraphNode_t HostNodeParams HostRegisterDefault
HostRegisterMapped HostRegisterPortable IpcCloseMemHandle IpcGetEventHandle IpcGetMemHandle IpcMemHandle_t
IpcOpenMemHandle KernelNodeParams Malloc3D Malloc3DArray MallocArray MallocFromPoolAsync MemAdvise MemLocation
MemPool_t MemPoolCreate MemPoolDestroy MemPoolSetAttribute MemPoolTrimTo Memcpy2DToArray Memcpy3D Memcpy3DAsync
Memcpy3DParms MemcpyFromSymbolAsync MemcpyToArray MemcpyToSymbolAsync Memset3D PitchedPtr Pos ReadModeElementType
ReadModeNormalizedFloat ResourceDesc ResourceTypeArray ResourceTypeLinear StreamBeginCapture StreamEndCapture
StreamCaptureModeGlobal StreamCaptureModeRelaxed StreamCaptureModeThreadLocal StreamCaptureStatus StreamGetPriority
StreamIsCapturing StreamPerThread TextureDesc TextureObject_t AddressModeClamp AddressModeWrap AddressModeBorder
AddressModeMirror DeviceGetDefaultMemPool DeviceGetStreamPriorityRange DeviceSetLimit DeviceGetLimit
LimitStackSize LimitPrintfFifoSize LimitMallocHeapSize OccupancyMaxActiveBlocksPerMultiprocessorWithFlags
"""
_IRREGULAR: Final = {
    "cudaErrorNoDevice": "hipErrorNoDevice", "cudaErrorInvalidDevice": "hipErrorInvalidDevice",
    "cudaErrorIllegalAddress": "hipErrorIllegalAddress", "cudaErrorLaunchFailure": "hipErrorLaunchFailure",
    "cudaErrorAssert": "hipErrorAssert", "cudaErrorNotSupported": "hipErrorNotSupported",
    "cudaErrorInvalidDevicePointer": "hipErrorInvalidDevicePointer", "cudaLaunchCooperativeKernel":
    "hipLaunchCooperativeKernel", "cudaDevAttrComputeCapabilityMajor": "hipDeviceAttributeComputeCapabilityMajor",
    "cudaDevAttrComputeCapabilityMinor": "hipDeviceAttributeComputeCapabilityMinor",
    "cudaDevAttrCooperativeLaunch": "hipDeviceAttributeCooperativeLaunch",
    "CUresult": "hipError_t", "CUDA_SUCCESS": "hipSuccess", "CUdevice": "hipDevice_t", "CUcontext": "hipCtx_t",
    "CUmodule": "hipModule_t", "CUfunction": "hipFunction_t", "CUstream": "hipStream_t", "CUevent": "hipEvent_t",
    "CUdeviceptr": "hipDeviceptr_t", "cuInit": "hipInit", "cuDeviceGet": "hipDeviceGet",
    "cuDeviceGetCount": "hipGetDeviceCount", "cuDeviceGetName": "hipDeviceGetName", "cuCtxCreate": "hipCtxCreate",
    "cuCtxDestroy": "hipCtxDestroy", "cuCtxSynchronize": "hipDeviceSynchronize", "cuModuleLoad": "hipModuleLoad",
    "cuModuleLoadData": "hipModuleLoadData", "cuModuleLoadDataEx": "hipModuleLoadDataEx",
    "cuModuleUnload": "hipModuleUnload", "cuModuleGetFunction": "hipModuleGetFunction",
    "cuModuleGetGlobal": "hipModuleGetGlobal", "cuLaunchKernel": "hipModuleLaunchKernel", "cuMemAlloc": "hipMalloc",
    "cuMemFree": "hipFree", "cuMemcpyHtoD": "hipMemcpyHtoD", "cuMemcpyDtoH": "hipMemcpyDtoH",
    "cuMemcpyDtoD": "hipMemcpyDtoD", "cuMemcpyHtoDAsync": "hipMemcpyHtoDAsync",
    "cuMemcpyDtoHAsync": "hipMemcpyDtoHAsync", "cuStreamCreate": "hipStreamCreateWithFlags",
    "cuStreamSynchronize": "hipStreamSynchronize", "cuStreamDestroy": "hipStreamDestroy",
    "cuGetErrorName": "hipDrvGetErrorName", "cuGetErrorString": "hipDrvGetErrorString",
    "cuFloatComplex": "hipFloatComplex", "cuDoubleComplex": "hipDoubleComplex", "cuComplex": "hipComplex",
    "make_cuFloatComplex": "make_hipFloatComplex", "make_cuDoubleComplex": "make_hipDoubleComplex",
    "make_cuComplex": "make_hipComplex", "__CUDACC__": "__HIPCC__",
    **{f"cuC{name}{kind}": f"hipC{name}{kind}" for name in ("real", "imag", "add", "sub", "mul", "div", "abs", "fma")
       for kind in ("", "f")},
    **{f"cuConj{kind}": f"hipConj{kind}" for kind in ("", "f")},
    **{f"nvrtc{name}": f"hiprtc{name}" for name in (
        "Program", "Result", "CreateProgram", "DestroyProgram", "CompileProgram", "GetProgramLog", "GetProgramLogSize",
        "AddNameExpression", "GetLoweredName", "GetErrorString", "Version")},
    "nvrtcGetPTX": "hiprtcGetCode", "nvrtcGetPTXSize": "hiprtcGetCodeSize", "nvrtcGetCUBIN": "hiprtcGetCode",
    "nvrtcGetCUBINSize": "hiprtcGetCodeSize", "NVRTC_SUCCESS": "HIPRTC_SUCCESS",
}  # fmt: skip


@cache
def names() -> dict[str, str]:
    """CUDA's name → HIP's: what the headers here take for one another, and what else is known."""
    folder = hip_source.HEADERS
    known = dict(_DEFINE.findall((folder / "rocmkern" / "cuda_names.h").read_text()))
    for header in ("cuda_bf16.h", "cuda_fp8.h"):
        text = (folder / header).read_text()
        known |= dict(_DEFINE.findall(text)) | dict(_USING.findall(text))
    return known | {f"cuda{name}": f"hip{name}" for name in _REGULAR.split()} | _IRREGULAR


@frozen
class Unknown:
    """A name of CUDA's that no row has."""

    line: int
    name: str


@frozen
class Converted:
    text: str
    count: int  # of names that were replaced
    unknown: tuple[Unknown, ...]


def convert(text: str) -> Converted:
    """A CUDA source under HIP's names. Comments and literals stay as they are."""
    known, replaced, unknown = names(), list[tuple[int, int, str]](), list[Unknown]()
    code = source_text.code(text)
    for found in _INCLUDED.finditer(code):
        if found[2] in HEADERS:
            replaced.append((found.start(1), found.end(3), f"#include <{HEADERS[found[2]]}>"))
        elif found[2].startswith(("cu", "nv", "thrust")) and found[1].endswith("<"):
            unknown.append(Unknown(source_text.line_of(text, found.start()), found[2]))
    for found in _WORD.finditer(_INCLUDED.sub(lambda include: " " * len(include[0]), code)):
        if found[0] in known:
            replaced.append((found.start(), found.end(), known[found[0]]))
        elif _FOREIGN.fullmatch(found[0]):
            unknown.append(Unknown(source_text.line_of(text, found.start()), found[0]))
    return Converted("".join(_replaced(text, replaced)), len(replaced), tuple(unknown))


def _replaced(text: str, places: list[tuple[int, int, str]]) -> Iterator[str]:
    end = 0
    for start, stop, new in sorted(places):
        yield text[end:start]
        yield new
        end = stop
    yield text[end:]
