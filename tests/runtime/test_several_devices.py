"""Several devices in a process: copies, streams and events between them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rocmkern as rk
from rocmkern import dlpack, errors
from rocmkern.runtime import peers
from tests import cuda_double, hip_double
from tests.doubles import Double

KINDS = ("emulator:gfx942", "hip", "cuda")


@contextmanager
def doubles_of(*names: str) -> Iterator[None]:
    """The stand-ins for the devices of these names."""
    with hip_double.present(), cuda_double.present():
        yield


def named(ordinal: int) -> rk.Device:
    return rk.Device(f"emulator:gfx942:{ordinal}")


def test_emulated_devices_of_one_target_are_distinct() -> None:
    """Each has memory and kernels of its own; the first one needs no number."""
    devices = [named(n) for n in range(8)]
    assert len(set(devices)) == 8
    assert [d.info.name for d in devices[:2]] == ["emulator:gfx942", "emulator:gfx942:1"]
    assert devices[0] == rk.Device("emulator:gfx942") != rk.Device("emulator:gfx942:1:checked")
    tensors = [rk.arange(4, device=device) * n for n, device in enumerate(devices)]
    for n, x in enumerate(tensors):
        assert x.tolist() == [0, n, 2 * n, 3 * n]
    with pytest.raises(errors.RocmkernError, match="emulator:gfx942"):
        tensors[0] + tensors[1]


@settings(max_examples=10)
@given(
    shape=st.lists(st.integers(0, 5), max_size=3).map(tuple),
    path=st.lists(st.integers(0, 7), min_size=2, max_size=8),
    turned=st.booleans(),
)
def test_to_keeps_the_values(shape: tuple[int, ...], path: list[int], turned: bool) -> None:
    """From device to device, whatever the strides; on the tensor's own device it is itself."""
    expected = np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)
    x = rk.asarray(expected, device=named(path[0]))
    if turned:
        x, expected = rk.permute_dims(x, tuple(range(x.ndim))[::-1]), expected.T
    for ordinal in path[1:]:
        moved = x.to(named(ordinal))
        assert moved.device == named(ordinal)
        assert (moved is x) == (x.device == moved.device)
        x = moved
    np.testing.assert_array_equal(x.numpy(), expected)


@pytest.mark.parametrize("to", KINDS)
@pytest.mark.parametrize("of", KINDS)
def test_to_between_devices_of_any_kind(of: str, to: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the library's own copy where both are its devices, else by the host in pieces."""
    monkeypatch.setattr(peers, "PIECE_BYTES", 64)
    with doubles_of(of, to):
        expected = np.arange(100, dtype=np.int32)
        x = rk.asarray(expected, device=f"{of}:0")
        np.testing.assert_array_equal(x.to(f"{to}:1").numpy(), expected)


@pytest.mark.parametrize(
    ("kind", "present", "call"),
    [
        ("hip", hip_double.present, "hipMemcpyPeerAsync 16 device 0 to 1 stream 0"),
        ("cuda", cuda_double.present, "cuMemcpyPeerAsync 16 device 0 to 1 stream 0"),
    ],
)
def test_a_peer_copy_is_ordered_with_both_devices(kind: str, present: Any, call: str) -> None:
    """It waits for the source's work, and the source's later work for it; the host waits for neither."""
    with present() as double:
        x, other = rk.asarray(np.arange(4, dtype=np.int32), device=f"{kind}:0"), rk.Device(f"{kind}:1")
        x.to(other)
        double.reset()
        x.to(other)
        lines = [
            line for line in double.log() if "Alloc" not in line and "Malloc" not in line and "Destroy" not in line
        ]
        record, wait = (next(line for line in lines if part in line) for part in ("EventRecord", "StreamWaitEvent"))
        assert lines == [record, wait, call, record, wait]


@pytest.mark.parametrize("is_refused", [False, True])
@pytest.mark.parametrize(
    ("kind", "present", "call"),
    [
        ("hip", hip_double.present, "hipDeviceEnablePeerAccess"),
        ("cuda", cuda_double.present, "cuCtxEnablePeerAccess"),
    ],
)
def test_peers_may_use_each_others_memory(kind: str, present: Any, call: str, is_refused: bool) -> None:
    """Both are told so once, before the first copy; without a link between them it goes all the same."""
    with present() as double:
        x, other = rk.asarray(np.arange(4, dtype=np.int32), device=f"{kind}:0"), rk.Device(f"{kind}:1")
        if is_refused:
            double.fail(call, 217)
        moved = x.to(other).to(x.device)
        assert double.log(call) == [f"{call} device 1 to 0"] * (not is_refused) + [f"{call} device 0 to 1"]
        np.testing.assert_array_equal(moved.numpy(), np.arange(4))


def test_memory_is_copied_on_a_stream_of_the_target() -> None:
    """In the stream's order, behind what it waits for; the source lives until then."""
    here, there = named(0), named(1)
    gate = threading.Event()
    stream = there.create_stream()
    there.driver.enqueue(lambda _: gate.wait() or None, stream.handle)
    source, target = here.alloc(1000), there.alloc(1000)
    source.fill(7)
    target.copy_from(source, stream=stream)
    del source
    gate.set()
    stream.synchronize()
    np.testing.assert_array_equal(target.copy_to_host(), np.full(1000, 7, np.uint8))


def test_a_stream_waits_for_an_event_of_another_device() -> None:
    """Work behind the wait starts after the event, and the host goes on meanwhile."""
    here, there = named(0), named(1)
    gate, order = threading.Event(), list[str]()
    first, second = here.create_stream(), there.create_stream()
    here.driver.enqueue(lambda _: gate.wait() and order.append("first"), first.handle)
    second.wait(first.record())
    there.driver.enqueue(lambda _: order.append("second"), second.handle)
    gate.set()
    second.synchronize()
    assert order == ["first", "second"]


@pytest.mark.parametrize(
    ("first", "second"), [("hip", "emulator:gfx942"), ("emulator:gfx942", "cuda"), ("cuda", "hip")]
)
def test_events_cross_vendors(first: str, second: str) -> None:
    """The host waits where the second device can't."""
    with doubles_of(first, second):
        event = rk.Device(f"{first}:0").create_stream().record()
        stream = rk.Device(f"{second}:0").create_stream()
        stream.wait(event)
        stream.synchronize()


class Theirs:
    """A stream as PyTorch, CuPy or cuda.core show it."""

    def __init__(self, name: str, value: object) -> None:
        setattr(self, name, value)


@pytest.mark.parametrize("kind", ["hip", "cuda"])
def test_streams_of_other_libraries_are_taken_as_they_are(kind: str) -> None:
    """Work goes to them, and they are not destroyed here: their maker does that."""
    present = hip_double.present if kind == "hip" else cuda_double.present
    with present() as double:
        device = rk.Device(f"{kind}:1")
        made = device.create_stream()
        memory, number = device.alloc(8), made.handle
        for theirs in (number, Theirs("cuda_stream", number), Theirs("ptr", number)):
            with rk.Stream.from_handle(device, theirs) as stream:
                assert stream.handle == number
                double.reset()
                memory.fill(1, stream)
                assert [line for line in double.log() if "8 stream 1" in line]
            assert stream.is_closed
        assert not [line for line in double.log() if "StreamDestroy" in line]
        for default in (0, 1):
            stream = rk.Stream.from_handle(device, default)
            double.reset()
            memory.fill(1, stream)
            assert [line for line in double.log() if "8 stream 0" in line]
        with pytest.raises(errors.ArgumentError, match="stream: a str has no handle; give the number of its address"):
            rk.Stream.from_handle(device, "main")


def test_a_stream_that_only_the_bindings_know() -> None:
    """`__cuda_stream__` gives a version and the address."""

    class Core:
        def __cuda_stream__(self) -> tuple[int, int]:
            return 0, 1

    with cuda_double.present():
        assert rk.Stream.from_handle(rk.Device("cuda:0"), Core()).handle == 0


class Exporter:
    """A tensor of another library, which notes the stream that it is told of."""

    def __init__(self, tensor: rk.Tensor) -> None:
        self.tensor, self.told = tensor, list[object]()

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.tensor.__dlpack_device__()

    def __dlpack__(self, *, stream: object = None, max_version: tuple[int, int] | None = None) -> object:
        self.told.append(stream)
        return self.tensor.__dlpack__(stream=-1, max_version=max_version)


@pytest.mark.parametrize(("kind", "default"), [("hip", 0), ("cuda", 1)])
def test_memory_of_another_library_stays_on_its_device(kind: str, default: int, double: Double) -> None:
    """Without `device` the result is where the memory is, and the exporter is told of our default stream there."""
    with cuda_double.present():
        given_ = Exporter(rk.asarray(np.arange(3), device=f"{kind}:1"))
        shared = rk.from_dlpack(given_)
        assert (shared.device.name, shared.address) == (f"{kind}:1", given_.tensor.address)
        assert given_.told == [default]
        assert rk.asarray(given_).device.name == f"{kind}:1"
        assert rk.from_dlpack(np.arange(3)).device == rk.default_device()


def test_a_consumers_stream_waits_for_ours() -> None:
    """By an event, without the host; -1 asks for nothing."""
    with cuda_double.present() as double:
        x = rk.asarray(np.arange(3), device="cuda:0")
        stream = rk.Device("cuda:0").create_stream()
        double.reset()
        x.__dlpack__(stream=stream.handle)
        assert [line for line in double.log() if "Destroy" not in line] == [
            "cuEventRecord stream 0",
            "cuStreamWaitEvent stream 1",
        ]
        double.reset()
        x.__dlpack__(stream=-1)
        assert double.log() == []


def test_memory_of_a_gpu_that_cannot_be_used_goes_by_the_host() -> None:
    """An exporter's GPU without a driver here: its values come to the default device."""

    class Elsewhere:
        def __dlpack_device__(self) -> tuple[int, int]:
            return dlpack.CUDA, 99

        def __dlpack__(self, *, dl_device: object = None, max_version: object = None, stream: object = None) -> object:
            values = np.arange(3)
            if dl_device is not None:
                return values.__dlpack__()
            described = dlpack.Exchange(values.ctypes.data, rk.int64, (3,), (1,), (dlpack.CUDA, 99), values)
            return dlpack.export(described, versioned=False)

    with cuda_double.present():
        seen = rk.from_dlpack(Elsewhere())
    assert (seen.device, seen.tolist()) == (rk.default_device(), [0, 1, 2])


def test_copies_between_devices_are_no_step_of_a_graph() -> None:
    """A graph belongs to one device."""
    x, there = rk.ones(3, device=named(0)), named(1)
    graph = rk.Graph()
    with pytest.raises(errors.GraphError, match="to: the host asks for values"), graph.capture():
        (x + 1).to(there)
