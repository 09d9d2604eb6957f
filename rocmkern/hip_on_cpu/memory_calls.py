"""HIP's calls for memory: allocations, copies and fills."""

from __future__ import annotations

import ctypes
import struct
from typing import Final

from rocmkern.errors import DriverUnavailable
from rocmkern.hip_on_cpu.arguments import put
from rocmkern.hip_on_cpu.binding import INVALID_VALUE, Status
from rocmkern.hip_on_cpu.state import DEVICE, HOST, MANAGED, MODULE, State

INVALID_PITCH: Final = 12
ALREADY_REGISTERED: Final = 712
NOT_REGISTERED: Final = 713


class _PointerAttributes(ctypes.Structure):
    """`hipPointerAttribute_t`."""

    _fields_ = [
        ("type", ctypes.c_int), ("device", ctypes.c_int), ("device_pointer", ctypes.c_void_p),
        ("host_pointer", ctypes.c_void_p), ("is_managed", ctypes.c_int), ("flags", ctypes.c_uint),
    ]  # fmt: skip


class MemoryCalls(State):
    """The part of `Calls` that is about memory."""

    def hipMalloc(self, address: int, nbytes: int) -> None:
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
        found = self._allocations.get(address)
        if found is None or found.kind == MODULE:
            raise Status(INVALID_VALUE)
        self._forget(address)
        self.drivers[found.device].synchronize()
        self.drivers[found.device].free(address)

    hipHostFree = hipFreeHost = hipFree

    def hipFreeAsync(self, address: int, stream: int) -> None:
        self.hipFree(address)

    def hipHostGetDevicePointer(self, device: int, host: int, flags: int) -> None:
        if self._find(host) is None:
            raise DriverUnavailable("kernels reach no memory that was registered; use hipHostMalloc")
        put(device, host)

    def hipHostGetFlags(self, flags: int, host: int) -> None:
        if self._find(host) is None:
            raise Status(INVALID_VALUE)
        put(flags, 0, ctypes.c_uint)

    def hipHostRegister(self, host: int, nbytes: int, flags: int) -> None:
        if not (host and nbytes):
            raise Status(INVALID_VALUE)
        if host in self._registered:
            raise Status(ALREADY_REGISTERED)
        self._registered.add(host)

    def hipHostUnregister(self, host: int) -> None:
        if host not in self._registered:
            raise Status(NOT_REGISTERED)
        self._registered.remove(host)

    def hipPointerGetAttributes(self, attributes: int, address: int) -> None:
        found = self._find(address)
        if not attributes or found is None:
            raise Status(INVALID_VALUE)
        kind = HOST if found.kind == HOST else MANAGED if found.kind == MANAGED else DEVICE
        written = _PointerAttributes.from_address(attributes)
        written.type, written.device, written.flags = kind, found.device, 0
        written.device_pointer, written.is_managed = address, kind == MANAGED
        written.host_pointer = None if kind == DEVICE else address

    def hipMemPrefetchAsync(self, address: int, nbytes: int, device: int, stream: int) -> None:
        self._require_managed(address)

    def hipMemAdvise(self, address: int, nbytes: int, advice: int, device: int) -> None:
        self._require_managed(address)

    def _require_managed(self, address: int) -> None:
        found = self._find(address)
        if found is None or found.kind != MANAGED:
            raise Status(INVALID_VALUE)

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
        driver, handle = self._stream(stream)
        driver.synchronize_stream(handle)

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

    def hipMemcpy2D(
        self, to: int, to_pitch: int, source: int, from_pitch: int, width: int, height: int, kind: int
    ) -> None:
        self.hipMemcpy2DAsync(to, to_pitch, source, from_pitch, width, height, kind, 0)

    def hipMemcpy2DAsync(
        self, to: int, to_pitch: int, source: int, from_pitch: int, width: int, height: int, kind: int, stream: int
    ) -> None:
        if width > min(to_pitch, from_pitch):
            raise Status(INVALID_PITCH)
        for row in range(height):
            self._copy(to + row * to_pitch, source + row * from_pitch, width, stream)

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

    def hipMemsetD8Async(self, to: int, value: int, count: int, stream: int) -> None:
        self._fill(to, bytes((value & 255,)), count, stream)

    def hipMemsetD16Async(self, to: int, value: int, count: int, stream: int) -> None:
        self._fill(to, struct.pack("<H", value & 0xFFFF), count, stream)

    def hipMemset2D(self, to: int, pitch: int, byte: int, width: int, height: int) -> None:
        self.hipMemset2DAsync(to, pitch, byte, width, height, 0)

    def hipMemset2DAsync(self, to: int, pitch: int, byte: int, width: int, height: int, stream: int) -> None:
        if width > pitch:
            raise Status(INVALID_PITCH)
        for row in range(height):
            self._fill(to + row * pitch, bytes((byte & 255,)), width, stream)

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
