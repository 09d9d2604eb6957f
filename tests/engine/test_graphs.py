"""Operations captured into a graph: what it computes, for which operands, what it holds, and what it refuses."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

import rocmkern as rk
from rocmkern.drivers.emulator import EmulatorDriver
from rocmkern.drivers.work_queue import Mark
from rocmkern.engine.operation import forget_plans
from rocmkern.errors import ClosedError, DriverError, GraphError, KernelIndexError
from rocmkern.tensor import Foreign, Tensor
from tests.engine.test_plans import CALLS, Operands, put, tensors
from tests.samples import ADD, compile_hip

NEED_THE_HOST: tuple[Callable[[Operands], Any], ...] = (
    lambda o: rk.nonzero(o.each), lambda o: o.x[o.x > 0], lambda o: rk.unique_values(o.x), lambda o: o.x.numpy(),
    lambda o: float(o.x[0, 0]), lambda o: o.x.tolist(), lambda o: bool(rk.any(o.x)), lambda o: o.x.host_view(),
    lambda o: o.x.memory.copy_to_host(), lambda o: rk.histogram(o.x, 4), lambda o: rk.argwhere(o.x),
)  # fmt: skip


def captured(call: Callable[[], Any]) -> tuple[rk.Graph, Any]:
    graph = rk.Graph()
    with graph.capture():
        result = call()
    return graph, result


def same(found: Any, wanted: Any) -> bool:
    pairs = zip(tensors(found), tensors(wanted), strict=True)
    return all(a.dtype is b.dtype and a.numpy().tobytes() == b.numpy().tobytes() for a, b in pairs)


def bind_all(graph: rk.Graph, old: Operands, new: Operands) -> int:
    """How many of the operands the graph has."""
    return sum(
        is_bound(graph, before, after) for before, after in zip(vars(old).values(), vars(new).values(), strict=True)
    )


def is_bound(graph: rk.Graph, old: Tensor, new: Tensor) -> bool:
    try:
        graph.bind(old, new)
    except GraphError as error:
        assert "as an operand" in str(error)
        return False
    return True


def lies_in(result: Any, o: Operands) -> bool:
    return any(r.memory is operand.memory for r in tensors(result) for operand in vars(o).values())


def test_each_operation_computes_the_same_in_a_graph() -> None:
    """Bit by bit, with planned and with new plans, for its operands and for others that are bound in their place; an
    operation that needs the host refuses and leaves the graph empty."""
    refused = 0
    for call in CALLS:
        for _ in range(2):
            forget_plans()
            o, graph = Operands(1), rk.Graph()
            try:
                with graph.capture():
                    found = call(o)
            except GraphError as error:
                assert "the host asks for values in the capture of a graph, at " in str(error)
                assert len(graph) == 0
                refused += 1
                continue
            graph.launch()
            assert same(found, call(Operands(1)))
            others = Operands(2)
            if bind_all(graph, o, others):
                graph.launch()
                changed = Operands(2)
                wanted = call(changed)
                assert lies_in(found, o) or same(found, wanted)
                assert all(map(same, vars(others).values(), vars(changed).values()))
    assert refused <= 2 * 16  # of 160: numbers of elements that values decide, and scattered writes


@pytest.mark.parametrize("number", range(len(NEED_THE_HOST)))
def test_what_needs_the_host_is_refused_with_its_place(number: int) -> None:
    """The error names this file and line; the graph has nothing then, and can capture."""
    graph, o = rk.Graph(), Operands(3)
    words = r"in the capture of a graph, at .*test_graphs\.py:\d+; nothing is"
    with pytest.raises(GraphError, match=words), graph.capture():
        NEED_THE_HOST[number](o)
    assert len(graph) == 0
    with graph.capture():
        y = o.x + 1
    graph.launch()
    assert same(y, o.x + 1)


def test_nothing_runs_before_the_launch(device: rk.Device) -> None:
    """In-place work happens once for each launch, in order."""
    x = rk.zeros((1000,), device=device)
    graph, y = captured(lambda: put(x, slice(None), x + 1) * 2)
    assert x.tolist() == [0.0] * 1000 and len(graph) == 3
    for times in range(1, 4):
        graph.launch()
        assert x.tolist() == [times] * 1000 and y.tolist() == [2 * times] * 1000


def test_launches_on_a_stream(device: rk.Device) -> None:
    """They run in the stream's order, and results are there once it is synchronised."""
    x = rk.asarray(np.arange(4096, dtype=np.float32), device=device)
    graph, y = captured(lambda: rk.cumulative_sum(x) + 1)
    stream = device.create_stream()
    for _ in range(3):
        graph.launch(stream)
    stream.synchronize()
    want = np.cumsum(np.arange(4096, dtype=np.float64)) + 1
    np.testing.assert_allclose(y.numpy(), want, rtol=1e-6)
    graph.close()
    stream.close()


def test_kernels_copies_and_fills_of_the_object_model(device: rk.Device) -> None:
    """A user's own kernel, a copy and a fill are steps like those of operations."""
    if not device.name.startswith("emulator"):
        pytest.skip("the sample is compiled for emulated targets")
    kernel = rk.Module.load_data(compile_hip(ADD, device.info.target), device).get_function("add_f32")
    x, y = rk.asarray(np.ones(64, np.float32), device=device), rk.empty((64,), device=device)
    room = device.alloc(256)

    def work() -> None:
        room.fill(0)
        room.copy_from(x.memory, 128)
        kernel(np.uint64(64), x, y, np.float32(2), np.uint8(1), grid=1, block=64)

    graph, _ = captured(work)
    assert len(graph) == 3
    graph.launch()
    assert room.copy_to_host().view(np.float32).tolist() == [1.0] * 32 + [0.0] * 32
    direct = rk.empty((64,), device=device)
    kernel(np.uint64(64), x, direct, np.float32(2), np.uint8(1), grid=1, block=64)
    assert same(y, direct)
    other = rk.asarray(np.full(64, 5, np.float32), device=device)
    graph.bind(x, other)
    graph.launch()
    assert room.copy_to_host().view(np.float32)[:33].tolist() == [5.0] * 32 + [0.0]


def test_bind_exchanges_views_of_one_memory_apart() -> None:
    """Only what was given as that view changes; a view with negative strides counts by where its elements lie."""
    buffer, out = rk.asarray(np.arange(12, dtype=np.float32)), np.arange(12, dtype=np.float32)
    low, high = buffer[:4], buffer[11:7:-1]
    graph, y = captured(lambda: low - high)
    graph.launch()
    assert y.tolist() == (out[:4] - out[11:7:-1]).tolist()
    another = rk.asarray(np.full(8, 7, np.float32))
    graph.bind(high, another[::-1][:4])
    graph.launch()
    assert y.tolist() == (out[:4] - 7).tolist()
    graph.bind(another[::-1][:4], high)
    graph.bind(low, another[:4])
    graph.launch()
    assert y.tolist() == (7 - out[11:7:-1]).tolist()


def test_memory_of_another_library_can_be_bound() -> None:
    x, t = rk.asarray([1.0, 2.0]), rk.asarray([5.0, 6.0])
    foreign = Tensor(Foreign(t.address, 8, t), t.dtype, t.layout, t.device)
    graph, y = captured(lambda: x * 3)
    graph.bind(x, foreign)
    graph.launch()
    assert y.tolist() == [15.0, 18.0]
    graph.bind(foreign, x)
    graph.launch()
    assert y.tolist() == [3.0, 6.0]


def test_bind_refuses_what_is_not_alike() -> None:
    x = rk.zeros((4, 4))
    graph, y = captured(lambda: x + 1)
    for other, what in (
        (rk.zeros((4, 5)), "shape"), (rk.zeros((4, 4)).T, "strides"), (rk.zeros((4, 4), dtype=rk.int32), "dtype"),
        (rk.zeros((4, 4), device="emulator:gfx1100"), "device"),
    ):  # fmt: skip
        with pytest.raises(GraphError, match=f"bind: {what} of the new tensor is"):
            graph.bind(x, other)
    with pytest.raises(GraphError, match=r"no step of the graph has the old tensor of shape \(4, 4\) as an operand"):
        graph.bind(rk.ones((4, 4)), x)
    with pytest.raises(GraphError, match="no step of the graph has the old tensor"):
        graph.bind(y, rk.ones((4, 4)))
    graph.launch()
    assert y.tolist() == [[1.0] * 4] * 4


def test_checks_of_kernels_tell_at_each_launch() -> None:
    """An index outside is the error of that launch, not of the next one with right indices."""
    x, ids, rows = rk.asarray([1.0, 2.0, 3.0]), rk.asarray([0, 2]), rk.asarray([[2.0, 0.0], [0.0, 4.0]])
    graph, (y, z) = captured(lambda: (rk.take(x, ids), rk.linalg.inv(rows)))
    graph.launch()
    assert y.tolist() == [1.0, 3.0] and z.tolist() == [[0.5, 0.0], [0.0, 0.25]]
    for _ in range(2):
        ids[...] = rk.asarray([0, 3])
        with pytest.raises(KernelIndexError, match=r"index 3 at position 1 on axis 0 of length 3"):
            graph.launch()
            y.device.synchronize()
        ids[...] = rk.asarray([1, 1])
        graph.launch()
        assert y.tolist() == [2.0, 2.0]
    rows[...] = 0.0
    with pytest.raises(ValueError, match="singular at pivot 0"):
        graph.launch()
        y.device.synchronize()
    stream = x.device.create_stream()
    graph.launch(stream)
    with pytest.raises(ValueError, match="singular at pivot 0"):
        stream.synchronize()


def test_a_long_chain_holds_little_memory_and_gives_it_back() -> None:
    """What is given back within the capture is taken again; closing returns it, results go when they are dropped."""
    x = rk.ones((1 << 16,))
    gc.collect()
    x.device.synchronize()  # what graphs used on streams goes back then
    before = x.device.memory_statistics().used_bytes

    def chain() -> Tensor:
        h = x
        for _ in range(64):
            h = h + 1
        return h

    graph, y = captured(chain)
    assert x.device.memory_statistics().used_bytes - before <= 3 * x.nbytes
    graph.launch()
    assert y[0].item() == 65.0
    del graph
    gc.collect()
    assert y[0].item() == 65.0
    assert x.device.memory_statistics().used_bytes - before == y.nbytes
    del y
    gc.collect()
    assert x.device.memory_statistics().used_bytes == before


def test_a_graph_that_is_collected_waits_for_no_stream() -> None:
    """Its steps run to their end with the memory that they use, which goes back with the next wait."""
    device = rk.Device("emulator:gfx942")
    x, stream, gate = rk.ones((500,), device=device), device.create_stream(), Mark()
    device.synchronize()
    before = device.memory_statistics().used_bytes
    graph, y = captured(lambda: (x + 1) * 3)
    cast(EmulatorDriver, device.driver)._queue(stream.handle).submit(gate.wait)
    graph.launch(stream)
    del graph
    gc.collect()
    gate.set()
    stream.synchronize()
    assert y.tolist() == [6.0] * 500
    del y
    assert device.memory_statistics().used_bytes == before


def test_checks_of_a_graph_outlast_a_driver_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where their answers can't be read, the next wait tells them, all of them, once."""
    x, ids = rk.asarray([1.0, 2.0]), rk.asarray([1, 0])
    graph, _ = captured(lambda: (rk.take(x, ids), rk.one_hot(ids, 2)))
    ids[...] = rk.asarray([1, 3])
    stream = x.device.create_stream()
    graph.launch(stream)

    def fails(*arguments: object) -> None:
        raise DriverError("copy_to_host: it failed")

    with monkeypatch.context() as patch:
        patch.setattr(EmulatorDriver, "copy_to_host", fails)
        with pytest.raises(DriverError, match="it failed"):
            stream.synchronize()
    del graph
    with pytest.raises(IndexError, match="take: index 3") as caught:
        x.device.synchronize()
    assert "one_hot: index 3" in "\n".join([str(caught.value), *getattr(caught.value, "__notes__", ())])
    x.device.synchronize()


def test_operands_live_as_long_as_the_graph() -> None:
    """Nobody else gets their memory, nor that of what was computed between."""
    graph, y = captured(lambda: rk.ones((500,)) * 2 + rk.asarray(np.arange(500, dtype=np.float32)))
    others = [rk.zeros((500,)) for _ in range(8)]
    graph.launch()
    assert y.tolist() == (np.arange(500) + 2).tolist()
    assert all(not other.numpy().any() for other in others)


def test_what_comes_from_the_host_stays_that_of_the_capture() -> None:
    values, number = np.array([1.0, 2.0], np.float32), 2.0
    x = rk.zeros((2,))
    graph, y = captured(lambda: (x + rk.asarray(values)) * number)
    values[:], number = 50.0, 7.0
    for _ in range(2):
        graph.launch()
        assert y.tolist() == [2.0, 4.0]


def test_one_graph_is_of_one_device_and_captured_once() -> None:
    x, elsewhere = rk.zeros((3,)), rk.zeros((3,), device="emulator:gfx1100")
    graph = rk.Graph()
    words = rf"work on emulator:gfx1100 at .*test_graphs.py:\d+, in a graph of {x.device.name}; capture one for each"
    with pytest.raises(GraphError, match=words), graph.capture():
        x + 1
        elsewhere + 1
    with pytest.raises(GraphError, match="launch: the graph is empty; capture operations first"):
        graph.launch()
    with pytest.raises(GraphError, match="it is empty, without operations"):
        _ = graph.device
    with graph.capture():
        x + 1
        with pytest.raises(GraphError, match="the thread captures another graph"), rk.Graph().capture():
            pass
        with pytest.raises(GraphError, match=r"another graph is captured, at .*test_graphs.py"):
            graph.launch()
        with pytest.raises(GraphError, match="close: the graph is being captured"):
            graph.close()
    assert graph.device == x.device and repr(graph) == f"Graph(captured, 1 steps on {x.device.name})"
    with pytest.raises(GraphError, match="capture: the graph is captured; make another one"), graph.capture():
        pass
    graph.close()
    graph.close()
    for call in (graph.launch, lambda: graph.bind(x, x)):
        with pytest.raises(ClosedError, match="the graph is closed; capture another"):
            call()
    with rk.Graph() as empty:
        with empty.capture():
            pass
        empty.launch()
    assert empty.is_closed


def test_other_threads_go_on_while_one_captures() -> None:
    """What they compute is computed, and is no step."""
    x, found = rk.asarray([1.0, 2.0]), list[list[float]]()
    graph = rk.Graph()
    with graph.capture():
        y = x + 1
        thread = threading.Thread(target=lambda: found.append((x * 10).tolist()))
        thread.start()
        thread.join()
    assert found == [[10.0, 20.0]] and len(graph) == 1
    graph.launch()
    assert y.tolist() == [2.0, 3.0]


def test_a_trace_sees_the_kernels_of_a_graph() -> None:
    x = rk.ones((64,))
    graph, y = captured(lambda: rk.exp(x + 1))
    with rk.Trace() as trace:
        graph.launch()
    assert sum(row.launches for row in trace.totals()) == 2
    np.testing.assert_allclose(y.numpy(), np.exp(np.float32(2)), rtol=1e-6)


def test_a_closed_module_is_told() -> None:
    module = rk.Module.load_data(compile_hip(ADD), "emulator:gfx942")
    kernel, x = module.get_function("add_f32"), rk.ones((64,), device="emulator:gfx942")
    graph, _ = captured(lambda: kernel(np.uint64(64), x, x, np.float32(2), np.uint8(1), grid=1, block=64))
    graph.launch()
    module.close()
    with pytest.raises(ClosedError, match="a module of the graph's kernels is closed"):
        graph.launch()
