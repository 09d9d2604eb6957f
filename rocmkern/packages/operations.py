"""Operations that a package's kernel does where one is given and has one, and our own kernels do otherwise.

The contract of the result is the same either way. Which way was taken, and why, is what decide() explains.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from attrs import frozen

from rocmkern.drivers.protocol import Driver
from rocmkern.dtypes import DType, bfloat16, float16, float32, int8, int32, uint32
from rocmkern.errors import DTypeError, KernelNotFound, ShapeError
from rocmkern.kernels.tuned import TunedTable
from rocmkern.layout import normal_integer
from rocmkern.ops.casting import cast, duplicate, packed
from rocmkern.ops.creation import zeros
from rocmkern.ops.elementwise import as_tensor, same_device
from rocmkern.ops.launch import empty
from rocmkern.ops.linear import Scales, scaled_product
from rocmkern.ops.manipulation import matrix_transpose, reshape
from rocmkern.ops.nn import softmax
from rocmkern.ops.reduction import sum as sum_of
from rocmkern.ops.rows_binary import add, divide
from rocmkern.ops.sorting import top_k, top_k_softmax
from rocmkern.packages.args import KernelArgs
from rocmkern.packages.choice import Choice, KernelTable
from rocmkern.packages.kind import Kind
from rocmkern.packages.kinds import (
    BF16GEMM,
    I8GEMM,
    TOPKSOFTMAX,
    Bf16GemmArgs,
    Bf16GemmSplitArgs,
    I8GemmArgs,
    TopKSoftmaxArgs,
)
from rocmkern.packages.package import KernelPackage
from rocmkern.packages.weights import ShuffledWeight, matrix_sides, shuffle_weight
from rocmkern.runtime import Device, Function, Module
from rocmkern.tensor import Tensor

_SEMAPHORES: Final = 1024
_DTYPE_NAMES: Final[dict[DType, str]] = {float32: "fp32", bfloat16: "bf16"}
_functions: dict[tuple[Driver, Path, str], Function] = {}


@frozen
class Decision:
    """The kernel that was taken, None for our own; `steps` tell what each step of the chain found."""

    choice: Choice | None
    steps: tuple[str, ...]

    def explain(self) -> str:
        return "\n".join(self.steps)


Step = Callable[[KernelTable, TunedTable | None, Device, dict[str, object]], tuple[Choice | None, str]]


def _by_tuning(
    table: KernelTable, tuned: TunedTable | None, device: Device, problem: dict[str, object]
) -> tuple[Choice | None, str]:
    if tuned is None:
        return None, "no table given"
    shape = {column: _integer(problem[column.lower()]) for column in tuned.problem_columns}
    found = tuned.find(table.arch, device.info.compute_units, table.kind.tuned, **shape)
    if found is None:
        columns = {**shape, **table.kind.tuned}
        return None, f"no row for {', '.join(f'{k}={v}' for k, v in columns.items())}"
    measured = {"splits": found.row.splits} if found.row.splits else {}
    try:
        choice = table.named(found.row.kernel, device.info.compute_units, found.step, **measured | problem)
    except KernelNotFound as error:
        return None, str(error)
    return choice, choice.explain()


def _by_heuristic(
    table: KernelTable, tuned: TunedTable | None, device: Device, problem: dict[str, object]
) -> tuple[Choice | None, str]:
    try:
        choice = table.select(device.info.compute_units, **problem)
    except KernelNotFound as error:
        return None, str(error)
    return choice, choice.explain()


CHAIN: Final[tuple[tuple[str, Step], ...]] = (("tuned", _by_tuning), ("heuristic", _by_heuristic))


def decide(
    kind: Kind, package: KernelPackage | None, device: Device, tuned: TunedTable | None = None, **problem: object
) -> Decision:
    """Which kernel serves a problem: the tuned one, else the heuristic's, else our own."""
    if package is None:
        return Decision(None, ("own kernels: no package given",))
    if not isinstance(package, KernelPackage):
        raise TypeError(f"{kind.name}: {package!r} is no KernelPackage; open one with KernelPackage.open")
    table = KernelTable.of(package, kind, device.info.arch)
    steps = []
    for name, step in CHAIN:
        choice, found = step(table, tuned, device, problem)
        steps.append(f"{name}: {found}")
        if choice is not None:
            return Decision(choice, tuple(steps))
    return Decision(None, (*steps, "own kernels: none of the package's fits"))


def topk_softmax(
    gating: Tensor, k: int, *, renormalize: bool = False, package: KernelPackage | None = None
) -> tuple[Tensor, Tensor]:
    """The k largest of each row's softmax, largest first, and their columns as int32.

    `gating` is (tokens, experts) of any float dtype; weights are float32. With `renormalize` each row of weights sums
    to 1. Equal values keep the order of their columns.
    """
    tokens, experts = matrix_sides("topk_softmax", "gating", gating)
    k = normal_integer(k, "topk_softmax", "k")
    if not 1 <= k <= experts:
        raise ShapeError(f"topk_softmax: k={k} of {experts} experts; give 1 to {experts}")
    dtype = _DTYPE_NAMES.get(gating.dtype, gating.dtype.name)
    decision = decide(TOPKSOFTMAX, package, gating.device, tokens=tokens, num_experts=experts, topk=k, dtype=dtype)
    if decision.choice is None or not tokens:
        fused = top_k_softmax(gating, k, renormalize)
        if fused is not None:
            return fused
        weights, columns = top_k(softmax(cast(gating, float32)), k)
        weights = divide(weights, sum_of(weights, axis=-1, keepdims=True)) if renormalize else weights
        return weights, cast(columns, int32)
    return choose_experts(decision.choice, gating, k, renormalize)


def choose_experts(choice: Choice, gating: Tensor, k: int, renormalize: bool) -> tuple[Tensor, Tensor]:
    """Run the kernel that was chosen."""
    tokens, experts = gating.shape
    weights, columns = empty((tokens, k), float32, gating.device), empty((tokens, k), int32, gating.device)
    args = TopKSoftmaxArgs(
        indices=columns, weights=weights, gating=seen_as(packed(gating), float32), tokens=tokens, experts=experts,
        topk=k, renormalize=int(renormalize), out_stride=k * weights.dtype.itemsize,
    )  # fmt: skip
    launch(choice, args, gating.device)
    return weights, columns


def gemm_a8w8(
    a: Tensor,
    b: Tensor | ShuffledWeight,
    scale_a: Tensor,
    scale_b: Tensor,
    *,
    bias: Tensor | None = None,
    dtype: DType = bfloat16,
    package: KernelPackage | None = None,
    tuned: TunedTable | None = None,
) -> Tensor:
    """a · bᵀ of int8 matrices, scaled per row of `a` and per row of `b`, plus a bias per column, as bfloat16.

    `a` is (m, k), `b` (n, k) plain or shuffled; scales and bias are float32 of m, n and n elements. Sums are exact, the
    result is rounded once, to `dtype`: float32 and float16 too, which our own kernels give. A package's kernel may cut
    the lower half of the float32 off where ours round to the nearest: then results are up to one bfloat16 closer to 0.
    Weights shuffled for other kernels than the package's, as `decide` says then, are multiplied by our own.
    """
    m, k = matrix_sides("gemm_a8w8", "a", a)
    n = _columns("gemm_a8w8", b, k)
    for name, t, size in (("scale_a", scale_a, m), ("scale_b", scale_b, n), ("bias", bias, n)):
        if t is not None and (as_tensor("gemm_a8w8", t).size != size or t.dtype is not float32):
            raise ShapeError(f"gemm_a8w8: {name} is {t.dtype} of shape {t.shape}; float32 of {size} elements is wanted")
    held = b.tensor if isinstance(b, ShuffledWeight) else b
    one_device("gemm_a8w8", a, held, scale_a, scale_b, bias)
    for name, t in (("a", a), ("b", held)):
        if t.dtype is not int8:
            raise DTypeError(f"gemm_a8w8: {name} is {t.dtype}; int8 is wanted, quantise it first")
    if dtype not in (bfloat16, float16, float32):
        raise DTypeError(f"gemm_a8w8: a result of {dtype}; bfloat16, float16 and float32 are there")
    # Splits of K zero the result each for itself and rely on running side by side: no large grid can on the emulator.
    splits = {"splits": 1} if a.device.info.unified else {}
    theirs = package if dtype is bfloat16 and m and n and k else None
    order = {"tile_rows": b.tile[0]} if isinstance(b, ShuffledWeight) else {}
    decision = decide(I8GEMM, theirs, a.device, tuned, m=m, n=n, k=k, bpreshuffle=1, **order, **splits)
    if decision.choice is None:
        plain = b.plain() if isinstance(b, ShuffledWeight) else b
        scales = Scales(packed(scale_a), packed(scale_b), None if bias is None else packed(bias))
        return scaled_product(a, matrix_transpose(plain), dtype, scales)
    return multiply_integers(decision.choice, a, b, scale_a, scale_b, bias)


def multiply_integers(
    choice: Choice, a: Tensor, b: Tensor | ShuffledWeight, scale_a: Tensor, scale_b: Tensor, bias: Tensor | None
) -> Tensor:
    """Run the kernel that was chosen."""
    weight = b if isinstance(b, ShuffledWeight) else shuffle_weight(b, choice.tile)
    (m, k), n = a.shape, weight.n
    out = zeros((m, n), dtype=bfloat16, device=a.device)
    args = I8GemmArgs(
        out=out, a=packed(a), b=weight.tensor, scale_a=packed(scale_a), scale_b=packed(scale_b),
        bias=zeros((n,), dtype=float32, device=a.device) if bias is None else packed(bias),
        m=m, n=n, k=k, lda=k, ldb=k, ldc=n * out.dtype.itemsize, splits=choice.splits,
    )  # fmt: skip
    launch(choice, args, a.device)
    return out


def gemm_a16w16(
    a: Tensor,
    b: Tensor,
    *,
    bias: Tensor | None = None,
    package: KernelPackage | None = None,
    tuned: TunedTable | None = None,
) -> Tensor:
    """a · bᵀ of bfloat16 matrices (m, k) and (n, k), summed in float32, plus a float32 bias per column, as float32."""
    m, k = matrix_sides("gemm_a16w16", "a", a)
    n = _columns("gemm_a16w16", as_tensor("gemm_a16w16", b), k)
    one_device("gemm_a16w16", a, b, bias)
    for name, t in (("a", a), ("b", b)):
        if t.dtype is not bfloat16:
            raise DTypeError(f"gemm_a16w16: {name} is {t.dtype}; bfloat16 is wanted, cast it first")
    if bias is not None and (as_tensor("gemm_a16w16", bias).size != n or bias.dtype is not float32):
        raise ShapeError(f"gemm_a16w16: bias is {bias.dtype} of shape {bias.shape}; float32 of {n} elements is wanted")
    theirs = package if m and n and k else None
    decision = decide(BF16GEMM, theirs, a.device, tuned, m=m, n=n, k=k, bPreshuffle=0)
    if decision.choice is None:
        return scaled_product(a, matrix_transpose(b), float32, Scales(bias=None if bias is None else packed(bias)))
    out = multiply_halves(decision.choice, a, b)
    return out if bias is None else add(out, reshape(bias, (1, n)))


def multiply_halves(choice: Choice, a: Tensor, b: Tensor) -> Tensor:
    """Run the kernel that was chosen."""
    (m, k), n = a.shape, b.shape[0]
    out = zeros((m, n), dtype=float32, device=a.device)  # the kernels add
    kind: Any = choice.arguments
    row, half, splits = n * out.dtype.itemsize, k * a.dtype.itemsize, choice.splits
    more: dict[str, Any] = {}
    if issubclass(kind, Bf16GemmArgs):
        more["is_out_b16"] = 0
    if issubclass(kind, Bf16GemmSplitArgs) and splits > 1:
        more["semaphore"] = zeros((_SEMAPHORES,), dtype=uint32, device=a.device)
    args = kind(
        d=out, a=packed(a), b=packed(b), stride_d0=row, stride_c0=row, stride_a0=half, stride_b0=half, m=m, n=n, k=k,
        splits=splits if splits > 1 else 0, **more,
    )  # fmt: skip
    launch(choice, args, a.device)
    return out


def _columns(operation: str, b: Tensor | ShuffledWeight, k: int) -> int:
    n, inner = (b.n, b.k) if isinstance(b, ShuffledWeight) else matrix_sides(operation, "b", b)
    if inner != k:
        raise ShapeError(f"{operation}: a has {k} columns, b {inner}; b is (n, k), one row per column of the result")
    return n


def one_device(operation: str, first: Tensor, *others: Tensor | None) -> None:
    """Raises DeviceError unless all of them are on one device."""
    for t in others:
        if t is not None:
            same_device(operation, first.device, as_tensor(operation, t))


def _integer(value: object) -> int:
    assert isinstance(value, int)
    return value


def seen_as(t: Tensor, dtype: DType) -> Tensor:
    """The tensor's bytes seen as another dtype: kernels for bf16 take the same pointer as those for f32."""
    if t.dtype is dtype:
        return t
    whole = duplicate(t) if t.layout.offset else t  # an offset counts elements
    return Tensor(whole.memory, dtype, whole.layout, t.device)


def _function(choice: Choice, device: Device) -> Function:
    key = (device.driver, choice.path, choice.row.symbol)
    found = _functions.get(key)
    if found is None or found.module.is_closed:
        found = _functions[key] = Module.load(choice.path, device).get_function(choice.row.symbol)
    return found


def launch(choice: Choice, args: KernelArgs, device: Device) -> None:
    """Launch the kernel that was chosen."""
    function = _function(choice, device)
    function.launch_packed(args.pack(function), grid=choice.grid, block=choice.block)
