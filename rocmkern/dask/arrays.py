"""Which functions dask.array calls on chunks that are tensors, and how it makes such chunks.

NumPy's functions of tensors are ours already (`rocmkern.numpy_calls`); here is what dask looks up by type. Arrays
beside a tensor, such as indices, are copied to its device.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import rocmkern as rk
from rocmkern.tensor import Tensor


def _beside(x: Tensor, value: Any) -> Any:
    return rk.asarray(value, device=x.device) if isinstance(value, np.ndarray | np.generic) else value


def _all_beside(values: Sequence[Any]) -> list[Any]:
    x = next(value for value in values if isinstance(value, Tensor))
    return [_beside(x, value) for value in values]


def _concatenate(parts: Sequence[Any], axis: int = 0, **_: object) -> Tensor:
    return rk.concatenate(_all_beside(parts), axis=axis)


def _tensordot(a: Any, b: Any, axes: Any = 2) -> Tensor:
    a, b = _all_beside((a, b))
    return rk.tensordot(a, b, axes=axes)


def _einsum(subscripts: str, *operands: Any, dtype: Any = None, **_: object) -> Tensor:
    found = rk.einsum(subscripts, *_all_beside(operands))
    return found if dtype is None else found.astype(rk.dtype(dtype), copy=False)


def _take(x: Tensor, indices: Any, axis: int = 0, **_: object) -> Tensor:
    return rk.take(x, rk.asarray(indices, device=x.device), axis=axis)


class Bits(tuple[int, ...]):
    """A seed as dask passes it between tasks: words for `rk.random.default_rng`, and a sequence of NumPy's to spawn
    further ones.
    """

    capsule = None  # by which dask knows what takes the place of a BitGenerator
    _seed_seq: np.random.SeedSequence

    def __new__(cls, seed: Any = None) -> Bits:
        sequence = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
        made = super().__new__(cls, map(int, sequence.generate_state(4)))
        made._seed_seq = sequence
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return Bits, (self._seed_seq,)


class RandomState:
    """A generator under the names of NumPy's older class, by a seed or by the words that dask has for each chunk."""

    def __init__(self, seed: Any = None) -> None:
        words = seed if seed is None or isinstance(seed, int) else [int(word) for word in np.asarray(seed).reshape(-1)]
        self._generator = rk.random.default_rng(words)
        self.random_sample, self.randint = self._generator.random, self._generator.integers

    def __getattr__(self, name: str) -> Any:
        return getattr(self._generator, name)


def tell(backends: Any) -> None:
    """Of the module `dask.array.backends`."""
    from dask.array import dispatch

    for lookup, function in (
        (dispatch.concatenate_lookup, _concatenate),
        (dispatch.tensordot_lookup, _tensordot),
        (dispatch.einsum_lookup, _einsum),
        (dispatch.take_lookup, _take),
        (dispatch.percentile_lookup, backends.percentile),
        (dispatch.numel_lookup, backends._numel_arraylike),
        (dispatch.nannumel_lookup, backends._nannumel),
        (dispatch.empty_lookup, rk.empty),
        (dispatch.to_numpy_dispatch, lambda x, **_: x.numpy()),
    ):
        lookup.register(Tensor, function)
    backends.array_creation_dispatch.register_backend("rocmkern", _backend(backends)())


def _backend(backends: Any) -> type:
    """The creation functions of `dask.config.set({"array.backend": "rocmkern"})`: dask's own for a chunk like ours."""
    import dask.array
    from dask import config

    class Rocmkern(backends.ArrayBackendEntrypoint):  # type: ignore[misc]  # dask has no types
        RandomState = property(lambda self: RandomState)
        default_bit_generator = property(lambda self: Bits)

        @classmethod
        def to_backend_dispatch(cls) -> Callable[..., Tensor]:
            return rk.asarray

        @classmethod
        def to_backend(cls, data: Any, **options: Any) -> Any:
            return data if isinstance(data._meta, Tensor) else data.map_blocks(rk.asarray, **options)

    def like_ours(name: str, told_by: str) -> Callable[..., Any]:
        def create(*args: Any, **options: Any) -> Any:
            with config.set({"array.backend": "numpy"}):
                return getattr(dask.array, name)(*args, **{told_by: rk.zeros(()), **options})

        return create

    for name in ("ones", "zeros", "empty", "full"):
        setattr(Rocmkern, name, staticmethod(like_ours(name, "meta")))
    Rocmkern.arange = staticmethod(like_ours("arange", "like"))
    return Rocmkern
