"""DLPack capsules against NumPy and PyTorch, both directions, both forms."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import rocmkern as rk
from rocmkern import dlpack, dtypes
from rocmkern.errors import ExchangeError


class Producer:
    """An array whose `__dlpack__` is ours."""

    def __init__(self, array: np.ndarray[Any, Any], versioned: bool, device: tuple[int, int] = (dlpack.CPU, 0)) -> None:
        self.array, self.versioned, self.device = array, versioned, device

    def __dlpack_device__(self) -> tuple[int, int]:
        return dlpack.CPU, 0

    def __dlpack__(self, **_: object) -> object:
        a = self.array
        strides = tuple(s // a.itemsize for s in a.strides)
        address = a.__array_interface__["data"][0]
        described = dlpack.Exchange(address, dtypes.dtype(a.dtype), a.shape, strides, self.device, a)
        return dlpack.export(described, versioned=self.versioned)


@pytest.mark.parametrize("versioned", [False, True])
@pytest.mark.parametrize("dtype", ["bool", "uint8", "uint16", "int64", "float16", "float32", "float64"])
def test_numpy_shares_what_is_exported(dtype: str, versioned: bool) -> None:
    """NumPy sees the same memory with the same strides."""
    base = np.arange(24).reshape(2, 3, 4).astype(dtype)[:, ::-1, ::2]
    seen = np.from_dlpack(Producer(base, versioned))
    assert seen.dtype == base.dtype and seen.strides == base.strides
    assert np.shares_memory(seen, base)
    np.testing.assert_array_equal(seen, base)


@pytest.mark.parametrize("versioned", [False, True])
def test_export_lives_as_long_as_its_consumer(versioned: bool) -> None:
    """The owner is kept while the consumer lives, and let go after it, used or not."""
    base = np.arange(5.0)
    gone = weakref.ref(base)
    seen = np.from_dlpack(Producer(base, versioned))
    unused = Producer(base, versioned).__dlpack__()
    del base
    gc.collect()
    assert gone() is not None
    np.testing.assert_array_equal(seen, [0, 1, 2, 3, 4])
    del seen
    gc.collect()
    assert gone() is not None
    del unused
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("versioned", [False, True])
@pytest.mark.parametrize("dtype", [dtypes.float32, dtypes.bfloat16], ids=lambda d: d.short)
def test_a_refusal_is_the_consumers_error(dtype: dtypes.DType, versioned: bool) -> None:
    """What NumPy can't take, another device or bfloat16, it refuses with its own error, and the memory goes back."""
    base = np.arange(6).astype(dtype.numpy)
    gone = weakref.ref(base)
    device = (dlpack.ROCM, 1) if dtype is dtypes.float32 else (dlpack.CPU, 0)
    refused = Producer(base.reshape(2, 3), versioned, device)
    seen = dlpack.consume(refused.__dlpack__())
    address = base.__array_interface__["data"][0]
    assert (seen.address, seen.dtype, seen.shape, seen.device) == (address, dtype, (2, 3), device)
    with pytest.raises((BufferError, RuntimeError)) as error:
        np.from_dlpack(refused)
    assert not isinstance(error.value, SystemError)
    del base, refused, seen, error
    gc.collect()
    assert gone() is None


def test_letting_go_while_an_exception_is_on_its_way() -> None:
    """The consumer's array dies as its frame is left by an error, which stays what it was."""

    def fails() -> None:
        raise KeyError(np.from_dlpack(Producer(np.arange(3.0), True)).sum())

    for _ in range(3):
        with pytest.raises(KeyError, match=r"3\.0"):
            fails()


@pytest.mark.parametrize("max_version", [None, (1, 0)])
def test_numpy_capsules_are_read(max_version: Any) -> None:
    """Address, dtype, shape, strides and the read-only flag are NumPy's."""
    base = np.arange(12, dtype=np.int32).reshape(3, 4)[:, 1:]
    seen = dlpack.consume(base.__dlpack__(max_version=max_version))
    assert (seen.address, seen.dtype) == (base.__array_interface__["data"][0], dtypes.int32)
    assert (seen.shape, seen.strides, seen.device) == ((3, 3), (4, 1), (dlpack.CPU, 0))
    assert not seen.read_only


def test_torch_bfloat16_and_back() -> None:
    """bf16 and f8, which NumPy's DLPack lacks, cross to and from PyTorch."""
    torch = pytest.importorskip("torch")
    for name, theirs in (("bfloat16", torch.bfloat16), ("float8_e4m3", torch.float8_e4m3fn)):
        given = torch.tensor([1.0, -2.5, 0.0]).to(theirs)
        seen = dlpack.consume(given.__dlpack__())
        assert seen.dtype is dtypes.dtype(name)
        back = torch.from_dlpack(dlpack.export(seen, versioned=False))
        assert back.dtype == theirs and back.data_ptr() == given.data_ptr()
        assert back.float().tolist() == [1.0, -2.5, 0.0]
    assert dtypes.bfloat16.numpy == np.dtype(ml_dtypes.bfloat16)


def test_used_and_foreign_capsules_are_refused() -> None:
    """A capsule is read once; an 8-bit float of another form has no dtype here."""
    capsule = np.arange(3).__dlpack__()
    dlpack.consume(capsule)
    with pytest.raises(ExchangeError, match="used already"):
        dlpack.consume(capsule)
    torch = pytest.importorskip("torch")
    with pytest.raises(BufferError, match="no such element type"):
        dlpack.consume(torch.zeros(2, dtype=torch.float8_e5m2).__dlpack__())


def test_axes_that_run_backwards_are_copied() -> None:
    """Consumers of DLPack take strides of 0 and more only."""
    x = np.arange(12.0).reshape(3, 4)
    for view in (lambda a: a[::-1], lambda a: a[:, ::-2]):
        capsule = view(rk.asarray(x)).__dlpack__(max_version=(1, 1))
        described = dlpack.consume(capsule)
        assert min(described.strides) >= 0
        seen = view(rk.asarray(x))
        found = np.from_dlpack(seen) if seen.device.info.unified else seen.numpy()
        np.testing.assert_array_equal(found, view(x))
        with pytest.raises(BufferError, match="DLPack's run forwards"):
            view(rk.asarray(x)).__dlpack__(copy=False)


@pytest.mark.parametrize(
    ("ndim", "lengths", "words"),
    [(2, (-1, 4), r"shape \(-1, 4\)"), (2, (1 << 40, 1 << 40), "no memory holds that"), (-3, (), "-3 dimensions"),
     (1000, (), "1000 dimensions")],
)  # fmt: skip
def test_impossible_shapes_of_capsules(ndim: int, lengths: tuple[int, ...], words: str) -> None:
    """They are refused, and the capsule is still its producer's."""
    capsule = np.zeros((2, 2)).__dlpack__()
    tensor = dlpack._Managed.from_address(dlpack._pointer(capsule, b"dltensor")).tensor
    before = tensor.ndim, tuple(tensor.shape[i] for i in range(2))
    tensor.ndim = ndim
    for i, n in enumerate(lengths):
        tensor.shape[i] = n
    with pytest.raises(BufferError, match=words):
        dlpack.consume(capsule)
    tensor.ndim = before[0]
    for i, n in enumerate(before[1]):
        tensor.shape[i] = n
