"""What each of HIP's calls does on emulated devices. The methods have HIP's names; results go where pointers lead."""

from __future__ import annotations

import ctypes
from functools import partial
from typing import Final

from rocmkern.hip_on_cpu.arguments import put
from rocmkern.hip_on_cpu.binding import NOT_READY, Status
from rocmkern.hip_on_cpu.graph_calls import GraphCalls
from rocmkern.hip_on_cpu.hiprtc_calls import HiprtcCalls
from rocmkern.hip_on_cpu.pool_calls import PoolCalls
from rocmkern.hip_on_cpu.program_calls import ProgramCalls
from rocmkern.hip_on_cpu.state import INVALID_HANDLE, Owned

VERSION: Final = 60400000
UNSUPPORTED_LIMIT: Final = 215
_CALLBACK: Final = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
_HOST_FUNCTION: Final = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Facts(ctypes.Structure):
    """`struct rk_device`."""

    _fields_ = [
        ("name", ctypes.c_char_p), ("architecture", ctypes.c_char_p), ("memory_bytes", ctypes.c_uint64),
        *((name, ctypes.c_int) for name in ("ordinal", "wave", "units", "threads", "lds_bytes", "major", "minor")),
        ("block", ctypes.c_int * 3), ("grid", ctypes.c_int * 3),
    ]  # fmt: skip


class Calls(PoolCalls, ProgramCalls, GraphCalls, HiprtcCalls):
    """All calls; here those for devices, streams and events."""

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
        name, architecture = info.marketing.encode(), self._architecture(device).encode()
        major, minor = version_of(target)
        facts = _Facts(
            name, architecture, info.total_memory, device, info.wave_size, info.compute_units,
            info.max_threads_per_block, info.lds_bytes, major, minor, info.max_block, info.max_grid,
        )  # fmt: skip
        self.library.rk_properties(ctypes.c_void_p(properties), ctypes.byref(facts))

    def hipDeviceGetAttribute(self, value: int, attribute: int, device: int) -> None:
        info = self._checked(device).info
        x, y, z = info.max_grid
        known = {
            16: 1, 10: 1, 3: 1, 8: 1, 24: 1, 85: 1, 88: 1,
            26: info.max_block[0], 27: info.max_block[1], 28: info.max_block[2],
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

    def hipDeviceReset(self) -> None:
        self._driver.synchronize()

    def hipDeviceComputeCapability(self, major: int, minor: int, device: int) -> None:
        self._checked(device)
        first, second = version_of(self.targets[device])
        put(major, first, ctypes.c_int)
        put(minor, second, ctypes.c_int)

    def hipDeviceGetPCIBusId(self, text: int, nbytes: int, device: int) -> None:
        self._checked(device)
        name = f"0000:{device + 1:02x}:00.0".encode()[: nbytes - 1] + b"\0"
        ctypes.memmove(text, name, len(name))

    def hipDeviceGetLimit(self, value: int, limit: int) -> None:
        if limit not in self._limits:
            raise Status(UNSUPPORTED_LIMIT)
        put(value, self._limits[limit], ctypes.c_size_t)

    def hipDeviceSetLimit(self, limit: int, value: int) -> None:
        if limit not in self._limits:
            raise Status(UNSUPPORTED_LIMIT)
        self._limits[limit] = value

    def hipDeviceSetCacheConfig(self, config: int) -> None: ...

    def hipDeviceSetSharedMemConfig(self, config: int) -> None: ...

    def hipSetDeviceFlags(self, flags: int) -> None: ...

    def hipGetDeviceFlags(self, flags: int) -> None:
        put(flags, 0, ctypes.c_uint)

    def hipDeviceGetStreamPriorityRange(self, least: int, greatest: int) -> None:
        for place in (least, greatest):
            if place:
                put(place, 0, ctypes.c_int)

    def hipDeviceCanAccessPeer(self, can: int, device: int, peer: int) -> None:
        self._checked(device)
        self._checked(peer)
        put(can, int(device != peer), ctypes.c_int)

    def hipDeviceEnablePeerAccess(self, peer: int, flags: int) -> None:
        self._checked(peer)

    def hipDeviceDisablePeerAccess(self, peer: int) -> None:
        self._checked(peer)

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
        if handle:
            driver.synchronize_stream(handle)
        else:
            driver.synchronize()

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

    def hipStreamGetFlags(self, stream: int, flags: int) -> None:
        self._stream(stream)
        put(flags, 0, ctypes.c_uint)

    def hipStreamGetPriority(self, stream: int, priority: int) -> None:
        self._stream(stream)
        put(priority, 0, ctypes.c_int)

    def hipStreamGetDevice(self, stream: int, device: int) -> None:
        put(device, self._held(stream, Owned).device if (stream or 0) > 2 else self._device, ctypes.c_int)

    def hipStreamAddCallback(self, stream: int, callback: int, passed: int, flags: int) -> None:
        driver, handle = self._stream(stream)
        driver.call_host(handle, partial(_CALLBACK(callback), stream, 0, passed))

    def hipLaunchHostFunc(self, stream: int, function: int, passed: int) -> None:
        driver, handle = self._stream(stream)
        driver.call_host(handle, partial(_HOST_FUNCTION(function), passed))

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


def version_of(target: str) -> tuple[int, int]:
    """Major and minor number of an architecture: gfx1100 has 11 and 0, gfx90a 9 and 0."""
    return int(target[3:-2]), int(target[-2], 16)
