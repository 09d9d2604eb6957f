"""Operations that are done again: as they were for other values, whatever those are, and where they lie."""

from __future__ import annotations

import gc
import importlib
import pkgutil
import threading
from collections.abc import Callable
from functools import partial
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import rocmkern as rk
from rocmkern.engine import draft, operation
from rocmkern.engine.operation import forget_plans, planned
from rocmkern.errors import ClosedError
from rocmkern.ops import fused, rows_binary, rows_unary
from rocmkern.ops.elementwise import ROWS
from rocmkern.ops.indexing import select
from rocmkern.ops.launch import empty, kernel
from rocmkern.runtime import DeviceMemory
from rocmkern.tensor import Foreign, Tensor


def put(x: Tensor, key: Any, value: Any) -> Tensor:
    """The tensor itself, written to."""
    x[key] = value
    return x


class Operands:
    """Tensors of random values, all of them new."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)

        def normal(*shape: int) -> Tensor:
            return rk.asarray(rng.normal(size=shape).astype(np.float32))

        self.x, self.y, self.line, self.row, self.three = (
            normal(3, 4), normal(3, 4), normal(6), normal(4), normal(3),
        )  # fmt: skip
        self.z = rk.asarray((rng.normal(size=(3, 4)) + 1j * rng.normal(size=(3, 4))).astype(np.complex64))
        half = rng.normal(size=(3, 3))
        self.square = rk.asarray((half @ half.T + np.eye(3)).astype(np.float32))
        self.ids = rk.asarray(rng.integers(-6, 6, 5))
        self.each = rk.asarray(rng.integers(-4, 4, (3, 4)).astype(np.int16))
        self.images, self.weights = normal(2, 2, 5, 4), normal(2, 2, 3, 3)
        self.signals, self.taps, self.bias = normal(2, 2, 6), normal(2, 2, 3), normal(2)
        self.query, self.angles = normal(1, 2, 4, 8), normal(4, 4)


def of_row(name: str, o: Operands) -> Tensor:
    """An elementwise function of operands that it takes."""
    row, f = ROWS[name], getattr(rk, name)
    x, y = (o.each, o.each) if row.accepts in ("integer", "bits") else (o.x, o.y)
    found: Tensor = f(x) if row.arity == 1 else f(x, y)
    return found


CALLS: tuple[Callable[[Operands], Any], ...] = (
    lambda o: rk.linalg.eigh(o.square), lambda o: rk.linalg.eigvalsh(o.square), lambda o: rk.linalg.eig(o.square),
    lambda o: rk.linalg.eigvals(o.square), lambda o: rk.linalg.svd(o.x), lambda o: rk.linalg.svdvals(o.x),
    lambda o: rk.linalg.pinv(o.x), lambda o: rk.linalg.pinv(o.x, rtol=0.1), lambda o: rk.linalg.matrix_rank(o.x),
    lambda o: rk.linalg.matrix_norm(o.x), lambda o: rk.linalg.matrix_norm(o.x, ord="nuc"),
    lambda o: rk.linalg.trace(o.x), lambda o: rk.linalg.outer(o.row, o.three),
    lambda o: rk.linalg.cross(o.three, o.three), lambda o: rk.linalg.vector_norm(o.x),
    lambda o: rk.linalg.vector_norm(o.z, ord=3), lambda o: rk.linalg.inv(o.square),
    lambda o: rk.linalg.solve(o.square, o.x), lambda o: rk.linalg.det(o.square),
    lambda o: rk.linalg.slogdet(o.square), lambda o: rk.linalg.cholesky(o.square),
    lambda o: rk.linalg.cholesky(o.square, upper=True), lambda o: rk.linalg.qr(o.x),
    lambda o: rk.linalg.matrix_power(o.square, 3), lambda o: rk.softmax(o.x), lambda o: rk.softmax(o.x.T, axis=0),
    lambda o: rk.log_softmax(o.x, axis=0), lambda o: rk.layer_norm(o.x, o.row, o.row),
    lambda o: rk.layer_norm(o.x, None, o.row, eps=0.5), lambda o: rk.rms_norm(o.x, o.row),
    lambda o: rk.elu(o.x, alpha=2.0), lambda o: rk.linear(o.x, o.y, o.three),
    lambda o: rk.embedding(o.z, o.each[0, :2] % 3), lambda o: rk.normalize(o.x, axis=0),
    lambda o: rk.scaled_dot_product_attention(o.query, o.query, o.query[:, :, ::-1], scale=0.25),
    lambda o: rk.cross_entropy(o.x, o.each[:, 0]), lambda o: rk.rope(o.query, o.angles, o.angles[::-1]),
    lambda o: rk.conv2d(o.images, o.weights, padding=1),
    lambda o: rk.conv2d(o.images, o.weights, o.bias, stride=(1, 2)),
    lambda o: rk.conv_transpose2d(o.images, o.weights, o.bias, stride=2),
    lambda o: rk.conv1d(o.signals, o.taps, o.bias), lambda o: rk.conv_transpose1d(o.signals, o.taps),
    lambda o: rk.avg_pool2d(o.images, 2, padding=1), lambda o: rk.max_pool2d(o.images, (2, 1)),
    lambda o: rk.interpolate(o.images, 7, mode="bilinear"), lambda o: o.x @ o.y.T, lambda o: o.z @ o.y.T,
    lambda o: rk.tensordot(o.x, o.y, axes=((0,), (0,))), lambda o: rk.vecdot(o.z, o.x), lambda o: rk.sum(o.x),
    lambda o: rk.sum(o.each, axis=0), lambda o: rk.prod(o.z), lambda o: rk.min(o.x, axis=1, keepdims=True),
    lambda o: rk.max(o.x, axis=(0, 1)), lambda o: rk.any(o.z, axis=0), lambda o: rk.all(o.x > 0, axis=0),
    lambda o: rk.argmin(o.x), lambda o: rk.argmax(o.x, axis=0), lambda o: rk.count_nonzero(o.each, axis=0),
    lambda o: rk.mean(o.each), lambda o: rk.var(o.x, axis=0, correction=1),
    lambda o: rk.std(o.x.astype(rk.float8_e4m3)), lambda o: rk.logsumexp(o.x, axis=0),
    lambda o: rk.cumulative_sum(o.x, axis=0), lambda o: rk.cumulative_prod(o.z, axis=1, include_initial=True),
    lambda o: rk.diff(o.x, n=2, prepend=o.y), lambda o: rk.sort(o.x, axis=0, descending=True),
    lambda o: rk.argsort(o.x), lambda o: rk.top_k(o.x, 2, axis=0), lambda o: rk.take(o.z, o.each[0] % 3, axis=0),
    lambda o: rk.take_along_axis(o.z, o.each), lambda o: rk.searchsorted(rk.sort(o.line), o.x),
    lambda o: rk.one_hot(o.each % 5, 5), lambda o: o.line[o.ids], lambda o: o.x[o.each[0] % 3, 1:, None],
    lambda o: o.z[..., o.each[1] % 4], lambda o: o.x.T[o.each % 4, o.each[2] % 3],
    lambda o: rk.index_add(o.line, o.ids, 2.5), lambda o: rk.index_add(o.z, o.each[0] % 4, o.z, axis=1),
    lambda o: rk.index_copy(o.line, o.ids, o.line[1:]), lambda o: rk.scatter(o.z, o.each, o.y.astype(rk.complex64)),
    lambda o: rk.scatter_add(o.x, o.each, o.y), lambda o: rk.concat([o.x, o.each], axis=1),
    lambda o: rk.stack((o.x, o.y)), lambda o: rk.pad(o.x, 1), lambda o: rk.inner(o.x, o.y),
    lambda o: rk.isclose(o.x, o.y, atol=0.5), lambda o: rk.nan_to_num(o.z / o.x), lambda o: rk.dot(o.x, o.row),
    lambda o: rk.median(o.x, axis=0), lambda o: rk.quantile(o.x, 0.3), lambda o: rk.percentile(o.x, 30),
    lambda o: rk.kron(o.x, o.three),
    lambda o: rk.einsum("ij,kj->ki", o.x, o.z), lambda o: put(o.x, (o.each[0] % 3, o.each[1]), 2.5),
    lambda o: put(o.z, (slice(None), o.each[1, :2]), o.y[:, :2]),
    lambda o: rk.where(o.x, o.each, 2.5), lambda o: put(o.x, o.three > 0, o.row),
    lambda o: rk.fft.fft(o.z, n=5), lambda o: rk.fft.ifft(o.z.T), lambda o: rk.fft.fft2(o.z),
    lambda o: rk.fft.ifft2(o.z), lambda o: rk.fft.fftn(o.x, s=(3, 17), axes=(0, 1)), lambda o: rk.fft.ifftn(o.z),
    lambda o: rk.fft.rfft(o.x, axis=0), lambda o: rk.fft.irfft(o.z), lambda o: rk.fft.rfftn(o.x),
    lambda o: rk.fft.irfftn(o.z), lambda o: rk.fft.hfft(o.z), lambda o: rk.fft.ihfft(o.x),
    lambda o: rk.fft.rfft2(o.x), lambda o: rk.fft.irfft2(o.z), lambda o: rk.fft.fftshift(o.z),
    lambda o: rk.fft.ifftshift(o.x), lambda o: rk.meshgrid(o.row, o.three),
    lambda o: rk.linalg.cross(o.y[:, :3], o.three), lambda o: rk.roll(o.x, (1, -2), axis=(0, 1)),
    lambda o: rk.tile(o.z, (2, 1)), lambda o: rk.average(o.x, axis=1, weights=o.row), lambda o: rk.cov(o.x),
    lambda o: rk.corrcoef(o.z, o.z[::-1]), lambda o: rk.nansum(o.x), lambda o: rk.nanmean(o.x, axis=0),
    lambda o: rk.nanvar(o.z), lambda o: rk.nanstd(o.x, correction=1), lambda o: rk.nanmax(o.x, axis=1),
    lambda o: rk.nanmin(o.each), lambda o: rk.convolve(o.row, o.three), lambda o: rk.correlate(o.each[0], o.each[1]),
    lambda o: rk.gradient(o.x), lambda o: rk.trapezoid(o.x, o.row), lambda o: rk.interp(o.x, o.row, o.row, left=0.0),
    lambda o: rk.hstack((o.x, o.x)), lambda o: rk.vstack((o.x, o.row)), lambda o: rk.linalg.norm(o.x, 1, axis=(1, 0)),
    lambda o: rk.linalg.cond(o.square), lambda o: rk.linalg.lstsq(o.x, o.x),
    lambda o: rk.nonzero(o.each), lambda o: o.z[o.three > 0], lambda o: rk.unique_all(o.each),
    lambda o: rk.unique_values(o.z), lambda o: rk.polyval(o.three, o.x),
    lambda o: rk.unravel_index(o.each % 12, (3, 4)), lambda o: rk.histogram(o.x, 4, range=(-1, 1)),
    lambda o: rk.histogram(o.x, 4, range=(-1, 1), weights=o.y),
    lambda o: rk.histogram(o.x, 4, range=(-1, 1), density=True), lambda o: rk.tril(o.x), lambda o: rk.triu(o.z, 1),
    lambda o: rk.round(o.x), lambda o: rk.ptp(o.x), lambda o: select(o.x, o.each[0] % 3, 0),
    lambda o: rk.clip(o.x, -0.5, o.y), lambda o: rk.conj(o.z),
    lambda o: o.x.copy(), lambda o: o.x.astype(rk.int16),
    lambda o: put(o.x.T, slice(1, 3), o.y[:, 2:].T), lambda o: o.x[o.z.real > 0], lambda o: rk.full((2, 3), 2.5),
    lambda o: rk.multiply(o.x, o.y, out=o.y), lambda o: rk.add(o.x[1:], o.x[:-1], out=o.x[1:]),
)  # fmt: skip


def tensors(result: Any) -> list[Tensor]:
    return list(result) if isinstance(result, tuple) else [result]


def test_other_values_at_other_addresses() -> None:
    """The steps give for new tensors bit for bit what the operation gives, and none reads what was there before."""
    used = set()
    calls = [
        *CALLS,
        *(partial(of_row, name) for rows in (rows_unary, rows_binary) for name in vars(rows).keys() & ROWS.keys()),
    ]
    for call in calls:
        first = Operands(1)
        forget_plans()
        wanted = tensors(call(Operands(2)))
        forget_plans()
        held = call(first)
        assert operation._plans.young and None not in operation._plans.young.values()
        used |= {key[0].__name__ for key in operation._plans.young}
        count = len(operation._plans.young)
        for _ in range(2):
            found = call(Operands(2))
            assert type(found) is type(held)
            for a, b in zip(tensors(found), wanted, strict=True):
                assert a.dtype is b.dtype and a.layout == b.layout
                assert a.numpy().tobytes() == b.numpy().tobytes(), call
        assert len(operation._plans.young) == count
    one: Any = planned(lambda x: x)
    code = one.__code__
    modules = [importlib.import_module(m.name) for m in pkgutil.iter_modules(rk.ops.__path__, "rocmkern.ops.")]
    functions = {f for m in modules for f in vars(m).values() if isinstance(f, FunctionType) and f.__code__ is code}
    assert {f.__name__ for f in functions} == used


def test_an_index_outside_is_told_each_time() -> None:
    """The check belongs to the steps; what was right before says nothing."""
    x, good, bad = rk.asarray([1.0, 2.0, 3.0]), rk.asarray([0, 2]), rk.asarray([0, 3])
    calls: tuple[Callable[[Tensor], Tensor], ...] = (
        lambda ids: rk.take(x, ids),
        lambda ids: rk.index_add(x, ids, 1.0),
        lambda ids: rk.cross_entropy(rk.reshape(rk.concat([x, x]), (2, 3)), ids),
    )
    for few in (fused.FEW, 0):
        for call in calls:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(fused, "FEW", few)
                forget_plans()
                wanted = call(good).tolist()
                for _ in range(2):
                    with pytest.raises(IndexError, match=r"index 3 at position 1 on axis \d of length 3; use -3\.\.2"):
                        call(bad).tolist()
                    assert call(good).tolist() == wanted
    forget_plans()


def test_singular_matrices_are_told_each_time() -> None:
    good, bad = rk.asarray([[2.0, 0.0], [0.0, 4.0]]), rk.zeros((2, 2))
    for _ in range(2):
        assert rk.linalg.inv(good).tolist() == [[0.5, 0.0], [0.0, 0.25]]
        with pytest.raises(ValueError, match="singular at pivot 0"):
            rk.linalg.inv(bad).tolist()


def test_operands_that_share_memory() -> None:
    """Two views of one tensor are told from two tensors, and from views that lie otherwise."""
    buffer = np.arange(12, dtype=np.float32)
    t = rk.asarray(buffer)
    for _ in range(2):
        for low in (0, 1, 3):
            a, b = t[low : low + 4], t[low + 2 : low + 6]
            want = np.concatenate([buffer[low : low + 4], buffer[low + 2 : low + 6]])
            assert np.array_equal(rk.concat([a, b]).numpy(), want)
            assert np.array_equal(rk.concat([b, a]).numpy(), np.roll(want, 4))
            assert np.array_equal(rk.concat([a, a]).numpy(), np.tile(want[:4], 2))
            assert np.array_equal(rk.concat([a, b.copy()]).numpy(), want)


def test_operands_that_share_memory_with_out() -> None:
    """A plan that writes to memory of its own kind is no plan where an operand lies there too, one element ahead."""
    long, other = np.arange(5001, dtype=np.float32), rk.asarray(np.full(5000, 3, np.float32))
    for _ in range(2):
        apart, line = rk.asarray(long), rk.asarray(long)
        assert np.array_equal(rk.multiply(apart[:5000], other, out=rk.empty((5000,))).numpy(), 3 * long[:5000])
        rk.multiply(line[:5000], other, out=line[1:])
        assert np.array_equal(line.numpy()[1:], 3 * long[:5000])


def test_results_that_are_views_of_operands() -> None:
    """They begin where the operand does, wherever that is in its memory; a write to one is seen in the other."""
    call: Any = planned(lambda x: x[1:])
    whole = rk.asarray(np.arange(12, dtype=np.float32))
    for first in (0, 3, 7):
        found = call(whole[first : first + 5])
        assert found.tolist() == whole[first + 1 : first + 5].tolist() and found.memory is whole.memory


def test_memory_that_two_know() -> None:
    """Where two operands overlap that do not share their memory, an address does not tell whose it is."""
    t = rk.asarray(np.arange(8, dtype=np.float32))

    def foreign(low: int) -> Tensor:
        memory = Foreign(t.address + 4 * low, 16, t)
        return Tensor(memory, t.dtype, rk.zeros((4,)).layout, t.device)  # type: ignore[arg-type]  # as from_dlpack's

    forget_plans()
    for lows in ((0, 2), (0, 4), (2, 0), (4, 0)):
        want = [*range(lows[0], lows[0] + 4), *range(lows[1], lows[1] + 4)]
        assert rk.concat([foreign(low) for low in lows]).tolist() == want


def test_what_the_host_reads_is_not_done_again() -> None:
    """An operation whose steps hang on values goes the whole way each time."""

    @planned
    def twice_if_positive(x: Tensor) -> Tensor:
        return rk.add(x, x) if float(x[0]) > 0 else rk.negative(x)

    for value, want in ((2.0, 4.0), (-3.0, 3.0), (5.0, 10.0)):
        assert twice_if_positive(rk.asarray([value])).tolist() == [want]


def test_what_hangs_on_numbers_of_the_elements_is_not_kept() -> None:
    """Histograms between the ends of other elements each time leave room for the rest; those of one range are kept."""
    others = [rk.asarray([1.0 + n, 2.0 + n, 5.0 + n]) for n in range(3)]
    forget_plans()
    for x in others * 2:
        assert rk.histogram(x, 2)[0].tolist() == [2, 1]
    assert not operation._plans.young
    counts = set()
    for x in others:
        rk.histogram(x, 2, range=(0, 4))
        rk.histogram(x, [0, 2, 4])
        counts.add(len(operation._plans.young))
    assert len(counts) == 1


def test_memory_of_unknown_origin_is_not_used_again() -> None:
    """Steps through memory that was not seen to be made go the whole way each time."""

    def through(x: Tensor) -> Tensor:
        hidden = Tensor(x.device.alloc(x.nbytes), x.dtype, x.layout, x.device)
        out = empty(x.shape, x.dtype, x.device)
        for source, target in ((x, hidden), (hidden, out)):
            kernel(x.device, "ucopy_f32")(x.size, x.size, 0, 0, source.address, target.address)
        return out

    x = rk.asarray([1.0, 2.0])
    call = planned(through)
    assert [call(x).tolist(), call(x + 1).tolist()] == [[1.0, 2.0], [2.0, 3.0]]
    assert [made for key, made in operation._plans.young.items() if key[0] is through] == [None]


def test_many_steps_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draft, "_MOST_STEPS", 1)
    forget_plans()
    assert rk.linalg.vector_norm(rk.asarray([3.0, -4.0]), ord=1).tolist() == 7.0
    assert [plan for key, plan in operation._plans.young.items() if key[0].__name__ == "vector_norm"] == [None]
    forget_plans()


def test_arguments_that_are_equal_and_not_the_same() -> None:
    """1, 1.0 and True, 0.0 and -0.0 are told apart; so are a list and a tuple of the same."""
    x = rk.asarray([[1.0, -1.0], [2.0, -2.0]])
    for _ in range(2):
        assert rk.sum(x, axis=1).tolist() == [0.0, 0.0]
        with pytest.raises(TypeError):
            rk.sum(x, axis=1.0)  # type: ignore[arg-type]  # on purpose
        assert np.signbit(rk.elu(x, alpha=-0.0).numpy()[:, 1]).tolist() == [False, False]
        assert np.signbit(rk.elu(x, alpha=0.0).numpy()[:, 1]).tolist() == [True, True]
        assert rk.tile(x, (0,)).shape == (2, 0) and rk.tile(x, ()).shape == (2, 2) and rk.tile(x, 0).shape == (2, 0)
        assert rk.max(x, axis=(0, 1)).tolist() == rk.max(x, axis=[0, 1]).tolist() == 2.0


def test_memory_between_is_freed_behind_its_last_step() -> None:
    """A chain of steps holds two of its tensors at a time, planned anew or not."""
    x = rk.ones((1 << 16,))

    def peak(call: Callable[[], Tensor]) -> int:
        gc.collect()
        before = x.device.memory_statistics().used_bytes
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(x.device._pool, "peak", before)
            call()
            return x.device._pool.peak - before

    forget_plans()
    times = 6
    first, again = (peak(lambda: rk.diff(x, n=times)) for _ in range(2))
    assert first == again <= 2 * x.nbytes


def test_freed_operands_and_closed_devices_stay_errors() -> None:
    device = rk.Device()
    x, freed = rk.asarray([[1.0]], device=device), rk.asarray([[1.0]], device=device)
    assert rk.linalg.trace(x).tolist() == rk.linalg.trace(freed).tolist() == 1.0
    assert isinstance(freed.memory, DeviceMemory)
    freed.memory.close()
    with pytest.raises(ClosedError):
        rk.linalg.trace(freed)
    device.close()
    with pytest.raises(ClosedError):
        rk.linalg.trace(x)


def test_threads_plan_for_themselves() -> None:
    """What one thread plans has no step of another."""
    x = rk.asarray([[3.0, 4.0], [0.0, 1.0]])
    wanted = rk.linalg.vector_norm(x, axis=1).tolist(), rk.softmax(x, axis=0).tolist()
    results: list[Any] = []

    def work() -> None:
        for _ in range(10):
            forget_plans()
            results.append((rk.linalg.vector_norm(x, axis=1).tolist(), rk.softmax(x, axis=0).tolist()))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [wanted] * 30


def test_there_is_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operation, "_KEPT", 8)
    forget_plans()
    for n in range(1, 30):
        assert rk.sum(rk.ones((n,))).tolist() == n
    assert len(operation._plans.young) <= 8
