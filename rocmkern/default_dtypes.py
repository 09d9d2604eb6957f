"""The dtypes of Python's numbers where no tensor and no dtype tells another: each thread may have its own floats."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Final

from rocmkern.dtypes import DType, DTypeLike, bfloat16, complex64, complex128, float16, float32, float64, int64
from rocmkern.dtypes import dtype as as_dtype
from rocmkern.errors import DTypeError

INTEGER: Final = int64
_FLOATS: Final = (float16, bfloat16, float32, float64)


class _Chosen(threading.local):
    floating: DType = float32


_chosen: Final = _Chosen()
others: Final = set[int]()  # threads whose floats are not float32; while there are none, nobody need ask


class set_default_dtype:  # noqa: N801 - it reads as a function and is used in `with`
    """The float dtype of Python's floats, and of integers where floats are wanted, in this thread from here on, or
    within `with`: "float64", "float32", which it is without a call, "float16" or "bfloat16". Complex numbers are of
    that precision, complex64 at least.

    Raises DTypeError for other dtypes.
    """

    def __init__(self, dtype: DTypeLike) -> None:
        wanted = as_dtype(dtype)
        if wanted not in _FLOATS:
            raise DTypeError(f"set_default_dtype: dtype {wanted}; use one of {', '.join(map(str, _FLOATS))}")
        self._before = _chosen.floating
        _choose(wanted)

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        _choose(self._before)


def _choose(dtype: DType) -> None:
    (others.discard if dtype is float32 else others.add)(threading.get_ident())
    _chosen.floating = dtype


def floating(asked: DTypeLike | None = None) -> DType:
    """The dtype that is asked for, by default that of Python's floats in this thread."""
    return _chosen.floating if asked is None else as_dtype(asked)


def wide_floating() -> DType:
    """The same, float32 at least: of what is not worked out in fewer bits."""
    return float64 if _chosen.floating is float64 else float32


def complex_number() -> DType:
    """The dtype of Python's complex numbers in this thread."""
    return complex128 if _chosen.floating is float64 else complex64
