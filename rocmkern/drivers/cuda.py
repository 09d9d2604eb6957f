"""NVIDIA GPUs through cuda-bindings, selected by name only: the kernels' sources compiled to PTX, to check them on
silicon. The bindings load the driver library on their first call.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any, ClassVar, Final

from attrs import define, field

from rocmkern.drivers.c_functions import CFunction
from rocmkern.drivers.launch_buffer import ArgumentBlock, Launch
from rocmkern.drivers.protocol import CopyStep, DeviceInfo, FillStep, KernelStep, NodeStep
from rocmkern.drivers.vendor import (
    BAD_IMAGE,
    FAULT,
    NO_DEVICE,
    NO_KERNEL,
    OUT_OF_MEMORY,
    Vendor,
    VendorDriver,
)
from rocmkern.drivers.vendor_graphs import VendorGraphs, Within
from rocmkern.errors import CodeObjectError, DeviceNotFound, DriverUnavailable

_NON_BLOCKING: Final = 1
_EARLY: Final = 6  # the launch attribute of programmatic stream serialization


@functools.cache
def _cuda() -> Any:
    try:
        from cuda.bindings import driver
    except ImportError as error:
        raise DriverUnavailable(
            f"cuda: cuda-bindings can't be imported ({error}); pip install rocmkern[cuda]"
        ) from None
    return driver


CUDA: Final = Vendor(
    "CUDA",
    "CUDA driver",
    "install NVIDIA's driver",
    _cuda,
    {
        "alloc": ("cuMemAlloc",),
        "free": ("cuMemFree",),
        "alloc_pinned": ("cuMemAllocHost",),
        "free_pinned": ("cuMemFreeHost",),
        "memory_info": ("cuMemGetInfo",),
        "fill": ("cuMemsetD8Async",),
        "create_stream": ("cuStreamCreate", _NON_BLOCKING),
        "destroy_stream": ("cuStreamDestroy",),
        "synchronize_stream": ("cuStreamSynchronize",),
        "query_stream": ("cuStreamQuery",),
        "stream_wait_event": ("cuStreamWaitEvent", 0),
        "create_event": ("cuEventCreate", 0),
        "destroy_event": ("cuEventDestroy",),
        "record_event": ("cuEventRecord",),
        "query_event": ("cuEventQuery",),
        "synchronize_event": ("cuEventSynchronize",),
        "elapsed_ms": ("cuEventElapsedTime",),
        "synchronize": ("cuCtxSynchronize",),
        "load_module": ("cuModuleLoadData",),
        "unload_module": ("cuModuleUnload",),
        "function": ("cuModuleGetFunction",),
        "create_graph": ("cuGraphCreate", 0),
        "instantiate_graph": ("cuGraphInstantiate", 0),
        "launch_graph": ("cuGraphLaunch",),
        "destroy_graph": ("cuGraphDestroy",),
        "destroy_executable": ("cuGraphExecDestroy",),
        "begin_capture": ("cuStreamBeginCapture",),
        "end_capture": ("cuStreamEndCapture",),
        "copy_from_peer": ("cuMemcpyPeerAsync",),
        "enable_peer": ("cuCtxEnablePeerAccess", 0),
    },
    {
        "CUDA_ERROR_OUT_OF_MEMORY": OUT_OF_MEMORY,
        "CUDA_ERROR_NO_DEVICE": NO_DEVICE,
        "CUDA_ERROR_INVALID_DEVICE": (DeviceNotFound, "see nvidia-smi for the devices of this machine"),
        "CUDA_ERROR_NO_BINARY_FOR_GPU": (CodeObjectError, "compile the PTX for this device"),
        "CUDA_ERROR_INVALID_PTX": (CodeObjectError, "build it again with `rocmkern build --target sm_…`"),
        "CUDA_ERROR_UNSUPPORTED_PTX_VERSION": (CodeObjectError, "use a newer NVIDIA driver"),
        "CUDA_ERROR_INVALID_IMAGE": BAD_IMAGE,
        "CUDA_ERROR_NOT_FOUND": NO_KERNEL,
        "CUDA_ERROR_ILLEGAL_ADDRESS": FAULT,
        "CUDA_ERROR_LAUNCH_FAILED": FAULT,
    },
    "CUDA_ERROR_NOT_READY",
    "CUresult",
    {"cuda.bindings.driver": "cuda.bindings.cydriver"},
    CFunction(
        "cuLaunchKernelEx",
        b"CUresult (CUlaunchConfig const *, CUfunction, void **, void **)",
    ),
    CFunction("cuCtxSetCurrent", b"CUresult (CUcontext)"),
)
check: Final = CUDA.check


def open_device(name: str) -> CudaDriver:
    """`cuda` or `cuda:N`."""
    check("cuInit", 0)
    return CudaDriver(CUDA.ordinal(name, int(check("cuDeviceGetCount"))))


def _info(ordinal: int, device: Any) -> DeviceInfo:
    names = _cuda().CUdevice_attribute

    def attribute(name: str) -> int:
        return int(check("cuDeviceGetAttribute", getattr(names, f"CU_DEVICE_ATTRIBUTE_{name}"), device))

    major, minor = attribute("COMPUTE_CAPABILITY_MAJOR"), attribute("COMPUTE_CAPABILITY_MINOR")
    return DeviceInfo(
        name=f"cuda:{ordinal}",
        marketing=check("cuDeviceGetName", 128, device).split(b"\0")[0].decode(),
        arch=f"sm_{major}{minor}",
        wave_size=attribute("WARP_SIZE"),
        compute_units=attribute("MULTIPROCESSOR_COUNT"),
        max_threads_per_block=attribute("MAX_THREADS_PER_BLOCK"),
        max_block=(attribute("MAX_BLOCK_DIM_X"), attribute("MAX_BLOCK_DIM_Y"), attribute("MAX_BLOCK_DIM_Z")),
        max_grid=(attribute("MAX_GRID_DIM_X"), attribute("MAX_GRID_DIM_Y"), attribute("MAX_GRID_DIM_Z")),
        lds_bytes=attribute("MAX_SHARED_MEMORY_PER_BLOCK"),
        total_memory=int(check("cuDeviceTotalMem", device)),
        unified=False,
    )


def _address(view: memoryview) -> int:
    if view.readonly:
        import numpy as np

        return int(np.frombuffer(view, np.uint8).ctypes.data)
    return ctypes.addressof(ctypes.c_char.from_buffer(view))


class _Attribute(ctypes.Structure):
    """CUlaunchAttribute."""

    _fields_ = (("id", ctypes.c_int), ("value", ctypes.c_uint64 * 8))


class _Configuration(ctypes.Structure):
    """CUlaunchConfig: blocks and threads along the axes and dynamic LDS first."""

    _fields_ = (
        ("sizes", ctypes.c_uint * 7),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(_Attribute)),
        ("attribute_count", ctypes.c_uint),
    )


@define(eq=False)
class _Graphs(VendorGraphs):
    """The bindings take objects of their own."""

    driver: CudaDriver

    @property
    def capture_mode(self) -> Any:
        return _cuda().CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL

    def add(self, graph: Any, before: Any, step: NodeStep | Within) -> Any:
        behind = ([], 0) if before is None else ([before], 1)
        if isinstance(step, Within):
            return check("cuGraphAddChildGraphNode", graph, *behind, step.graph)
        if isinstance(step, CopyStep):
            return check("cuGraphAddMemcpyNode", graph, *behind, _copied(step), self.driver._context)
        if isinstance(step, FillStep):
            return check("cuGraphAddMemsetNode", graph, *behind, _filled(step), self.driver._context)
        arguments = self._arguments(step)
        return check("cuGraphAddKernelNode", graph, *behind, self._launched(step, arguments))

    def change(self, executable: Any, node: Any, step: NodeStep | Within) -> None:
        if isinstance(step, Within):
            check("cuGraphExecChildGraphNodeSetParams", executable, node, step.graph)
        elif isinstance(step, CopyStep):
            check("cuGraphExecMemcpyNodeSetParams", executable, node, _copied(step), self.driver._context)
        elif isinstance(step, FillStep):
            check("cuGraphExecMemsetNodeSetParams", executable, node, _filled(step), self.driver._context)
        else:
            arguments = self._arguments(step)
            check("cuGraphExecKernelNodeSetParams", executable, node, self._launched(step, arguments))

    def _arguments(self, step: KernelStep) -> ArgumentBlock:
        return ArgumentBlock.holding(step.arguments, *self.driver.argument_codes)

    def _launched(self, step: KernelStep, arguments: ArgumentBlock) -> Any:
        made = _cuda().CUDA_KERNEL_NODE_PARAMS()
        made.func, made.sharedMemBytes = self.driver._kernel(step.function), step.shared_bytes
        made.gridDimX, made.gridDimY, made.gridDimZ = step.grid
        made.blockDimX, made.blockDimY, made.blockDimZ = step.block
        made.extra = arguments.extra or 0
        return made


def _copied(step: CopyStep) -> Any:
    made, kinds = _cuda().CUDA_MEMCPY3D(), _cuda().CUmemorytype
    made.srcMemoryType = made.dstMemoryType = kinds.CU_MEMORYTYPE_DEVICE
    made.srcDevice, made.dstDevice = _cuda().CUdeviceptr(step.source), _cuda().CUdeviceptr(step.target)
    made.WidthInBytes, made.Height, made.Depth = step.nbytes, 1, 1
    return made


def _filled(step: FillStep) -> Any:
    made = _cuda().CUDA_MEMSET_NODE_PARAMS()
    made.dst, made.elementSize, made.value = _cuda().CUdeviceptr(step.address), 1, step.byte
    made.width, made.height = step.nbytes, 1
    return made


@define(eq=False)
class CudaDriver(VendorDriver):
    """One device of CUDA, in its primary context."""

    vendor: ClassVar = CUDA
    null: ClassVar = 0
    argument_codes: ClassVar = (1, 2, 0)

    _device: Any = field(init=False)
    _context: Any = field(init=False)
    _c_context: ctypes.c_void_p = field(init=False)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        self._several = int(check("cuDeviceGetCount")) > 1
        self._device = check("cuDeviceGet", self.ordinal)
        self._context = check("cuDevicePrimaryCtxRetain", self._device)
        self._c_context = ctypes.c_void_p(int(self._context))
        self.info = _info(self.ordinal, self._device)
        self._select()

    def close(self) -> None:
        super().close()
        if self._context is not None:
            self._context = None
            check("cuDevicePrimaryCtxRelease", self._device)

    def renew(self) -> None:
        self._context = None  # the parent's
        super().renew()

    def _select(self) -> None:
        if self._context is None or self._raw_select is None or self._raw_select(self._c_context):
            check("cuCtxSetCurrent", self._context)  # which says what is wrong

    def _graph_calls(self) -> VendorGraphs:
        return _Graphs(self)

    def free(self, address: int) -> None:
        if self._context is not None:  # which takes its memory along
            super().free(address)

    def copy_to_device(self, address: int, source: memoryview, stream: int) -> None:
        self._copy("cuMemcpyHtoD", address, _address(source) if source.nbytes else 0, source.nbytes, stream)

    def copy_to_host(self, target: memoryview, address: int, stream: int) -> None:
        self._copy("cuMemcpyDtoH", _address(target) if target.nbytes else 0, address, target.nbytes, stream)

    def copy_on_device(self, target: int, source: int, nbytes: int, stream: int) -> None:
        self._copy("cuMemcpyDtoD", target, source, nbytes, stream)

    @property
    def _as_peer(self) -> Any:
        return self._context

    def _foreign_stream(self, stream: int) -> Any:
        return _cuda().CUstream(stream)

    def _copy(self, call: str, target: int, source: int, nbytes: int, stream: int) -> None:
        if not nbytes:
            return
        self._select()
        check(f"{call}Async", target, source, nbytes, self._stream(stream))
        if not stream and call != "cuMemcpyDtoD":
            self.synchronize_stream(0)

    def load_module(self, image: bytes) -> int:
        """Compiles PTX for the device; the text must end in a zero byte."""
        return super().load_module(image if image.endswith(b"\0") else image + b"\0")

    def _laid(self, kernel: Any, sizes: tuple[int, ...], queue: Any, early: bool, arguments: ArgumentBlock) -> Launch:
        attribute = _Attribute(_EARLY, (1,))
        laid = _Configuration(sizes, int(queue) or None, ctypes.pointer(attribute), early)
        if self._raw_launch is None:
            passed = _cuda().CUlaunchConfig(ctypes.addressof(laid)), kernel, 0, arguments.extra or 0
            return Launch(passed, arguments, laid)
        pointer = ctypes.c_void_p.from_param
        return Launch((ctypes.byref(laid), pointer(int(kernel)), None, pointer(arguments.extra)), arguments)

    def _refused(self, launch: Launch, status: int) -> None:
        """A new thread, or another library's context: that was refused, not run, and is worth another try."""
        if not self._several:
            self._select()
            status = self._call(*launch.passed)
        if status:
            super()._refused(launch, status)
