"""What the hip and the cuda driver have in common, each through its real bindings against a library that records."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from attrs import frozen

import rocmkern as rk
from rocmkern import drivers
from rocmkern.drivers import cuda, hip
from rocmkern.drivers.c_functions import CFunction
from rocmkern.drivers.launch_buffer import ArgumentBlock, Launch, with_addresses
from rocmkern.drivers.vendor import Vendor
from rocmkern.errors import ClosedError, DeviceNotFound, DriverError, DriverUnavailable, KernelNotFound
from tests import cuda_double, hip_double, samples
from tests.doubles import Double


@frozen
class Side:
    """One of the two: `kind` is what its devices' names begin with, `launch` its call that launches."""

    kind: str
    vendor: Vendor
    launch: str
    image: bytes
    double: Double

    def name(self, action: str) -> str:
        call: str = self.vendor.calls[action][0]
        return call

    def device(self, ordinal: int = 0) -> rk.Device:
        return rk.Device(f"{self.kind}:{ordinal}")

    def store_one(self, ordinal: int = 0) -> rk.Function:
        return rk.Module.load_data(self.image, self.device(ordinal)).get_function("store_one")


@pytest.fixture(params=["hip", "hip, its C functions hidden", "cuda", "cuda, its C functions hidden"])
def side(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Side]:
    kind, _, hidden = request.param.partition(", ")
    if hidden:
        monkeypatch.setattr(CFunction, "found", lambda self, module: None)
    if kind == "hip":
        with hip_double.present() as double:
            yield Side("hip", hip.HIP, "hipModuleLaunchKernel", samples.compile_hip(samples.ADD), double)
    else:
        with cuda_double.present() as double:
            yield Side("cuda", cuda.CUDA, "cuLaunchKernelEx", cuda_double.PTX, double)


@pytest.mark.parametrize("number", ["2", "x", "-1"])
def test_device_that_is_not_there(side: Side, number: str) -> None:
    """A number beyond the library's count is DeviceNotFound with the count."""
    words = f"no device '{side.kind}:{number}'; {side.vendor.name} sees 2"
    with pytest.raises(DeviceNotFound, match=words):
        rk.Device(f"{side.kind}:{number}")


def test_launches_of_threads_do_not_mix(side: Side) -> None:
    """Each thread has an argument buffer of its own: what arrives is what that thread packed."""
    function = side.store_one()
    packed = [bytes([n]) * 8 for n in range(1, 9)]

    def work(block: bytes) -> None:
        for _ in range(200):
            function.launch_packed(block, grid=1, block=64)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, packed))
    arrived = Counter(line.split()[-1] for line in side.double.log(side.launch))
    assert arrived == {f"{n}{f'0{n}' * 7}": 200 for n in range(1, 9)}


def test_launches_of_one_geometry_with_blocks_of_other_lengths(side: Side) -> None:
    """What a thread keeps of a launch fits the length that the next one brings."""
    function = side.store_one()
    for block in (bytes([3]) * 8, bytes([1]) * 24, bytes([2]) * 8):
        function.launch_packed(block, grid=1, block=64)
    words = [line.split() for line in side.double.log(side.launch)]
    assert [line[line.index("arguments") + 1] for line in words] == ["8", "24", "8"]
    assert [line[-1] for line in words] == [f"{n}{f'0{n}' * 7}" for n in (3, 1, 2)]


def test_prepared_launches_of_threads_do_not_mix(side: Side) -> None:
    """A thread that passes an address launches with it, whoever else makes the same launch."""
    function = side.store_one()
    again = function.prepare(bytes(8), (1, 1, 1), (64, 1, 1), (0,))

    def work(address: int) -> None:
        for _ in range(200):
            again((address,))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(1, 9)))
    arrived = Counter(line.split()[-1] for line in side.double.log(side.launch))
    assert arrived == {str(n): 200 for n in range(1, 9)}


def test_prepared_launches_are_made_on_their_device(side: Side) -> None:
    """Whatever device was used last; a launch that the library refuses is an error, and the next one is made."""
    functions = [side.store_one(n) for n in (0, 1)]
    first, second = (function.prepare(bytes(8), (1, 1, 1), (64, 1, 1), (0,)) for function in functions)
    first((1,))
    side.double.fail(side.launch, 1)
    with pytest.raises(DriverError, match=rf"{side.launch}: \w+ \(1\)"):
        second((2,))
    second((3,))
    first((4,))
    made = [(line.split()[-3], line.split()[-1]) for line in side.double.log(side.launch)]
    assert made == [("0", "1"), ("1", "3"), ("0", "4")]


def test_launches_after_the_driver_is_closed(side: Side) -> None:
    """What still computes while the process ends is told so; nothing reaches the library."""
    function = side.store_one()
    again = function.prepare(bytes(8), (1, 1, 1), (64, 1, 1), (0,))
    again((1,))
    function.launch_packed(bytes(8), grid=1, block=64)
    side.device().driver.close()
    for launch in (lambda: again((1,)), lambda: function.launch_packed(bytes(8), grid=1, block=64)):
        with pytest.raises(ClosedError, match=f"launch: {side.kind}:0 is closed, as the process ends"):
            launch()
    assert len(side.double.log(side.launch)) == 2


def test_a_forked_child_is_refused(side: Side, monkeypatch: pytest.MonkeyPatch) -> None:
    """The libraries do not work there: each call says so at once, and neither calls nor finalisers reach them."""
    device, function = side.device(), side.store_one()
    again = function.prepare(bytes(8), (1, 1, 1), (64, 1, 1), (0,))
    held = [device.alloc(64), device.create_stream(), device.create_event(), device.alloc_pinned(64)]
    for name in ("load", "_bindings"):
        monkeypatch.setattr(side.vendor, name, getattr(side.vendor, name))
    side.double.reset()
    side.vendor.renew()
    device.driver.renew()  # type: ignore[attr-defined]
    for call in (
        lambda: device.alloc(1 << 20),
        device.synchronize,
        lambda: again((1,)),
        lambda: function.launch_packed(bytes(8), grid=1, block=64),
        lambda: rk.Module.load_data(side.image, device),
        lambda: drivers.open(f"{side.kind}:1"),
    ):
        with pytest.raises(DriverUnavailable, match=r"this process was forked .* start it by spawn"):
            call()
    held.clear()
    gc.collect()
    device.driver.close()
    assert side.double.log() == []


@pytest.mark.parametrize("places", [(8,), (8, 16), (0, 24), (24, 8, 32)])
def test_addresses_lie_where_they_belong(places: tuple[int, ...]) -> None:
    """Side by side or not, and in any order; what is around them stays."""
    block, addresses = bytes(range(1, 41)), [(n << 40) + n for n in places]
    want = bytearray(block)
    for place, address in zip(places, addresses, strict=True):
        want[place : place + 8] = address.to_bytes(8, "little")
    assert with_addresses(block, places)(tuple(addresses)) == want
    launch = Launch((), ArgumentBlock.of(len(block), 1, 2, 0))
    launch.view[:] = block
    launch.addresses(places)(*addresses)
    assert launch.view == want


def test_every_call_is_made_on_the_objects_device(side: Side) -> None:
    """With several devices, memory, streams and launches go to the device they belong to, whatever was used last."""
    memory, functions = [], [side.store_one(n) for n in (0, 1)]
    for ordinal in (0, 1, 0):
        memory.append(side.device(ordinal).alloc(1 << 20))
        rk.Stream(side.device(ordinal)).synchronize()
        rk.Event(side.device(ordinal)).record()
    for function, where in zip(functions * 2, (*memory[:2], *memory[:2]), strict=True):
        function(where, grid=1, block=64)
    assert [line.split()[-1] for line in side.double.log(side.name("alloc"))] == ["0", "1", "0"]
    assert [line.split()[-3] for line in side.double.log(side.launch)] == ["0", "1", "0", "1"]


def test_copies_round_trip(side: Side) -> None:
    """Host to device to device to host gives the same bytes, also of read-only memory; fill sets each byte."""
    device = side.device()
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


def test_only_copies_from_pinned_memory_do_not_wait(side: Side) -> None:
    """On a stream, other memory than pinned could die before it is copied, so the call waits."""
    memory, stream, pinned = side.device().alloc(400), rk.Stream(side.device()), side.device().alloc_pinned(400)
    array, waits = pinned.array(np.float32), f"{side.name('synchronize_stream')} stream 1"
    side.double.reset()
    memory.copy_from_host(array, stream)
    memory.copy_to_host(array[:50], stream)
    assert [line.split()[1] for line in side.double.log()] == ["400", "200"]
    assert all("Async" in line and line.endswith("stream 1") for line in side.double.log())
    memory.copy_from_host(np.zeros(100, np.float32), stream)
    assert side.double.log()[-1] == waits


def test_pinned_memory_lives_as_long_as_its_arrays(side: Side) -> None:
    """Closing frees nothing that an array still uses; the next wait frees it after the last array."""
    freed = side.name("free_pinned")
    pinned = side.device().alloc_pinned(64)
    array = pinned.array(np.uint8)
    part = array[8:16]
    pinned.close()
    del pinned, array
    gc.collect()
    assert side.double.log(freed) == []
    part[:] = 3
    del part
    gc.collect()
    side.device().synchronize()
    assert side.double.log(freed) == [freed]


def test_streams_and_events_arrive_in_order(side: Side) -> None:
    """record, wait and synchronize are the library's calls of those names, on the stream they were called on."""
    first, second = rk.Stream(side.device()), rk.Stream(side.device())
    side.double.reset()
    event = first.record()
    second.wait(event)
    second.synchronize()
    actions = ("record_event", "stream_wait_event", "synchronize_stream")
    assert side.double.log() == [f"{side.name(action)} stream 1" for action in actions]


def test_events_time(side: Side) -> None:
    """`end - start` is the library's elapsed time, an error for an event that is not reached; that is not done."""
    start, end = rk.Event(side.device()).record(), rk.Event(side.device()).record()
    end.synchronize()
    assert end.is_done
    assert 0 <= end - start < 1000
    side.double.events_ready(False)
    assert not end.is_done
    with pytest.raises(DriverError, match=rf"{side.name('elapsed_ms')}: {side.vendor.not_ready} \(600\); see the"):
        _ = end - start


def test_wild_pointers_are_refused(side: Side) -> None:
    """A double free and a copy past an allocation are errors of the driver, as the library's status 1."""
    driver = drivers.open(f"{side.kind}:0")
    address = driver.alloc(512)
    with pytest.raises(DriverError, match=r"Memcpy.*: \w+ \(1\)"):
        driver.copy_to_device(address, memoryview(bytes(1024)), 0)
    driver.free(address)
    with pytest.raises(DriverError, match=rf"{side.name('free')}: \w+ \(1\)"):
        driver.free(address)


def test_driver_names_an_unknown_function(side: Side) -> None:
    """The library's status 500 is KernelNotFound, should metadata and symbols ever disagree."""
    driver = drivers.open(f"{side.kind}:0")
    module = driver.load_module(side.image)
    with pytest.raises(KernelNotFound, match=rf"{side.name('function')}: \w+ \(500\); list the kernels"):
        driver.function(module, "absent")


def test_module_is_unloaded_with_its_last_user(side: Side) -> None:
    """A function keeps its module; without both the next wait unloads it, after the device is idle. No finaliser calls
    the library.
    """
    function = side.store_one()
    gc.collect()
    assert side.double.log(side.name("unload_module")) == []
    side.double.reset()
    del function
    gc.collect()
    assert side.double.log() == []
    side.device().synchronize()
    assert side.double.log() == [side.name("synchronize"), side.name("synchronize"), side.name("unload_module")]


def test_closed_things_are_errors(side: Side) -> None:
    """Use after close is ClosedError; closing again does nothing."""
    device = side.device()
    function = side.store_one()
    module, memory, stream, event = function.module, device.alloc(8), rk.Stream(device), rk.Event(device)
    for thing in (stream, event, module, memory):
        thing.close()
        thing.close()
    for use, words in (
        (lambda: stream.synchronize(), f"stream of {device.name}: it is closed"),
        (lambda: event.record(), f"event of {device.name}: it is closed"),
        (lambda: module.get_function("store_one"), "module: it is closed"),
        (lambda: function(device.alloc(8), grid=1, block=1), "launch store_one: its module is closed"),
        (lambda: memory.address, f"memory of 8 bytes on {device.name}: it is freed"),
    ):
        with pytest.raises(ClosedError, match=words):
            use()
    device.close()
    with pytest.raises(ClosedError, match=f"device {device.name}: it is closed"):
        device.alloc(8)


def test_a_graph_is_built_once_and_changed_in_place(side: Side) -> None:
    """Nodes one after the other: launches with their argument blocks, copies, fills; one call launches all of them."""
    device = side.device(1)
    function = side.store_one(1)
    x, y, z = device.alloc(256), device.alloc(256), device.alloc(256)
    x.copy_from_host(np.arange(64, dtype=np.int32))
    graph = rk.Graph()
    with graph.capture():
        function(x, grid=(3, 2), block=(64, 2, 1))
        y.copy_from(x, 128)
        y.fill(7)
        z.copy_from(x)
    kind = "hip" if side.kind == "hip" else "cu"
    assert side.double.log("node") == []
    graph.launch()
    stream = device.create_stream()
    graph.launch(stream)
    launches = [f"{kind}GraphLaunch 4 stream {n} device 1" for n in (0, 1)]
    assert side.double.log(f"{kind}GraphLaunch") == launches
    assert len(side.double.log(f"{kind}GraphCreate")) == 1
    nodes = [line.split()[1] for line in side.double.log("node")]
    assert nodes == ["kernel", "copy", "fill", "copy"] * 2
    first = side.double.log("node kernel")[0]
    assert first.startswith("node kernel grid 3 2 1 block 64 2 1 shared 0 stream 0 arguments")
    assert first.endswith(f"first {x.address:x}")
    assert z.copy_to_host().view(np.int32).tolist() == list(range(64))
    assert y.copy_to_host().tolist() == [7] * 256
    graph.close()
    assert [len(side.double.log(f"{kind}Graph{name}")) for name in ("ExecDestroy", "Destroy")] == [1, 1]


def test_captured_steps_are_done_in_order(side: Side) -> None:
    """By a graph of the library, or one by one where the bindings can't build it, for what is bound since."""
    device = side.device()
    x, other = (rk.empty((64,), device=device) for _ in range(2))
    x.memory.copy_from_host(np.arange(64, dtype=np.float32))
    other.memory.copy_from_host(np.arange(64, 128, dtype=np.float32))
    function, room, stream = side.store_one(), device.alloc(256), device.create_stream()
    with rk.Graph() as graph:
        with graph.capture():
            room.fill(9)
            room.copy_from(x.memory, 128)
            function(x, grid=2, block=64)
            x.memory.fill(0)
        for bound, place in ((x, None), (other, stream)):
            graph.bind(x, bound)
            wanted = [*bound.memory.copy_to_host()[:128], *[9] * 128]
            graph.launch(place)
            assert room.copy_to_host().tolist() == wanted
            assert side.double.arguments()[:8] == bound.address.to_bytes(8, "little")
            assert not bound.memory.copy_to_host().any()
    launched = [line for call in (side.launch, "node kernel") for line in side.double.log(call)]
    assert len(launched) == 2 and all(" grid 2 1 1 block 64 1 1 " in line for line in launched)


def test_binding_changes_the_nodes_that_have_the_operand(side: Side) -> None:
    """Those alone, in the graph that is there."""
    device = side.device()
    x, other = (rk.empty((64,), device=device) for _ in range(2))
    room = device.alloc(256)
    other.memory.copy_from_host(np.arange(64, dtype=np.float32))
    function, graph = side.store_one(), rk.Graph()
    with graph.capture():
        function(x, grid=1, block=64)
        room.copy_from(x.memory)
        x.memory.fill(1)
    graph.launch()
    graph.bind(x, other)
    graph.launch()
    assert side.double.log("node kernel")[1].endswith(f"first {other.address:x}")
    assert room.copy_to_host().view(np.float32).tolist() == list(range(64))
    assert other.memory.copy_to_host().tolist() == [1] * 256
    kind = "hip" if side.kind == "hip" else "cu"
    assert len(side.double.log(f"{kind}GraphCreate")) == 1


def test_a_graph_that_the_library_refuses_leaves_nothing(side: Side) -> None:
    kind = "hip" if side.kind == "hip" else "cu"
    function, x = side.store_one(), side.device().alloc(256)
    graph = rk.Graph()
    with graph.capture():
        function(x, grid=1, block=64)
    instantiate = side.name("instantiate_graph")
    for call in (f"{kind}GraphAddKernelNode", instantiate if kind == "hip" else "cuGraphInstantiateWithFlags"):
        side.double.fail(call, 1)
        with pytest.raises(DriverError, match=r"\(1\)"):
            graph.launch()
        assert len(side.double.log(f"{kind}GraphDestroy")) == 1
        side.double.reset()
    graph.launch()
    assert len(side.double.log("node kernel")) == 1
