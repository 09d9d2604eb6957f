"""AMD GPUs through hip-python. The bindings load the HIP library on their first call, so importing this module needs
neither.
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
    LAUNCH_FAILED,
    NO_DEVICE,
    NO_KERNEL,
    OUT_OF_MEMORY,
    Vendor,
    VendorDriver,
)
from rocmkern.drivers.vendor_graphs import StepByStep, VendorGraphs, Within
from rocmkern.errors import CodeObjectError, DeviceNotFound, DriverError, DriverUnavailable, LaunchError


@functools.cache
def _hip() -> Any:
    try:
        from hip import hip
    except ImportError as error:
        raise DriverUnavailable(f"hip: hip-python can't be imported ({error}); pip install hip-python") from None
    return hip


HIP: Final = Vendor(
    "HIP",
    "HIP library",
    "install ROCm 6.3 or later",
    _hip,
    {
        "alloc": ("hipMalloc",),
        "free": ("hipFree",),
        "alloc_pinned": ("hipHostMalloc", 0),
        "free_pinned": ("hipHostFree",),
        "memory_info": ("hipMemGetInfo",),
        "fill": ("hipMemsetAsync",),
        "create_stream": ("hipStreamCreate",),
        "destroy_stream": ("hipStreamDestroy",),
        "synchronize_stream": ("hipStreamSynchronize",),
        "query_stream": ("hipStreamQuery",),
        "stream_wait_event": ("hipStreamWaitEvent", 0),
        "create_event": ("hipEventCreate",),
        "destroy_event": ("hipEventDestroy",),
        "record_event": ("hipEventRecord",),
        "query_event": ("hipEventQuery",),
        "synchronize_event": ("hipEventSynchronize",),
        "elapsed_ms": ("hipEventElapsedTime",),
        "synchronize": ("hipDeviceSynchronize",),
        "load_module": ("hipModuleLoadData",),
        "unload_module": ("hipModuleUnload",),
        "function": ("hipModuleGetFunction",),
        "create_graph": ("hipGraphCreate", 0),
        "instantiate_graph": ("hipGraphInstantiateWithFlags", 0),
        "launch_graph": ("hipGraphLaunch",),
        "destroy_graph": ("hipGraphDestroy",),
        "destroy_executable": ("hipGraphExecDestroy",),
        "begin_capture": ("hipStreamBeginCapture",),
        "end_capture": ("hipStreamEndCapture",),
        "copy_from_peer": ("hipMemcpyPeerAsync",),
        "enable_peer": ("hipDeviceEnablePeerAccess", 0),
    },
    {
        "hipErrorOutOfMemory": OUT_OF_MEMORY,
        "hipErrorNoDevice": NO_DEVICE,
        "hipErrorInvalidDevice": (DeviceNotFound, "see rocmkern.devices()"),
        "hipErrorNoBinaryForGpu": (CodeObjectError, "compile the code object for this device"),
        "hipErrorInvalidImage": BAD_IMAGE,
        "hipErrorSharedObjectSymbolNotFound": (CodeObjectError, "link what the code object leaves undefined"),
        "hipErrorNotFound": NO_KERNEL,
        "hipErrorIllegalAddress": FAULT,
        "hipErrorLaunchFailure": LAUNCH_FAILED,
        "hipErrorInvalidConfiguration": (LaunchError, "use a smaller grid or block"),
        "hipErrorInvalidHandle": (DriverError, "record the event first, or make the object anew: it may be destroyed"),
    },
    "hipErrorNotReady",
    "hipError_t",
    {"rocm.bindings.hip": "rocm.bindings.cyhip", "hip.hip": "hip.chip"},  # of releases 10 and 7
    CFunction(
        "hipModuleLaunchKernel",
        b"enum hipError_t (hipFunction_t, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, "
        b"unsigned int, unsigned int, hipStream_t, void **, void **)",
    ),
    CFunction("hipSetDevice", b"enum hipError_t (int)"),
)
check: Final = HIP.check


@functools.cache
def device_count() -> int:
    """How many devices HIP sees; 0 without hip-python or without the HIP library."""
    try:
        return int(check("hipGetDeviceCount"))
    except (DriverUnavailable, DeviceNotFound):
        return 0


def present() -> tuple[DeviceInfo, ...]:
    try:
        return tuple(_info(ordinal) for ordinal in range(device_count()))
    except DriverUnavailable:  # a library too old for its properties call sees devices that can't be used
        return ()


def open_device(name: str) -> HipDriver:
    """`hip` or `hip:N`."""
    return HipDriver(HIP.ordinal(name, int(check("hipGetDeviceCount"))))


def _info(ordinal: int) -> DeviceInfo:
    properties = _properties(ordinal)
    x, y, z = (int(n) for n in properties.maxThreadsDim)
    grid_x, grid_y, grid_z = (int(n) for n in properties.maxGridSize)
    return DeviceInfo(
        name=f"hip:{ordinal}",
        marketing=_text(properties.name),
        arch=_text(properties.gcnArchName),
        wave_size=int(properties.warpSize),
        compute_units=int(properties.multiProcessorCount),
        max_threads_per_block=int(properties.maxThreadsPerBlock),
        max_block=(x, y, z),
        max_grid=(grid_x, grid_y, grid_z),
        lds_bytes=int(properties.sharedMemPerBlock),
        total_memory=int(properties.totalGlobalMem),
        unified=False,
    )


def _properties(ordinal: int) -> Any:
    """The device's properties; releases before 10 fill a structure that the caller passes."""
    try:
        return check("hipGetDeviceProperties", ordinal)
    except TypeError:
        properties = _hip().hipDeviceProp_t()
        check("hipGetDeviceProperties", properties, ordinal)
        return properties


def _text(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode()


class KernelNode(ctypes.Structure):
    """hipKernelNodeParams."""

    _fields_ = (
        ("block", ctypes.c_uint * 3), ("extra", ctypes.c_void_p), ("function", ctypes.c_void_p),
        ("grid", ctypes.c_uint * 3), ("parameters", ctypes.c_void_p), ("shared_bytes", ctypes.c_uint),
    )  # fmt: skip


class MemsetNode(ctypes.Structure):
    """hipMemsetParams."""

    _fields_ = (
        ("target", ctypes.c_void_p), ("element_bytes", ctypes.c_uint), ("height", ctypes.c_size_t),
        ("pitch", ctypes.c_size_t), ("value", ctypes.c_uint), ("width", ctypes.c_size_t),
    )  # fmt: skip


@define(eq=False)
class _Graphs(VendorGraphs):
    """The bindings take a structure by its address, so it must live until they return."""

    driver: HipDriver

    @property
    def capture_mode(self) -> Any:
        return _hip().hipStreamCaptureMode.hipStreamCaptureModeThreadLocal

    def add(self, graph: Any, before: Any, step: NodeStep | Within) -> Any:
        nodes = (ctypes.c_void_p * 1)(None if before is None else int(before))
        behind = (None, 0) if before is None else (ctypes.addressof(nodes), 1)
        if isinstance(step, Within):
            return check("hipGraphAddChildGraphNode", graph, *behind, step.graph)
        if isinstance(step, CopyStep):
            return check("hipGraphAddMemcpyNode1D", graph, *behind, *_copied(step))
        if isinstance(step, FillStep):
            filled = _filled(step)
            return check("hipGraphAddMemsetNode", graph, *behind, ctypes.addressof(filled))
        arguments = self._arguments(step)
        launched = self._launched(step, arguments)
        return check("hipGraphAddKernelNode", graph, *behind, ctypes.addressof(launched))

    def change(self, executable: Any, node: Any, step: NodeStep | Within) -> None:
        if isinstance(step, Within):
            check("hipGraphExecChildGraphNodeSetParams", executable, node, step.graph)
        elif isinstance(step, CopyStep):
            check("hipGraphExecMemcpyNodeSetParams1D", executable, node, *_copied(step))
        elif isinstance(step, FillStep):
            filled = _filled(step)
            check("hipGraphExecMemsetNodeSetParams", executable, node, ctypes.addressof(filled))
        else:
            arguments = self._arguments(step)
            launched = self._launched(step, arguments)
            check("hipGraphExecKernelNodeSetParams", executable, node, ctypes.addressof(launched))

    def _arguments(self, step: KernelStep) -> ArgumentBlock:
        return ArgumentBlock.holding(step.arguments, *self.driver.argument_codes)

    def _launched(self, step: KernelStep, arguments: ArgumentBlock) -> KernelNode:
        kernel = int(self.driver._kernel(step.function))
        return KernelNode(step.block, arguments.extra, kernel, step.grid, None, step.shared_bytes)


def _copied(step: CopyStep) -> tuple[Any, ...]:
    return step.target, step.source, step.nbytes, _hip().hipMemcpyKind.hipMemcpyDeviceToDevice


def _filled(step: FillStep) -> MemsetNode:
    return MemsetNode(step.address, 1, 1, step.nbytes, step.byte, step.nbytes)


@define(eq=False)
class HipDriver(VendorDriver):
    """One device of HIP."""

    vendor: ClassVar = HIP
    null: ClassVar = None
    argument_codes: ClassVar = (1, 2, 3)

    _images: dict[int, bytes] = field(init=False, factory=dict)
    _c_ordinal: ctypes.c_int = field(init=False)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        self.info = _info(self.ordinal)
        self._several, self._c_ordinal = device_count() > 1, ctypes.c_int(self.ordinal)

    def _graph_calls(self) -> VendorGraphs | StepByStep:
        """Releases before 10 take the nodes that a node depends on for results, so none can be named."""
        return StepByStep(self) if _hip().__name__ == "hip.hip" else _Graphs(self)

    def close(self) -> None:
        super().close()
        self._images.clear()

    def _select(self) -> None:
        if self._several and (self._raw_select is None or self._raw_select(self._c_ordinal)):
            check("hipSetDevice", self.ordinal)  # which says what is wrong

    def _laid(self, kernel: Any, sizes: tuple[int, ...], queue: Any, early: bool, arguments: ArgumentBlock) -> Launch:
        if self._raw_launch is None:
            return Launch((kernel, *sizes, queue, None, arguments.extra), arguments)
        pointer, number = ctypes.c_void_p.from_param, ctypes.c_uint.from_param
        where = pointer(None if queue is None else int(queue)), None, pointer(arguments.extra)
        return Launch((pointer(int(kernel)), *map(number, sizes), *where), arguments)

    def copy_to_device(self, address: int, source: memoryview, stream: int) -> None:
        self._copy(address, source, source.nbytes, "hipMemcpyHostToDevice", stream)

    def copy_to_host(self, target: memoryview, address: int, stream: int) -> None:
        self._copy(target, address, target.nbytes, "hipMemcpyDeviceToHost", stream)

    def copy_on_device(self, target: int, source: int, nbytes: int, stream: int) -> None:
        self._copy(target, source, nbytes, "hipMemcpyDeviceToDevice", stream)

    @property
    def _as_peer(self) -> int:
        return self.ordinal

    def _copy(self, target: int | memoryview, source: int | memoryview, nbytes: int, kind: str, stream: int) -> None:
        if not nbytes:
            return
        self._select()
        direction = getattr(_hip().hipMemcpyKind, kind)
        if stream:
            check("hipMemcpyAsync", target, source, nbytes, direction, self._objects[stream])
        else:
            check("hipMemcpy", target, source, nbytes, direction)

    def load_module(self, image: bytes) -> int:
        handle = super().load_module(image)
        self._images[handle] = image  # HIP reads it as long as the module lives
        return handle

    def unload_module(self, module: int) -> None:
        super().unload_module(module)
        self._images.pop(module, None)
