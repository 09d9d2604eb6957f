"""Sets in NumPy's names, in which all NaN are one."""

from __future__ import annotations

from rocmkern.ops.casting import cast
from rocmkern.ops.elementwise import as_tensor, device_and_dtype
from rocmkern.ops.manipulation import concat, reshape
from rocmkern.ops.reduction import count_nonzero, sum
from rocmkern.ops.rows_binary import minimum
from rocmkern.ops.rows_unary import isnan
from rocmkern.ops.sets import UniqueAll, isin, unique_all, unique_values
from rocmkern.tensor import Tensor


def unique(
    x: Tensor, /, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False
) -> Tensor | tuple[Tensor, ...]:
    """The distinct values in ascending order, one NaN at most; in a tuple with where each first occurs, which of them
    each element is, and how often each occurs, where that is asked for.
    """
    wanted = (return_index, return_inverse, return_counts)
    if wanted == (False, False, False):
        return _with_one_nan(unique_values(as_tensor("unique", x)))
    found = _of_one_nan(unique_all(as_tensor("unique", x)))
    told = (found.indices, found.inverse_indices, found.counts)
    return (found.values, *(t for t, asked in zip(told, wanted, strict=True) if asked))


def _spare(values: Tensor) -> int:
    """How many NaN there are beyond the first; the host waits for their number."""
    floats = values.dtype.is_float or values.dtype.is_complex
    return max(int(count_nonzero(isnan(values))) - 1, 0) if floats and values.size > 1 else 0


def _with_one_nan(values: Tensor) -> Tensor:
    spare = _spare(values)
    return values[: values.size - spare] if spare else values


def _of_one_nan(found: UniqueAll) -> UniqueAll:
    spare = _spare(found.values)
    if not spare:
        return found
    n = found.values.size - spare
    counts = concat([found.counts[: n - 1], reshape(sum(found.counts[n - 1 :]), (1,))])
    return UniqueAll(found.values[:n], found.indices[:n], minimum(found.inverse_indices, n - 1), counts)


def union1d(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The distinct values of both, in ascending order."""
    _, dtype = device_and_dtype("union1d", as_tensor("union1d", x1), as_tensor("union1d", x2))
    return _with_one_nan(unique_values(concat([cast(x1, dtype), cast(x2, dtype)], axis=None)))


def intersect1d(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The distinct values that both have, in ascending order; NaN is in none."""
    _, dtype = device_and_dtype("intersect1d", as_tensor("intersect1d", x1), as_tensor("intersect1d", x2))
    values = unique_values(cast(x1, dtype))
    return values[isin(values, cast(x2, dtype))]


def setdiff1d(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The distinct values of x1 that x2 lacks, in ascending order."""
    values = _with_one_nan(unique_values(as_tensor("setdiff1d", x1)))
    return values[isin(values, x2, invert=True)]


def setxor1d(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The distinct values that only one of both has, in ascending order."""
    return union1d(setdiff1d(x1, x2), setdiff1d(x2, x1))
