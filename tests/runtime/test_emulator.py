"""The object model on the emulator: order, time, faults and lifetimes as on a GPU."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from attrs import define, field

import rocmkern as rk
from rocmkern import dtypes
from rocmkern.drivers.protocol import Again
from rocmkern.drivers.work_queue import WorkQueue
from rocmkern.errors import (
    ArgumentError,
    CodeObjectError,
    DeviceNotFound,
    DeviceOutOfMemory,
    DriverError,
    MemoryFault,
    TargetNotBuilt,
)
from rocmkern.kernels.catalogue import Parameter, result, scalar, source
from rocmkern.runtime import Device, Function
from tests import samples

GATED = """
KERNEL void gated_add(volatile unsigned *gate, unsigned *out) {
    while (*gate == 0) {}
    unsigned i = __builtin_amdgcn_workitem_id_x();
    out[i] = out[i] * 3 + 1;
}
"""
F32 = dtypes.float32
ADD: tuple[Parameter, ...] = (
    scalar("n"), source("x", F32), result("out", F32), scalar("a", F32), scalar("b", dtypes.uint8),
)  # fmt: skip


@define(eq=False)
class Gate:
    """A kernel x → 3x + 1 on 64 numbers that waits until the host opens its gate."""

    device: Device
    is_open: bool = False
    _function: Function = field(init=False)
    _flag: rk.DeviceMemory = field(init=False)

    def __attrs_post_init__(self) -> None:
        module = rk.Module.load_data(samples.compile_hip(GATED, target_of(self.device)), self.device)
        self._function, self._flag = module.get_function("gated_add"), self.device.alloc(4)
        self._flag.view()[:] = bytes([self.is_open, 0, 0, 0])

    def run(self, memory: rk.DeviceMemory, stream: rk.Stream | None = None) -> None:
        self._function(self._flag, memory, grid=1, block=64, stream=stream)

    def prepared(self) -> Again:
        """The launch without a stream, of the memory at the address that it is passed."""
        return self._function.prepare(self._function.pack(self._flag, self._flag), (1, 1, 1), (64, 1, 1), (1,))

    def open(self) -> None:
        self._flag.view()[:] = bytes([1, 0, 0, 0])

    def open_later(self) -> None:
        """After 50 ms, from another thread."""
        threading.Timer(0.05, self.open).start()


def target_of(device: Device) -> str:
    return device.info.arch.split(":")[0]


def add_kernel(device: Device) -> Function:
    return rk.Module.load_data(samples.compile_hip(samples.ADD, target_of(device)), device).get_function("add_f32", ADD)


def counter(device: Device) -> rk.DeviceMemory:
    memory = device.alloc(256)
    memory.fill(0)
    return memory


def value(memory: rk.DeviceMemory) -> int:
    out = np.empty(64, np.uint32)
    memory.copy_to_host(out)
    assert (out == out[0]).all()
    return int(out[0])


def test_kernel_runs_from_host_array_to_host_array(device: Device) -> None:
    """Copy in, launch, copy out: NumPy's result, and nothing beyond n is written."""
    x = np.linspace(-3, 3, 1000, dtype=np.float32)
    inp, out = device.alloc(x.nbytes), device.alloc(x.nbytes)
    inp.copy_from_host(x)
    out.fill(0xFF)
    add_kernel(device)(900, inp, out, 0.5, 2, grid=16, block=64)
    got = np.empty_like(x)
    out.copy_to_host(got)
    np.testing.assert_array_equal(got[:900], x[:900] + np.float32(0.5) + np.float32(2))
    assert got[900:].tobytes() == b"\xff" * 400


def test_one_stream_is_in_order(device: Device) -> None:
    """x → 3x + 1, five times on one stream, is 121; in any other order of copies it would not be."""
    gate, memory, stream = Gate(device), counter(device), rk.Stream(device)
    pinned = device.alloc_pinned(256)
    for _ in range(5):
        gate.run(memory, stream)
    memory.copy_to_host(pinned.array(np.uint32), stream)
    gate.open()
    stream.synchronize()
    assert set(pinned.array(np.uint32).tolist()) == {121}


def test_host_goes_on_while_a_stream_works(device: Device) -> None:
    """A launch on a stream returns at once; the event says when it is done, and how long it took."""
    gate, memory, stream = Gate(device), counter(device), rk.Stream(device)
    begin = stream.record()
    begin.synchronize()
    before = time.perf_counter()
    gate.run(memory, stream)
    end = stream.record()
    time.sleep(0.02)
    assert not end.is_done
    gate.open()
    end.synchronize()
    took_ms = (time.perf_counter() - before) * 1e3
    assert end.is_done
    assert end - begin >= 20
    assert took_ms >= 20


def test_wait_orders_two_streams(device: Device) -> None:
    """Work behind wait() starts after the event: the second kernel sees what the first made of 0."""
    gate, free, memory = Gate(device), Gate(device, is_open=True), counter(device)
    first, second = rk.Stream(device), rk.Stream(device)
    gate.run(memory, first)
    second.wait(first.record())
    free.run(memory, second)
    done = second.record()
    time.sleep(0.02)
    assert not done.is_done
    gate.open()
    second.synchronize()
    assert value(memory) == 4


def test_wait_is_for_the_event_as_it_was_recorded(device: Device) -> None:
    """Recording the event again later does not move the wait: the second stream does not wait for the later work."""
    gate, free, memory, other = Gate(device), Gate(device, is_open=True), counter(device), counter(device)
    first, second = rk.Stream(device), rk.Stream(device)
    event = rk.Event(device)
    second.wait(event)  # never recorded: nothing to wait for
    event.record(first)
    second.wait(event)
    gate.run(memory, first)
    event.record(first)
    free.run(other, second)
    second.synchronize()
    assert not event.is_done
    gate.open()
    first.synchronize()
    assert event.is_done


@pytest.mark.parametrize("is_prepared", [False, True])
def test_default_stream_waits_for_all_others(device: Device, is_prepared: bool) -> None:
    """A launch without a stream, be it the first or again, runs after all that every stream was given before."""
    gate, free, memory, stream = Gate(device), Gate(device, is_open=True), counter(device), rk.Stream(device)
    again = free.prepared()
    gate.run(memory, stream)
    before = stream.record()
    gate.open_later()
    if is_prepared:
        again((memory.address,))
    else:
        free.run(memory)
    assert before.is_done
    assert value(memory) == 4


def test_device_synchronize_waits_for_every_stream(device: Device) -> None:
    """All streams are done after it."""
    gate, memories = Gate(device), [counter(device), counter(device)]
    streams = [rk.Stream(device) for _ in memories]
    for memory, stream in zip(memories, streams, strict=True):
        gate.run(memory, stream)
    events = [stream.record() for stream in streams]
    gate.open_later()
    device.synchronize()
    assert all(event.is_done for event in events)
    assert [value(memory) for memory in memories] == [1, 1]


def test_memory_outlives_the_work_on_it(device: Device) -> None:
    """Nobody else gets memory that was freed while a stream still uses it, until that stream is done."""
    gate, memory, stream = Gate(device), counter(device), rk.Stream(device)
    address = memory.address
    gate.run(memory, stream)
    memory.close()
    others = [device.alloc(memory.nbytes) for _ in range(4)]
    assert address not in [other.address for other in others]
    gate.open()
    stream.synchronize()
    while (other := device.alloc(memory.nbytes)).address != address:
        others.append(other)
        assert len(others) < 1000


def test_events_that_are_not_ready_can_not_be_subtracted(device: Device) -> None:
    """Neither without record nor before the end."""
    gate, memory, stream = Gate(device), counter(device), rk.Stream(device)
    begin = stream.record()
    with pytest.raises(DriverError, match="elapsed: an event was never recorded; record both"):
        _ = rk.Event(device) - begin
    gate.run(memory, stream)
    end = stream.record()
    with pytest.raises(DriverError, match="elapsed: an event is not finished; synchronize it first"):
        _ = end - begin
    gate.open()
    stream.synchronize()
    assert end - begin > 0


def test_fault_on_a_stream_is_raised_by_its_synchronize() -> None:
    """Asynchronous work reports at the next synchronize, once, and the stream can be used again."""
    device = rk.Device("emulator:gfx942")
    add, stream = add_kernel(device), rk.Stream(device)
    out = device.alloc(256)
    packed = bytearray(add.pack(64, out, out, 0, 0))
    packed[8:16] = (8).to_bytes(8, "little")
    add.launch_packed(bytes(packed), grid=1, block=64, stream=stream)
    with pytest.raises(MemoryFault, match="add_f32"):
        stream.synchronize()
    stream.synchronize()
    add(64, out, out, 0, 0, grid=1, block=64, stream=stream)
    stream.synchronize()


def test_streams_and_memory_of_another_device_are_refused() -> None:
    """Each names both devices."""
    here, there = rk.Device("emulator:gfx942"), rk.Device("emulator:gfx90a")
    add, out = add_kernel(here), here.alloc(256)
    with pytest.raises(ArgumentError, match="belongs to emulator:gfx90a, the work to emulator:gfx942"):
        add(64, out, out, 0, 0, grid=1, block=64, stream=rk.Stream(there))
    with pytest.raises(
        ArgumentError, match=r"argument 1 \(x\) is memory of emulator:gfx90a, the kernel is on emulator:gfx942"
    ):
        add(64, there.alloc(256), out, 0, 0, grid=1, block=64)
    with pytest.raises(ArgumentError, match="event: it belongs to emulator:gfx90a, the stream to emulator:gfx942"):
        rk.Stream(here).record(rk.Event(there))


def test_devices_of_one_name_are_one(device: Device) -> None:
    """Equal, and memory of one is memory of the other."""
    again = rk.Device(device.name)
    assert again == device
    assert hash(again) == hash(device)
    memory = again.alloc(4)
    memory.fill(7)
    assert memory.driver is device.driver


def test_memory_is_returned(device: Device) -> None:
    """100,000 allocations and frees of changing sizes leave no more memory in use than before."""
    device.trim()
    before = device.memory_info()[0]
    for n in range(100_000):
        device.alloc(1 + n * 7919 % 300_000)
    assert device.memory_info()[0] == before
    assert device._pool.cached_bytes < 64 << 20
    assert device.trim() > 0
    assert device.driver.memory_info()[0] == before


def test_streams_and_events_are_returned(device: Device) -> None:
    """A thousand streams and events come and go without a thread or an entry left."""
    threads = threading.active_count()
    driver = device.driver
    for _ in range(1000):
        rk.Event(device).record()
    for _ in range(50):
        stream = rk.Stream(device)
        counter(device).fill(1, stream)
        stream.synchronize()
    del stream
    gc.collect()
    assert threading.active_count() <= threads + 1
    assert len(driver._events) == 0
    assert len(driver._streams) == 0


def test_memory_is_visible_in_place(device: Device) -> None:
    """Emulated memory is host memory: view() is the memory itself."""
    memory = device.alloc(16)
    memory.view()[:] = bytes(range(16))
    assert memory.copy_to_host().tolist() == list(range(16))


def test_out_of_memory(device: Device) -> None:
    """More than the computer has is refused at once, with what is free; the device goes on."""
    with pytest.raises(DeviceOutOfMemory, match=r"bytes wanted, \d+ of \d+ free; free some memory first"):
        device.alloc(1 << 50)
    with pytest.raises(MemoryError):
        device.alloc(device.info.total_memory + 1)
    device.alloc(16).fill(1)


def test_free_memory_is_what_can_be_had(device: Device) -> None:
    """No more than the addresses reserved, which are a power of two below what the computer has."""
    free, total = device.driver.memory_info()
    reserved = len(device.driver._machine.arena.memory)  # type: ignore[attr-defined]  # of the emulator's driver
    assert free <= total <= reserved
    with pytest.raises(DeviceOutOfMemory, match=f"of {total} free"):
        device.driver.alloc(total + 1)


def test_checked_device_is_another_device() -> None:
    """`checked=True` and the name with `:checked` are one device, apart from the unchecked one; real ones have none."""
    device = rk.Device("emulator:gfx942", checked=True)
    assert device.name == "emulator:gfx942:checked"
    assert device == rk.Device("emulator:gfx942:checked") != rk.Device("emulator:gfx942")
    assert device.info.checked
    assert rk.Device("emulator", checked=True) == rk.Device("emulator:checked") == device
    with pytest.raises(DeviceNotFound, match="hip:0 can't check accesses; use an emulator device with checked=True"):
        rk.Device("hip:0", checked=True)


def test_checked_device_frees_at_once() -> None:
    """Its memory goes back to the driver with every close, so that use after free can be seen."""
    device = rk.Device("emulator:gfx942", checked=True)
    before = device.driver.memory_info()[0]
    memory = device.alloc(1000)
    assert device.driver.memory_info()[0] == before - 1000
    memory.close()
    assert device.driver.memory_info()[0] == before
    assert device._pool.cached_bytes == 0


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("emulator:gfx906", "no device 'emulator:gfx906'; the emulator has .*gfx90a.*, each also"),
        ("emulatr:gfx942", "no device 'emulatr:gfx942'; there are emulator:gfx942"),
        ("emulator:mi300", "no device 'emulator:mi300'; the emulator has gfx90a, gfx942, .*gfx1201"),
        ("emulator:gfx942:fast", "no device 'emulator:gfx942:fast'; .* each also with `:checked`"),
        ("vulkan:0", "no device 'vulkan:0'; there are .*emulator:gfx90a"),
    ],
)
def test_unknown_devices(name: str, words: str) -> None:
    """The error lists what there is."""
    with pytest.raises(DeviceNotFound, match=words):
        rk.Device(name)


def test_copies_are_checked(device: Device) -> None:
    """Too much, not contiguous, not writable, without bytes: each says so."""
    memory = device.alloc(64)
    with pytest.raises(
        ValueError, match="copy_from_host: bytes 0 to 80 of memory that has 64; pass an array of at most 64"
    ):
        memory.copy_from_host(np.zeros(10))
    with pytest.raises(ValueError, match=r"shape \(4, 2\) has strides \(8, 32\); pass a C-contiguous one"):
        memory.copy_from_host(np.zeros((2, 4)).T)
    with pytest.raises(TypeError, match="copy_to_host: bytes is read-only; pass a writable array"):
        memory.copy_to_host(b"12")
    with pytest.raises(TypeError, match="copy_from_host: a int has no bytes; pass a NumPy array"):
        memory.copy_from_host(3)
    frozen = np.zeros(2)
    frozen.flags.writeable = False
    with pytest.raises(TypeError, match="the array is read-only"):
        memory.copy_to_host(frozen)
    with pytest.raises(ValueError, match="a size can't be negative"):
        device.alloc(-1)
    with pytest.raises(TypeError, match="fill: 256 is no byte"):
        memory.fill(256)


def test_parts_are_copied(device: Device) -> None:
    """`offset_bytes` moves the window, and an empty copy is none."""
    memory = device.alloc(16)
    memory.fill(0)
    memory.copy_from_host(np.arange(4, dtype=np.uint8), offset_bytes=6)
    memory.copy_from_host(np.empty(0))
    assert memory.copy_to_host().tolist() == [0] * 6 + [0, 1, 2, 3] + [0] * 6
    assert memory.copy_to_host(offset_bytes=7).tolist() == [1, 2, 3] + [0] * 6


def test_code_objects_that_can_not_be_loaded(device: Device) -> None:
    """Another target, symbols that nothing defines, and bytes that are no code object."""
    other = "gfx1200" if device.info.arch != "gfx1200" else "gfx942"
    with pytest.raises(TargetNotBuilt, match=rf"holds code for {other}, the device is {target_of(device)}"):
        rk.Module.load_data(samples.compile_hip(samples.ADD, other), device)
    missing = """
    extern "C" __attribute__((device, visibility("default"))) int elsewhere(int);
    KERNEL void f(int *out) { out[0] = elsewhere(1); }
    """
    with pytest.raises(CodeObjectError, match="symbols that nothing defines: elsewhere; link the device libraries"):
        rk.Module.load_data(samples.compile_hip(missing, target_of(device)), device)
    with pytest.raises(CodeObjectError, match="no ELF and no offload bundle"):
        rk.Module.load_data(b"nonsense", device)
    with pytest.raises(FileNotFoundError):
        rk.Module.load("/nowhere.hsaco", device)


def test_queue_keeps_the_first_error_and_goes_on() -> None:
    """Later tasks run in spite of it, and synchronize() raises it once."""
    queue, ran = WorkQueue(), []

    def fail() -> None:
        raise ZeroDivisionError("first")

    queue.submit(fail)
    queue.submit(lambda: ran.append(1))
    queue.submit(lambda: {}["second"])
    with pytest.raises(ZeroDivisionError, match="first"):
        queue.synchronize()
    queue.synchronize()
    assert ran == [1]
    queue.close()


def test_library_that_can_not_be_loaded() -> None:
    """Without HIP the package works: hip:0 says what is missing, is_hip_available is False, the default emulates."""
    code = """
import rocmkern as rk
from rocmkern.errors import DriverUnavailable
assert not rk.is_hip_available()
assert rk.Device().name == "emulator:gfx942"
assert all(info.name.startswith("emulator:") for info in rk.devices())
try:
    rk.Device("hip:0")
except DriverUnavailable as error:
    print(error)
"""
    clean = {k: v for k, v in os.environ.items() if k not in ("ROCMKERN_DEVICE", "ROCM_PATH", "LD_LIBRARY_PATH")}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=clean)
    assert done.returncode == 0, done.stderr
    assert "the HIP library can't be used" in done.stdout
    assert "install ROCm 6.3 or later, or use an emulator device" in done.stdout
    assert "b'" not in done.stdout
