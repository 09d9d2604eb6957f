"""The cuda driver through the real cuda-bindings, against a library that records what arrives."""

from __future__ import annotations

import ctypes
import functools
import gc
import struct
import threading
from collections.abc import Iterator

import numpy as np
import pytest

import rocmkern as rk
from rocmkern import drivers
from rocmkern.errors import (
    CodeObjectError,
    DeviceNotFound,
    DeviceOutOfMemory,
    DriverError,
    KernelNotFound,
    MemoryFault,
)
from tests import doubles
from tests.doubles import Double

pytest.importorskip("cuda.bindings.driver")

PTX = b"""
.version 8.0
.target sm_80
.address_size 64
.visible .entry scale(.param .u64 scale_0, .param .u64 .ptr .align 1 scale_1, .param .f32 scale_2)
{
    ret;
}
.visible .entry nothing()
{
    ret;
}
"""


@functools.cache
def load() -> Double:
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return Double(doubles.compiled("cuda_double.c", "libcuda.so.1"))
    pytest.skip("NVIDIA's own library is here")


@pytest.fixture
def double() -> Iterator[Double]:
    """CUDA's stand-in with two devices of sm_90."""
    double = load()
    double.library.double_devices(2)
    double.reset()
    try:
        with doubles.forgotten("cuda"):
            yield double
    finally:
        double.library.double_devices(0)


def test_device_is_described_by_its_attributes(double: Double) -> None:
    """The architecture is named after the compute capability; limits are CUDA's attributes."""
    info = rk.Device("cuda:1").info
    assert (info.name, info.marketing, info.arch, info.wave_size) == ("cuda:1", "Double 1", "sm_90", 32)
    assert (info.compute_units, info.lds_bytes, info.total_memory) == (132, 49152, 1 << 30)
    assert (info.max_threads_per_block, info.max_block) == (1024, (1024, 1024, 64))
    assert info.max_grid == (2147483647, 65535, 65535)


@pytest.mark.parametrize("name", ["cuda:2", "cuda:x"])
def test_device_that_cuda_does_not_have(double: Double, name: str) -> None:
    """A number beyond CUDA's count is DeviceNotFound with the count; so is a machine without any."""
    with pytest.raises(DeviceNotFound, match=rf"no device '{name}'; CUDA sees 2"):
        rk.Device(name)
    double.library.double_devices(0)
    with pytest.raises(DeviceNotFound, match=r"cuInit: CUDA_ERROR_NO_DEVICE \(100\); use an emulator device"):
        rk.Device(name)


def test_launch_arrives_as_given(double: Double) -> None:
    """Grid, block, dynamic memory, stream and the argument block, byte for byte, at the offsets of the PTX."""
    device = rk.Device("cuda:1")
    module = rk.Module.load_data(PTX, device)
    function, x, stream = module.get_function("scale"), device.alloc(256), rk.Stream(device)
    function(np.uint64(64), x, np.float32(1.5), grid=(3, 2), block=(64, 2, 1), shared_bytes=128, stream=stream)
    assert double.arguments() == struct.pack("<QQf", 64, x.address, 1.5)
    module.get_function("nothing")(grid=1, block=64)
    assert double.log("cuLaunchKernel") == [
        "cuLaunchKernel grid 3 2 1 block 64 2 1 shared 128 stream 1 arguments 20 device 1 first 40",
        "cuLaunchKernel grid 1 1 1 block 64 1 1 shared 0 stream 0 arguments 0 device 1 first 0",
    ]


def test_every_call_is_made_in_the_objects_context(double: Double) -> None:
    """With several devices, memory, streams and launches go to the device they belong to, whatever was used last."""
    first, second = rk.Device("cuda:0"), rk.Device("cuda:1")
    functions = [rk.Module.load_data(PTX, device).get_function("nothing") for device in (first, second)]
    held = []
    for device in (first, second, first):
        held.append(device.alloc(1 << 20))
        rk.Stream(device).synchronize()
        rk.Event(device).record()
    for function in functions:
        function(grid=1, block=1)
    assert [line.split()[-1] for line in double.log("cuMemAlloc")] == ["0", "1", "0"]
    assert [line.split()[-3] for line in double.log("cuLaunchKernel")] == ["0", "1"]


def test_launch_from_a_new_thread(double: Double) -> None:
    """A thread has no current context at first; with one device a launch finds out by being refused."""
    double.library.double_devices(1)
    function = rk.Module.load_data(PTX, rk.Device("cuda:0")).get_function("nothing")
    failures: list[BaseException] = []

    def launch() -> None:
        try:
            function(grid=1, block=1)
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=launch)
    thread.start()
    thread.join()
    assert failures == []
    assert len(double.log("cuLaunchKernel")) == 1


def test_copies_round_trip(double: Double) -> None:
    """Host to device to device to host gives the same bytes, also from read-only memory; fill sets each byte."""
    device = rk.Device("cuda:0")
    data = np.arange(1000, dtype=np.float32)
    data.flags.writeable = False
    a, b, out = device.alloc(data.nbytes), device.alloc(data.nbytes), np.empty_like(data)
    a.copy_from_host(data)
    b.copy_from(a)
    b.copy_to_host(out)
    np.testing.assert_array_equal(out, data)
    b.fill(0xAB)
    assert set(b.copy_to_host().tolist()) == {0xAB}
    a.copy_from_host(np.empty(0, np.float32))


def test_copy_waits_but_from_pinned_memory(double: Double) -> None:
    """On a stream, pinned memory is copied without waiting; on the default one a copy is done on return."""
    device = rk.Device("cuda:0")
    memory, stream, pinned = device.alloc(400), rk.Stream(device), device.alloc_pinned(400)
    double.reset()
    memory.copy_from_host(pinned.array(np.float32), stream)
    assert double.log() == ["cuMemcpyHtoDAsync 400 stream 1"]
    memory.copy_to_host(np.empty(100, np.float32), stream)
    assert double.log()[1:] == ["cuMemcpyDtoHAsync 400 stream 1", "cuStreamSynchronize stream 1"]
    double.reset()
    memory.copy_from_host(np.zeros(100, np.float32))
    assert double.log() == ["cuMemcpyHtoDAsync 400 stream 0", "cuStreamSynchronize stream 0"]


def test_pinned_memory_lives_as_long_as_its_arrays(double: Double) -> None:
    """The last array frees it."""
    array = rk.Device("cuda:0").alloc_pinned(64).array(np.uint8)
    part = array[8:16]
    del array
    gc.collect()
    part[:] = 3
    assert double.log("cuMemFreeHost") == []
    del part
    gc.collect()
    assert double.log("cuMemFreeHost") == ["cuMemFreeHost"]


def test_events_order_streams_and_time(double: Double) -> None:
    """record, wait and synchronize are the CUDA calls of those names; an event that is not reached is not done."""
    device = rk.Device("cuda:0")
    first, second = rk.Stream(device), rk.Stream(device)
    double.reset()
    start = first.record()
    second.wait(start)
    second.synchronize()
    assert double.log() == ["cuEventRecord stream 1", "cuStreamWaitEvent stream 1", "cuStreamSynchronize stream 1"]
    end = rk.Event(device).record()
    end.synchronize()
    assert end.is_done and 0 <= end - start < 1000
    double.events_ready(False)
    assert not end.is_done
    with pytest.raises(DriverError, match=r"cuEventElapsedTime: CUDA_ERROR_NOT_READY \(600\)"):
        _ = end - start


@pytest.mark.parametrize(
    ("call", "status", "error", "words"),
    [
        ("cuMemAlloc", 2, DeviceOutOfMemory, r"CUDA_ERROR_OUT_OF_MEMORY \(2\); free memory"),
        ("cuLaunchKernel", 1, DriverError, r"CUDA_ERROR_INVALID_VALUE \(1\); see the CUDA documentation"),
        ("cuCtxSynchronize", 700, MemoryFault, r"CUDA_ERROR_ILLEGAL_ADDRESS \(700\); run it on `emulator:"),
        ("cuCtxSynchronize", 719, MemoryFault, r"CUDA_ERROR_LAUNCH_FAILED \(719\); run it on `emulator:"),
        ("cuModuleLoadData", 218, CodeObjectError, r"CUDA_ERROR_INVALID_PTX \(218\); build it again"),
        (
            "cuModuleLoadData",
            222,
            CodeObjectError,
            r"CUDA_ERROR_UNSUPPORTED_PTX_VERSION \(222\); use a newer NVIDIA driver",
        ),
        ("cuMemcpyHtoDAsync", 1, DriverError, r"CUDA_ERROR_INVALID_VALUE \(1\)"),
        ("cuEventQuery", 700, MemoryFault, r"CUDA_ERROR_ILLEGAL_ADDRESS \(700\)"),
    ],
)
def test_status_becomes_an_error(double: Double, call: str, status: int, error: type[Exception], words: str) -> None:
    """Each status is an error of the class that fits, naming the call, the status and a remedy."""
    device = rk.Device("cuda:0")
    function = rk.Module.load_data(PTX, device).get_function("nothing")
    memory, event = device.alloc(8), rk.Event(device).record()
    uses = {
        "cuMemAlloc": lambda: drivers.open("cuda:0").alloc(1 << 22),
        "cuLaunchKernel": lambda: function(grid=1, block=64),
        "cuCtxSynchronize": device.synchronize,
        "cuModuleLoadData": lambda: rk.Module.load_data(PTX, device),
        "cuMemcpyHtoDAsync": lambda: memory.copy_from_host(np.zeros(2, np.float32)),
        "cuEventQuery": lambda: event.is_done,
    }
    double.fail(call, status)
    with pytest.raises(error, match=f"{call}: {words}"):
        uses[call]()
    uses[call]()


def test_driver_names_an_unknown_function(double: Double) -> None:
    """CUDA_ERROR_NOT_FOUND is KernelNotFound."""
    driver = drivers.open("cuda:0")
    module = driver.load_module(PTX)
    with pytest.raises(KernelNotFound, match=r"cuModuleGetFunction: CUDA_ERROR_NOT_FOUND \(500\)"):
        driver.function(module, "other")


def test_module_is_unloaded_with_its_last_user(double: Double) -> None:
    """A function keeps its module; without both the module is unloaded, after the device is idle."""
    function = rk.Module.load_data(PTX, rk.Device("cuda:0")).get_function("nothing")
    gc.collect()
    assert double.log("cuModuleUnload") == []
    double.reset()
    del function
    gc.collect()
    assert double.log() == ["cuCtxSynchronize", "cuModuleUnload"]


def test_closing_the_driver_releases_its_context(double: Double) -> None:
    """The context takes memory, modules, streams and events along: freeing them later asks CUDA for nothing."""
    driver = drivers.open("cuda:0")
    address, stream, event = driver.alloc(64), driver.create_stream(), driver.create_event()
    module, pinned = driver.load_module(PTX), driver.alloc_pinned(64)
    driver.close()
    driver.close()
    double.reset()
    driver.free(address)
    driver.destroy_stream(stream)
    driver.destroy_event(event)
    driver.unload_module(module)
    del pinned
    gc.collect()
    assert double.log() == []
