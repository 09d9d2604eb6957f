"""AMD GPUs through hip-python. The bindings load the HIP library on their first call, so importing this module needs
neither.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import weakref
from collections.abc import Callable
from typing import Any, Final

from attrs import define, field

from rocmkern.drivers.launch_buffer import LaunchBuffers
from rocmkern.drivers.pinned import PinnedRanges
from rocmkern.drivers.protocol import DeviceInfo, Dims
from rocmkern.errors import (
    CodeObjectError,
    DeviceNotFound,
    DeviceOutOfMemory,
    DriverError,
    DriverUnavailable,
    KernelNotFound,
    MemoryFault,
    RocmkernError,
)

_ERRORS: Final[dict[str, tuple[type[RocmkernError], str]]] = {
    "hipErrorOutOfMemory": (DeviceOutOfMemory, "free memory, or use a smaller batch"),
    "hipErrorNoDevice": (DeviceNotFound, "use an emulator device"),
    "hipErrorInvalidDevice": (DeviceNotFound, "see rocmkern.devices()"),
    "hipErrorNoBinaryForGpu": (CodeObjectError, "compile the code object for this device"),
    "hipErrorInvalidImage": (CodeObjectError, "check the file with `rocmkern inspect`"),
    "hipErrorSharedObjectSymbolNotFound": (CodeObjectError, "link what the code object leaves undefined"),
    "hipErrorNotFound": (KernelNotFound, "list the kernels with `rocmkern inspect`"),
    "hipErrorIllegalAddress": (MemoryFault, "run it on `emulator:…:checked` to find the access"),
    "hipErrorLaunchFailure": (MemoryFault, "run it on `emulator:…:checked` to find the access"),
}
_ANY_ERROR: Final = (DriverError, "see the HIP documentation of the call")
_KEPT_CALLS: Final = 4096
Launcher = Callable[[ctypes.c_void_p], int]


@functools.cache
def _hip() -> Any:
    try:
        from hip import hip
    except ImportError as error:
        raise DriverUnavailable(f"hip: hip-python can't be imported ({error}); pip install hip-python") from None
    return hip


def check(call: str, *args: Any) -> Any:
    """Calls `call` of the bindings; its values without the status: None, one value, or a tuple.

    Raises the error class that fits the status. The only place where a status is looked at, save for event queries.
    """
    hip = _hip()
    try:
        status, *values = getattr(hip, call)(*args)
    except RuntimeError as error:
        raise DriverUnavailable(
            f"{call}: the HIP library can't be used ({error}); install ROCm 6.3 or later, or use an emulator device"
        ) from None
    if status != hip.hipError_t.hipSuccess:
        raise _error(call, status)
    return values[0] if len(values) == 1 else tuple(values) or None


def _error(call: str, status: Any) -> RocmkernError:
    kind, remedy = _ERRORS.get(status.name, _ANY_ERROR)
    return kind(f"{call}: {status.name} ({int(status)}); {remedy}")


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
    ordinal = name.partition(":")[2] or "0"
    count = int(check("hipGetDeviceCount"))
    if not ordinal.isdigit() or int(ordinal) >= count:
        raise DeviceNotFound(f"open: no device {name!r}; HIP sees {count}, numbered from 0")
    return HipDriver(int(ordinal))


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
class HipDriver:
    """One device of HIP. Objects of the bindings are kept by the integer that the protocol hands out; what is destroyed
    after close() is gone already.
    """

    ordinal: int
    info: DeviceInfo = field(init=False)
    _several: bool = field(init=False)
    _objects: dict[int, Any] = field(init=False, factory=dict)
    _functions: dict[int, list[int]] = field(init=False, factory=dict)
    _pinned: PinnedRanges = field(init=False, factory=PinnedRanges)
    _buffers: LaunchBuffers = field(init=False, factory=lambda: LaunchBuffers(pointer=1, size=2, end=3))
    _raw_launch: Any = field(init=False)
    _raw_select: Any = field(init=False)
    _c_ordinal: ctypes.c_int = field(init=False)
    _calls: dict[tuple[int, Dims, Dims, int, int], Launcher] = field(init=False, factory=dict)
    _success: Any = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.info = _info(self.ordinal)
        self._several = device_count() > 1
        self._success = _hip().hipError_t.hipSuccess
        self._raw_launch = _raw("hipModuleLaunchKernel", _LAUNCH)
        self._raw_select, self._c_ordinal = _raw("hipSetDevice", _SET_DEVICE), ctypes.c_int(self.ordinal)

    def close(self) -> None:
        self._objects.clear()
        self._functions.clear()
        self._calls.clear()
        self._pinned.clear()

    def _select(self) -> None:
        """Makes this device the calling thread's current one; other libraries may have changed it."""
        if self._several and (self._raw_select is None or self._raw_select(self._c_ordinal)):
            check("hipSetDevice", self.ordinal)  # which says what is wrong

    def alloc(self, nbytes: int) -> int:
        self._select()
        return int(check("hipMalloc", nbytes))

    def free(self, address: int) -> None:
        self._select()
        check("hipFree", address)

    def alloc_pinned(self, nbytes: int) -> memoryview:
        self._select()
        address = int(check("hipHostMalloc", nbytes, 0))
        block = (ctypes.c_ubyte * nbytes).from_address(address)
        self._pinned.add(address, nbytes)
        weakref.finalize(block, self._free_pinned, address)  # every view and array on the block keeps it alive
        return memoryview(block).cast("B")

    def _free_pinned(self, address: int) -> None:
        if self._pinned.remove(address):
            check("hipHostFree", address)

    def is_pinned(self, view: memoryview) -> bool:
        return self._pinned.contain(view)

    def memory_info(self) -> tuple[int, int]:
        self._select()
        free, total = check("hipMemGetInfo")
        return int(free), int(total)

    def view(self, address: int, nbytes: int) -> memoryview | None:
        return None

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

    def fill(self, address: int, byte: int, nbytes: int, stream: int) -> None:
        if nbytes:
            self._select()
            check("hipMemsetAsync", address, byte, nbytes, self._stream(stream))

    def create_stream(self) -> int:
        self._select()
        return self._keep(check("hipStreamCreate"))

    def destroy_stream(self, stream: int) -> None:
        held = self._objects.pop(stream, None)
        self._calls.clear()
        if held is not None:
            check("hipStreamSynchronize", held)
            check("hipStreamDestroy", held)

    def synchronize_stream(self, stream: int) -> None:
        self._select()
        check("hipStreamSynchronize", self._stream(stream))

    def stream_wait_event(self, stream: int, event: int) -> None:
        self._select()
        check("hipStreamWaitEvent", self._stream(stream), self._objects[event], 0)

    def create_event(self) -> int:
        self._select()
        return self._keep(check("hipEventCreate"))

    def destroy_event(self, event: int) -> None:
        held = self._objects.pop(event, None)
        if held is not None:
            check("hipEventDestroy", held)

    def record_event(self, event: int, stream: int) -> None:
        self._select()
        check("hipEventRecord", self._objects[event], self._stream(stream))

    def query_event(self, event: int) -> bool:
        (status,) = _hip().hipEventQuery(self._objects[event])
        if status == _hip().hipError_t.hipErrorNotReady:
            return False
        if status != self._success:
            raise _error("hipEventQuery", status)
        return True

    def synchronize_event(self, event: int) -> None:
        check("hipEventSynchronize", self._objects[event])

    def elapsed_ms(self, start: int, end: int) -> float:
        return float(check("hipEventElapsedTime", self._objects[start], self._objects[end]))

    def synchronize(self) -> None:
        self._select()
        check("hipDeviceSynchronize")

    def load_module(self, image: bytes) -> int:
        self._select()
        module = check("hipModuleLoadData", image)
        handle = self._keep(module)
        self._objects[handle] = (module, image)  # HIP reads the image as long as the module lives
        self._functions[handle] = []
        return handle

    def unload_module(self, module: int) -> None:
        held = self._objects.pop(module, None)
        if held is None:
            return
        self.synchronize()
        for function in self._functions.pop(module):
            self._objects.pop(function, None)
        self._calls.clear()
        check("hipModuleUnload", held[0])

    def function(self, module: int, name: str) -> int:
        handle = self._keep(check("hipModuleGetFunction", self._objects[module][0], name.encode()))
        self._functions[module].append(handle)
        return handle

    def launch(self, function: int, grid: Dims, block: Dims, shared_bytes: int, stream: int, arguments: bytes) -> None:
        if self._several:
            self._select()
        key = (function, grid, block, shared_bytes, stream)
        call = self._calls.get(key) or self._launcher(*key)
        status = call(self._buffers.filled(arguments))
        if status:
            raise _error("hipModuleLaunchKernel", _hip().hipError_t(status))

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

    def _stream(self, stream: int) -> Any:
        return self._objects[stream] if stream else None

    def _keep(self, thing: Any) -> int:
        """`thing` under its own address."""
        handle = int(thing)
        self._objects[handle] = thing
        return handle
