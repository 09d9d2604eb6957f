"""Operations by a plan that is there: the second call is the first on other values, whatever else is alike or not."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rocmkern as rk
from rocmkern import tensor
from rocmkern.dtypes import REAL
from rocmkern.engine.operation import forget_plans
from rocmkern.errors import ClosedError
from rocmkern.ops import launch
from tests.tensor.arrays import assert_same, elsewhere, laid_out, relaid, values

NUMBERS = st.sampled_from([d for d in REAL if d is not rk.bool and d.itemsize > 1])


@given(st.data(), NUMBERS)
def test_the_second_call_is_like_the_first(data: st.DataObject, dtype: Any) -> None:
    """Other values in tensors of the same layout, at other addresses, behind other offsets."""
    t, x = data.draw(laid_out(dtype))
    y = np.array(data.draw(st.lists(values(dtype), min_size=x.size, max_size=x.size)), dtype.numpy).reshape(x.shape)
    u = data.draw(relaid(y))[0]
    calls = (
        lambda a, b: a + b, lambda a, b: a * b, lambda a, b: a == b, lambda a, b: -a, lambda a, b: a + 2,
        lambda a, b: 3 * a, lambda a, b: a > 1, lambda a, b: a.astype(rk.float64), lambda a, b: rk.where(a > b, a, b),
        lambda a, b: rk.where(a > b, a, 2), lambda a, b: rk.where(a > b, 2, b), lambda a, b: rk.where(a > b, 1, 0),
        lambda a, b: a.copy(), lambda a, b: rk.copy(a[..., None]), lambda a, b: rk.conj(a * 1j),
        lambda a, b: rk.cumulative_sum(rk.reshape(a, -1)),
    )  # fmt: skip
    for call in calls:
        forget_plans()
        first = [call(*operands).numpy() for operands in ((t, u), (u, t))]
        again = [call(*operands).numpy() for operands in ((t, u), (u, t))]
        for one, other in zip(first, again, strict=True):
            assert one.tobytes() == other.tobytes()


def test_results_do_not_share_memory() -> None:
    """Every launch has a tensor of its own."""
    x = rk.asarray([1.0, 2.0])
    first, second = x + x, x + x
    first[0] = 9.0
    assert second.tolist() == [2.0, 4.0] and (x + x).tolist() == [2.0, 4.0]


def test_numbers_that_are_equal_and_not_the_same() -> None:
    """1, 1.0 and True, 0.0 and -0.0 have plans of their own, as do numbers at left and at right."""
    x = rk.asarray([-0.0, 0.0])
    for _ in range(2):
        assert np.signbit((x + 0.0).numpy()).tolist() == [False, False]
        assert np.signbit((x + -0.0).numpy()).tolist() == [True, False]
    i = rk.asarray([5, 7], dtype=rk.int32)
    for number, kind in ((1, rk.int64), (1.0, rk.float32), (True, rk.bool), (0.0, rk.float32), (-0.0, rk.float32)):
        for _ in range(2):
            whole = rk.full((2,), number)
            assert whole.dtype is kind and np.signbit(whole.numpy().astype(np.float32)[1]) == (str(number) == "-0.0")
            assert str(rk.where(x < 0, number, number).tolist()[0]) == str(number)
    for _ in range(2):
        assert (i + 1).dtype is rk.int32 and (i + True).dtype is rk.int32 and (i + 1.0).dtype is rk.float32
        assert (i - 1).tolist() == [4, 6] and (1 - i).tolist() == [-4, -6]
        assert (i // 2).tolist() == [2, 3] and (2 // i).tolist() == [0, 0]


def test_numbers_out_of_range_stay_errors() -> None:
    """A number that was fine for one dtype is checked for another."""
    small, wide = rk.ones((2,), dtype=rk.int8), rk.ones((2,), dtype=rk.int16)
    for _ in range(2):
        assert (wide + 300).tolist() == [301, 301]
        with pytest.raises(OverflowError):
            small + 300


def test_shapes_that_do_not_fit_stay_errors() -> None:
    """A plan for one shape says nothing of another."""
    x = rk.ones((2, 3))
    for _ in range(2):
        assert (x + rk.ones((3,))).shape == (2, 3)
        with pytest.raises(ValueError, match="broadcast"):
            x + rk.ones((2,))


def test_closed_devices_and_freed_memory_stay_errors() -> None:
    """The second call looks at its device and at its operands as the first does."""
    device = rk.Device()
    x = rk.asarray([1.0], device=device)
    assert (x + x).tolist() == [2.0]
    freed = rk.asarray([1.0])
    freed.memory.close()
    with pytest.raises(ClosedError):
        freed + freed
    device.close()
    with pytest.raises(ClosedError):
        x + x


def test_out_is_written() -> None:
    """Be it a tensor, a part of one, an operand, a view that runs in another order or one that an operand overlaps."""
    x, y, long = np.arange(6, dtype=np.float32), np.float32([3, 1, 4, 1, 5, 9]), np.arange(5002, dtype=np.float32)
    forget_plans()
    for _ in range(3):
        t, u, whole = rk.asarray(x), rk.asarray(y), rk.zeros((12,))
        for out in (whole[6:], rk.zeros((6,)), whole[11:5:-1], whole[::2]):
            assert rk.add(t, u, out=out) is out and out.tolist() == (x + y).tolist()
            assert rk.exp(t, out=out) is out and np.array_equal(out.numpy(), rk.exp(t).numpy())
            assert rk.subtract(2, t, out=out) is out and out.tolist() == (2 - x).tolist()
        assert (t + u).tolist() == (x + y).tolist()
        same = t
        t += u
        t *= 2
        t -= t
        assert t is same and t.tolist() == [0.0] * 6
        line = rk.asarray(long)
        rk.add(line[:5000], line[1:5001], out=line[2:])
        assert np.array_equal(line.numpy()[2:], long[:5000] + long[1:5001])


def test_out_that_does_not_fit_stays_an_error() -> None:
    """Of another dtype, shape or kind of thing, also where a plan is there."""
    x = rk.asarray([1.0, 2.0])
    x += x
    for out, error in ((rk.zeros((3,)), ValueError), (rk.zeros((2,), dtype=rk.int32), TypeError), (3, TypeError)):
        for call in (lambda out: rk.add(x, x, out=out), lambda out: rk.exp(x, out=out)):
            with pytest.raises(error):
                call(out)
    freed = rk.zeros((2,))
    freed.memory.close()
    with pytest.raises(ClosedError):
        rk.add(x, x, out=freed)


@given(st.data())
def test_slices_are_written_again(data: st.DataObject) -> None:
    """Other values into other tensors of the same layouts."""
    dtype = data.draw(st.sampled_from([rk.float32, rk.uint8, rk.complex64, rk.complex128]))
    x = data.draw(st.integers(0, 9)) + np.arange(24).reshape(4, 6).astype(dtype.numpy)
    keys = (np.s_[1:], np.s_[:, ::2], np.s_[::-1, 1:3], np.s_[..., None, 0], np.s_[2])
    for key in keys:
        forget_plans()
        for step in range(3):
            t, values = rk.asarray(x), (x[key] * 2 + step).astype(dtype.numpy)
            t[key] = rk.asarray(values)
            want = x.copy()
            want[key] = values
            assert np.array_equal(t.numpy(), want)
            t[key] = step
            want[key] = step
            assert np.array_equal(t.numpy(), want)


def test_layouts_outlive_the_table_that_held_them() -> None:
    """A broadcast launch is worked out anew after its plan was dropped."""
    x, row = rk.asarray([[1.0, 2.0], [3.0, 4.0]]), rk.asarray([10.0, 20.0])
    for _ in range(3):
        assert (x.T + row).tolist() == [[11.0, 23.0], [12.0, 24.0]]
        forget_plans()
    for n in range(1, 40):
        assert_same(rk.ones((2, n)).T + row, np.broadcast_to([11.0, 21.0], (n, 2)).astype(np.float32))


def test_layouts_of_a_full_table_stay_for_those_that_launch_with_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between asking where a layout lies and launching with it, another thread may fill the table."""
    monkeypatch.setattr(launch, "_KEPT", 2)
    x, row = np.arange(12, dtype=np.float32).reshape(3, 4), np.arange(3, dtype=np.float32)
    t, s = rk.asarray(x), rk.asarray(row)
    for _ in range(2):
        assert np.array_equal((t.T + s).numpy(), x.T + row)
        for n in range(20, 28):
            launch.layout_info(t.device, (n, 3, 3, 1))
    assert len(launch._layouts[t.device.driver]) <= 2


def test_threads_share_them() -> None:
    """What one thread launched, another launches again."""
    x = rk.asarray([1.0, 2.0])
    assert (x * 3).tolist() == [3.0, 6.0]
    results: list[Any] = []
    threads = [threading.Thread(target=lambda: results.extend((x * 3).tolist() for _ in range(20))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [[3.0, 6.0]] * 80


def test_kinds() -> None:
    """Tensors of one device, dtype, shape and strides have one, wherever they begin and whatever made them."""
    x = rk.ones((2, 3))
    alike = (rk.ones((4, 3))[2:], x + x, (x + x) + x, x.copy(), x.T.T, x.astype(rk.float16).astype(rk.float32))
    assert all(t.kind is x.kind for t in alike)
    for _ in range(2):  # the second time by the plan
        assert rk.softmax(x).kind is x.kind and rk.sum(x, axis=0).kind is rk.ones((3,)).kind
    others = (rk.ones((3, 2)), x.T, x[:, :2], x.astype(rk.int32), x[None], x.to(elsewhere()))
    assert len({t.kind for t in (x, *others)}) == 1 + len(others)


def test_kinds_of_a_full_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tensors alike may differ in kind then: they are planned once more."""
    monkeypatch.setattr(tensor, "_KEPT_KINDS", 2)
    tensor._kinds.clear()
    for n in (2, 3, 4, 2, 3, 4):
        x = rk.ones((n,))
        assert (x + rk.ones((n,))).tolist() == [2.0] * n and rk.negative(x).tolist() == [-1.0] * n
    assert len(tensor._kinds) <= 2


def test_traces_count_them() -> None:
    """A launch by a plan is a launch."""
    x = rk.asarray([1.0, 2.0])
    x + x
    with rk.Trace() as trace:
        for _ in range(3):
            x + x
    assert [(row.kernel, row.launches) for row in trace.totals()] == [("badd_f32", 3)]


@settings(max_examples=15)
@given(st.data())
def test_reductions_rows_and_slices_again(data: st.DataObject) -> None:
    """Sums along other axes, softmax, norms with and without weights, take: the second call on other values."""
    x = np.array(data.draw(st.lists(st.floats(-4, 4, width=32), min_size=12, max_size=12)), np.float32).reshape(3, 4)
    t = data.draw(relaid(x))[0]
    w, ids = rk.asarray(np.float32([1, 2, 3, 4])), rk.asarray([2, 0])
    other = rk.asarray(x[::-1].copy() + np.float32(1))
    calls: tuple[Any, ...] = (
        lambda a: rk.sum(a), lambda a: rk.sum(a, axis=0), lambda a: rk.sum(a, axis=1),
        lambda a: rk.sum(a, axis=1, keepdims=True), lambda a: rk.max(a, axis=0), lambda a: rk.argmax(a, axis=1),
        lambda a: rk.softmax(a), lambda a: rk.softmax(a, axis=0), lambda a: rk.log_softmax(a),
        lambda a: rk.rms_norm(a, w), lambda a: rk.layer_norm(a, w, w), lambda a: rk.layer_norm(a),
        lambda a: a @ w, lambda a: w @ a.T, lambda a: a @ a.T, lambda a: rk.matmul(a.T, a),
        lambda a: rk.layer_norm(a, eps=1.0), lambda a: rk.take(a, ids, axis=0), lambda a: rk.take(a, ids, axis=1),
    )  # fmt: skip
    want = [[call(a).numpy() for a in (t, other)] for call in calls if forget_plans() is None]
    for call, both in zip(calls, want, strict=True):
        for a, expected in zip((t, other), both, strict=True):
            found = call(a), call(a)
            assert [f.shape for f in found] == [expected.shape] * 2
            assert all(f.numpy().tobytes() == expected.tobytes() for f in found)


def test_casts_come_before_each_launch() -> None:
    """Operands of two dtypes are cast each time: a plan keeps no values."""
    x, y = (
        np.arange(1, 10, dtype=np.int32).reshape(3, 3),
        np.arange(9, dtype=np.float32).reshape(3, 3) + np.float32(0.5),
    )
    s, t = rk.asarray(x), rk.asarray(y)
    for _ in range(2):
        assert np.array_equal((s @ t).numpy(), x @ y) and np.array_equal((t @ s).numpy(), y @ x)
        assert np.array_equal((s + t).numpy(), x + y) and np.array_equal((s / s).numpy(), np.ones((3, 3)))
        assert np.array_equal(rk.where(s, s, t).numpy(), x.astype(np.float32))
        assert np.array_equal(rk.softmax(s * 0).numpy(), np.full((3, 3), np.float32(1 / 3)))


def test_images_again() -> None:
    """Convolutions, pools and resampling of other values, where each option makes a launch of its own."""
    x = np.random.default_rng(0).standard_normal((2, 2, 6, 5), dtype=np.float32)
    images = rk.asarray(x), rk.asarray(x[:, ::-1].copy())
    weights, half = rk.asarray(x[..., :3, :3].copy()), rk.asarray(x[:, :1, :3, :3].copy())
    calls: tuple[Any, ...] = (
        lambda a: rk.conv2d(a, weights), lambda a: rk.conv2d(a, weights, padding=1),
        lambda a: rk.conv2d(a, weights, stride=(1, 2)), lambda a: rk.conv2d(a, half, groups=2),
        lambda a: rk.conv2d(a, weights, weights[:, 0, 0, 0]), lambda a: rk.conv2d(a, weights, padding=2, dilation=2),
        lambda a: rk.conv2d(a.astype(rk.float64), weights), lambda a: rk.conv1d(a[:, :, 0], half[:, :, 0], groups=2),
        lambda a: rk.max_pool2d(a, 2), lambda a: rk.max_pool2d(a, 2, ceil_mode=True),
        lambda a: rk.max_pool2d(a, 2, dilation=2), lambda a: rk.avg_pool2d(a, 2),
        lambda a: rk.avg_pool2d(a, 2, stride=1), lambda a: rk.avg_pool2d(a, 3, padding=1),
        lambda a: rk.avg_pool2d(a, 3, padding=1, count_include_pad=False),
        lambda a: rk.interpolate(a, 7), lambda a: rk.interpolate(a, (7, 5)),
        lambda a: rk.interpolate(a, 7, mode="bilinear"),
        lambda a: rk.interpolate(a, 7, mode="bilinear", align_corners=True), lambda a: rk.interpolate(a[..., 1:], 7),
    )  # fmt: skip
    want = [[call(a).numpy() for a in images] for call in calls if forget_plans() is None]
    for _ in range(2):
        for call, both in zip(calls, want, strict=True):
            for a, expected in zip(images, both, strict=True):
                found = call(a)
                assert found.shape == expected.shape
                assert found.numpy().tobytes() == expected.tobytes()
    for call in (lambda a: rk.max_pool2d(a, 2.0), lambda a: rk.conv2d(a, weights, groups=1.0)):
        with pytest.raises(TypeError, match="is no integer"):
            call(images[0])
