"""NVIDIA GPUs through cuda-bindings, selected by name only: the kernels' sources compiled to PTX, to check them on
silicon. The bindings load the driver library on their first call.
"""

from __future__ import annotations

import ctypes
import functools
import weakref
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
    "CUDA_ERROR_OUT_OF_MEMORY": (DeviceOutOfMemory, "free memory, or use a smaller batch"),
    "CUDA_ERROR_NO_DEVICE": (DeviceNotFound, "use an emulator device"),
    "CUDA_ERROR_INVALID_DEVICE": (DeviceNotFound, "see nvidia-smi for the devices of this machine"),
    "CUDA_ERROR_NO_BINARY_FOR_GPU": (CodeObjectError, "compile the PTX for this device"),
    "CUDA_ERROR_INVALID_PTX": (CodeObjectError, "build it again with `rocmkern build --target sm_…`"),
    "CUDA_ERROR_UNSUPPORTED_PTX_VERSION": (CodeObjectError, "use a newer NVIDIA driver"),
    "CUDA_ERROR_INVALID_IMAGE": (CodeObjectError, "check the file with `rocmkern inspect`"),
    "CUDA_ERROR_NOT_FOUND": (KernelNotFound, "list the kernels with `rocmkern inspect`"),
    "CUDA_ERROR_ILLEGAL_ADDRESS": (MemoryFault, "run it on `emulator:…:checked` to find the access"),
    "CUDA_ERROR_LAUNCH_FAILED": (MemoryFault, "run it on `emulator:…:checked` to find the access"),
}
_ANY_ERROR: Final = (DriverError, "see the CUDA documentation of the call")
_NON_BLOCKING: Final = 1


@functools.cache
def _cuda() -> Any:
    try:
        from cuda.bindings import driver
    except ImportError as error:
        raise DriverUnavailable(
            f"cuda: cuda-bindings can't be imported ({error}); pip install rocmkern[cuda]"
        ) from None
    return driver


def check(call: str, *args: Any) -> Any:
    """Calls `call` of the bindings; its values without the status: None, one value, or a tuple.

    Raises the error class that fits the status. The only place where a status is looked at, save for event queries.
    """
    try:
        status, *values = getattr(_cuda(), call)(*args)
    except RuntimeError as error:
        raise DriverUnavailable(
            f"{call}: the CUDA driver can't be used ({error}); install NVIDIA's driver, or use an emulator device"
        ) from None
    if status:
        raise _error(call, status)
    return values[0] if len(values) == 1 else tuple(values) or None


def _error(call: str, status: Any) -> RocmkernError:
    kind, remedy = _ERRORS.get(status.name, _ANY_ERROR)
    return kind(f"{call}: {status.name} ({int(status)}); {remedy}")


def open_device(name: str) -> CudaDriver:
    """`cuda` or `cuda:N`."""
    check("cuInit", 0)
    ordinal = name.partition(":")[2] or "0"
    count = int(check("cuDeviceGetCount"))
    if not ordinal.isdigit() or int(ordinal) >= count:
        raise DeviceNotFound(f"open: no device {name!r}; CUDA sees {count}, numbered from 0")
    return CudaDriver(int(ordinal))


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


@define(eq=False)
class CudaDriver:
    """One device of CUDA, in its primary context. Streams and events keep the bindings' objects by integer."""

    ordinal: int
    info: DeviceInfo = field(init=False)
    _device: Any = field(init=False)
    _context: Any = field(init=False)
    _objects: dict[int, Any] = field(init=False, factory=dict)
    _pinned: PinnedRanges = field(init=False, factory=PinnedRanges)
    _buffers: LaunchBuffers = field(init=False, factory=lambda: LaunchBuffers(pointer=1, size=2, end=0))
    _launch: Any = field(init=False)
    _default_stream: Any = field(init=False)
    _several: bool = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._launch, self._default_stream = _cuda().cuLaunchKernel, _cuda().CUstream(0)
        self._several = int(check("cuDeviceGetCount")) > 1
        self._device = check("cuDeviceGet", self.ordinal)
        self._context = check("cuDevicePrimaryCtxRetain", self._device)
        self.info = _info(self.ordinal, self._device)
        self._select()

    def close(self) -> None:
        if self._context is not None:
            self._context = None
            check("cuDevicePrimaryCtxRelease", self._device)

    def _select(self) -> None:
        """Makes the context the calling thread's current one; other libraries may have changed it."""
        check("cuCtxSetCurrent", self._context)

    def alloc(self, nbytes: int) -> int:
        self._select()
        return int(check("cuMemAlloc", nbytes))

    def free(self, address: int) -> None:
        if self._context is None:  # the context took its memory along, as it does modules, streams and events
            return
        self._select()
        check("cuMemFree", address)

    def alloc_pinned(self, nbytes: int) -> memoryview:
        self._select()
        address = int(check("cuMemAllocHost", nbytes))
        block = (ctypes.c_ubyte * nbytes).from_address(address)
        self._pinned.add(address, nbytes)
        weakref.finalize(block, self._free_pinned, address)  # every view and array on the block keeps it alive
        return memoryview(block).cast("B")

    def _free_pinned(self, address: int) -> None:
        if self._pinned.remove(address) and self._context is not None:
            self._select()
            check("cuMemFreeHost", address)

    def is_pinned(self, view: memoryview) -> bool:
        return self._pinned.contain(view)

    def memory_info(self) -> tuple[int, int]:
        self._select()
        free, total = check("cuMemGetInfo")
        return int(free), int(total)

    def view(self, address: int, nbytes: int) -> memoryview | None:
        return None

    def copy_to_device(self, address: int, source: memoryview, stream: int) -> None:
        self._copy("cuMemcpyHtoD", address, _address(source) if source.nbytes else 0, source.nbytes, stream)

    def copy_to_host(self, target: memoryview, address: int, stream: int) -> None:
        self._copy("cuMemcpyDtoH", _address(target) if target.nbytes else 0, address, target.nbytes, stream)

    def copy_on_device(self, target: int, source: int, nbytes: int, stream: int) -> None:
        self._copy("cuMemcpyDtoD", target, source, nbytes, stream)

    def _copy(self, call: str, target: int, source: int, nbytes: int, stream: int) -> None:
        if not nbytes:
            return
        self._select()
        check(f"{call}Async", target, source, nbytes, self._stream(stream))
        if not stream and call != "cuMemcpyDtoD":
            self.synchronize_stream(0)

    def fill(self, address: int, byte: int, nbytes: int, stream: int) -> None:
        if nbytes:
            self._select()
            check("cuMemsetD8Async", address, byte, nbytes, self._stream(stream))

    def create_stream(self) -> int:
        self._select()
        return self._keep(check("cuStreamCreate", _NON_BLOCKING))

    def destroy_stream(self, stream: int) -> None:
        if self._context is None:
            return
        self.synchronize_stream(stream)
        check("cuStreamDestroy", self._objects.pop(stream))

    def synchronize_stream(self, stream: int) -> None:
        self._select()
        check("cuStreamSynchronize", self._stream(stream))

    def stream_wait_event(self, stream: int, event: int) -> None:
        self._select()
        check("cuStreamWaitEvent", self._stream(stream), self._objects[event], 0)

    def create_event(self) -> int:
        self._select()
        return self._keep(check("cuEventCreate", 0))

    def destroy_event(self, event: int) -> None:
        if self._context is None:
            return
        check("cuEventDestroy", self._objects.pop(event))

    def record_event(self, event: int, stream: int) -> None:
        self._select()
        check("cuEventRecord", self._objects[event], self._stream(stream))

    def query_event(self, event: int) -> bool:
        (status,) = _cuda().cuEventQuery(self._objects[event])
        if status == _cuda().CUresult.CUDA_ERROR_NOT_READY:
            return False
        if status:
            raise _error("cuEventQuery", status)
        return True

    def synchronize_event(self, event: int) -> None:
        check("cuEventSynchronize", self._objects[event])

    def elapsed_ms(self, start: int, end: int) -> float:
        return float(check("cuEventElapsedTime", self._objects[start], self._objects[end]))

    def synchronize(self) -> None:
        self._select()
        check("cuCtxSynchronize")

    def load_module(self, image: bytes) -> int:
        """Compiles PTX for the device; the text must end in a zero byte."""
        self._select()
        return self._keep(check("cuModuleLoadData", image if image.endswith(b"\0") else image + b"\0"))

    def unload_module(self, module: int) -> None:
        if self._context is None:
            return
        self.synchronize()
        check("cuModuleUnload", self._objects.pop(module))

    def function(self, module: int, name: str) -> int:
        return self._keep(check("cuModuleGetFunction", self._objects[module], name.encode()))

    def launch(self, function: int, grid: Dims, block: Dims, shared_bytes: int, stream: int, arguments: bytes) -> None:
        if self._several:
            self._select()
        extra = self._buffers.filled(arguments).value or 0
        queue = self._objects[stream] if stream else self._default_stream
        (status,) = self._launch(self._objects[function], *grid, *block, shared_bytes, queue, 0, extra)
        if status and not self._several:  # a new thread, or another library's context: that was refused, not run
            self._select()
            (status,) = self._launch(self._objects[function], *grid, *block, shared_bytes, queue, 0, extra)
        if status:
            raise _error("cuLaunchKernel", status)

    def _stream(self, stream: int) -> Any:
        return self._objects[stream] if stream else 0

    def _keep(self, thing: Any) -> int:
        """`thing` under its own address."""
        handle = int(thing)
        self._objects[handle] = thing
        return handle
