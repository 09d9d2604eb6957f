"""What each of HIP's calls does on emulated devices. The methods have HIP's names; results go where pointers lead."""

from __future__ import annotations

import ctypes
import struct
import threading
from bisect import bisect_right, insort
from pathlib import Path
from typing import Any, Final

from attrs import define, field, frozen

from rocmkern import codeobject
from rocmkern.codeobject import CodeObject, Kernel
from rocmkern.drivers import emulator
from rocmkern.drivers.emulator import EmulatorDriver
from rocmkern.drivers.hip import KernelNode
from rocmkern.drivers.protocol import Dims, KernelStep
from rocmkern.errors import CodeObjectError, KernelNotFound
from rocmkern.hip_on_cpu import images
from rocmkern.hip_on_cpu.arguments import from_block, from_pointers, put
from rocmkern.hip_on_cpu.binding import INVALID_DEVICE, INVALID_VALUE, NOT_READY, Status
from rocmkern.hip_on_cpu.graph_calls import GraphCalls
from rocmkern.locks import Lock
from rocmkern.runtime.function import check_geometry

VERSION: Final = 60400000
INVALID_HANDLE: Final = 400
HOST, DEVICE, MANAGED = 1, 2, 3  # kinds of memory
_FIRST_HANDLE: Final = 0x1000  # above those that mean something by themselves


class _Facts(ctypes.Structure):
    """`struct rk_device`."""

    _fields_ = [
        ("name", ctypes.c_char_p), ("architecture", ctypes.c_char_p), ("memory_bytes", ctypes.c_uint64),
        *((name, ctypes.c_int) for name in ("ordinal", "wave", "units", "threads", "lds_bytes", "major", "minor")),
        ("block", ctypes.c_int * 3), ("grid", ctypes.c_int * 3),
    ]  # fmt: skip


@frozen(eq=False)
class Allocation:
    device: int
    address: int
    nbytes: int
    kind: int


@frozen(eq=False)
class Owned:
    """A stream, an event, a module: the device it belongs to and the driver's handle."""

    device: int
    handle: int
    code: CodeObject | None = None


@frozen(eq=False)
class Launchable:
    """A kernel, and the geometries that it was found to run with."""

    device: int
    handle: int
    kernel: Kernel
    fitting: set[tuple[Dims, Dims, int]] = field(factory=set)


@define(eq=False)
class Calls(GraphCalls):
    """The calls, over one driver for each target."""

    targets: tuple[str, ...]
    library: ctypes.CDLL
    drivers: list[EmulatorDriver] = field(init=False)
    _current: threading.local = field(init=False, factory=threading.local)
    _lock: Lock = field(init=False, factory=lambda: Lock("calls"))
    _allocations: dict[int, Allocation] = field(init=False, factory=dict)
    _starts: list[int] = field(init=False, factory=list)  # of the allocations, in order
    _owned: dict[int, Any] = field(init=False, factory=dict)
    _next: int = field(init=False, default=_FIRST_HANDLE)

    def __attrs_post_init__(self) -> None:
        self.drivers = [emulator.open_device(f"emulator:{target}") for target in self.targets]

    # Bookkeeping.

    @property
    def _device(self) -> int:
        return getattr(self._current, "device", 0)

    @property
    def _driver(self) -> EmulatorDriver:
        return self.drivers[self._device]

    def _keep(self, thing: Any) -> int:
        with self._lock:
            self._next += 16
            self._owned[self._next] = thing
            return self._next

    def _held(self, handle: int, kind: type) -> Any:
        found = self._owned.get(handle)
        if not isinstance(found, kind):
            raise Status(INVALID_HANDLE)
        return found

    def _stream(self, stream: int | None) -> tuple[EmulatorDriver, int]:
        """The driver and its handle; null and the streams that mean a default are the driver's default stream."""
        if (stream or 0) <= 2:
            return self._driver, 0
        owned = self._held(stream or 0, Owned)
        return self.drivers[owned.device], owned.handle

    def _checked(self, device: int) -> EmulatorDriver:
        if not 0 <= device < len(self.drivers):
            raise Status(INVALID_DEVICE)
        return self.drivers[device]

    def _allocated(self, nbytes: int, kind: int, device: int | None = None) -> int:
        at = self._device if device is None else device
        address = self.drivers[at].alloc(nbytes) if nbytes else 0
        if nbytes:
            with self._lock:
                self._allocations[address] = Allocation(at, address, nbytes, kind)
                insort(self._starts, address)
        return address

    def _find(self, address: int | None) -> Allocation | None:
        """The allocation that holds the address."""
        with self._lock:
            place = bisect_right(self._starts, address or 0)
            found = self._allocations[self._starts[place - 1]] if place else None
        return found if found is not None and (address or 0) < found.address + found.nbytes else None

    def _room(self, address: int | None, nbytes: int) -> Allocation | None:
        """The same; INVALID_VALUE where so many bytes reach beyond it."""
        found = self._find(address)
        if found is not None and (address or 0) + nbytes > found.address + found.nbytes:
            raise Status(INVALID_VALUE)
        return found

    # Devices.

    def hipInit(self, flags: int) -> None: ...

    def hipDriverGetVersion(self, version: int) -> None:
        put(version, VERSION, ctypes.c_int)

    hipRuntimeGetVersion = hipDriverGetVersion

    def hipGetDeviceCount(self, count: int) -> None:
        put(count, len(self.drivers), ctypes.c_int)

    def hipDeviceGet(self, device: int, ordinal: int) -> None:
        self._checked(ordinal)
        put(device, ordinal, ctypes.c_int)

    def hipSetDevice(self, device: int) -> None:
        self._checked(device)
        self._current.device = device

    def hipGetDevice(self, device: int) -> None:
        put(device, self._device, ctypes.c_int)

    def hipGetDevicePropertiesR0600(self, properties: int, device: int) -> None:
        info, target = self._checked(device).info, self.targets[device]
        major, minor = divmod(int(target[3:-2]) * 10 + int(target[-2], 16), 10)
        facts = _Facts(
            info.marketing.encode(), info.arch.encode(), info.total_memory, device, info.wave_size, info.compute_units,
            info.max_threads_per_block, info.lds_bytes, major, minor, info.max_block, info.max_grid,
        )  # fmt: skip
        self.library.rk_properties(ctypes.c_void_p(properties), ctypes.byref(facts))

    def hipDeviceGetAttribute(self, value: int, attribute: int, device: int) -> None:
        info = self._checked(device).info
        x, y, z = info.max_grid
        known = {
            16: 1, 10: 1, 3: 1, 8: 1, 24: 1, 85: 1, 26: info.max_block[0], 27: info.max_block[1], 28: info.max_block[2],
            29: x, 30: y, 31: z, 56: info.max_threads_per_block, 57: 2048, 63: info.compute_units, 71: 65536,
            74: info.lds_bytes, 87: info.wave_size, 10002: info.lds_bytes, 5: 1000000, 60: 1000000, 59: 64,
        }  # fmt: skip
        put(value, known.get(attribute, 0), ctypes.c_int)

    def hipDeviceGetName(self, name: int, nbytes: int, device: int) -> None:
        text = self._checked(device).info.marketing.encode()[: nbytes - 1] + b"\0"
        ctypes.memmove(name, text, len(text))

    def hipDeviceTotalMem(self, nbytes: int, device: int) -> None:
        put(nbytes, self._checked(device).info.total_memory, ctypes.c_size_t)

    def hipDeviceSynchronize(self) -> None:
        self._driver.synchronize()

    def hipDeviceCanAccessPeer(self, can: int, device: int, peer: int) -> None:
        self._checked(device)
        self._checked(peer)
        put(can, int(device != peer), ctypes.c_int)

    def hipDeviceEnablePeerAccess(self, peer: int, flags: int) -> None:
        self._checked(peer)

    def hipDeviceDisablePeerAccess(self, peer: int) -> None:
        self._checked(peer)

    # Memory.

    def hipMalloc(self, address: int, nbytes: int) -> None:
        put(address, self._allocated(nbytes, DEVICE))

    def hipMallocAsync(self, address: int, nbytes: int, stream: int) -> None:
        put(address, self._allocated(nbytes, DEVICE))

    def hipMallocManaged(self, address: int, nbytes: int, flags: int) -> None:
        put(address, self._allocated(nbytes, MANAGED))

    def hipHostMalloc(self, address: int, nbytes: int, flags: int) -> None:
        put(address, self._allocated(nbytes, HOST))

    hipHostAlloc = hipHostMalloc

    def hipMallocHost(self, address: int, nbytes: int) -> None:
        put(address, self._allocated(nbytes, HOST))

    def hipMallocPitch(self, address: int, pitch: int, width: int, height: int) -> None:
        row = -(-width // 256) * 256
        put(address, self._allocated(row * height, DEVICE))
        put(pitch, row, ctypes.c_size_t)

    def hipFree(self, address: int) -> None:
        if not address:
            return
        with self._lock:
            found = self._allocations.pop(address, None)
            if found is None:
                raise Status(INVALID_VALUE)
            self._starts.remove(address)
        self.drivers[found.device].synchronize()
        self.drivers[found.device].free(address)

    hipHostFree = hipFreeHost = hipFree

    def hipFreeAsync(self, address: int, stream: int) -> None:
        self.hipFree(address)

    def hipHostGetDevicePointer(self, device: int, host: int, flags: int) -> None:
        put(device, host)

    def hipMemGetInfo(self, free: int, total: int) -> None:
        left, all_of_it = self._driver.memory_info()
        put(free, left, ctypes.c_size_t)
        put(total, all_of_it, ctypes.c_size_t)

    def hipMemcpy(self, to: int, source: int, nbytes: int, kind: int) -> None:
        self._copy(to, source, nbytes, None)

    def hipMemcpyAsync(self, to: int, source: int, nbytes: int, kind: int, stream: int) -> None:
        self._copy(to, source, nbytes, stream)

    def hipMemcpyWithStream(self, to: int, source: int, nbytes: int, kind: int, stream: int) -> None:
        self._copy(to, source, nbytes, stream)
        self.hipStreamSynchronize(stream)

    def hipMemcpyHtoD(self, to: int, source: int, nbytes: int) -> None:
        self._copy(to, source, nbytes, None)

    hipMemcpyDtoH = hipMemcpyDtoD = hipMemcpyHtoD

    def hipMemcpyHtoDAsync(self, to: int, source: int, nbytes: int, stream: int) -> None:
        self._copy(to, source, nbytes, stream)

    hipMemcpyDtoHAsync = hipMemcpyDtoDAsync = hipMemcpyHtoDAsync

    def hipMemcpyPeer(self, to: int, to_device: int, source: int, from_device: int, nbytes: int) -> None:
        self._copy(to, source, nbytes, None)

    def hipMemcpyPeerAsync(
        self, to: int, to_device: int, source: int, from_device: int, nbytes: int, stream: int
    ) -> None:
        self._copy(to, source, nbytes, stream)

    def _copy(self, to: int, source: int, nbytes: int, stream: int | None) -> None:
        """Where the addresses lie says the direction."""
        if not nbytes:
            return
        if not (to and source):
            raise Status(INVALID_VALUE)
        target, origin = self._room(to, nbytes), self._room(source, nbytes)
        driver, handle = self._stream(stream)
        for place in (target, origin):
            if place is not None and not stream:
                self.drivers[place.device].synchronize()
        if target is not None and origin is None:
            # The caller may change pageable memory as soon as the call returns.
            driver.copy_to_device(to, memoryview(ctypes.string_at(source, nbytes)), handle)
        elif target is None and origin is not None:
            view = memoryview((ctypes.c_ubyte * nbytes).from_address(to)).cast("B")
            driver.copy_to_host(view, source, handle)
        elif target is not None and origin is not None and target.device == origin.device:
            self.drivers[target.device].copy_on_device(to, source, nbytes, handle if stream else 0)
        else:
            ctypes.memmove(to, source, nbytes)

    def hipMemset(self, to: int, byte: int, nbytes: int) -> None:
        self._fill(to, bytes((byte & 255,)), nbytes, None)

    def hipMemsetAsync(self, to: int, byte: int, nbytes: int, stream: int) -> None:
        self._fill(to, bytes((byte & 255,)), nbytes, stream)

    def hipMemsetD8(self, to: int, value: int, count: int) -> None:
        self._fill(to, bytes((value & 255,)), count, None)

    def hipMemsetD16(self, to: int, value: int, count: int) -> None:
        self._fill(to, struct.pack("<H", value & 0xFFFF), count, None)

    def hipMemsetD32(self, to: int, value: int, count: int) -> None:
        self._fill(to, struct.pack("<I", value & 0xFFFFFFFF), count, None)

    def hipMemsetD32Async(self, to: int, value: int, count: int, stream: int) -> None:
        self._fill(to, struct.pack("<I", value & 0xFFFFFFFF), count, stream)

    def _fill(self, to: int, pattern: bytes, count: int, stream: int | None) -> None:
        if not count:
            return
        if self._room(to, count * len(pattern)) is None:
            raise Status(INVALID_VALUE)
        driver, handle = self._stream(stream)
        if len(pattern) == 1:
            driver.fill(to, pattern[0], count, handle)
        else:
            driver.copy_to_device(to, memoryview(pattern * count), handle)

    # Streams and events.

    def hipStreamCreate(self, stream: int) -> None:
        put(stream, self._keep(Owned(self._device, self._driver.create_stream())))

    def hipStreamCreateWithFlags(self, stream: int, flags: int) -> None:
        self.hipStreamCreate(stream)

    def hipStreamCreateWithPriority(self, stream: int, flags: int, priority: int) -> None:
        self.hipStreamCreate(stream)

    def hipStreamDestroy(self, stream: int) -> None:
        owned = self._held(stream, Owned)
        del self._owned[stream]
        self.drivers[owned.device].destroy_stream(owned.handle)

    def hipStreamSynchronize(self, stream: int) -> None:
        driver, handle = self._stream(stream)
        driver.synchronize_stream(handle)

    def hipStreamQuery(self, stream: int) -> int | None:
        driver, handle = self._stream(stream)
        event = driver.create_event()
        driver.record_event(event, handle)
        is_done = driver.query_event(event)
        driver.destroy_event(event)
        return None if is_done else NOT_READY

    def hipStreamWaitEvent(self, stream: int, event: int, flags: int) -> None:
        driver, handle = self._stream(stream)
        driver.stream_wait_event(handle, self._held(event, Owned).handle)

    def hipEventCreate(self, event: int) -> None:
        put(event, self._keep(Owned(self._device, self._driver.create_event())))

    def hipEventCreateWithFlags(self, event: int, flags: int) -> None:
        self.hipEventCreate(event)

    def hipEventDestroy(self, event: int) -> None:
        owned = self._held(event, Owned)
        del self._owned[event]
        self.drivers[owned.device].destroy_event(owned.handle)

    def hipEventRecord(self, event: int, stream: int) -> None:
        owned, (driver, handle) = self._held(event, Owned), self._stream(stream)
        if driver is not self.drivers[owned.device]:
            raise Status(INVALID_HANDLE)
        driver.record_event(owned.handle, handle)

    def hipEventSynchronize(self, event: int) -> None:
        owned = self._held(event, Owned)
        self.drivers[owned.device].synchronize_event(owned.handle)

    def hipEventQuery(self, event: int) -> int | None:
        owned = self._held(event, Owned)
        return None if self.drivers[owned.device].query_event(owned.handle) else NOT_READY

    def hipEventElapsedTime(self, ms: int, start: int, stop: int) -> None:
        first, last = self._held(start, Owned), self._held(stop, Owned)
        driver = self.drivers[first.device]
        marks = [driver._events[owned.handle] for owned in (first, last)]
        if None in marks:
            raise Status(INVALID_HANDLE)
        if not all(mark is not None and mark.is_reached for mark in marks):
            raise Status(NOT_READY)
        put(ms, driver.elapsed_ms(first.handle, last.handle), ctypes.c_float)

    # Modules and launches.

    def hipModuleLoad(self, module: int, path: int) -> None:
        self._load(module, Path(ctypes.string_at(path).decode()).read_bytes())

    def hipModuleLoadData(self, module: int, image: int) -> None:
        if not image:
            raise Status(INVALID_VALUE)
        self._load(module, images.at(image))

    def hipModuleLoadDataEx(self, module: int, image: int, count: int, options: int, values: int) -> None:
        self.hipModuleLoadData(module, image)

    def _load(self, module: int, data: bytes) -> None:
        driver = self._driver
        code = codeobject.read(data, driver.info.arch)
        if code.undefined_symbols:
            raise CodeObjectError(f"load: symbols that nothing defines: {', '.join(code.undefined_symbols)}")
        put(module, self._keep(Owned(self._device, driver.load_module(code.image), code)))

    def hipModuleUnload(self, module: int) -> None:
        owned = self._held(module, Owned)
        del self._owned[module]
        self.drivers[owned.device].unload_module(owned.handle)

    def hipModuleGetFunction(self, function: int, module: int, name: int) -> None:
        owned, text = self._held(module, Owned), ctypes.string_at(name).decode()
        kernel = owned.code.kernels.get(text)
        if kernel is None:
            raise KernelNotFound(f"no kernel {text!r}; the module has {', '.join(owned.code.kernels) or 'none'}")
        handle = self.drivers[owned.device].function(owned.handle, text)
        put(function, self._keep(Launchable(owned.device, handle, kernel)))

    def hipModuleGetGlobal(self, address: int, nbytes: int, module: int, name: int) -> None:
        owned, text = self._held(module, Owned), ctypes.string_at(name).decode()
        if text not in owned.code.symbols:
            raise Status(500)
        place, size = owned.code.symbols[text]
        program = self.drivers[owned.device]._modules[owned.handle].program
        put(address, program.base + place)
        put(nbytes, size, ctypes.c_size_t)

    def hipModuleLaunchKernel(
        self, function: int, grid_x: int, grid_y: int, grid_z: int, block_x: int, block_y: int, block_z: int,
        shared_bytes: int, stream: int, arguments: int, extra: int,
    ) -> None:  # fmt: skip
        found = self._launchable(function)
        driver, handle = (self.drivers[found.device], 0) if not stream else self._stream(stream)
        grid, block = (grid_x, grid_y, grid_z), (block_x, block_y, block_z)
        self._require_fitting(found, grid, block, shared_bytes)
        packed = from_block(extra) if extra else from_pointers(found.kernel, arguments)
        driver.launch(found.handle, grid, block, shared_bytes, handle, packed)

    def hipModuleLaunchCooperativeKernel(self, function: int, *geometry_and_arguments: int) -> None:
        self.hipModuleLaunchKernel(function, *geometry_and_arguments, 0)  # type: ignore[call-arg]

    def _launchable(self, function: int) -> Launchable:
        found = self._owned.get(function)
        if found.__class__ is not Launchable:
            raise Status(INVALID_HANDLE)
        return found

    def _require_fitting(self, found: Launchable, grid: Dims, block: Dims, shared_bytes: int) -> None:
        if (grid, block, shared_bytes) not in found.fitting:
            check_geometry(found.kernel, self.drivers[found.device].info, grid, block, shared_bytes)
            found.fitting.add((grid, block, shared_bytes))

    def _kernel_step(self, node: KernelNode) -> KernelStep:
        found = self._launchable(node.function or 0)
        grid, block = dims(node.grid), dims(node.block)
        self._require_fitting(found, grid, block, node.shared_bytes)
        packed = from_block(node.extra) if node.extra else from_pointers(found.kernel, node.parameters or 0)
        return KernelStep(found.handle, grid, block, node.shared_bytes, packed)

    def _drop(self, handle: int) -> None:
        self._owned.pop(handle, None)


def dims(sizes: Any) -> Dims:
    x, y, z = sizes
    return int(x), int(y), int(z)
