"""dask arrays whose chunks are tensors against the same of NumPy's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import dask
import dask.array as da
import numpy as np
import pytest

import rocmkern as rk
from rocmkern.dask.arrays import Bits, RandomState

X: Final = np.random.default_rng(0).standard_normal((40, 12)).astype(np.float32)


@pytest.fixture(autouse=True)
def on_the_device() -> Iterator[None]:
    """In this thread, and nothing of it on the host."""
    with dask.config.set(scheduler="synchronous"), rk.numpy_fallback("raise"):
        yield


def chunked(values: Any) -> Any:
    return da.from_array(values, chunks=(10, 6), asarray=False)


CALLS: Final[dict[str, Callable[[Any], Any]]] = {
    "operators": lambda x: x + x * 2 - 1 / (x * x + 1),
    "exp": da.exp,
    "where": lambda x: da.where(x > 0, x, 0),
    "clip": lambda x: da.clip(x, -1, 1),
    "astype": lambda x: x.astype(np.float64),
    "sum": lambda x: x.sum(),
    "sum along": lambda x: x.sum(axis=0),
    "mean": lambda x: x.mean(axis=1),
    "std": lambda x: x.std(axis=0),
    "max": lambda x: x.max(axis=0),
    "argmax": lambda x: x.argmax(axis=1),
    "any": lambda x: (x > 3).any(),
    "cumsum": lambda x: x.cumsum(axis=0),
    "topk": lambda x: da.topk(x, 3, axis=0),
    "norm": da.linalg.norm,
    "slices": lambda x: x[3:25, ::2],
    "backwards": lambda x: x[::-1],
    "integer": lambda x: x[:, 3],
    "list": lambda x: x[[1, 5, 33]],
    "mask": lambda x: x[x > 0].sum(),
    "transpose": lambda x: x.T,
    "rechunk": lambda x: x.rechunk((20, 3)),
    "concatenate": lambda x: da.concatenate([x, x]),
    "stack": lambda x: da.stack([x, x]),
    "matmul": lambda x: x.T @ x,
    "dot": lambda x: da.dot(x.T, x),
    "tensordot": lambda x: da.tensordot(x, x, axes=((0,), (0,))),
    "einsum": lambda x: da.einsum("ij,ik->jk", x, x),
    "of tensors and arrays": lambda x: x @ da.from_array(X.T[:, :4], chunks=(6, 2)),
    "map_blocks": lambda x: x.map_blocks(lambda block: block * 2 + 1),
    "map_overlap": lambda x: x.map_overlap(lambda block: block, depth=1, boundary="reflect"),
    "qr": lambda x: abs(da.linalg.qr(x.rechunk((10, 12)))[1]),
    "svd": lambda x: da.linalg.svd(x.rechunk((10, 12)))[1],
    "cholesky": lambda x: da.linalg.cholesky((x.T @ x).rechunk(12)),
    "zeros_like": da.zeros_like,
    "ones_like": lambda x: da.ones_like(x, dtype=np.int32),
    "full_like": lambda x: da.full_like(x, 3),
}


@pytest.mark.parametrize("name", CALLS)
def test_functions_of_chunks(name: str) -> None:
    """The chunks are tensors to the end, with NumPy's values and dtype."""
    found, expected = CALLS[name](chunked(rk.asarray(X))).compute(), CALLS[name](chunked(X)).compute()
    assert isinstance(found, rk.Tensor)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-4, atol=1e-4)


def test_svd_compressed() -> None:
    """The largest singular values, and factors whose product is the matrix where all are taken."""
    with dask.config.set({"array.backend": "rocmkern"}):
        factors = dask.compute(*da.linalg.svd_compressed(chunked(rk.asarray(X)).rechunk((10, 12)), 12, seed=1))
    assert all(isinstance(factor, rk.Tensor) for factor in factors)
    u, s, v = (factor.numpy() for factor in factors)
    np.testing.assert_allclose(s, np.linalg.svd(X, compute_uv=False), rtol=1e-4)
    np.testing.assert_allclose(u * s @ v, X, atol=1e-4)


def test_arrays_are_made_of_tensors() -> None:
    """By `array.backend`, all creation functions and both kinds of generators of dask."""
    with dask.config.set({"array.backend": "rocmkern"}):
        made = {
            "ones": da.ones((4, 3), chunks=2),
            "zeros": da.zeros((4, 3), chunks=2, dtype="f4"),
            "full": da.full((4, 3), 2.5, chunks=2),
            "arange": da.arange(1, 8, 2, chunks=2),
            "normal": da.random.default_rng(3).normal(size=(4, 3), chunks=2),
            "random": da.random.random((4, 3), chunks=2),
            "randint": da.random.RandomState(1).randint(0, 9, size=5, chunks=2),
        }
        found = dict(zip(made, dask.compute(*made.values()), strict=True))
    assert all(isinstance(x, rk.Tensor) for x in found.values())
    np.testing.assert_array_equal(found["ones"].numpy(), np.ones((4, 3)))
    np.testing.assert_array_equal(found["zeros"].numpy(), np.zeros((4, 3), np.float32))
    np.testing.assert_array_equal(found["full"].numpy(), np.full((4, 3), 2.5))
    np.testing.assert_array_equal(found["arange"].numpy(), np.arange(1, 8, 2))
    assert len(set(found["normal"].numpy().ravel().tolist())) == 12
    assert 0 <= found["random"].numpy().min() <= found["random"].numpy().max() < 1
    assert set(found["randint"].tolist()) <= set(range(9))
    with dask.config.set({"array.backend": "rocmkern"}):
        again = da.random.default_rng(3).normal(size=(4, 3), chunks=2).compute()
    np.testing.assert_array_equal(again.numpy(), found["normal"].numpy())


def test_to_backend() -> None:
    """Arrays become tensors, chunk by chunk; those that are stay as they are."""
    x = chunked(X).to_backend("rocmkern")
    assert isinstance(x.compute(), rk.Tensor)
    assert x.to_backend("rocmkern") is x
    assert isinstance(x.to_backend("numpy").compute(), np.ndarray)


def test_seeds_travel() -> None:
    """A pickled seed is the same seed, also in what it spawns; a chunk's words are a seed."""
    import pickle

    bits = Bits(7)
    assert pickle.loads(pickle.dumps(bits)) == bits == Bits(7) != Bits(8)
    assert Bits(bits._seed_seq.spawn(1)[0]) != bits
    words = np.array([1, 2], np.uint32)
    np.testing.assert_array_equal(RandomState(words).normal(size=3).numpy(), RandomState(words).normal(size=3).numpy())


@pytest.mark.parametrize("order", ["import rocmkern, dask.array as da", "import dask.array as da, rocmkern"])
def test_dask_is_told_whichever_is_imported_first(order: str) -> None:
    """And it is not imported for that."""
    from tests.tensor.test_clients import python

    python("import sys, rocmkern; assert 'dask' not in sys.modules")
    made = "x = da.from_array(rocmkern.ones((2, 2)), chunks=1, asarray=False)"
    python(f"{order}\n{made}\nx.dot(x).compute(scheduler='sync')")
