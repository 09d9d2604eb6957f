"""AMD GPUs through hip-python. The bindings load the HIP library on their first call, so importing this module needs
neither.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
from collections.abc import Callable
from typing import Any, ClassVar, Final

from attrs import define, field

from rocmkern.drivers.launch_buffer import LaunchBuffers
from rocmkern.drivers.protocol import DeviceInfo, Dims
from rocmkern.drivers.vendor import BAD_IMAGE, FAULT, NO_DEVICE, NO_KERNEL, OUT_OF_MEMORY, Vendor, VendorDriver
from rocmkern.errors import CodeObjectError, DeviceNotFound, DriverUnavailable

_KEPT_CALLS: Final = 4096
Launcher = Callable[[ctypes.c_void_p], int]


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
        "hipErrorLaunchFailure": FAULT,
    },
    "hipErrorNotReady",
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


# Where the bindings of releases 10 and 7 hold HIP's own functions.
_C_FUNCTIONS: Final = {"rocm.bindings.hip": "rocm.bindings.cyhip", "hip.hip": "hip.chip"}


def _raw(call: str, declared: bytes) -> Any:
    """A function of HIP as the bindings hold it, to be called with C values: half of what their Python function costs.
    None from bindings that don't show it with just this declaration.
    """
    try:
        capsule = importlib.import_module(_C_FUNCTIONS[_hip().__name__]).__pyx_capi__[call]
    except (ImportError, AttributeError, KeyError):
        return None
    if _capsule_name(capsule) != declared:
        return None
    return ctypes.CFUNCTYPE(ctypes.c_int)(_capsule_pointer(capsule, declared))


def _through_bindings(*call: Any) -> int:
    """A launch by the bindings' own function, for those without the C one."""
    *arguments, extra = call
    (status,) = _hip().hipModuleLaunchKernel(*arguments, extra.value)
    return int(status)


_SET_DEVICE: Final = b"enum hipError_t (int)"
# The arguments after the function: grid, block, dynamic LDS, stream, and two ways to pass the kernel's own.
_LAUNCH: Final = (
    b"enum hipError_t (hipFunction_t, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, "
    b"unsigned int, unsigned int, hipStream_t, void **, void **)"
)
_capsule_name = ctypes.pythonapi.PyCapsule_GetName
_capsule_name.restype, _capsule_name.argtypes = ctypes.c_char_p, (ctypes.py_object,)
_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype, _capsule_pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)


@define(eq=False)
class HipDriver(VendorDriver):
    """One device of HIP."""

    vendor: ClassVar = HIP
    default_stream: ClassVar = None

    _several: bool = field(init=False)
    _images: dict[int, bytes] = field(init=False, factory=dict)
    _buffers: LaunchBuffers = field(init=False, factory=lambda: LaunchBuffers(pointer=1, size=2, end=3))
    _raw_launch: Any = field(init=False)
    _raw_select: Any = field(init=False)
    _c_ordinal: ctypes.c_int = field(init=False)
    _calls: dict[tuple[int, Dims, Dims, int, int], Launcher] = field(init=False, factory=dict)

    def __attrs_post_init__(self) -> None:
        self.info = _info(self.ordinal)
        self._several = device_count() > 1
        self._raw_launch = _raw("hipModuleLaunchKernel", _LAUNCH)
        self._raw_select, self._c_ordinal = _raw("hipSetDevice", _SET_DEVICE), ctypes.c_int(self.ordinal)

    def close(self) -> None:
        super().close()
        self._images.clear()
        self._calls.clear()

    def _select(self) -> None:
        if self._several and (self._raw_select is None or self._raw_select(self._c_ordinal)):
            check("hipSetDevice", self.ordinal)  # which says what is wrong

    def copy_to_device(self, address: int, source: memoryview, stream: int) -> None:
        self._copy(address, source, source.nbytes, "hipMemcpyHostToDevice", stream)

    def copy_to_host(self, target: memoryview, address: int, stream: int) -> None:
        self._copy(target, address, target.nbytes, "hipMemcpyDeviceToHost", stream)

    def copy_on_device(self, target: int, source: int, nbytes: int, stream: int) -> None:
        self._copy(target, source, nbytes, "hipMemcpyDeviceToDevice", stream)

    def _copy(self, target: int | memoryview, source: int | memoryview, nbytes: int, kind: str, stream: int) -> None:
        if not nbytes:
            return
        self._select()
        direction = getattr(_hip().hipMemcpyKind, kind)
        if stream:
            check("hipMemcpyAsync", target, source, nbytes, direction, self._objects[stream])
        else:
            check("hipMemcpy", target, source, nbytes, direction)

    def destroy_stream(self, stream: int) -> None:
        self._calls.clear()
        super().destroy_stream(stream)

    def load_module(self, image: bytes) -> int:
        handle = super().load_module(image)
        self._images[handle] = image  # HIP reads it as long as the module lives
        return handle

    def unload_module(self, module: int) -> None:
        self._calls.clear()
        super().unload_module(module)
        self._images.pop(module, None)

    def launch(self, function: int, grid: Dims, block: Dims, shared_bytes: int, stream: int, arguments: bytes) -> None:
        if self._several:
            self._select()
        key = (function, grid, block, shared_bytes, stream)
        call = self._calls.get(key) or self._launcher(*key)
        status = call(self._buffers.filled(arguments))
        if status:
            raise HIP.error("hipModuleLaunchKernel", _hip().hipError_t(status))

    def _launcher(self, function: int, grid: Dims, block: Dims, shared_bytes: int, stream: int) -> Launcher:
        """HIP's function with all that a launch passes but where the kernel's arguments are."""
        kernel, queue = self._objects[function], self._stream(stream)
        sizes = (*grid, *block, shared_bytes)
        call: Launcher
        if self._raw_launch is None:
            call = functools.partial(_through_bindings, kernel, *sizes, queue, None)
        else:
            where = ctypes.c_void_p(int(queue) if stream else None), ctypes.c_void_p()
            call = functools.partial(self._raw_launch, ctypes.c_void_p(int(kernel)), *map(ctypes.c_uint, sizes), *where)
        if len(self._calls) >= _KEPT_CALLS:
            self._calls.clear()
        self._calls[function, grid, block, shared_bytes, stream] = call
        return call
