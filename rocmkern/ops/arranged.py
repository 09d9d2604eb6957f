"""Tensors put together and looked at in NumPy's names: rows and columns, diagonals, windows, indices."""

from __future__ import annotations

from collections.abc import Sequence

from rocmkern.engine.operation import planned
from rocmkern.errors import DTypeError, ShapeError
from rocmkern.layout import Axes, Layout, made, normal_axes, normal_integer, normal_shape, transposed
from rocmkern.ops import fused
from rocmkern.ops.creation import zeros
from rocmkern.ops.elementwise import as_tensor, as_tensors
from rocmkern.ops.indexing import nonzero
from rocmkern.ops.launch import empty, kernel, layout_info, strided
from rocmkern.ops.manipulation import concat, reshape, stack
from rocmkern.ops.matrices import diagonal
from rocmkern.ops.movement import write
from rocmkern.tensor import Tensor


@planned
def hstack(arrays: Sequence[Tensor], /) -> Tensor:
    """Joined along axis 1, vectors along their only one; tensors of no axes count as vectors of one."""
    parts = [x if x.ndim else reshape(x, (1,)) for x in as_tensors("hstack", arrays)]
    return concat(parts, axis=1 if parts[0].ndim > 1 else 0)


@planned
def vstack(arrays: Sequence[Tensor], /) -> Tensor:
    """Joined along axis 0; vectors are rows."""
    return concat([x if x.ndim > 1 else reshape(x, (1, -1)) for x in as_tensors("vstack", arrays)])


def diag(x: Tensor, /, k: int = 0) -> Tensor:
    """Of a vector the matrix with it on the k-th diagonal and zeros elsewhere; of a matrix that diagonal, a view."""
    if as_tensor("diag", x).ndim == 2:
        return diagonal(x, offset=k)
    if x.ndim != 1:
        raise ShapeError(f"diag: {x.ndim} dimensions; it takes a vector or a matrix")
    offset = normal_integer(k, "diag", "k")
    n = x.size + (offset if offset > 0 else -offset)
    result = zeros((n, n), dtype=x.dtype, device=x.device)
    write(x, diagonal(result, offset=offset))
    return result


def argwhere(x: Tensor, /) -> Tensor:
    """The coordinates of the values other than zero, a row of int64 for each; the host waits for their number."""
    if not as_tensor("argwhere", x).ndim:
        return nonzero(reshape(x, (1,)))[0].reshape(-1, 1)[:, :0]
    found = fused.nonzero(x, flat=False)
    return stack(nonzero(x), axis=1) if found is None else found.view(transposed(found.layout))


def sliding_window_view(x: Tensor, window: int | Sequence[int], /, *, axis: Axes = None) -> Tensor:
    """All windows of lengths `window` along axes, by default all: a view with the window's axes behind those of places.

    Windows share elements, so write into a copy.
    """
    lengths, shape = normal_shape(window, "sliding_window_view"), list(as_tensor("sliding_window_view", x).shape)
    axes = normal_axes(axis, x.ndim, "sliding_window_view")
    if len(lengths) != len(axes):
        raise ShapeError(f"sliding_window_view: window {lengths} for axes {axes}; give a length for each")
    for at, length in zip(axes, lengths, strict=True):
        if length > shape[at]:
            raise ShapeError(f"sliding_window_view: window of {length} on axis {at} of length {shape[at]}; use less")
        shape[at] -= length - 1
    strides = (*x.strides, *(x.strides[at] for at in axes))
    return x.view(Layout((*shape, *lengths), strides, x.layout.offset))


@planned
def unravel_index(indices: Tensor, shape: int | Sequence[int], /) -> tuple[Tensor, ...]:
    """Flat places as coordinates in a shape, a tensor for each axis. Those outside the shape are not told."""
    if not as_tensor("unravel_index", indices).dtype.is_integer:
        raise DTypeError(f"unravel_index: dtype {indices.dtype}; it takes integers")
    lengths, device, dtype, size = normal_shape(shape, "unravel_index"), indices.device, indices.dtype, indices.size
    if not lengths:
        return ()
    if any(n >= 1 << 63 for n in lengths):
        raise ShapeError(f"unravel_index: shape {lengths}; use lengths below 2**63")
    out = empty((len(lengths), *indices.shape), dtype, device)
    kernel(device, f"unravel_index_{dtype.short}")(
        size, size, *strided(indices.shape, indices), len(lengths), layout_info(device, lengths), indices.address,
        out.address,
    )  # fmt: skip
    return tuple(out.view(made(indices.shape, out.strides[1:], axis * size)) for axis in range(len(lengths)))
