"""The tensor as an object: properties, numbers, print, pickle, and exchange with other libraries."""

from __future__ import annotations

import copy
import gc
import os
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.vendor.pretty import pretty

import rocmkern as rk
from rocmkern.dtypes import ALL, DType
from rocmkern.errors import DTypeError, ExchangeError, ShapeError
from tests.tensor.arrays import assert_same, laid_out, opened

BY_DTYPE = pytest.mark.parametrize("dtype", ALL, ids=lambda d: d.short)


def test_properties() -> None:
    """Shape, strides in elements, sizes, device, transposes."""
    t = rk.asarray(np.arange(6, dtype=np.int16).reshape(2, 3))
    assert (t.shape, t.strides, t.ndim, t.size, t.nbytes, len(t)) == ((2, 3), (3, 1), 2, 6, 12, 2)
    assert t.dtype is rk.int16 and t.device == rk.Device() and t.device.name == os.environ["ROCMKERN_DEVICE"]
    assert t.is_contiguous and not t.T.is_contiguous
    assert t.T.tolist() == [[0, 3], [1, 4], [2, 5]] and t.mT.shape == (3, 2)
    assert t[1:].address == t.address + 6
    assert [row.tolist() for row in t] == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(ShapeError, match="T: 1 dimensions"):
        _ = rk.zeros((2,)).T


@BY_DTYPE
@settings(max_examples=6)
@given(data=st.data())
def test_numpy_and_lists_have_the_values(dtype: DType, data: st.DataObject) -> None:
    """numpy() is a copy, np.asarray shares on the emulator, tolist gives Python numbers."""
    t, x = data.draw(laid_out(dtype))
    assert_same(t, x)
    as_list = x.astype(np.float64).tolist() if dtype.is_float else x.tolist()
    np.testing.assert_equal(t.tolist(), as_list)
    shared = np.asarray(t)
    assert shared.dtype == x.dtype
    wide = np.complex128 if dtype.kind == "complex" else np.float64
    np.testing.assert_array_equal(shared.astype(wide), x.astype(wide))


@pytest.mark.usefixtures("shared_memory")
def test_sharing_with_numpy_goes_both_ways() -> None:
    """On the emulator np.asarray and from_dlpack see writes; numpy() does not; the memory outlives the tensor."""
    t = rk.zeros((3,), dtype=rk.int32)
    copied, shared, exchanged = t.numpy(), np.asarray(t), np.from_dlpack(t)
    t[1] = 7
    assert copied.tolist() == [0, 0, 0] and shared.tolist() == [0, 7, 0] and exchanged.tolist() == [0, 7, 0]
    shared[2] = 9
    assert t.tolist() == [0, 7, 9]
    del t
    gc.collect()
    rk.full((3,), 5, dtype=rk.int32)
    assert shared.tolist() == [0, 7, 9]
    assert np.array(rk.ones((2,)), dtype=np.float64).tolist() == [1, 1]


@BY_DTYPE
def test_dlpack_round_trips_through_torch(dtype: DType) -> None:
    """Shared with PyTorch under the same dtype and strides, and copied back in."""
    torch = pytest.importorskip("torch")
    x = np.array([[0, 1, 3], [1, 0, 2]]).astype(dtype.numpy)
    t = rk.asarray(x).T
    seen = torch.from_dlpack(t)
    assert seen.stride() == t.strides and tuple(seen.shape) == (3, 2)
    back = rk.from_dlpack(seen)
    assert_same(back, x.T)
    assert_same(rk.asarray(seen), x.T)
    wide = torch.complex128 if dtype.kind == "complex" else torch.float64
    assert seen.to(wide).tolist() == x.T.astype(np.complex128 if dtype.kind == "complex" else np.float64).tolist()


@pytest.mark.usefixtures("shared_memory")
def test_dlpack_refuses_what_it_can_not_share() -> None:
    """Another device, or host memory without a copy: BufferErrors."""
    t = rk.zeros((2,))
    assert t.__dlpack_device__() == (1, 0)
    with pytest.raises(ExchangeError, match="use to"):
        t.__dlpack__(dl_device=(2, 0))
    with pytest.raises(BufferError, match="leave copy out"):
        rk.from_dlpack(np.zeros(2), copy=False)
    with pytest.raises(ExchangeError, match="None is the only"):
        t.to_device(t.device, stream=3)
    copied = np.from_dlpack(t, copy=True)
    t[0] = 1
    assert copied.tolist() == [0, 0]


def test_numbers_from_tensors_of_one_element() -> None:
    """bool, int, float, complex, index and item; others are errors of Python's classes."""
    t = rk.asarray([[3]])
    assert (bool(t), int(t), float(t), complex(t), t.item()) == (True, 3, 3.0, 3 + 0j, 3)
    assert [10, 20, 30, 40][rk.asarray(3)] == 40
    assert isinstance(rk.asarray(1.5, dtype=rk.bfloat16).item(), float)
    with pytest.raises(ShapeError, match="item: 2 elements"):
        rk.zeros((2,)).item()
    with pytest.raises(ValueError, match=r"bool: 2 elements.*any\(\) or all\(\)"):
        bool(rk.zeros((2,)))
    with pytest.raises(DTypeError, match="integer without axes"):
        _ = [1][rk.asarray(0.0)]
    for call in (lambda: len(rk.zeros(())), lambda: iter(rk.zeros(())), lambda: hash(rk.zeros(()))):
        with pytest.raises(TypeError):
            call()


@pytest.mark.parametrize(
    ("operator", "symbol"),
    [
        ("__add__", "+"), ("__sub__", "-"), ("__mul__", "*"), ("__truediv__", "/"), ("__floordiv__", "//"),
        ("__mod__", "%"), ("__pow__", "**"), ("__lt__", "<"), ("__le__", "<="), ("__gt__", ">"), ("__ge__", ">="),
        ("__eq__", "=="), ("__ne__", "!="), ("__and__", "&"), ("__or__", "|"), ("__xor__", "^"), ("__lshift__", "<<"),
        ("__rshift__", ">>"),
    ],
)  # fmt: skip
def test_operators_equal_numpy(operator: str, symbol: str) -> None:
    """Between tensors, with a number on either side, and in place."""
    x, y = np.array([1, 2, 5, 7]), np.array([3, 1, 2, 4])
    t, u = rk.asarray(x), rk.asarray(y)
    expected = getattr(x, operator)(y)
    as_float = rk.float32 if symbol == "/" else None
    assert_same(getattr(t, operator)(u), expected, as_float)
    for left, right, want in ((t, 2, getattr(x, operator)(2)), (2, t, getattr(np.full(4, 2), operator)(x))):
        assert_same(eval(f"left {symbol} right", {"left": left, "right": right}), want, as_float)
    if symbol in ("<", "<=", ">", ">=", "==", "!=", "/"):
        return
    place = t.memory
    t = getattr(t, operator.replace("__", "__i", 1))(u)
    assert_same(t, expected)
    assert t.memory is place


def test_unary_operators_and_what_is_no_operand() -> None:
    """-x, +x, abs(x), ~x; strings and lists are TypeErrors; a tensor differs from None."""
    t = rk.asarray([1, -2])
    assert ((-t).tolist(), (+t).tolist(), abs(t).tolist(), (~t).tolist()) == ([-1, 2], [1, -2], [1, 2], [-2, 1])
    for other in ("a", None, [1]):
        with pytest.raises(TypeError):
            t + other
        with pytest.raises(TypeError):
            other - t
    assert (t == None) is False  # noqa: E711 - `is None` would ask something else
    with pytest.raises(DTypeError, match="the result is float32, out is int64"):
        t *= 2.5
    with pytest.raises(ShapeError, match="out has"):
        t += rk.zeros((2, 2), dtype=rk.int64)


@BY_DTYPE
def test_pickle_and_copies(dtype: DType) -> None:
    """Values, dtype, shape and device survive; a copy is separate."""
    x = np.array([[0, 1], [1, 0]]).astype(dtype.numpy)
    t = rk.asarray(x).T
    loaded = pickle.loads(pickle.dumps(t))
    assert_same(loaded, x.T)
    assert loaded.device == t.device
    assert_same(copy.deepcopy(t), x.T)


def test_hypothesis_prints_no_more_than_the_repr() -> None:
    """Not the pool and the driver behind the memory."""
    t = rk.asarray([1.5, 2.0])
    for thing in (t, t.memory, t.device, rk.quantize(rk.zeros((1, 32)), "q8_0")):
        assert pretty(thing) == repr(thing)


def test_repr_shows_values_dtype_and_device() -> None:
    """Short tensors whole, long ones by their corners, without reading all of it."""
    name = rk.zeros(()).device.info.name
    assert repr(rk.asarray([1, 2])) == f"Tensor([1, 2], dtype=int64, device={name})"
    long = repr(rk.arange(100000))
    assert "0,     1,     2, ..., 99997, 99998, 99999" in long and len(long) < 120
    wide = repr(rk.zeros((200, 300)))
    assert wide.count("...") == 7 and "Tensor([[0., 0., 0., ..., 0., 0., 0.]," in wide


def test_namespace_is_the_package() -> None:
    """__array_namespace__ is rocmkern for every version of the standard, an error for others."""
    t = rk.zeros(())
    assert t.__array_namespace__() is rk and t.__array_namespace__(api_version="2023.12") is rk
    with pytest.raises(ValueError, match="2020"):
        t.__array_namespace__(api_version="2020.01")


def test_other_devices() -> None:
    """A tensor moves by name; operations across devices name both."""
    t = rk.asarray([1.0, 2.0])
    moved = t.to(opened("emulator:gfx942:checked").name)
    assert moved.device.name == "emulator:gfx942:checked" and moved.tolist() == [1, 2]
    assert t.to(t.device) is t and t.to_device(t.device) is t
    ids, other_ids = rk.asarray([0]), rk.asarray([0], device=moved.device)
    for call in (
        lambda: rk.add(t, moved),
        lambda: rk.where(t > 0, t, moved),
        lambda: rk.where(moved > 0, t, t),
        lambda: rk.take(t, other_ids),
        lambda: moved[ids],
        lambda: moved[t > 0],
        lambda: moved.__setitem__(0, t[0]),
        lambda: moved.__setitem__(ids, 0.0),
        lambda: rk.concat([t, moved]),
        lambda: rk.layer_norm(t, moved),
        lambda: rk.matmul(t, moved),
        lambda: rk.take_along_axis(t, other_ids),
        lambda: rk.embedding(rk.reshape(t, (2, 1)), other_ids),
    ):
        with pytest.raises(ValueError, match="move one with to"):
            call()
    assert rk.zeros_like(moved).device == moved.device


@pytest.mark.usefixtures("shared_memory")
def test_interfaces_exist_only_where_they_hold() -> None:
    """The emulator has NumPy's interface and not CUDA's; types that NumPy lacks have neither."""
    t: Any = rk.zeros((2,))
    assert t.__array_interface__["shape"] == (2,)
    assert not hasattr(t, "__cuda_array_interface__")
    assert not hasattr(rk.zeros((2,), dtype=rk.bfloat16), "__array_interface__")


def test_names_of_other_libraries_as_methods() -> None:
    """The error says which function does it, where one does."""
    t: Any = rk.ones((2,))
    for name, words in (
        ("exp", "'exp'; use rocmkern.exp$"),
        ("unsqueeze", "'unsqueeze'; use rocmkern.expand_dims$"),
        ("inverse", "'inverse'; use rocmkern.linalg.inv$"),
        ("nonsense", "'nonsense'$"),
    ):
        with pytest.raises(AttributeError, match=f"'Tensor' object has no attribute {words}"):
            getattr(t, name)


def test_what_python_asks_of_numbers() -> None:
    """divmod from both sides, and round, as NumPy's arrays; and a dtype in the place of a device."""
    a = np.array([7.5, -7.5, 2.5], np.float32)
    t = rk.asarray(a)
    for ours, theirs in ((divmod(t, 2), divmod(a, 2)), (divmod(9, t), divmod(9, a))):
        for mine, wanted in zip(ours, theirs, strict=True):
            assert_same(mine, wanted)
    assert_same(round(t), np.rint(a))
    assert_same(round(t / 8, 2), (a / 8).round(2))
    assert (t.itemsize, t.to(rk.float16).itemsize) == (4, 2) and t.to(rk.float32) is t
