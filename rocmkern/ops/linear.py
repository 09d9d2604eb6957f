"""Products of matrices and vectors."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Final

from attrs import frozen

from rocmkern.dtypes import DType, bool_, float32
from rocmkern.engine.operation import planned
from rocmkern.errors import DTypeError, ShapeError
from rocmkern.kernels import plans_matmul
from rocmkern.layout import Layout, Shape, broadcast_shapes, collapse, normal_axes, normal_axis, normal_integer
from rocmkern.ops import specialized, tuned
from rocmkern.ops.casting import cast, packed
from rocmkern.ops.composed import conj
from rocmkern.ops.elementwise import as_tensor, device_and_dtype, finish
from rocmkern.ops.launch import context, empty, layout_info, word
from rocmkern.ops.manipulation import expand_dims, moveaxis, permute_dims, reshape
from rocmkern.ops.movement import write
from rocmkern.ops.parts import part
from rocmkern.ops.reduction import sum
from rocmkern.ops.rows_binary import add, multiply, subtract
from rocmkern.tensor import Tensor

_FEW_PRODUCTS: Final = 4096  # of integers and complex numbers, whose tiles are for many


@planned
def matmul(x1: Tensor, x2: Tensor, /, *, out: Tensor | None = None) -> Tensor:
    """The matrix product; leading axes are batches that broadcast; a vector is a row at left, a column at right.

    Transposed views are read as they are. f16 and bf16 are summed in f32 and rounded once; integers wrap.
    """
    return finish("matmul", biased_product(x1, x2), out)


def biased_product(x1: Tensor, x2: Tensor, bias: Tensor | None = None) -> Tensor:
    """The matrix product; plus one number for each column, a contiguous tensor of the product's dtype."""
    left, right, dtype = _operands("matmul", x1, x2)
    if not left.ndim or not right.ndim:
        raise ShapeError(f"matmul: shapes {x1.shape} and {x2.shape}; both take one dimension or more")
    a = left if left.ndim > 1 else left.view(left.layout.expand(0))
    b = right if right.ndim > 1 else right.view(right.layout.expand(1))
    if a.shape[-1] != b.shape[-2]:
        raise ShapeError(
            f"matmul: shapes {x1.shape} and {x2.shape}; the inner lengths {a.shape[-1]}, {b.shape[-2]} differ"
        )
    batch = broadcast_shapes(a.shape[:-2], b.shape[:-2])
    shape = (*batch, *a.shape[-2:-1][: left.ndim > 1], *b.shape[-1:][: right.ndim > 1])
    if not dtype.is_float and 0 < prod(batch) * a.shape[-2] * a.shape[-1] * b.shape[-1] <= _FEW_PRODUCTS:
        products = multiply(expand_dims(a, axis=-1), expand_dims(b, axis=-3))
        total = reshape(sum(products, axis=-2, dtype=dtype), shape)
        return total if bias is None else add(total, bias)
    result = empty((*batch, a.shape[-2], b.shape[-1]), dtype, a.device)
    has_bias = _launch(a, b, batch, result, bias) if result.size else True
    shaped = result if shape == result.shape else reshape(result, shape)
    return shaped if has_bias or bias is None else add(shaped, bias)


def _operands(operation: str, x1: Tensor, x2: Tensor) -> tuple[Tensor, Tensor, DType]:
    _, dtype = device_and_dtype(operation, as_tensor(operation, x1), as_tensor(operation, x2))
    if dtype is bool_:
        raise DTypeError(f"{operation}: dtype bool; it takes a number dtype, cast it first")
    return cast(x1, dtype), cast(x2, dtype), dtype


def _launch(a: Tensor, b: Tensor, batch: Shape, result: Tensor, bias: Tensor | None = None) -> bool:
    """One launch for all batches; f8 goes through f32. Whether it added the bias."""
    if a.dtype.short == "f8_e4m3":
        wide = empty(result.shape, float32, result.device)
        _launch(cast(a, float32), cast(b, float32), batch, wide)
        finish("matmul", cast(wide, result.dtype), result)
    elif a.dtype.is_complex:
        _launch_complex(a, b, batch, result)
    elif not (specialized.enabled and specialized.product(result, a, b)):
        return _multiply(a, b, batch, result, bias=bias)
    return False


@frozen
class Scales:
    """Factors of a product's rows and columns (both or neither) and what is added to its columns, all of float32."""

    rows: Tensor | None = None
    columns: Tensor | None = None
    bias: Tensor | None = None

    def addresses(self) -> tuple[int, ...]:
        return tuple(0 if t is None else t.address for t in (self.rows, self.columns, self.bias))


def scaled_product(a: Tensor, b: Tensor, dtype: DType, scales: Scales) -> Tensor:
    """The product of two matrices in f32 (int8: exact in int32), scaled, biased and rounded once to `dtype`.

    `a` and `b` are int8 (`dtype` float32, float16, bfloat16), float16 or bfloat16 (`dtype` float32); the scales are
    contiguous.
    """
    result = empty((a.shape[0], b.shape[1]), dtype, a.device)
    if result.size:
        _multiply(a, b, (), result, scales)
    return result


def _multiply(
    a: Tensor, b: Tensor, batch: Shape, result: Tensor, scales: Scales | None = None, bias: Tensor | None = None
) -> bool:
    """As planned: one launch, or one for the parts of the inner axis and one that adds them. Whether the bias is in."""
    m, k, n = a.shape[-2], a.shape[-1], b.shape[-1]
    left = Layout(a.shape[:-2], a.strides[:-2]).broadcast_to(batch)
    right = Layout(b.shape[:-2], b.strides[:-2]).broadcast_to(batch)
    dims, (left_steps, right_steps) = collapse(batch, left.strides, right.strides)
    simple = len(dims) < 2
    num_dims, info = (0, 0) if simple else (len(dims), layout_info(a.device, dims + left_steps + right_steps))
    count = prod(batch)
    here, instance = context(a.device), None
    if tuned.tables is not None and scales is None and a.dtype is result.dtype:
        instance = tuned.chosen("matmul", a.device, a.dtype.short, count * m, n, k)
    depth_stride, other_stride = a.strides[:-3:-1] if m > n else b.strides[-2:]
    plan = here.plan(
        plans_matmul.product, count, m, n, k, a.dtype, result.dtype, depth_stride == 1 or other_stride != 1,
        scales is not None, tuned=instance,
    )  # fmt: skip
    target = result if plan.total is None else empty((plan.parts * result.size,), plan.partial, a.device)
    finish = () if scales is None else scales.addresses()
    kernel = here.kernel(a.device, plan.first.variant)
    before = (
        *(m, n, k, plan.part, count),
        *map(word, (left_steps[0] if simple and dims else 0, *a.strides[-2:])),
        *map(word, (right_steps[0] if simple and dims else 0, *b.strides[-2:])),
        *(num_dims, info),
    )
    adds = bias if plan.takes_bias and plan.total is None else None
    between: tuple[int, ...] = (finish if plan.total is None else (0, 0, 0)) if plan.is_scaled else ()
    if plan.takes_bias:
        between = (0 if adds is None else adds.address,)
    kernel.run(plan.first, *before, a.address, b.address, *between, target.address)
    if plan.total is not None:
        more = finish or (() if plan.is_plain else (0, 0, 0))
        here.kernel(a.device, plan.total.variant).run(
            plan.total, m, n, count, plan.parts, *more, target.address, result.address
        )
    return adds is not None


def _launch_complex(a: Tensor, b: Tensor, batch: Shape, result: Tensor) -> None:
    """The four products of the parts."""
    left, right = ([packed(part(x, which)) for which in (0, 1)] for x in (a, b))

    def of_parts(i: int, j: int) -> Tensor:
        product = empty(result.shape, left[i].dtype, result.device)
        _launch(left[i], right[j], batch, product)
        return product

    write(subtract(of_parts(0, 0), of_parts(1, 1)), part(result, 0))
    write(add(of_parts(0, 1), of_parts(1, 0)), part(result, 1))


@planned
def tensordot(x1: Tensor, x2: Tensor, /, axes: int | tuple[Sequence[int], Sequence[int]] = 2) -> Tensor:
    """The sum of products over pairs of axes: the last `axes` of x1 with the first of x2, or those named."""
    left, right, _ = _operands("tensordot", x1, x2)
    if not isinstance(axes, Sequence):
        count = normal_integer(axes, "tensordot", "number of axes")
        if not 0 <= count <= min(left.ndim, right.ndim):
            raise ShapeError(f"tensordot: {count} axes of {left.ndim} and {right.ndim} dimensions")
        first, second = tuple(range(left.ndim - count, left.ndim)), tuple(range(count))
    else:
        if len(axes) != 2:
            raise ShapeError(f"tensordot: axes {axes!r}; give a number, or the axes of x1 and those of x2")
        first = normal_axes(axes[0], left.ndim, "tensordot")
        second = normal_axes(axes[1], right.ndim, "tensordot")
    summed = [left.shape[a] for a in first]
    if summed != [right.shape[a] for a in second]:
        raise ShapeError(f"tensordot: shapes {x1.shape} and {x2.shape} differ along axes {first} and {second}")
    rest1 = [a for a in range(left.ndim) if a not in first]
    rest2 = [a for a in range(right.ndim) if a not in second]
    rows, columns = [left.shape[a] for a in rest1], [right.shape[a] for a in rest2]
    a = reshape(permute_dims(left, (*rest1, *first)), (prod(rows), prod(summed)))
    b = reshape(permute_dims(right, (*second, *rest2)), (prod(summed), prod(columns)))
    return reshape(matmul(a, b), (*rows, *columns))


@planned
def vecdot(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """The sum of products along one axis, whose length must be the same; the others broadcast. Of complex tensors the
    first is conjugated.
    """
    left, right, dtype = _operands("vecdot", x1, x2)
    at = (normal_axis(axis, left.ndim, "vecdot"), normal_axis(axis, right.ndim, "vecdot"))
    if left.shape[at[0]] != right.shape[at[1]]:
        raise ShapeError(f"vecdot: shapes {x1.shape} and {x2.shape} differ along axis {axis}")
    if left.ndim == right.ndim == 1:
        return matmul(conj(left) if dtype.is_complex else left, right)
    work = float32 if dtype.is_float and dtype.itemsize < 4 else dtype
    first = conj(left) if work.is_complex else cast(left, work)
    products = multiply(moveaxis(first, at[0], -1), moveaxis(cast(right, work), at[1], -1))
    return cast(sum(products, axis=-1, dtype=work), dtype)
