"""The hip driver through the real hip-python, against a library that records what arrives."""

from __future__ import annotations

import gc
import struct

import numpy as np
import pytest

import rocmkern as rk
from rocmkern.drivers.c_functions import CFunction
from rocmkern.errors import (
    CodeObjectError,
    DeviceOutOfMemory,
    DriverError,
    LaunchError,
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
        monkeypatch.setattr(CFunction, "found", lambda self, module: None)
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


@pytest.mark.usefixtures("launching")
@pytest.mark.parametrize(
    ("call", "status", "error", "words"),
    [
        ("hipMalloc", 2, DeviceOutOfMemory, r"hipMalloc: hipErrorOutOfMemory \(2\); free memory"),
        (
            "hipModuleLaunchKernel",
            719,
            MemoryFault,
            r"hipErrorLaunchFailure \(719\); use a block within .* bounds, and",
        ),
        ("hipModuleLaunchKernel", 9, LaunchError, r"hipErrorInvalidConfiguration \(9\); use a smaller grid or block"),
        ("hipModuleLaunchKernel", 400, DriverError, r"hipErrorInvalidHandle \(400\); record the event first"),
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
