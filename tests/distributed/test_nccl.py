"""What arrives at NCCL: the real calls against a library that records them, on CUDA's stand-in."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

import rocmkern as rk
from rocmkern import distributed
from rocmkern.distributed import Group
from rocmkern.distributed.places import Place
from rocmkern.distributed.rendezvous import meet
from rocmkern.drivers import collective_library
from rocmkern.errors import ClosedError, CollectiveError, CollectiveTimeout, DriverError
from tests import cuda_double, doubles
from tests.distributed.jobs import free_port
from tests.doubles import Double


@functools.cache
def library() -> Double:
    return Double(doubles.compiled("nccl_double.c", "libnccl.so.2"))


@pytest.fixture
def cuda() -> Iterator[Double]:
    with cuda_double.present() as found:
        yield found


@pytest.fixture
def nccl(cuda: Double) -> Iterator[Double]:
    found = library()
    found.reset()
    found.library.double_asynchronous(0)
    collective_library.nccl.cache_clear()
    yield found
    collective_library.nccl.cache_clear()


@contextmanager
def alone(timeout: float = 120.0) -> Iterator[Group]:
    """A job of this process, whose operations may take so long."""
    rendezvous = meet(Place(0, 1, 0, "127.0.0.1", free_port()), None, 120.0)
    try:
        with Group(rk.Device("cuda:1"), (0,), 0, rendezvous) as group:
            rendezvous.timeout = timeout
            yield group
    finally:
        rendezvous.close()


def host(group: Group, values: object, dtype: rk.DType) -> rk.Tensor:
    return rk.asarray(np.asarray(values, dtype.numpy), device=group.device)


@pytest.mark.parametrize(
    ("dtype", "code", "count"),
    [
        ("int8", 0, 6), ("uint8", 1, 6), ("int32", 2, 6), ("uint32", 3, 6), ("int64", 4, 6), ("uint64", 5, 6),
        ("float16", 6, 6), ("float32", 7, 6), ("float64", 8, 6), ("bfloat16", 9, 6), ("complex64", 7, 12),
        ("complex128", 8, 12),
    ],
)  # fmt: skip
def test_dtypes_by_ncclDataType(nccl: Double, dtype: str, code: int, count: int) -> None:  # noqa: N802 - its name
    """Complex numbers go as twice as many real ones."""
    with alone() as group:
        x = host(group, range(6), rk.dtype(dtype))
        found = distributed.all_reduce(x, group=group)
        distributed.reduce_scatter(x, group=group)
        np.testing.assert_array_equal(found.numpy(), x.numpy())
    assert nccl.log("ncclAllReduce") == [f"ncclAllReduce {count} type {code} op 0 stream 0"]
    assert nccl.log("ncclReduceScatter") == [f"ncclReduceScatter {count} type {code} op 0 stream 0"]


def test_reductions_by_ncclRedOp(nccl: Double) -> None:  # noqa: N802 - its name
    """A sum of booleans is their maximum, a product their minimum."""
    with alone() as group:
        x, flags = host(group, [1, 2], rk.float32), host(group, [True, False], rk.bool_)
        for op in ("sum", "prod", "max", "min", "avg"):
            distributed.all_reduce(x, op, group=group)
        for op in ("sum", "prod"):
            distributed.all_reduce(flags, op, group=group)
    assert nccl.log("ncclAllReduce") == [
        *(f"ncclAllReduce 2 type 7 op {op} stream 0" for op in range(5)),
        "ncclAllReduce 2 type 1 op 2 stream 0",
        "ncclAllReduce 2 type 1 op 3 stream 0",
    ]


def test_what_only_moves_goes_as_bytes(nccl: Double) -> None:
    """On the stream that is named; all_to_all is one group of calls."""
    with alone() as group:
        x, stream = host(group, [1, 2, 3], rk.int16), group.device.create_stream()
        distributed.all_gather(x, group=group, stream=stream)
        distributed.broadcast(x, group=group)
        distributed.all_to_all(x, group=group)
        distributed.send(x, 0, group=group)
        distributed.recv(x, 0, group=group)
    sent, received = "ncclSend 6 type 1 peer 0 stream 0", "ncclRecv 6 type 1 peer 0 stream 0"
    assert nccl.log() == [
        "ncclCommInitRank 1 7 0",
        "ncclAllGather 6 type 1 stream 1",
        "ncclBroadcast 6 type 1 root 0 stream 0",
        *("ncclGroupStart", sent, received, "ncclGroupEnd"),
        *(sent, received),
        "ncclCommDestroy",
    ]


def test_a_collective_is_a_node_of_a_graph(nccl: Double, cuda: Double) -> None:
    """A collective between fills is captured once, as a graph within the graph; another operand is captured anew."""
    with alone() as group:
        memory, x = group.device.alloc(64), host(group, [1], rk.float32)
        with rk.Graph() as graph:
            with graph.capture():
                memory.fill(1)
                memory.fill(2)
                distributed.all_reduce(x, out=x, group=group)
                memory.fill(3)
            cuda.reset()
            nccl.reset()
            graph.launch()
            graph.launch()
            assert nccl.log() == ["ncclAllReduce 1 type 7 op 0 stream 1"]
            assert cuda.log("cuStreamBeginCapture") == ["cuStreamBeginCapture stream 1 mode 1"]
            assert [line.split()[:2] for line in cuda.log("node")] == [
                ["node", "fill"], ["node", "fill"], ["node", "graph"], ["node", "fill"],
            ] * 2  # fmt: skip
            graph.bind(x, host(group, [2], rk.float32))
            graph.launch()
            assert nccl.log() == ["ncclAllReduce 1 type 7 op 0 stream 1"] * 2
            assert len(cuda.log("cuGraphLaunch")) == 3


def test_calls_follow_each_other_on_whatever_streams(nccl: Double, cuda: Double) -> None:
    """Another stream waits for the last call, but the same one does not."""
    with alone() as group:
        x, stream = host(group, [1], rk.float32), group.device.create_stream()
        distributed.all_reduce(x, group=group)
        cuda.reset()
        distributed.all_reduce(x, group=group)
        assert cuda.log("cuStreamWaitEvent") == []
        distributed.all_reduce(x, group=group, stream=stream)
        distributed.all_reduce(x, group=group)
        assert len(cuda.log("cuStreamWaitEvent")) == 2


@pytest.mark.parametrize(("before", "after"), [("", "0"), ("1", "1")])
def test_the_library_need_not_order_graphs(before: str, after: str) -> None:
    """It is told so where nothing of the process used it before, and the user said nothing else."""
    script = """
import os
from contextlib import suppress
from rocmkern.drivers.collective_library import nccl
from rocmkern.errors import DriverUnavailable
with suppress(DriverUnavailable):
    nccl()
print(os.environ["NCCL_GRAPH_MIXING_SUPPORT"])
"""
    given = {"NCCL_GRAPH_MIXING_SUPPORT": before} if before else {}
    done = subprocess.run([sys.executable, "-c", script], env={**os.environ, **given}, capture_output=True, text=True)
    assert done.stdout.strip() == after


def test_an_error_abandons_the_group(nccl: Double) -> None:
    """A destruction would wait for the others, which wait for this process."""
    with pytest.raises(ZeroDivisionError), alone() as group:
        distributed.all_reduce(host(group, [1], rk.float32), group=group)
        raise ZeroDivisionError
    assert nccl.log("ncclCommDestroy") == []
    assert len(nccl.log("ncclCommAbort")) == 1


def test_a_graph_ends_before_its_communicator(nccl: Double, cuda: Double) -> None:
    """NCCL's destruction waits for graphs that have its work, so they go first; a launch says that."""
    with alone() as group:
        x, graph = host(group, [1], rk.float32), rk.Graph()
        with graph.capture():
            distributed.all_reduce(x, out=x, group=group)
        graph.launch()
        cuda.reset()
        group.close()
        assert len(cuda.log("cuGraphExecDestroy")) == 1
        assert len(cuda.log("cuGraphDestroy")) == 2
        with pytest.raises(ClosedError, match="group of 1: it is closed; make another, and capture its graphs anew"):
            graph.launch()
        graph.close()
        assert len(cuda.log("cuGraphExecDestroy")) == 1


def test_a_refused_capture_leaves_the_graph_as_it_was(nccl: Double, cuda: Double) -> None:
    """The next launch captures the new operand again; each graph of the vendor's is given back once."""
    with alone() as group:
        x, graph = host(group, [1], rk.float32), rk.Graph()
        with graph.capture():
            distributed.all_reduce(x, out=x, group=group)
        graph.launch()
        cuda.reset()
        nccl.reset()
        graph.bind(x, host(group, [2], rk.float32))
        cuda.fail("cuStreamBeginCapture", 1)
        with pytest.raises(DriverError, match="cuStreamBeginCapture"):
            graph.launch()
        assert (nccl.log(), cuda.log("cuGraphDestroy"), cuda.log("cuGraphLaunch")) == ([], [], [])
        graph.launch()
        assert nccl.log() == ["ncclAllReduce 1 type 7 op 0 stream 1"]
        assert len(cuda.log("cuGraphDestroy")) == 1
        graph.close()
        assert len(cuda.log("cuGraphDestroy")) == 3


def test_a_graph_of_a_failed_group_says_why(nccl: Double, cuda: Double) -> None:
    """Its kernels would run in memory that the library gave back."""
    with alone(timeout=0.1) as group:
        x, graph = host(group, [1], rk.float32), rk.Graph()
        with graph.capture():
            distributed.all_reduce(x, out=x, group=group)
        cuda.events_ready(False)
        graph.launch()
        assert aborted(nccl)
        cuda.events_ready(True)
        cuda.reset()
        with pytest.raises(CollectiveTimeout, match="all_reduce: the others did not come"):
            graph.launch()
        assert cuda.log("cuGraphLaunch") == []


def test_a_refused_call_tells_what_the_library_says(nccl: Double) -> None:
    """Status, text and the library's last message."""
    with alone() as group:
        nccl.fail("ncclAllReduce", 5)
        text = r"ncclAllReduce: invalid usage \(5\): told by the stand-in; set NCCL_DEBUG=INFO to see what NCCL does"
        with pytest.raises(CollectiveError, match=text):
            distributed.all_reduce(host(group, [1], rk.float32), group=group)


def aborted(nccl: Double) -> bool:
    """Whether the communicator is aborted, at the latest after a while."""
    end = time.monotonic() + 20
    while not nccl.log("ncclCommAbort") and time.monotonic() < end:
        time.sleep(0.01)
    return bool(nccl.log("ncclCommAbort"))


def test_work_that_never_ends_is_aborted_and_told(nccl: Double, cuda: Double) -> None:
    """By the next call that waits for the device, and by every later one of the group."""
    with alone(timeout=0.2) as group:
        x = host(group, [1], rk.float32)
        cuda.events_ready(False)
        distributed.all_reduce(x, group=group)
        assert aborted(nccl)
        cuda.events_ready(True)
        text = r"all_reduce: the others did not come within 0\.2 s; look what they do, or give init a longer timeout"
        with pytest.raises(CollectiveTimeout, match=text):
            group.device.synchronize()
        group.device.synchronize()
        with pytest.raises(CollectiveTimeout, match=text):
            distributed.all_reduce(x, group=group)
    assert nccl.log("ncclCommDestroy") == []


def test_failures_between_processes_are_told(nccl: Double, cuda: Double) -> None:
    """NCCL learns of them after the call has returned."""
    with alone() as group:
        cuda.events_ready(False)
        nccl.library.double_asynchronous(6)
        distributed.all_reduce(host(group, [1], rk.float32), group=group)
        assert aborted(nccl)
        cuda.events_ready(True)
        with pytest.raises(CollectiveError, match=r"all_reduce: remote error \(6\)"):
            group.device.synchronize()
