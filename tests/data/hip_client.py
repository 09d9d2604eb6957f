"""A program on hip-python that knows nothing of rocmkern, but for the code object that it is given as a file."""

import ctypes
import sys
from pathlib import Path

import numpy as np
from hip import hip


def ok(answer):
    status, *values = answer
    assert status == hip.hipError_t.hipSuccess, status
    return values[0] if len(values) == 1 else values


def says(name, answer):
    assert int(answer[0]) == int(getattr(hip.hipError_t, name)), (name, answer)


ours, foreign = (Path(path).read_bytes() for path in sys.argv[1:3])
assert ok(hip.hipGetDeviceCount()) == 2
properties = ok(hip.hipGetDeviceProperties(0))
assert properties.gcnArchName == "gfx942:sramecc+:xnack-"
assert (properties.warpSize, properties.maxThreadsPerBlock) == (64, 1024)
assert ok(hip.hipGetDeviceProperties(1)).gcnArchName == "gfx1100"

# Memory.
host = np.arange(256, dtype=np.float32)
x = ok(hip.hipMalloc(host.nbytes))
ok(hip.hipMemcpy(x, host, host.nbytes, hip.hipMemcpyKind.hipMemcpyHostToDevice))
ok(hip.hipMemset(int(x) + 512, 0, 512))
back = np.empty_like(host)
ok(hip.hipMemcpy(back, x, host.nbytes, hip.hipMemcpyKind.hipMemcpyDeviceToHost))
assert np.array_equal(back, np.where(host < 128, host, 0))
says("hipErrorInvalidValue", hip.hipMemcpy(back, x, host.nbytes + 1, hip.hipMemcpyKind.hipMemcpyDeviceToHost))
says("hipErrorInvalidValue", hip.hipFree(12345))
says("hipErrorOutOfMemory", hip.hipMalloc(1 << 60))
assert int(hip.hipGetLastError()[0]) == 2 and int(hip.hipGetLastError()[0]) == 0

# Pools: what is allocated from them counts there until it is freed, and pools of a program's own can be a device's.
ATTRIBUTES = hip.hipMemPoolAttr


def used(pool, attribute=ATTRIBUTES.hipMemPoolAttrUsedMemCurrent):
    value = ctypes.c_uint64(99)
    ok(hip.hipMemPoolGetAttribute(pool, attribute, ctypes.addressof(value)))
    return value.value


default = ok(hip.hipDeviceGetDefaultMemPool(0))
assert int(ok(hip.hipDeviceGetMemPool(0))) == int(default) and used(default) == 0
first, second = ok(hip.hipMallocAsync(1000, None)), ok(hip.hipMallocFromPoolAsync(24, default, None))
assert used(default) == 1024
ok(hip.hipFreeAsync(first, None))
assert (used(default), used(default, ATTRIBUTES.hipMemPoolAttrUsedMemHigh)) == (24, 1024)
zero, threshold = ctypes.c_uint64(0), ctypes.c_uint64(1 << 40)
ok(hip.hipMemPoolSetAttribute(default, ATTRIBUTES.hipMemPoolAttrUsedMemHigh, ctypes.addressof(zero)))
assert used(default, ATTRIBUTES.hipMemPoolAttrUsedMemHigh) == 24
ok(hip.hipMemPoolSetAttribute(default, ATTRIBUTES.hipMemPoolAttrReleaseThreshold, ctypes.addressof(threshold)))
assert used(default, ATTRIBUTES.hipMemPoolAttrReleaseThreshold) == 1 << 40
used_now = ATTRIBUTES.hipMemPoolAttrUsedMemCurrent
says("hipErrorInvalidValue", hip.hipMemPoolSetAttribute(default, used_now, ctypes.addressof(threshold)))
ok(hip.hipFree(second))
ok(hip.hipMemPoolTrimTo(default, 0))
properties = hip.hipMemPoolProps()
says("hipErrorInvalidValue", hip.hipMemPoolCreate(properties))
properties.allocType = hip.hipMemAllocationType.hipMemAllocationTypePinned
properties.location.type, properties.location.id = hip.hipMemLocationType.hipMemLocationTypeDevice, 0
own = ok(hip.hipMemPoolCreate(properties))
says("hipErrorInvalidDevice", hip.hipDeviceSetMemPool(1, own))
ok(hip.hipDeviceSetMemPool(0, own))
third = ok(hip.hipMallocAsync(8, None))
assert (used(default), used(own)) == (0, 8)
ok(hip.hipFree(third))
ok(hip.hipMemPoolDestroy(own))
assert int(ok(hip.hipDeviceGetMemPool(0))) == int(default)
says("hipErrorInvalidValue", hip.hipMemPoolDestroy(default))
says("hipErrorInvalidValue", hip.hipMemPoolTrimTo(own, 0))

# Modules and launches, with pointers to the arguments and with a block of them.
says("hipErrorNoBinaryForGpu", hip.hipModuleLoadData(foreign))
says("hipErrorInvalidImage", hip.hipModuleLoadData(b"nonsense" * 100))
module = ok(hip.hipModuleLoadData(ours))
says("hipErrorNotFound", hip.hipModuleGetFunction(module, b"nothing"))
scale = ok(hip.hipModuleGetFunction(module, b"scale"))
stream = ok(hip.hipStreamCreate())


class Block(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("x", ctypes.c_uint64), ("n", ctypes.c_int), ("by", ctypes.c_float)]


block = Block(int(x), 256, 2.0)
one, four = hip.dim3(x=1), hip.dim3(x=256)
ok(hip.hipModuleLaunchKernel(scale, 1, 1, 1, 256, 1, 1, 0, stream, None, (block,)))
ok(hip.hipStreamSynchronize(stream))
ok(hip.hipMemcpy(back, x, host.nbytes, hip.hipMemcpyKind.hipMemcpyDeviceToHost))
assert np.array_equal(back, np.where(host < 128, 2 * host, 0))
values = (ctypes.c_uint64(int(x)), ctypes.c_int(128), ctypes.c_float(0.5))
pointers = (ctypes.c_void_p * 3)(*map(ctypes.addressof, values))
ok(hip.hipModuleLaunchKernel(scale, 1, 1, 1, 256, 1, 1, 0, stream, ctypes.addressof(pointers), None))
ok(hip.hipStreamSynchronize(stream))
ok(hip.hipMemcpy(back, x, host.nbytes, hip.hipMemcpyKind.hipMemcpyDeviceToHost))
assert np.array_equal(back, np.where(host < 128, host, 0))
says("hipErrorInvalidValue", hip.hipModuleLaunchKernel(scale, 1, 1, 1, 2048, 1, 1, 0, None, None, (block,)))
block.x = 16
ok(hip.hipModuleLaunchKernel(scale, 1, 1, 1, 64, 1, 1, 0, None, None, (block,)))
says("hipErrorIllegalAddress", hip.hipDeviceSynchronize())
address, size = ok(hip.hipModuleGetGlobal(module, b"constant_of_7"))
seven = np.zeros(1, np.int32)
ok(hip.hipMemcpy(seven, address, 4, hip.hipMemcpyKind.hipMemcpyDeviceToHost))
assert (size, seven[0]) == (4, 7)

# Events.
start, stop = ok(hip.hipEventCreate()), ok(hip.hipEventCreate())
says("hipErrorInvalidHandle", hip.hipEventElapsedTime(start, stop))
ok(hip.hipEventRecord(start, stream))
ok(hip.hipEventRecord(stop, stream))
ok(hip.hipEventSynchronize(stop))
assert ok(hip.hipEventElapsedTime(start, stop)) >= 0

# The other device.
ok(hip.hipSetDevice(1))
assert ok(hip.hipGetDevice()) == 1
says("hipErrorInvalidDevice", hip.hipSetDevice(2))
says("hipErrorNoBinaryForGpu", hip.hipModuleLoadData(ours))
there = ok(hip.hipMalloc(host.nbytes))
ok(hip.hipMemcpy(there, x, host.nbytes, hip.hipMemcpyKind.hipMemcpyDeviceToDevice))
ok(hip.hipMemcpy(seven, int(there) + 4, 4, hip.hipMemcpyKind.hipMemcpyDeviceToHost))
assert seven.view(np.float32)[0] == 1
ok(hip.hipModuleUnload(module))
print("all right")
