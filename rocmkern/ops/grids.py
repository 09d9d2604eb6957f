"""Evenly and otherwise spaced numbers, and the indices of grids, in NumPy's names."""

from __future__ import annotations

from collections.abc import Sequence
from math import log10, prod
from typing import Final, Literal, get_args

from rocmkern import default_dtypes
from rocmkern.dtypes import DType, bool_, float64, int64
from rocmkern.errors import DTypeError, KernelIndexError, ShapeError
from rocmkern.layout import normal_integer, normal_shape
from rocmkern.ops.casting import cast
from rocmkern.ops.composed import clip, tril, triu
from rocmkern.ops.creation import arange, asarray, eye, linspace, ones, zeros
from rocmkern.ops.elementwise import as_tensor, as_tensors, one_of, real_float
from rocmkern.ops.indexing import nonzero
from rocmkern.ops.manipulation import broadcast_arrays, concat, expand_dims, flip, reshape, stack
from rocmkern.ops.reduction import any, cumulative_prod
from rocmkern.ops.rows_binary import add, greater_equal, less, logical_or, multiply, pow, remainder
from rocmkern.promotion import check_whole, promote_all
from rocmkern.runtime.device import DeviceLike
from rocmkern.tensor import Tensor

Beyond = Literal["raise", "wrap", "clip"]


def identity(n: int, /, dtype: DType | None = None, *, device: DeviceLike = None) -> Tensor:
    """A square matrix with ones on the diagonal, zeros elsewhere."""
    return eye(n, dtype=dtype, device=device)


def logspace(
    start: float,
    stop: float,
    /,
    num: int = 50,
    endpoint: bool = True,
    base: float = 10.0,
    dtype: DType | None = None,
    *,
    device: DeviceLike = None,
) -> Tensor:
    """The powers of a base with evenly spaced exponents from start to stop, worked out in float64."""
    exponents = linspace(start, stop, num, dtype=float64, device=device, endpoint=endpoint)
    found = pow(real_float("logspace", base, "base"), exponents)
    return _in_dtype("logspace", found, default_dtypes.floating(dtype))


def _in_dtype(operation: str, x: Tensor, dtype: DType) -> Tensor:
    """Numbers of which those at the ends are the farthest from 0. Raises ScalarRangeError where an integer dtype can't
    hold them.
    """
    for end in (0, -1) if dtype.is_integer and x.size else ():
        check_whole(float(x[end]), dtype, operation)
    return cast(x, dtype)


def geomspace(
    start: float,
    stop: float,
    /,
    num: int = 50,
    endpoint: bool = True,
    dtype: DType | None = None,
    *,
    device: DeviceLike = None,
) -> Tensor:
    """Numbers from start to stop each as many times the one ahead; both ends are met exactly. Raises ShapeError where
    one is 0 or their signs differ.
    """
    low, high = (real_float("geomspace", v, w) for v, w in ((start, "start"), (stop, "stop")))
    if not low * high > 0 and not (low and high and (low > 0) == (high > 0)):
        raise ShapeError(f"geomspace: from {start} to {stop}; use numbers of one sign other than 0")
    sign = 1.0 if low > 0 else -1.0
    found = logspace(log10(abs(low)), log10(abs(high)), num, endpoint, dtype=float64, device=device)
    found = multiply(found, sign)
    if found.size:
        found[0] = low
    if found.size > 1 and endpoint:
        found[-1] = high
    return _in_dtype("geomspace", found, default_dtypes.floating(dtype))


def indices(
    dimensions: int | Sequence[int], /, dtype: DType = int64, sparse: bool = False, *, device: DeviceLike = None
) -> Tensor | tuple[Tensor, ...]:
    """The indices of each element of a shape, those of an axis after those of the one ahead; with `sparse` a tuple of
    tensors that broadcast to them.
    """
    lengths = normal_shape(dimensions, "indices")
    lines = _open([arange(n, dtype=dtype, device=device) for n in lengths])
    if sparse:
        return lines
    return stack(broadcast_arrays(*lines)) if lines else zeros((0,), dtype=dtype, device=device)


def _open(lines: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Each vector along an axis of its own, views."""
    return tuple(
        reshape(line, (1,) * at + (line.size,) + (1,) * (len(lines) - at - 1)) for at, line in enumerate(lines)
    )


class Grid:
    """`grid[0:5, 0:1:3j]`: the coordinates of a grid, an axis for each slice. An imaginary step says how many numbers
    there are from start to stop, both among them. Coordinates are int64 where all of a slice are integers, else
    float32.
    """

    def __init__(self, *, sparse: bool) -> None:
        self._sparse = sparse

    def __getitem__(self, key: slice | tuple[slice, ...]) -> Tensor | tuple[Tensor, ...]:
        if isinstance(key, slice):
            return _numbers(key)
        lines = [_numbers(each) for each in key]
        dtype = promote_all(line.dtype for line in lines)
        axes = _open([cast(line, dtype) for line in lines])
        return axes if self._sparse else stack(broadcast_arrays(*axes))

    def __repr__(self) -> str:
        return "ogrid" if self._sparse else "mgrid"


def _numbers(key: slice) -> Tensor:
    if not isinstance(key, slice) or key.stop is None:
        raise DTypeError(f"grid: {key!r}; use slices with an end, 0:5 or 0:1:5j")
    start, step = key.start or 0, 1 if key.step is None else key.step
    if isinstance(step, complex):
        return linspace(start, key.stop, int(abs(step)))
    return arange(start, key.stop, step)


mgrid: Final = Grid(sparse=False)
ogrid: Final = Grid(sparse=True)


def ix_(*lines: Tensor | Sequence[int]) -> tuple[Tensor, ...]:
    """Vectors of indices, or of truths, as the axes of a grid: `x[ix_([0, 2], [1, 3])]` is what these rows
    and columns share.
    """
    places = [asarray(line) for line in lines]
    if wrong := [p.shape for p in places if p.ndim != 1]:
        raise ShapeError(f"ix_: shape {wrong[0]}; it takes vectors")
    return _open([nonzero(p)[0] if p.dtype is bool_ else p if p.size else cast(p, int64) for p in places])


def tril_indices(n: int, /, k: int = 0, m: int | None = None, *, device: DeviceLike = None) -> tuple[Tensor, Tensor]:
    """The rows and columns of an (n, m) matrix's elements up to its k-th diagonal."""
    rows, columns = nonzero(tril(ones((n, n if m is None else m), dtype=bool_, device=device), k))
    return rows, columns


def triu_indices(n: int, /, k: int = 0, m: int | None = None, *, device: DeviceLike = None) -> tuple[Tensor, Tensor]:
    """The rows and columns of an (n, m) matrix's elements from its k-th diagonal on."""
    rows, columns = nonzero(triu(ones((n, n if m is None else m), dtype=bool_, device=device), k))
    return rows, columns


def ravel_multi_index(
    multi_index: Sequence[Tensor],
    dims: int | Sequence[int],
    /,
    mode: Beyond = "raise",
    order: Literal["C", "F"] = "C",
) -> Tensor:
    """Coordinates in a shape, a tensor for each axis, as flat places in int64, with "F" counted from the first axis.

    Those outside the shape raise KernelIndexError, for which the host waits, begin anew with "wrap", or are the nearest
    within it with "clip".
    """
    one_of("ravel_multi_index", order, "order", ("C", "F"))
    axes, lengths = as_tensors("ravel_multi_index", multi_index), normal_shape(dims, "ravel_multi_index")
    if len(axes) != len(lengths):
        raise ShapeError(f"ravel_multi_index: {len(axes)} coordinates in the shape {lengths}; give one for each axis")
    total: Tensor | None = None
    for at, (places, n) in enumerate(zip(axes, lengths, strict=True)):
        inner = lengths[at + 1 :] if order == "C" else lengths[:at]
        part = multiply(within("ravel_multi_index", places, n, mode, f"axis {at}"), prod(inner))
        total = part if total is None else add(total, part)
    assert total is not None
    return total


def within(operation: str, places: Tensor, n: int, mode: Beyond, of: str) -> Tensor:
    """Places among n as int64, those beyond brought back by the mode."""
    if not places.dtype.is_integer:
        raise DTypeError(f"{operation}: dtype {places.dtype}; it takes integers")
    one_of(operation, mode, "mode", get_args(Beyond))
    signed = cast(places, int64)
    if mode == "raise" or not n:
        if any(logical_or(less(signed, 0), greater_equal(signed, n))):
            raise KernelIndexError(
                f"{operation}: a place outside {of} of length {n}; use 0..{n - 1}, or the mode 'wrap' or 'clip'"
            )
        return signed
    return remainder(signed, n) if mode == "wrap" else clip(signed, 0, n - 1)


def vander(x: Tensor, /, N: int | None = None, increasing: bool = False) -> Tensor:
    """The powers of a vector's elements in columns, N of them, by default as many as elements: falling from N - 1 to 0,
    or rising.
    """
    if as_tensor("vander", x).ndim != 1:
        raise ShapeError(f"vander: {x.ndim} dimensions; it takes a vector")
    count = x.size if N is None else normal_integer(N, "vander", "N")
    if count < 0:
        raise ShapeError(f"vander: {count} columns; use 0 or more")
    values = cast(x, int64) if x.dtype is bool_ or x.dtype.is_integer else x
    if not count or not x.size:
        return zeros((x.size, count), dtype=values.dtype, device=x.device)
    first = ones((x.size, 1), dtype=values.dtype, device=x.device)
    repeated = [expand_dims(values, axis=1)] * (count - 1)
    rising = cumulative_prod(concat([first, *repeated], axis=1), axis=1, dtype=values.dtype)
    return rising if increasing else flip(rising, axis=1)
