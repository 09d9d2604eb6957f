"""Neural-network operations for inference."""

from __future__ import annotations

from math import sqrt as root

from rocmkern.dtypes import DType, float32
from rocmkern.engine.operation import planned
from rocmkern.errors import ShapeError
from rocmkern.kernels import plans_rows
from rocmkern.layout import normal_axis
from rocmkern.ops import fused
from rocmkern.ops.casting import cast, packed
from rocmkern.ops.elementwise import as_tensor, as_tensors, device_and_dtype, real_float, same_device
from rocmkern.ops.indexing import gathered, index_tensor, slices_at, where
from rocmkern.ops.launch import context, elementwise, empty, encode, kernel
from rocmkern.ops.linear import biased_product, matmul
from rocmkern.ops.manipulation import expand_dims, matrix_transpose, moveaxis
from rocmkern.ops.reduction import as_floats, mean
from rocmkern.ops.rows_binary import add, multiply
from rocmkern.ops.rows_unary import negative
from rocmkern.tensor import Tensor


def _over_rows(name: str, x: Tensor, *before: int | float, after: tuple[int, ...] = ()) -> Tensor:
    """A kernel over the contiguous rows of `x`; f8 goes through f32."""
    if x.dtype.short == "f8_e4m3":
        return cast(_over_rows(name, cast(x, float32), *before, after=after), x.dtype)
    source = packed(x)
    result = empty(x.shape, x.dtype, x.device)
    if result.size:
        columns = x.shape[-1]
        rows = x.size // columns
        here = context(x.device)
        plan = here.plan(plans_rows.normalization, rows, columns, x.dtype.itemsize)
        chosen = here.kernel(x.device, f"{name}_rows_{x.dtype.short}")
        chosen.run(plan, rows, columns, *before, source.address, *after, result.address)
    return result


@planned
def softmax(x: Tensor, /, axis: int = -1) -> Tensor:
    """exp(x) over its sum along an axis, without overflow."""
    values = as_floats("softmax", x)
    return _along("softmax", values, normal_axis(axis, values.ndim, "softmax"))


@planned
def log_softmax(x: Tensor, /, axis: int = -1) -> Tensor:
    """The logarithm of softmax, without overflow."""
    values = as_floats("log_softmax", x)
    return _along("log_softmax", values, normal_axis(axis, values.ndim, "log_softmax"))


def _along(op: str, x: Tensor, axis: int, *before: float) -> Tensor:
    if axis == x.ndim - 1:
        return _over_rows(op, x, *before)
    return moveaxis(_over_rows(op, moveaxis(x, axis, -1), *before), -1, axis)


@planned
def layer_norm(x: Tensor, /, weight: Tensor | None = None, bias: Tensor | None = None, *, eps: float = 1e-5) -> Tensor:
    """Each row less its mean, over its standard deviation; times weight, plus bias, of the row's length.

    The variance takes two passes; f16 and bf16 are computed in f32 and rounded once.
    """
    values = as_floats("layer_norm", x)
    scale, shift = (_per_column("layer_norm", t, values) for t in (weight, bias))
    return _over_rows(
        "layernorm", values, real_float("layer_norm", eps, "eps"), after=(_address(scale), _address(shift))
    )


@planned
def rms_norm(x: Tensor, /, weight: Tensor | None = None, *, eps: float = 1e-5) -> Tensor:
    """Each row over the root of its mean square; times weight, of the row's length."""
    values = as_floats("rms_norm", x)
    scale = _per_column("rms_norm", weight, values)
    return _over_rows("rmsnorm", values, real_float("rms_norm", eps, "eps"), after=(_address(scale),))


def _per_column(operation: str, t: Tensor | None, x: Tensor) -> Tensor | None:
    """A parameter as the kernels take it: the row's length, the row's dtype, contiguous."""
    if not x.ndim:
        raise ShapeError(f"{operation}: no dimensions; it takes rows, one dimension or more")
    if t is None:
        return None
    same_device(operation, x.device, as_tensor(operation, t))
    if t.shape != x.shape[-1:]:
        raise ShapeError(f"{operation}: a parameter of shape {t.shape} for rows of length {x.shape[-1]}")
    return packed(cast(t, float32 if x.dtype.short == "f8_e4m3" else x.dtype))


def _address(t: Tensor | None) -> int:
    return 0 if t is None else t.address


@planned
def elu(x: Tensor, /, *, alpha: float = 1.0) -> Tensor:
    """x above 0, alpha * (exp(x) - 1) below."""
    return _with_param("uelu", as_floats("elu", x), real_float("elu", alpha, "alpha"))


def _with_param(stem: str, x: Tensor, param: float) -> Tensor:
    out = empty(x.shape, x.dtype, x.device)
    return elementwise(f"{stem}_{x.dtype.short}", out, (x,), encode(param, x.dtype))


@planned
def embedding(weight: Tensor, ids: Tensor, /) -> Tensor:
    """The rows of a table at the ids. Raises KernelIndexError (an IndexError) for one outside."""
    if as_tensor("embedding", weight).ndim != 2:
        raise ShapeError(f"embedding: a table of shape {weight.shape}; it takes two dimensions")
    return slices_at(weight, index_tensor("embedding", ids), 0, "embedding")


@planned
def linear(x: Tensor, /, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x times the transpose of weight (out, in), plus bias."""
    columns = matrix_transpose(weight)
    if bias is None:
        return matmul(x, columns)
    if as_tensor("linear", bias).ndim > 1 or bias.size not in (1, weight.shape[-2]):
        raise ShapeError(f"linear: bias {bias.shape} for weights {weight.shape}; give one number for each row of them")
    _, dtype = device_and_dtype("linear", as_tensor("linear", x), weight, bias)
    if x.dtype is weight.dtype is dtype and bias.dtype is dtype and bias.shape == weight.shape[-2:-1]:
        return biased_product(x, columns, packed(bias))
    return add(matmul(x, columns), bias)


@planned
def normalize(x: Tensor, /, axis: int = -1, *, eps: float = 1e-12) -> Tensor:
    """Over the Euclidean length along an axis, at least eps."""
    values = as_floats("normalize", x)
    return _along("unit", values, normal_axis(axis, values.ndim, "normalize"), real_float("normalize", eps, "eps"))


@planned
def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None, *, scale: float | None = None
) -> Tensor:
    """softmax(query · keyᵀ · scale + mask) · value over the last two axes (length, features).

    A bool mask lets pass where it is true; another is added. The scale is 1/sqrt(features) by default.
    """
    if any(t.ndim < 2 for t in as_tensors("scaled_dot_product_attention", (query, key, value))):
        shapes = f"{query.shape}, {key.shape} and {value.shape}"
        raise ShapeError(f"scaled_dot_product_attention: shapes {shapes}; they end in (length, features)")
    factor = (
        1.0 / root(max(query.shape[-1], 1))
        if scale is None
        else real_float("scaled_dot_product_attention", scale, "scale")
    )
    for given in () if mask is None else (mask,):
        as_tensor("scaled_dot_product_attention", given)
    found = fused.attention(query, key, value, mask, factor)
    if found is not None:
        return found
    scores = multiply(matmul(query, matrix_transpose(key)), factor)
    if mask is not None:
        scores = add(scores, _additive(mask, scores.dtype))
    return matmul(softmax(scores), value)


def _additive(mask: Tensor, dtype: DType) -> Tensor:
    return cast(where(mask, 0.0, float("-inf")) if mask.dtype.kind == "bool" else mask, dtype)


@planned
def cross_entropy(logits: Tensor, targets: Tensor, /) -> Tensor:
    """The mean negative log-probability of the target classes; logits (n, classes), targets (n,)."""
    if as_tensor("cross_entropy", logits).ndim != 2 or as_tensor("cross_entropy", targets).shape != logits.shape[:1]:
        raise ShapeError(f"cross_entropy: logits {logits.shape}, targets {targets.shape}; use (n, classes) and (n,)")
    values, ids = as_floats("cross_entropy", logits), index_tensor("cross_entropy", targets)
    same_device("cross_entropy", values.device, ids)
    found = fused.cross_entropy(values, ids)
    if found is not None:
        return found
    return negative(mean(gathered(log_softmax(values), expand_dims(ids, axis=1), 1, "cross_entropy")))


@planned
def rope(x: Tensor, /, cos: Tensor, sin: Tensor, *, interleaved: bool = False) -> Tensor:
    """Rotary position embedding of (batch, heads, length, features) by tables (length, features/2).

    A pair to rotate is one feature of each half, or two neighbours where `interleaved`.
    """
    values = as_floats("rope", x)
    if values.ndim != 4 or values.shape[-1] % 2:
        raise ShapeError(f"rope: shape {x.shape}; it takes (batch, heads, length, features), features even")
    for table in (cos, sin):
        same_device("rope", values.device, as_tensor("rope", table))
    if cos.shape != sin.shape or cos.shape != (values.shape[2], values.shape[3] // 2):
        raise ShapeError(f"rope: tables {cos.shape} and {sin.shape} for {x.shape}; use (length, features/2)")
    if values.dtype.short == "f8_e4m3":
        return cast(rope(cast(values, float32), cos, sin, interleaved=interleaved), values.dtype)
    source, tables = packed(values), [packed(cast(t, values.dtype)) for t in (cos, sin)]
    result = empty(source.shape, source.dtype, source.device)
    batch, heads, length, features = source.shape
    sizes = (batch * heads, length * features, *(() if interleaved else (features,)), 0)
    if result.size:
        kernel(source.device, f"rope{'_i' if interleaved else ''}_{source.dtype.short}")(
            source.size // 2, source.address, tables[0].address, tables[1].address, result.address, *sizes
        )
    return result
