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

FEW: Final = 4096  # elements of a solution, which a wave takes one by one, and of a stack that waves factor on the host
MOST: Final = 1 << 28  # elements of a stack, to which the kernels count in bytes of 32 bits


def _bits(batch: Shape, rows: int, columns: int) -> int | None:
    """Of a column's number; None for more columns than lanes share LDS."""
    takes = rows <= SIDE and columns <= LANES and 0 < prod(batch) * rows * columns <= MOST
    return max(columns - 1, 0).bit_length() if takes else None


def _bits_of_factors(device: Device, batch: Shape, rows: int, columns: int) -> int | None:
    """The same where threads could have a matrix each, with which the emulator is done sooner if there are many."""
    is_for_threads = device.info.unified and prod(batch) * rows * columns > FEW
    return None if is_for_threads else _bits(batch, rows, columns)


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
    bits = _bits_of_factors(device, batch, n, n + columns)
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
    bits = _bits_of_factors(device, batch, n, n)
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
    bits = _bits_of_factors(device, batch, rows, columns + rows)
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
    _singular(a, bits, check, kept=kept, values=s, left=u, right=vh)
    return u, s, vh


def svdvals(a: Tensor, check: CheckOfMatrices) -> Tensor | None:
    """The singular values."""
    bits = _bits_of_values(a, 0)
    if bits is None:
        return None
    s = empty((*a.shape[:-2], min(a.shape[-2:])), part_of(a.dtype), a.device)
    _singular(a, bits, check, values=s)
    return s


def matrix_rank(a: Tensor, rtol: float, check: CheckOfMatrices) -> Tensor | None:
    """How many singular values are above `rtol` times the largest."""
    bits = _bits_of_values(a, 0)
    if bits is None:
        return None
    above = empty(a.shape[:-2], int64, a.device)
    _singular(a, bits, check, rtol=rtol, above=above)
    return above


def pinv(a: Tensor, rtol: float, check: CheckOfMatrices) -> Tensor | None:
    """The pseudo-inverses, in which the others count as zero."""
    bits = _bits_of_values(a, 0)
    if bits is None:
        return None
    inverse = empty((*a.shape[:-2], *reversed(a.shape[-2:])), a.dtype, a.device)
    _singular(a, bits, check, rtol=rtol, inverse=inverse)
    return inverse


def cond(a: Tensor, check: CheckOfMatrices, *, inverted: bool) -> Tensor | None:
    """The largest singular values over the smallest, or `inverted` those over the largest."""
    bits = _bits_of_values(a, 0)
    if bits is None:
        return None
    condition = empty(a.shape[:-2], part_of(a.dtype), a.device)
    _singular(a, bits, check, condition=condition, inverted=inverted)
    return condition


def lstsq(a: Tensor, b: Tensor, rtol: float, check: CheckOfMatrices) -> tuple[Tensor, Tensor, Tensor, Tensor] | None:
    """The solutions, the sums of squares left over, the ranks and the singular values, of as many matrices b as a."""
    bits, batch, (rows, columns), sides = _bits_of_values(a, 0), a.shape[:-2], a.shape[-2:], b.shape[-1]
    if bits is None or b.dtype is not a.dtype or len(b.shape) > len(a.shape):
        return None
    if not 0 < columns * sides <= FEW or prod(batch) * columns * sides > MOST:
        return None
    if broadcast_shapes(batch, b.shape[:-2]) != batch:
        return None
    x, above = empty((*batch, columns, sides), a.dtype, a.device), empty(batch, int64, a.device)
    shorter = rows if rows < columns else columns
    left, s = (empty((*batch, n), part_of(a.dtype), a.device) for n in (sides, shorter))
    _singular(a, bits, check, rtol=rtol, values=s, above=above, b=b, x=x, rest=left)
    return x, left, above, s


def _bits_of_values(a: Tensor, kept: int) -> int | None:
    short, long = sorted(a.shape[-2:])
    return _bits(a.shape[:-2], long, max(short, kept)) if short else None


def _singular(
    a: Tensor, bits: int, check: CheckOfMatrices, *, kept: int = 0, rtol: float = 0.0, inverted: bool = False,
    b: Tensor | None = None, **results: Tensor,
) -> None:  # fmt: skip
    """`results` are what is wanted, by the kernel's names."""
    batch, device = a.shape[:-2], a.device
    steps = () if b is None else (broadcast_layout(b.layout, (*batch, *b.shape[-2:])).strides[:-2],)
    layout = _stack(device, batch, a.strides[:-2], *steps)
    plan, run = context(device).plan(plans_linalg.waves, layout[0], bits), kernel(device, f"small_svd_{a.dtype.short}")
    values, left, right, inverse, above, x, rest, condition = (
        results[name].address if name in results else 0
        for name in ("values", "left", "right", "inverse", "above", "x", "rest", "condition")
    )
    sides = (0, 0, 0, 0) if b is None else (b.shape[-1], *_steps(b), b.address)
    arguments = (
        *layout, bits, *a.shape[-2:], kept, *_steps(a), rtol, a.address, values, left, right, inverse, above, *sides, x,
        rest, condition, inverted,
    )  # fmt: skip
    checked(device, check, lambda status: run.run(plan, *arguments, status))


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
