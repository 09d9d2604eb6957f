"""Linear algebra of few elements, in one launch. A function returns None for operands that it does not take."""

from __future__ import annotations

from math import prod
from typing import Final

from rocmkern.dtypes import COMPLEX, complex64, complex128, float32, float64, int64, part_of
from rocmkern.kernels import plans_linalg
from rocmkern.kernels.families.small import LANES, SIDE
from rocmkern.layout import Shape, broadcast_layout, broadcast_shapes, collapse
from rocmkern.ops.faults import CheckOfMatrices, checked
from rocmkern.ops.launch import context, empty, kernel, layout_info, word
from rocmkern.runtime import Device
from rocmkern.tensor import Tensor

FEW: Final = 4096  # elements, where a lane has a column


def _bits(batch: Shape, rows: int, columns: int) -> int | None:
    """Of a column's number; None for more columns than lanes share LDS, or many elements."""
    takes = rows <= SIDE and columns <= LANES and 0 < prod(batch) * rows * columns <= FEW
    return max(columns - 1, 0).bit_length() if takes else None


def _stack(device: Device, batch: Shape, *strides: Shape) -> tuple[int, int, int]:
    """How many matrices there are, `num_dims` and `info`."""
    dims, steps = collapse(batch, *strides)
    return prod(batch), len(dims), layout_info(device, sum(steps, dims)) if dims else 0


def _steps(x: Tensor) -> tuple[int, int]:
    return word(x.strides[-2]), word(x.strides[-1])


def solve(a: Tensor, b: Tensor | None, batch: Shape, check: CheckOfMatrices) -> Tensor | None:
    """The X of a·X = b, by default of the unit matrix, whose batches broadcast; singular ones are told."""
    n, device = a.shape[-1], a.device
    columns = n if b is None else b.shape[-1]
    bits = _bits(batch, n, n + columns)
    if bits is None or (a.ndim > 2 and a.shape[:-2] != batch):  # the check counts the matrices of a
        return None
    right = a if b is None else b
    strides = (broadcast_layout(x.layout, (*batch, *x.shape[-2:])).strides[:-2] for x in (a, right))
    count, *layout = _stack(device, batch, *strides)
    out = empty((*batch, n, columns), a.dtype, device)
    plan, run = context(device).plan(plans_linalg.waves, count, bits), kernel(device, f"solve_{a.dtype.short}").run
    sizes, at = (count, *layout, bits, n, columns, *_steps(a), *_steps(right)), 0 if b is None else b.address
    checked(device, check, lambda status: run(plan, *sizes, a.address, at, out.address, 0, 0, 0, status))
    return out


def determinant(a: Tensor, *, logarithm: bool) -> tuple[Tensor, ...] | None:
    """The determinants, or their signs and the logarithms of their sizes."""
    batch, n, device = a.shape[:-2], a.shape[-1], a.device
    bits = _bits(batch, n, n)
    if bits is None:
        return None
    dtypes = (a.dtype, part_of(a.dtype)) if logarithm else (a.dtype,)
    results = tuple(empty(batch, dtype, device) for dtype in dtypes)
    addresses = (0, *(r.address for r in results)) if logarithm else (results[0].address, 0, 0)
    layout = _stack(device, batch, a.strides[:-2], a.strides[:-2])
    plan = context(device).plan(plans_linalg.waves, layout[0], bits)
    kernel(device, f"solve_{a.dtype.short}").run(
        plan, *layout, bits, n, 0, *_steps(a), 0, 0, a.address, 0, 0, *addresses, 0
    )
    return results


def qr(a: Tensor, width: int) -> tuple[Tensor, Tensor] | None:
    """Q with that many columns, and R."""
    batch, (rows, columns), device = a.shape[:-2], a.shape[-2:], a.device
    bits = _bits(batch, rows, columns + rows)
    if bits is None or not columns:
        return None
    q, r = (empty((*batch, *shape), a.dtype, device) for shape in ((rows, width), (width, columns)))
    layout = _stack(device, batch, a.strides[:-2])
    plan = context(device).plan(plans_linalg.waves, layout[0], bits)
    kernel(device, f"small_qr_{a.dtype.short}").run(
        plan, *layout, bits, rows, columns, width, *_steps(a), a.address, q.address, r.address
    )
    return q, r


def svd(a: Tensor, kept: int, check: CheckOfMatrices) -> tuple[Tensor, Tensor, Tensor] | None:
    """U with `kept` vectors of the longer side, the singular values, and Vᴴ."""
    batch, (rows, columns) = a.shape[:-2], a.shape[-2:]
    bits = _bits_of_values(a, kept)
    if bits is None:
        return None
    wide = rows < columns
    left, right = (rows, rows if wide else kept), (kept if wide else columns, columns)
    u, vh = (empty((*batch, *shape), a.dtype, a.device) for shape in (left, right))
    s = empty((*batch, min(rows, columns)), part_of(a.dtype), a.device)
    _singular(a, bits, kept, 0.0, check, s.address, u.address, vh.address, 0, 0)
    return u, s, vh


def svdvals(a: Tensor, check: CheckOfMatrices) -> Tensor | None:
    """The singular values."""
    bits = _bits_of_values(a, 0)
    if bits is None:
        return None
    s = empty((*a.shape[:-2], min(a.shape[-2:])), part_of(a.dtype), a.device)
    _singular(a, bits, 0, 0.0, check, s.address, 0, 0, 0, 0)
    return s


def matrix_rank(a: Tensor, rtol: float, check: CheckOfMatrices) -> Tensor | None:
    """How many singular values are above `rtol` times the largest."""
    bits = _bits_of_values(a, 0)
    if bits is None:
        return None
    above = empty(a.shape[:-2], int64, a.device)
    _singular(a, bits, 0, rtol, check, 0, 0, 0, 0, above.address)
    return above


def pinv(a: Tensor, rtol: float, check: CheckOfMatrices) -> Tensor | None:
    """The pseudo-inverses, in which the others count as zero."""
    bits = _bits_of_values(a, 0)
    if bits is None:
        return None
    inverse = empty((*a.shape[:-2], *reversed(a.shape[-2:])), a.dtype, a.device)
    _singular(a, bits, 0, rtol, check, 0, 0, 0, inverse.address, 0)
    return inverse


def _bits_of_values(a: Tensor, kept: int) -> int | None:
    short, long = sorted(a.shape[-2:])
    return _bits(a.shape[:-2], long, max(short, kept)) if short else None


def _singular(a: Tensor, bits: int, kept: int, rtol: float, check: CheckOfMatrices, *results: int) -> None:
    """`results` are the addresses of what is wanted, in the kernel's order."""
    device, layout = a.device, _stack(a.device, a.shape[:-2], a.strides[:-2])
    plan, run = context(device).plan(plans_linalg.waves, layout[0], bits), kernel(device, f"small_svd_{a.dtype.short}")
    sizes = (*layout, bits, *a.shape[-2:], kept, *_steps(a), rtol, a.address)
    checked(device, check, lambda status: run.run(plan, *sizes, *results, status))


def eig(a: Tensor, check: CheckOfMatrices, *, vectors: bool) -> tuple[Tensor, ...] | None:
    """The eigenvalues of square matrices, and where wanted their vectors, complex in the same precision."""
    batch, n, device = a.shape[:-2], a.shape[-1], a.device
    if _bits(batch, n, n) is None:
        return None
    is_double = part_of(a.dtype) is float64
    dtype = complex128 if is_double else complex64
    shapes = (a.shape[:-1], a.shape) if vectors else (a.shape[:-1],)
    results = tuple(empty(shape, dtype, device) for shape in shapes)
    layout = _stack(device, batch, a.strides[:-2])
    addresses = (results[0].address, results[1].address if vectors else 0)
    sizes = (*layout, is_double | a.dtype.is_complex << 1, n, *_steps(a), a.address)
    plan, run = context(device).plan(plans_linalg.a_wave_each, layout[0], n * n), kernel(device, "small_eig").run
    checked(device, check, lambda status: run(plan, *sizes, *addresses, status))
    return results


def cross(a: Tensor, b: Tensor) -> Tensor | None:
    """The products of vectors along the last axes, of one dtype, whose other axes broadcast."""
    if a.dtype not in (float32, float64, *COMPLEX):
        return None
    batch, device = broadcast_shapes(a.shape[:-1], b.shape[:-1]), a.device
    out = empty((*batch, 3), a.dtype, device)
    strides = (broadcast_layout(x.layout, out.shape).strides for x in (a, b))
    (*outer_a, a_step), (*outer_b, b_step) = strides
    layout = _stack(device, batch, tuple(outer_a), tuple(outer_b))
    kernel(device, f"cross_{a.dtype.short}")(
        layout[0], *layout, word(a_step), word(b_step), a.address, b.address, out.address
    )
    return out
