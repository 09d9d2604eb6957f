"""The cuda driver through the real cuda-bindings, against a library that records what arrives."""

from __future__ import annotations

import gc
import struct
import threading
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from attrs import evolve

import rocmkern as rk
from rocmkern import drivers
from rocmkern.drivers.c_functions import CFunction
from rocmkern.errors import (
    CodeObjectError,
    DeviceNotFound,
    DeviceOutOfMemory,
    DriverError,
    MemoryFault,
)
from rocmkern.kernels.plans import LaunchPlan
from rocmkern.ops.launch import Kernel, context
from tests import cuda_double
from tests.cuda_double import PTX
from tests.doubles import Double


@pytest.fixture
def double() -> Iterator[Double]:
    """CUDA's stand-in with two devices, `cuda:0` and `cuda:1`."""
    with cuda_double.present() as found:
        yield found


def test_device_is_described_by_its_attributes(double: Double) -> None:
    """The architecture is named after the compute capability; limits are CUDA's attributes."""
    info = rk.Device("cuda:1").info
    assert (info.name, info.marketing, info.arch, info.wave_size) == ("cuda:1", "Double 1", "sm_90", 32)
    assert (info.compute_units, info.lds_bytes, info.total_memory) == (132, 49152, 1 << 30)
    assert (info.max_threads_per_block, info.max_block) == (1024, (1024, 1024, 64))
    assert info.max_grid == (2147483647, 65535, 65535)


def test_machine_without_a_device(double: Double) -> None:
    """CUDA says so when it is initialised."""
    double.library.double_devices(0)
    with pytest.raises(DeviceNotFound, match=r"cuInit: CUDA_ERROR_NO_DEVICE \(100\); use an emulator device"):
        rk.Device("cuda:0")


def test_launch_arrives_as_given(double: Double) -> None:
    """Grid, block, dynamic memory, stream and the argument block, byte for byte, at the offsets of the PTX."""
    device = rk.Device("cuda:1")
    module = rk.Module.load_data(PTX, device)
    function, x, stream = module.get_function("scale"), device.alloc(256), rk.Stream(device)
    function(np.uint64(64), x, np.float32(1.5), grid=(3, 2), block=(64, 2, 1), shared_bytes=128, stream=stream)
    assert double.arguments() == struct.pack("<QQf", 64, x.address, 1.5)
    module.get_function("nothing")(grid=1, block=64)
    assert double.log("cuLaunchKernelEx") == [
        "cuLaunchKernelEx grid 3 2 1 block 64 2 1 shared 128 early 0 stream 1 arguments 20 device 1 first 40",
        "cuLaunchKernelEx grid 1 1 1 block 64 1 1 shared 0 early 0 stream 0 arguments 0 device 1 first 0",
    ]


@pytest.mark.parametrize("hidden", [False, True], ids=["C functions", "C functions hidden"])
def test_only_a_kernel_that_waits_is_launched_early(
    double: Double, monkeypatch: pytest.MonkeyPatch, hidden: bool
) -> None:
    """A plan that says so is passed on for a kernel with `griddepcontrol.wait`, and for no other."""
    if hidden:
        monkeypatch.setattr(CFunction, "found", lambda self, module: None)
    device = rk.Device("cuda:0")
    module, plan = rk.Module.load_data(PTX, device), LaunchPlan((1, 1, 1), (64, 1, 1), 0, "", "")
    for name in ("awaits", "store_one"):
        function = module.get_function(name)
        kernel = Kernel(function, function.pack_values, context(device))
        for early in (True, False):
            kernel.run(evolve(plan, early=early), 8)
    words = [line.split() for line in double.log("cuLaunchKernelEx")]
    assert [line[line.index("early") + 1] for line in words] == ["1", "0", "0", "0"]
    assert [line[-1] for line in words] == ["8"] * 4


def test_launches_go_through_the_c_function(double: Double) -> None:
    """These bindings hold it, with the declaration that is expected: their own function costs twice as much."""
    driver = rk.Device("cuda:0").driver
    assert None not in (driver._raw_launch, driver._raw_select)


def test_launch_from_a_new_thread(double: Double) -> None:
    """A thread has no current context at first; with one device a launch, the first or again, finds out by being
    refused.
    """
    double.library.double_devices(1)
    function = rk.Module.load_data(PTX, rk.Device("cuda:0")).get_function("store_one")
    again = function.prepare(bytes(8), (1, 1, 1), (1, 1, 1), (0,))
    failures: list[BaseException] = []

    def launch(call: Callable[[], None]) -> None:
        try:
            call()
        except BaseException as error:
            failures.append(error)

    for call in (lambda: function.launch_packed(bytes([1] + [0] * 7), grid=1, block=1), lambda: again((2,))):
        thread = threading.Thread(target=launch, args=(call,))
        thread.start()
        thread.join()
    assert failures == []
    assert [line.split()[-1] for line in double.log("cuLaunchKernelEx")] == ["1", "2"]


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


@pytest.mark.parametrize(
    ("call", "status", "error", "words"),
    [
        ("cuMemAlloc", 2, DeviceOutOfMemory, r"CUDA_ERROR_OUT_OF_MEMORY \(2\); free memory"),
        ("cuLaunchKernelEx", 1, DriverError, r"CUDA_ERROR_INVALID_VALUE \(1\); see the CUDA documentation"),
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
        "cuLaunchKernelEx": lambda: function(grid=1, block=64),
        "cuCtxSynchronize": device.synchronize,
        "cuModuleLoadData": lambda: rk.Module.load_data(PTX, device),
        "cuMemcpyHtoDAsync": lambda: memory.copy_from_host(np.zeros(2, np.float32)),
        "cuEventQuery": lambda: event.is_done,
    }
    double.fail(call, status)
    with pytest.raises(error, match=f"{call}: {words}"):
        uses[call]()
    uses[call]()


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
