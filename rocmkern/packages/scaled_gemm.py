"""Products of matrices whose blocks have scales, by a package's kernels, and by our own where it has none."""

from __future__ import annotations

from typing import Final

from rocmkern.dtypes import DType, bfloat16, float8_e4m3, float32, int32, uint8
from rocmkern.errors import DTypeError, ShapeError
from rocmkern.ops.casting import cast, packed
from rocmkern.ops.creation import asarray, empty, zeros
from rocmkern.ops.elementwise import as_tensor
from rocmkern.ops.indexing import repeat, take, where
from rocmkern.ops.linear import matmul
from rocmkern.ops.manipulation import concat, matrix_transpose, permute_dims, reshape, stack
from rocmkern.ops.rows_binary import bitwise_and, bitwise_right_shift, equal, multiply
from rocmkern.packages.choice import Choice
from rocmkern.packages.operations import decide, launch, one_device
from rocmkern.packages.package import KernelPackage
from rocmkern.packages.scaled_kinds import (
    BLOCK,
    BLOCKSCALE_GEMM,
    F4GEMM,
    GROUP,
    BlockScaleGemmArgs,
    F4GemmArgs,
)
from rocmkern.packages.weights import ShuffledWeight, matrix_sides, shuffle_weight
from rocmkern.tensor import Tensor

_TILE: Final = (16, 16)
_FOUR_BITS: Final = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0)
_SCALE_ROWS: Final = 256  # that scales come in
_SCALE_COLUMNS: Final = 8
_MINUS_ZERO: Final = 0x80


def gemm_a8w8_blockscale(
    a: Tensor, b: Tensor | ShuffledWeight, scale_a: Tensor, scale_b: Tensor, *, package: KernelPackage | None = None
) -> Tensor:
    """a · bᵀ of float8_e4m3 matrices (m, k) and (n, k), as bfloat16, each block times its scale.

    `scale_a` is float32 (m, k/128), `scale_b` (n/128, k/128), rounded up. Kernels of an MI300, whose floats of eight
    bits are half as large, get what makes up for it. A package's kernel may cut float32 off where ours round it.
    """
    name = "gemm_a8w8_blockscale"
    (m, k), (n, held) = matrix_sides(name, "a", a), _sides(name, b)
    if k != held:
        raise ShapeError(f"{name}: a has {k} columns, b {held}; b is (n, k), one row per column of the result")
    plain = b.tensor if isinstance(b, ShuffledWeight) else b
    _check_dtypes(name, float8_e4m3, a, plain)
    blocks = -(-k // BLOCK)
    for label, t, shape in (("scale_a", scale_a, (m, blocks)), ("scale_b", scale_b, (-(-n // BLOCK), blocks))):
        if as_tensor(name, t).shape != shape or t.dtype is not float32:
            raise ShapeError(f"{name}: {label} is {t.dtype} of shape {t.shape}; float32 of {shape} is wanted")
    one_device(name, a, plain, scale_a, scale_b)
    theirs = package if m and n and k else None
    choice = decide(BLOCKSCALE_GEMM, theirs, a.device, m=m, n=n, k=k, bpreshuffle=1).choice
    if choice is not None:
        return multiply_blocks(choice, a, b, scale_a, scale_b)
    spread_a = repeat(scale_a, BLOCK, axis=1)[:, :k]
    spread_b = repeat(repeat(scale_b, BLOCK, axis=0), BLOCK, axis=1)[:n, :k]
    whole = b.plain() if isinstance(b, ShuffledWeight) else b
    left, right = multiply(cast(a, float32), spread_a), multiply(cast(whole, float32), spread_b)
    return cast(matmul(left, matrix_transpose(right)), bfloat16)


def multiply_blocks(choice: Choice, a: Tensor, b: Tensor | ShuffledWeight, scale_a: Tensor, scale_b: Tensor) -> Tensor:
    """Run the kernel that was chosen."""
    (m, k), device = a.shape, a.device
    weight = b if isinstance(b, ShuffledWeight) else shuffle_weight(b, _TILE)
    held = [packed(a), weight.tensor]
    if device.info.arch.startswith("gfx942"):  # the bits mean half of it, and that of -0 no number
        held = [_without_minus_zero(t) for t in held]
        scale_a = multiply(scale_a, 4.0)
    out = empty((m, weight.n), dtype=bfloat16, device=device)
    args = BlockScaleGemmArgs(
        out=out, a=held[0], b=held[1], scale_a=packed(matrix_transpose(scale_a)), scale_b=packed(scale_b),
        bias=zeros((weight.n,), dtype=float32, device=device), m=m, n=weight.n, k=k, lda=k, ldb=k, ldc=2 * weight.n,
        splits=1, scale_m=m, scale_n=weight.n // BLOCK, scale_k=k // BLOCK,
    )  # fmt: skip
    launch(choice, args, device)
    return out


def _without_minus_zero(t: Tensor) -> Tensor:
    bits = Tensor(t.memory, uint8, t.layout, t.device)
    kept = packed(where(equal(bits, _MINUS_ZERO), asarray(0, dtype=uint8, device=t.device), bits))
    return Tensor(kept.memory, t.dtype, kept.layout, t.device)


def gemm_a4w4(
    a: Tensor, b: Tensor | ShuffledWeight, scale_a: Tensor, scale_b: Tensor, *, package: KernelPackage | None = None
) -> Tensor:
    """a · bᵀ of matrices (m, k) and (n, k) of four-bit floats, as bfloat16, each 32 of a row times a power of two.

    Two elements lie in a byte, the first in its low half: `a` is uint8 (m, k/2). Scales are uint8 (m, k/32) and
    (n, k/32): 127 is one, one more twice as much.
    """
    name = "gemm_a4w4"
    (m, half), (n, held) = matrix_sides(name, "a", a), _sides(name, b)
    k = 2 * half
    if half != held or k % GROUP:
        raise ShapeError(f"{name}: a has {k} elements in a row, b {2 * held}; give as many, a multiple of {GROUP}")
    plain = b.tensor if isinstance(b, ShuffledWeight) else b
    _check_dtypes(name, uint8, a, plain, scale_a, scale_b)
    for label, t, shape in (("scale_a", scale_a, (m, k // GROUP)), ("scale_b", scale_b, (n, k // GROUP))):
        if t.shape != shape:
            raise ShapeError(f"{name}: {label} has shape {t.shape}; {shape} is wanted")
    one_device(name, a, plain, scale_a, scale_b)
    theirs = package if m and n and k else None
    choice = decide(F4GEMM, theirs, a.device, m=m, n=n, k=k, bpreshuffle=1).choice
    if choice is not None:
        return multiply_groups(choice, a, b, scale_a, scale_b)
    whole = b.plain() if isinstance(b, ShuffledWeight) else b
    left, right = _unpacked(a, scale_a), _unpacked(whole, scale_b)
    return cast(matmul(left, matrix_transpose(right)), bfloat16)


def multiply_groups(choice: Choice, a: Tensor, b: Tensor | ShuffledWeight, scale_a: Tensor, scale_b: Tensor) -> Tensor:
    """Run the kernel that was chosen, which writes whole tiles."""
    (m, half), device = a.shape, a.device
    weight = b if isinstance(b, ShuffledWeight) else shuffle_weight(b, _TILE)
    n, scales = weight.n, [_in_kernel_order(t) for t in (scale_a, scale_b)]
    out = empty((scales[0].shape[0], n), dtype=bfloat16, device=device)
    args = F4GemmArgs(
        out=out, a=packed(a), b=weight.tensor, stride_c0=n, stride_a0=2 * half, stride_b0=2 * half, m=m, n=n,
        k=2 * half, scale_a=scales[0], scale_b=scales[1], stride_scale_a0=scales[0].shape[1],
        stride_scale_b0=scales[1].shape[1],
    )  # fmt: skip
    launch(choice, args, device)
    return out[:m]


def _sides(name: str, b: Tensor | ShuffledWeight) -> tuple[int, int]:
    return (b.n, b.k) if isinstance(b, ShuffledWeight) else matrix_sides(name, "b", b)


def _check_dtypes(name: str, wanted: DType, *tensors: Tensor) -> None:
    for t in tensors:
        if as_tensor(name, t).dtype is not wanted:
            raise DTypeError(f"{name}: {t.dtype} of shape {t.shape}; {wanted} is wanted")


def _unpacked(x: Tensor, scales: Tensor) -> Tensor:
    """The matrix in float32."""
    table = asarray(_FOUR_BITS, dtype=float32, device=x.device)
    powers = asarray([2.0 ** (i - 127) for i in range(256)], dtype=float32, device=x.device)
    halves = stack([bitwise_and(x, 15), bitwise_right_shift(x, 4)], axis=-1)
    values = take(table, cast(reshape(halves, (-1,)), int32), axis=0)
    factors = take(powers, cast(reshape(scales, (-1,)), int32), axis=0)
    rows = x.shape[0]
    return reshape(multiply(reshape(values, (-1, GROUP)), reshape(factors, (-1, 1))), (rows, 2 * x.shape[1]))


def _in_kernel_order(scales: Tensor) -> Tensor:
    """Scales as kernels load them: rows padded to 256 and columns to 8, tiles of 32 × 8 together."""
    rows, columns = scales.shape
    down, right = -rows % _SCALE_ROWS, -columns % _SCALE_COLUMNS
    if right:
        scales = concat([scales, zeros((rows, right), dtype=uint8, device=scales.device)], axis=1)
    if down:
        scales = concat([scales, zeros((down, columns + right), dtype=uint8, device=scales.device)], axis=0)
    rows, columns = scales.shape
    parts = reshape(scales, (rows // 32, 2, 16, columns // 8, 2, 4))
    return reshape(packed(permute_dims(parts, (0, 3, 5, 2, 4, 1))), (rows, columns))
