"""Elements chosen, put and ordered in NumPy's names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from rocmkern.errors import DTypeError, ShapeError
from rocmkern.layout import Layout, listed, normal_axis, normal_integer
from rocmkern.ops.creation import arange, asarray
from rocmkern.ops.elementwise import as_tensor, as_tensors, operand
from rocmkern.ops.grids import Beyond, within
from rocmkern.ops.indexing import nonzero, searchsorted, take, take_along_axis, where
from rocmkern.ops.items import set_item
from rocmkern.ops.manipulation import broadcast_arrays, expand_dims, flip, moveaxis, reshape, stack
from rocmkern.ops.reduction import all
from rocmkern.ops.rows_binary import greater_equal, less_equal, remainder, subtract
from rocmkern.ops.scatter import scatter
from rocmkern.ops.sorting import argsort, sort
from rocmkern.promotion import common_dtype
from rocmkern.tensor import Operand, Tensor


def flatnonzero(x: Tensor, /) -> Tensor:
    """The places of the values other than zero in the flat tensor, as int64; the host waits for their number."""
    return nonzero(reshape(as_tensor("flatnonzero", x), -1))[0]


def compress(condition: Tensor | Sequence[bool], x: Tensor, /, axis: int | None = None) -> Tensor:
    """The slices along an axis for which a vector holds true values, which may be fewer; without an axis of the flat
    tensor.
    """
    truth = asarray(condition, device=as_tensor("compress", x).device)
    if truth.ndim != 1:
        raise ShapeError(f"compress: a condition of shape {truth.shape}; give a vector")
    source = reshape(x, -1) if axis is None else x
    return take(source, nonzero(truth)[0], axis=0 if axis is None else axis)


def extract(condition: Tensor, x: Tensor, /) -> Tensor:
    """The elements at which a tensor of as many holds true values, in a line."""
    return compress(reshape(as_tensor("extract", condition), -1), x)


def select(conditions: Sequence[Tensor], choices: Sequence[Operand], /, default: Operand = 0) -> Tensor:
    """For each place the value of the first choice whose condition is true there, else the default."""
    tests = as_tensors("select", conditions)
    if not isinstance(choices, Sequence):
        raise DTypeError(f"select: choices {type(choices).__name__} is no sequence; put them in a list")
    if len(tests) != len(choices):
        raise ShapeError(f"select: {len(tests)} conditions for {len(choices)} choices; give as many")
    device, given = tests[0].device, [*choices, default]
    dtype = common_dtype(c.dtype if isinstance(c, Tensor) else c for c in given)
    found = operand("select", default, dtype, device)
    for test, choice in zip(reversed(tests), reversed(choices), strict=True):
        found = where(test, operand("select", choice, dtype, device), found)
    return found


def choose(x: Tensor, choices: Sequence[Operand], /, *, mode: Beyond = "raise") -> Tensor:
    """For each place the value of the choice that x numbers there; `mode` says what numbers without one are, as in
    `ravel_multi_index`.
    """
    if not isinstance(choices, Sequence):
        raise DTypeError(f"choose: choices {type(choices).__name__} is no sequence; put them in a list")
    places = within("choose", as_tensor("choose", x), len(choices), mode, "the choices")
    dtype = common_dtype(c.dtype if isinstance(c, Tensor) else c for c in choices)
    number, *given = broadcast_arrays(places, *(operand("choose", c, dtype, x.device) for c in choices))
    return take_along_axis(stack(given), expand_dims(number, axis=0), axis=0)[0]


def digitize(x: Tensor, bins: Tensor | Sequence[float], /, right: bool = False) -> Tensor:
    """Which bin each value lies in, as int64: how many of the edges, which rise or fall, are not beyond it; with
    `right` a bin holds its right end. The host looks at the order of the edges.
    """
    edges = asarray(bins, device=as_tensor("digitize", x).device)
    if edges.ndim != 1:
        raise ShapeError(f"digitize: edges of shape {edges.shape}; give a vector")
    earlier, later = edges[:-1], edges[1:]
    if bool(all(less_equal(earlier, later))):
        return searchsorted(edges, x, side="left" if right else "right")
    if not bool(all(greater_equal(earlier, later))):
        raise ShapeError("digitize: the edges neither rise nor fall; sort them")
    return subtract(edges.size, searchsorted(flip(edges), x, side="left" if right else "right"))


def lexsort(keys: Sequence[Tensor], /, axis: int = -1) -> Tensor:
    """The positions that put the last key in order along an axis, where that has equals the one ahead of it, and so on;
    as int64.
    """
    given = as_tensors("lexsort", keys)
    order = argsort(given[0], axis=axis)
    for key in given[1:]:
        order = take_along_axis(order, argsort(take_along_axis(key, order, axis=axis), axis=axis), axis=axis)
    return order


def partition(x: Tensor, kth: int | Sequence[int], /, axis: int | None = -1) -> Tensor:
    """A copy in which the k-th value along an axis is at its place in order, none above it ahead: all of them are."""
    source, at = _checked("partition", x, kth, axis)
    return sort(source, axis=at)


def argpartition(x: Tensor, kth: int | Sequence[int], /, axis: int | None = -1) -> Tensor:
    """The positions that make `partition` of the values, as int64."""
    source, at = _checked("argpartition", x, kth, axis)
    return argsort(source, axis=at)


def _checked(operation: str, x: Tensor, kth: int | Sequence[int], axis: int | None) -> tuple[Tensor, int]:
    source = reshape(as_tensor(operation, x), -1) if axis is None else x
    at = normal_axis(-1 if axis is None else axis, as_tensor(operation, source).ndim, operation)
    n = source.shape[at]
    for k in listed(kth):
        if not -n <= normal_integer(k, operation, "kth") < n:
            raise ShapeError(f"{operation}: {k} on an axis of length {n}; use {-n}..{n - 1}")
    return source, at


def put_along_axis(x: Tensor, indices: Tensor, /, values: Operand, axis: int | None) -> None:
    """Write each value where its index says along an axis, in place; without one in the flat tensor."""
    if axis is None:
        flat = reshape(as_tensor("put_along_axis", x), -1)
        written = reshape(scatter(flat, indices, values, axis=0), x.shape)
    else:
        written = scatter(x, indices, values, axis=axis)
    set_item(x, ..., written)


def fill_diagonal(x: Tensor, value: Operand, /, wrap: bool = False) -> None:
    """Write a value, or those of a tensor over and over, on the diagonal of a matrix, or where all indices are equal,
    in place. With `wrap` the diagonal of a tall matrix begins anew behind a row that it leaves out.
    """
    if as_tensor("fill_diagonal", x).ndim < 2 or (x.ndim > 2 and len(set(x.shape)) > 1):
        raise ShapeError(f"fill_diagonal: shape {x.shape}; it takes a matrix, or more axes of one length")
    if wrap and x.ndim == 2 and x.is_contiguous:
        step = x.shape[1] + 1
        line = Layout((-(-x.size // step),), (step,), x.layout.offset)
    elif wrap and x.ndim == 2:
        raise ShapeError("fill_diagonal: wrap in a tensor that is not contiguous; fill a copy")
    else:
        n = min(x.shape)
        line = Layout((n,), (sum(x.strides),), x.layout.offset)
    if isinstance(value, Tensor) and value.ndim and value.size:
        value = take(reshape(value, -1), remainder(arange(line.shape[0], device=x.device), value.size))
    set_item(x.view(line), ..., value)


def apply_along_axis(function: Callable[..., Any], axis: int, x: Tensor, /, *args: Any, **options: Any) -> Tensor:
    """What a function makes of each vector along an axis, in place of that axis: it is called once for each."""
    at = normal_axis(axis, as_tensor("apply_along_axis", x).ndim, "apply_along_axis")
    if not callable(function):
        raise DTypeError(f"apply_along_axis: {type(function).__name__} is no function; give one of a vector")
    lines = moveaxis(x, at, -1)
    rows = reshape(lines, (prod(lines.shape[:-1]), x.shape[at]))
    if not rows.shape[0]:
        raise ShapeError(f"apply_along_axis: shape {x.shape} holds no vector; there is nothing to apply to")
    made = stack([asarray(function(rows[i], *args, **options), device=x.device) for i in range(rows.shape[0])])
    whole = reshape(made, (*lines.shape[:-1], *made.shape[1:]))
    fresh = made.ndim - 1
    kept = lines.ndim - 1
    return moveaxis(whole, list(range(kept, kept + fresh)), list(range(at, at + fresh)))
