"""The hip driver through the real hip-python, against a library that records what arrives."""

from __future__ import annotations

import gc
import struct
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import rocmkern as rk
from rocmkern import drivers
from rocmkern.drivers import hip
from rocmkern.errors import (
    ClosedError,
    CodeObjectError,
    DeviceNotFound,
    DeviceOutOfMemory,
    DriverError,
    KernelNotFound,
    MemoryFault,
    TargetNotBuilt,
)
from tests import samples
from tests.hip_double import Double

IMAGE = samples.compile_hip(samples.ADD)


def test_devices_are_listed_as_hip_describes_them(double: Double) -> None:
    """Name, arch with features, limits: those of hipGetDeviceProperties, real devices before emulated ones."""
    infos = [info for info in rk.devices() if info.name.startswith("hip")]
    assert rk.devices()[: len(infos)] == tuple(infos)
    assert [info.name for info in infos] == ["hip:0", "hip:1"]
    first = infos[0]
    assert (first.marketing, first.arch) == ("Double 0", "gfx942:sramecc+:xnack-")
    assert (first.wave_size, first.compute_units, first.lds_bytes) == (64, 304, 65536)
    assert (first.max_threads_per_block, first.max_block) == (1024, (1024, 1024, 1024))
    assert first.max_grid == (2147483647, 65536, 65536)
    assert first.total_memory == 1 << 30


def test_first_real_device_is_the_default(double: Double, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a name, a real device comes before the emulator; ROCMKERN_DEVICE comes before both."""
    monkeypatch.delenv("ROCMKERN_DEVICE", raising=False)
    assert rk.is_hip_available()
    assert rk.Device().name == "hip:0"
    monkeypatch.setenv("ROCMKERN_DEVICE", "hip:1")
    assert rk.Device().name == "hip:1"


@pytest.fixture(params=["C function", "bindings"])
def launching(request: pytest.FixtureRequest, double: Double, monkeypatch: pytest.MonkeyPatch) -> None:
    """Launches and hipSetDevice through the C functions that the bindings hold, and through the bindings' own, as with
    a release that hides them.
    """
    if request.param == "bindings":
        monkeypatch.setattr(hip, "_raw", lambda call, declared: None)
    driver = rk.Device("hip:0").driver
    assert [f is None for f in (driver._raw_launch, driver._raw_select)] == [request.param == "bindings"] * 2


@pytest.mark.usefixtures("launching")
def test_launch_arrives_as_given(double: Double) -> None:
    """Grid, block, LDS, stream and the argument block, byte for byte, at the offsets of the metadata."""
    device = rk.Device("hip:0")
    function = rk.Module.load_data(IMAGE, device).get_function("add_f32")
    x, y = device.alloc(256), device.alloc(256)
    stream = rk.Stream(device)
    args = (np.uint64(64), x, y, np.float32(1.5), np.uint8(7))
    function(*args, grid=(3, 2), block=(64, 2, 1), shared_bytes=128, stream=stream)
    assert double.log("hipModuleLaunchKernel") == [
        "hipModuleLaunchKernel grid 3 2 1 block 64 2 1 shared 128 stream 1 arguments 32 device 0 first 40"
    ]
    assert double.arguments() == struct.pack("<QQQfB3x", 64, x.address, y.address, 1.5, 7)
    function(*args, grid=1, block=64)
    assert "stream 0" in double.log("hipModuleLaunchKernel")[1]


def test_hidden_arguments_are_left_to_hip(double: Double) -> None:
    """A kernel that reads its grid size gets a zero-filled block of the whole segment; HIP fills the hidden part."""
    source = "KERNEL void f(unsigned *out) { out[0] = ((const unsigned *)__builtin_amdgcn_implicitarg_ptr())[0]; }"
    device = rk.Device("hip:0")
    function = rk.Module.load_data(samples.compile_hip(source), device).get_function("f")
    out = device.alloc(4)
    function(out, grid=1, block=1)
    assert function.kernel.kernarg_size > 8
    assert double.arguments() == out.address.to_bytes(8, "little") + bytes(function.kernel.kernarg_size - 8)


def test_kernel_without_arguments_gets_no_block(double: Double) -> None:
    """HIP answers hipErrorLaunchOutOfResources to a block that no explicit argument asks for."""
    source = """
    __attribute__((device)) unsigned seen;
    KERNEL void f() { seen = ((const unsigned *)__builtin_amdgcn_implicitarg_ptr())[0]; }
    """
    function = rk.Module.load_data(samples.compile_hip(source), rk.Device("hip:0")).get_function("f")
    assert function.kernel.kernarg_size > 0
    function(grid=1, block=1)
    assert "arguments 0 device 0" in double.log("hipModuleLaunchKernel")[0]


def test_launches_of_threads_do_not_mix(double: Double) -> None:
    """Each thread has an argument buffer of its own: what arrives is what that thread packed."""
    device = rk.Device("hip:0")
    function = rk.Module.load_data(IMAGE, device).get_function("store_one")
    packed = [bytes([n]) * 8 for n in range(1, 9)]

    def work(block: bytes) -> None:
        for _ in range(200):
            function.launch_packed(block, grid=1, block=64)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, packed))
    arrived = Counter(line.split()[-1] for line in double.log("hipModuleLaunchKernel"))
    assert arrived == {f"{n}{f'0{n}' * 7}": 200 for n in range(1, 9)}


@pytest.mark.usefixtures("launching")
def test_every_call_is_made_on_the_objects_device(double: Double) -> None:
    """With several devices, memory and launches go to the device they belong to, whatever was used last."""
    first, second = rk.Device("hip:0"), rk.Device("hip:1")
    first.alloc(1024)
    second.alloc(1024)
    first.alloc(2048)
    assert [line.split()[-1] for line in double.log("hipMalloc")] == ["0", "1", "0"]
    functions = [rk.Module.load_data(IMAGE, device).get_function("store_one") for device in (first, second)]
    for function in functions * 2:
        function(function.module.device.alloc(8), grid=1, block=64)
    assert [line.split()[-3] for line in double.log("hipModuleLaunchKernel")] == ["0", "1", "0", "1"]


def test_copies_round_trip(double: Double) -> None:
    """Host to device to device to host gives the same bytes, and fill sets each byte."""
    device = rk.Device("hip:0")
    data = np.arange(1000, dtype=np.float32)
    a, b = device.alloc(data.nbytes), device.alloc(data.nbytes)
    a.copy_from_host(data)
    b.copy_from(a)
    out = np.empty_like(data)
    b.copy_to_host(out)
    np.testing.assert_array_equal(out, data)
    b.fill(0xAB)
    assert set(b.copy_to_host().tolist()) == {0xAB}


def test_copy_is_asynchronous_only_from_pinned_memory(double: Double) -> None:
    """On a stream, pinned memory is copied without waiting; other memory could die first, so the call waits."""
    device = rk.Device("hip:0")
    memory, stream, pinned = device.alloc(400), rk.Stream(device), device.alloc_pinned(400)
    array = pinned.array(np.float32)
    array[:] = np.arange(100)
    double.reset()
    memory.copy_from_host(array, stream)
    assert double.log() == ["hipMemcpyAsync 400 kind 1 stream 1"]
    memory.copy_to_host(array[:50], stream)
    assert double.log()[1:] == ["hipMemcpyAsync 200 kind 2 stream 1"]
    double.reset()
    memory.copy_from_host(np.zeros(100, np.float32), stream)
    assert double.log() == ["hipMemcpyAsync 400 kind 1 stream 1", "hipStreamSynchronize stream 1"]


def test_pinned_memory_lives_as_long_as_its_arrays(double: Double) -> None:
    """Closing frees nothing that an array still uses; the last array frees it."""
    pinned = rk.Device("hip:0").alloc_pinned(64)
    array = pinned.array(np.uint8)
    part = array[8:16]
    pinned.close()
    del pinned, array
    gc.collect()
    assert double.log("hipHostFree") == []
    part[:] = 3
    del part
    gc.collect()
    assert double.log("hipHostFree") == ["hipHostFree"]


def test_streams_and_events_reach_hip_in_order(double: Double) -> None:
    """record, wait and synchronize are the HIP calls of those names, on the stream they were called on."""
    device = rk.Device("hip:0")
    first, second = rk.Stream(device), rk.Stream(device)
    double.reset()
    event = first.record()
    second.wait(event)
    second.synchronize()
    assert double.log() == [
        "hipEventRecord stream 1",
        "hipStreamWaitEvent stream 1",
        "hipStreamSynchronize stream 1",
    ]


def test_events_time(double: Double) -> None:
    """`end - start` is hipEventElapsedTime; an event that HIP has not reached is not done, and then it is an error."""
    device = rk.Device("hip:0")
    start, end = rk.Event(device).record(), rk.Event(device).record()
    assert end.is_done
    assert 0 <= end - start < 1000
    double.events_ready(False)
    assert not end.is_done
    with pytest.raises(DriverError, match=r"hipEventElapsedTime: hipErrorNotReady \(600\)"):
        _ = end - start


@pytest.mark.usefixtures("launching")
@pytest.mark.parametrize(
    ("call", "status", "error", "words"),
    [
        ("hipMalloc", 2, DeviceOutOfMemory, r"hipMalloc: hipErrorOutOfMemory \(2\); free memory"),
        ("hipModuleLaunchKernel", 719, MemoryFault, r"hipModuleLaunchKernel: hipErrorLaunchFailure \(719\); run it on"),
        ("hipModuleLaunchKernel", 1, DriverError, r"hipModuleLaunchKernel: hipErrorInvalidValue \(1\)"),
        ("hipDeviceSynchronize", 700, MemoryFault, r"hipErrorIllegalAddress \(700\)"),
        ("hipModuleLoadData", 209, CodeObjectError, r"hipErrorNoBinaryForGpu \(209\); compile the code object"),
        ("hipModuleLoadData", 200, CodeObjectError, r"hipErrorInvalidImage \(200\); check the file"),
        ("hipMemcpy", 1, DriverError, r"hipMemcpy: hipErrorInvalidValue \(1\)"),
    ],
)
def test_status_becomes_an_error(double: Double, call: str, status: int, error: type[Exception], words: str) -> None:
    """Each status is an error of the class that fits, naming the call, the status and a remedy."""
    device = rk.Device("hip:0")
    function = rk.Module.load_data(IMAGE, device).get_function("store_one")
    memory = device.alloc(8)
    double.fail(call, status)
    if call == "hipMalloc":
        double.fail(call, status)
    with pytest.raises(error, match=words):
        {
            "hipMalloc": lambda: device.alloc(1 << 22),
            "hipModuleLaunchKernel": lambda: function(memory, grid=1, block=64),
            "hipDeviceSynchronize": device.synchronize,
            "hipModuleLoadData": lambda: rk.Module.load_data(IMAGE, device),
            "hipMemcpy": lambda: memory.copy_from_host(np.zeros(2, np.float32)),
        }[call]()


def test_out_of_memory_empties_the_pool_first(double: Double) -> None:
    """What the pool keeps is given back before an allocation fails; a request that can never fit is an error."""
    device = rk.Device("hip:0")
    device.alloc(512 << 20).close()
    double.reset()
    held = device.alloc(640 << 20)
    assert double.log("hipFree") == [f"hipFree {512 << 20}"]
    with pytest.raises(DeviceOutOfMemory, match="free memory"):
        device.alloc(1 << 50)
    held.close()


def test_wild_pointers_are_refused(double: Double) -> None:
    """A double free and a copy past an allocation are errors of the driver, as HIP's status 1."""
    driver = drivers.open("hip:0")
    address = driver.alloc(512)
    with pytest.raises(DriverError, match="hipMemcpy: hipErrorInvalidValue"):
        driver.copy_to_device(address, memoryview(bytes(1024)), 0)
    driver.free(address)
    with pytest.raises(DriverError, match="hipFree: hipErrorInvalidValue"):
        driver.free(address)


def test_code_for_another_device_is_refused_before_hip_sees_it(double: Double) -> None:
    """The ELF's target is compared with the device's: the error names both and the remedy."""
    device = rk.Device("hip:0")
    with pytest.raises(
        TargetNotBuilt,
        match=r"holds code for gfx1030, the device is gfx942:sramecc\+:xnack- .*compile it with --offload-arch=gfx942",
    ):
        rk.Module.load_data(samples.compile_hip(samples.ADD, "gfx1030"), device)
    assert double.log("hipModuleLoadData") == []


def test_generic_code_runs_on_its_family(double: Double) -> None:
    """gfx9-4-generic code loads on gfx942."""
    module = rk.Module.load_data(samples.compile_hip(samples.ADD, "gfx9-4-generic"), rk.Device("hip:0"))
    assert module.code_object.target == "gfx9-4-generic"
    assert double.log("hipModuleLoadData") == ["hipModuleLoadData machine 0x5f"]


def test_image_lives_as_long_as_the_module(double: Double) -> None:
    """HIP reads the image when functions are asked for: the driver keeps the bytes."""
    module = rk.Module.load_data(bytes(bytearray(IMAGE)), rk.Device("hip:0"))
    gc.collect()
    assert module.get_function("add_f32").name == "add_f32"


def test_driver_names_an_unknown_function(double: Double) -> None:
    """hipErrorNotFound is KernelNotFound, should metadata and symbols ever disagree."""
    driver = drivers.open("hip:0")
    module = driver.load_module(IMAGE)
    with pytest.raises(KernelNotFound, match=r"hipModuleGetFunction: hipErrorNotFound \(500\)"):
        driver.function(module, "nothing")


@pytest.mark.parametrize("name", ["hip:2", "hip:x", "hip:-1"])
def test_device_that_hip_does_not_have(double: Double, name: str) -> None:
    """A number beyond HIP's count is DeviceNotFound with the count."""
    with pytest.raises(DeviceNotFound, match=rf"no device '{name}'; HIP sees 2"):
        rk.Device(name)


def test_module_is_unloaded_with_its_last_user(double: Double) -> None:
    """A function keeps its module; without both the module is unloaded, after the device is idle."""
    function = rk.Module.load_data(IMAGE, rk.Device("hip:0")).get_function("store_one")
    gc.collect()
    assert double.log("hipModuleUnload") == []
    double.reset()
    del function
    gc.collect()
    assert double.log() == ["hipDeviceSynchronize", "hipModuleUnload"]


def test_closed_things_are_errors(double: Double) -> None:
    """Use after close is ClosedError; closing again does nothing."""
    device = rk.Device("hip:0")
    module = rk.Module.load_data(IMAGE, device)
    function, memory, stream, event = (
        module.get_function("store_one"),
        device.alloc(8),
        rk.Stream(device),
        rk.Event(device),
    )
    for thing in (stream, event, module, memory):
        thing.close()
        thing.close()
    for use, words in (
        (lambda: stream.synchronize(), "stream of hip:0: it is closed"),
        (lambda: event.record(), "event of hip:0: it is closed"),
        (lambda: module.get_function("store_one"), "module: it is closed"),
        (lambda: function(device.alloc(8), grid=1, block=1), "launch store_one: its module is closed"),
        (lambda: memory.address, "memory of 8 bytes on hip:0: it is freed"),
    ):
        with pytest.raises(ClosedError, match=words):
            use()
    device.close()
    with pytest.raises(ClosedError, match="device hip:0: it is closed"):
        device.alloc(8)
