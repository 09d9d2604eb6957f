"""Collectives between emulated devices against NumPy."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rocmkern as rk
from rocmkern import distributed, dtypes
from rocmkern.distributed import Group, shared, vendors
from rocmkern.errors import CollectiveError, CollectiveTimeout, ConfigError, DTypeError, ShapeError
from tests.distributed.jobs import in_threads

REDUCE = {"sum": np.add, "avg": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}
PIECE = 1 << 12  # bytes that cross at once


def values(dtype: rk.DType, shape: tuple[int, ...], rank: int) -> np.ndarray[Any, Any]:
    """Small whole numbers, whose sums and products all dtypes hold, but for some of float8."""
    rng = np.random.default_rng(rank)
    whole = rng.integers(0, 2 if dtype.itemsize == 1 else 4, shape)
    return (whole + 1j * rng.integers(0, 4, shape) if dtype.is_complex else whole).astype(dtype.numpy)


def reduced(parts: list[np.ndarray[Any, Any]], op: str, dtype: rk.DType) -> np.ndarray[Any, Any]:
    wide = [part.astype(np.float32) if dtype.is_float and dtype.itemsize < 4 else part for part in parts]
    total = REDUCE[op].reduce(wide)
    if op == "avg":
        total = total.view(total.real.dtype) / total.real.dtype.type(len(parts))
    return total.view(dtype.numpy) if dtype.is_complex else total.astype(dtype.numpy)


@pytest.mark.parametrize("dtype", dtypes.ALL, ids=lambda d: d.name)
def test_reductions_of_every_dtype(dtype: rk.DType) -> None:
    """All processes get NumPy's result of all tensors, or that part of it that is theirs."""
    n, shape = 3, (6, 5)
    ops = [op for op in REDUCE if op != "avg" or dtype.is_float or dtype.is_complex]
    ops = [op for op in ops if not dtype.is_complex or op in ("sum", "avg")]

    def work(group: Group) -> list[Any]:
        x = rk.asarray(values(dtype, shape, group.rank), device=group.device)
        return [
            (
                distributed.all_reduce(x, op, group=group).numpy(),
                distributed.reduce_scatter(x, op, group=group).numpy(),
            )
            for op in ops
        ]

    parts = [values(dtype, shape, rank) for rank in range(n)]
    for rank, found in enumerate(in_threads(n, work)):
        for op, (whole, part) in zip(ops, found, strict=True):
            expected = reduced(parts, op, dtype)
            assert whole.dtype == part.dtype == dtype.numpy
            np.testing.assert_array_equal(whole, expected, err_msg=op)
            np.testing.assert_array_equal(part, expected[2 * rank : 2 * rank + 2], err_msg=op)


@pytest.mark.parametrize("dtype", ["int16", "uint16", "float8_e4m3"])
def test_dtypes_that_a_library_lacks_go_as_wider_ones(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """NCCL has no integers of 16 bits: sums that wrap around are the same bits by way of 32."""
    monkeypatch.setattr(shared.SharedMemory, "reduces", lambda self, kind: kind in vendors._CODES)
    kind = rk.dtype(dtype)
    most = np.full((2, 3), 40000 if kind.is_integer else 100).astype(kind.numpy)

    def work(group: Group) -> None:
        x, expected = rk.asarray(most, device=group.device), reduced([most, most], "sum", kind)
        np.testing.assert_array_equal(distributed.all_reduce(x, group=group).numpy(), expected)
        np.testing.assert_array_equal(
            distributed.reduce_scatter(x, group=group).numpy(), expected[group.rank : group.rank + 1]
        )

    in_threads(2, work)


@settings(max_examples=8)
@given(n=st.integers(2, 8), rows=st.integers(0, 3), columns=st.integers(1, 9))
def test_every_operation_moves_what_it_says(n: int, rows: int, columns: int) -> None:
    """Parts of tensors of any shape arrive where the ranks say, on two to eight devices."""
    shape = (rows * n, columns)

    def work(group: Group) -> list[Any]:
        rank, device = group.rank, group.device
        x = rk.asarray(values(rk.int32, shape, rank), device=device)
        got = rk.zeros(shape, dtype=rk.int32, device=device)
        if rank % 2 == 0 and rank + 1 < n:
            distributed.send(x, rank + 1, group=group)
        elif rank % 2:
            distributed.recv(got, rank - 1, group=group)
        moved = [
            distributed.all_gather(x, group=group),
            distributed.all_to_all(x, group=group),
            distributed.broadcast(x, n - 1, group=group),
            distributed.all_gather(x.T, group=group),  # whose elements do not lie in order
            got,
        ]
        return [t.numpy() for t in moved]

    parts = [values(rk.int32, shape, rank) for rank in range(n)]
    for rank, (gathered, exchanged, spread, turned, got) in enumerate(in_threads(n, work)):
        np.testing.assert_array_equal(gathered, np.concatenate(parts))
        np.testing.assert_array_equal(exchanged, np.concatenate([p[rank * rows : (rank + 1) * rows] for p in parts]))
        np.testing.assert_array_equal(spread, parts[n - 1])
        np.testing.assert_array_equal(turned, np.concatenate([p.T for p in parts]))
        np.testing.assert_array_equal(got, parts[rank - 1] if rank % 2 else np.zeros(shape))


@pytest.mark.parametrize("size", [PIECE // 4 - 1, PIECE // 4, PIECE // 4 + 1, 5 * PIECE // 4 + 3])
def test_what_is_larger_than_a_piece_arrives_whole(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces follow each other without overtaking, also those that two processes send each other in turn."""
    for name, nbytes in (("_SLOT_BYTES", 2 * PIECE), ("_HALF_BYTES", PIECE), ("_BOX_BYTES", PIECE // 2)):
        monkeypatch.setattr(shared, name, nbytes)
    monkeypatch.setattr(shared, "_MAIL_BYTES", PIECE + 2 * shared._LINE_BYTES)

    def work(group: Group) -> None:
        rank, device = group.rank, group.device
        x = rk.arange(2 * size, dtype=rk.float32, device=device) + rank
        own, other = (np.arange(2 * size, dtype=np.float32) + np.float32(r) for r in (rank, 1 - rank))
        for _ in range(2):
            np.testing.assert_array_equal(distributed.all_reduce(x, group=group).numpy(), own + other)
            part = distributed.reduce_scatter(x, group=group).numpy()
            np.testing.assert_array_equal(part, (own + other)[rank * size :][:size])
        first, second = (own, other) if rank == 0 else (other, own)
        np.testing.assert_array_equal(distributed.all_gather(x, group=group).numpy(), np.concatenate([first, second]))
        exchanged = distributed.all_to_all(x, group=group).numpy()
        mine = slice(rank * size, (rank + 1) * size)
        np.testing.assert_array_equal(exchanged, np.concatenate([first[mine], second[mine]]))
        got = rk.empty(2 * size, device=device)
        for sender in (0, 1):
            if rank == sender:
                distributed.send(x, 1 - rank, group=group)
            else:
                np.testing.assert_array_equal(distributed.recv(got, sender, group=group).numpy(), other)

    in_threads(2, work)


def test_out_is_filled_and_may_be_the_operand() -> None:
    """The result is `out` itself; all_to_all, which reads what others write, refuses its operand."""

    def work(group: Group) -> None:
        x = rk.ones((4, 2), device=group.device)
        out = rk.zeros((4, 2), device=group.device)
        assert distributed.all_reduce(x, out=out, group=group) is out
        assert distributed.all_reduce(x, out=x, group=group) is x
        np.testing.assert_array_equal(out.numpy(), 2 * np.ones((4, 2)))
        np.testing.assert_array_equal(x.numpy(), out.numpy())
        with pytest.raises(ShapeError, match="all_to_all: out shares memory with the operand; give other memory"):
            distributed.all_to_all(x, out=x, group=group)

    in_threads(2, work)


def test_streams_and_graphs() -> None:
    """Work on a stream is done with the stream; within a capture it becomes a step, which follows what is bound."""

    def work(group: Group) -> None:
        device, rank = group.device, group.rank
        x, y = (rk.arange(5, dtype=rk.float32, device=device) * k + rank for k in (1, 2))
        stream = device.create_stream()
        z = distributed.all_reduce(x, group=group, stream=stream)
        stream.synchronize()
        np.testing.assert_array_equal(z.numpy(), 2 * np.arange(5) + 1)
        graph = rk.Graph()
        with graph.capture():
            result = distributed.all_reduce(x * 1, group=group) * 10
        for _ in range(2):
            graph.launch()
            np.testing.assert_array_equal(result.numpy(), 20 * np.arange(5) + 10)
        graph.bind(x, y)
        graph.launch(stream)
        stream.synchronize()
        np.testing.assert_array_equal(result.numpy(), 40 * np.arange(5) + 10)

    in_threads(2, work)


def test_a_part_of_a_group_works_alone() -> None:
    """Its ranks are those that were named, in that order; the others have no group."""

    def work(group: Group) -> Any:
        part = group.part([2, 0])
        if part is None:
            return None
        with part:
            x = rk.asarray([group.rank], device=group.device)
            return part.rank, distributed.all_gather(x, group=part).tolist(), part.ranks

    assert in_threads(3, work) == [(1, [2, 0], (2, 0)), None, (0, [2, 0], (2, 0))]


def test_calls_that_differ_are_told_to_all() -> None:
    """Each process says what another one calls, and the group is of no use from then on."""

    def work(group: Group) -> str:
        x = rk.ones(4 + group.rank, device=group.device)
        with pytest.raises(CollectiveError) as error:
            distributed.all_reduce(x, group=group)
        return str(error.value)

    first, second = in_threads(2, work)
    assert first == (
        "all_reduce sum of 4 float32: rank 1 calls all_reduce sum of 5 float32 at the same time; all of a group make "
        "the same calls"
    )
    assert "rank 0 calls all_reduce sum of 4 float32" in second


def test_sizes_of_send_and_recv_are_compared() -> None:
    """The receiver says both; the sender, which waits for it, that it gave up."""

    def work(group: Group) -> None:
        if group.rank == 0:
            with pytest.raises(CollectiveError, match="send to rank 1: rank 1 gave up meanwhile; see its own error"):
                distributed.send(rk.zeros(1 << 20, device=group.device), 1, group=group)
        else:
            with pytest.raises(CollectiveError, match="recv: 8 bytes from rank 0, which sends 4194304; give a tensor"):
                distributed.recv(rk.zeros(2, device=group.device), 0, group=group)

    in_threads(2, work)


def test_a_process_that_does_not_come_is_told() -> None:
    """After the time that init was given."""

    told = threading.Event()

    def work(group: Group) -> None:
        if group.rank == 0:
            group._rendezvous.timeout = 0.5
            with pytest.raises(CollectiveTimeout, match=r"barrier: the others did not come within 0\.5 s; look what"):
                distributed.barrier(group)
            told.set()
        else:
            told.wait()
            distributed.barrier(group)  # the first process has come by then, only not in time
            with pytest.raises(CollectiveError, match="barrier: rank 0 gave up meanwhile; see its own error"):
                distributed.barrier(group)

    in_threads(2, work)


def test_wrong_use_is_told() -> None:
    """Before anything is sent, so that the other processes go on."""

    def work(group: Group) -> None:
        x = rk.ones((3, 2), device=group.device)
        whole = x.astype(rk.int32)
        for call, error, text in (
            (
                lambda: distributed.all_reduce(x, "mean", group=group),
                DTypeError,
                "no reduction 'mean'; use one of sum,",
            ),
            (lambda: distributed.all_reduce(whole, "avg", group=group), DTypeError, "avg of int32; cast to a float"),
            (
                lambda: distributed.all_reduce(x.astype(rk.complex64), "max", group=group),
                DTypeError,
                "max of complex64; use sum or avg",
            ),
            (lambda: distributed.reduce_scatter(x, group=group), ShapeError, r"shape \(3, 2\) for 2 processes; give a"),
            (lambda: distributed.broadcast(x, 2, group=group), ShapeError, "rank 2 of a group of 2; ranks count from"),
            (lambda: distributed.all_reduce(np.ones(2), group=group), DTypeError, "a ndarray is no tensor; use asarr"),
            (
                lambda: distributed.all_reduce(rk.ones(2, device="emulator:gfx942:7"), group=group),
                DTypeError,
                r"a tensor on emulator:gfx942:7 for a group on emulator:gfx942.*; use x.to\(\)",
            ),
            (
                lambda: distributed.all_reduce(x, out=x.T, group=group),
                ShapeError,
                r"out of shape \(2, 3\) with strides",
            ),
            (lambda: distributed.all_reduce(x, out=whole, group=group), DTypeError, "out of int32 on .*; give float32"),
            (lambda: distributed.recv(x.T, 0, group=group), ShapeError, r"recv: out of shape \(2, 3\) has strides"),
            (lambda: group.part([0, 0]), ConfigError, r"part: ranks \[0, 0\] of 2; name each once, counted from 0"),
        ):
            with pytest.raises(error, match=text):
                call()
        distributed.barrier(group)

    in_threads(2, work)
    with pytest.raises(
        CollectiveError, match=r"this process has joined no job; call rocmkern.distributed.init\(\) fir"
    ):
        distributed.world()
