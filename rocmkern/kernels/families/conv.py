"""conv: convolutions, im2col, pooling and resampling of images (b, c, h, w)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rocmkern import dtypes
from rocmkern.dtypes import DType, bool_, float64, uint64
from rocmkern.kernels.catalogue import INTEGERS, Family, KernelSpec, Parameter, by_size, result, scalar, source
from rocmkern.kernels.tunable import Tunable, Values, setting_name

FLOATS: Final = (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64)
NUMBERS: Final = by_size((*INTEGERS, *FLOATS))
TILED: Final = (dtypes.float16, dtypes.bfloat16, dtypes.float32)
# Output channels, pixels and steps along channels × kernel of a tile, and a thread's share of its outputs.
TILES: Final = (
    (64, 128, 16, 4, 8), (64, 64, 32, 4, 4), (32, 64, 16, 4, 4), (64, 64, 16, 4, 4), (128, 64, 16, 8, 4),
    (128, 128, 8, 8, 8), (128, 128, 16, 8, 8), (32, 128, 16, 4, 8),
)  # fmt: skip
SHIPPED: Final = {"conv2d_tiles": TILES[0], "conv2d_tiles_deep": TILES[1]}
_GEOMETRY: Final = (
    "groups", "h_out", "w_out", "stride_h", "stride_w", "padding_h", "padding_w", "dilation_h", "dilation_w",
)  # fmt: skip

# Sizes of Candle's kernels, in order, and whether they take weights.
_CANDLE: Final[dict[str, tuple[tuple[str, ...], bool]]] = {
    "conv1d": (("src_numel", "l_out", "stride", "padding", "dilation"), True),
    "conv2d": (("src_numel", "w_out", "h_out", "stride", "padding", "dilation"), True),
    "conv_transpose1d": (("src_numel", "l_out", "stride", "padding", "out_padding", "dilation"), True),
    "conv_transpose2d": (("src_numel", "w_out", "h_out", "stride", "padding", "out_padding", "dilation"), True),
    "im2col1d": (("numel", "l_out", "l_k", "stride", "padding", "dilation"), False),
    "im2col": (("dst_numel", "h_out", "w_out", "h_k", "w_k", "stride", "padding", "dilation"), False),
    "avg_pool2d": (("src_numel", "w_k", "h_k", "w_stride", "h_stride"), False),
    "max_pool2d": (("src_numel", "w_k", "h_k", "w_stride", "h_stride"), False),
}
_MACROS: Final = {"avg_pool2d": "POOL(avg_pool2d, Mean, {t})", "max_pool2d": "POOL(max_pool2d, Largest, {t})"}


def _kernel(symbol: str, instance: str, *parameters: Parameter) -> KernelSpec:
    return KernelSpec(symbol, "conv", parameters, instance)


def _tensors(t: DType, *, weights: bool) -> tuple[Parameter, ...]:
    kernel = (source("kernel", t),) if weights else ()
    return source("info", uint64), source("src", t), *kernel, result("dst", t)


def _candle(t: DType) -> Iterator[KernelSpec]:
    s = t.short
    for name, (sizes, weights) in _CANDLE.items():
        instance = _MACROS.get(name, f"{name.upper()}({{t}})").format(t=s)
        yield _kernel(f"{name}_{s}", instance, *map(scalar, sizes), *_tensors(t, weights=weights))
    sizes = "dst_el", "l_out", "l_in", "c_out", "k_size", "stride"
    yield _kernel(f"col2im1d_{s}", f"COL2IM1D({s})", *map(scalar, sizes), source("src", t), result("dst", t, "dst_el"))
    out = scalar("w_out"), scalar("h_out")
    scales = scalar("w_scale", float64), scalar("h_scale", float64)
    images = _tensors(t, weights=False)
    yield _kernel(f"upsample_nearest2d_{s}", f"UPSAMPLE_NEAREST2D({s})", *out, *scales, *images)
    factors = (
        scalar("align_corners", bool_), scalar("has_scale_h", bool_), scalar("scale_h", float64),
        scalar("has_scale_w", bool_), scalar("scale_w", float64),
    )  # fmt: skip
    yield _kernel(f"upsample_bilinear2d_{s}", f"UPSAMPLE_BILINEAR2D({s})", *out, *factors, *images)


def _direct_parameters(t: DType) -> tuple[Parameter, ...]:
    return *map(scalar, _GEOMETRY), *_tensors(t, weights=True)


def _tiles(dtype: str, tile: Values) -> tuple[KernelSpec, ...]:
    kind = next((kind for kind, shipped in SHIPPED.items() if shipped == tile), None)
    name = f"{kind}_{dtype}" if kind else f"conv2d_tiles_{dtype}_{setting_name(tile)}"
    instance = f"CONV_TILES({name}, {', '.join(map(str, tile))}, {dtype})"
    return (_kernel(name, instance, *_direct_parameters(dtypes.BY_SHORT[dtype])),)


def _pools(t: DType) -> Iterator[KernelSpec]:
    axes = (f"{size}_{axis}" for size in ("stride", "padding", "dilation") for axis in "hw")
    sizes = map(scalar, ("h_out", "w_out", "h_k", "w_k", *axes))
    parameters = *sizes, scalar("counts_padding", bool_), *_tensors(t, weights=False)
    for name, window in (("avg_pool2d", "Mean"), ("max_pool2d", "Largest")):
        yield _kernel(f"{name}_axes_{t.short}", f"POOL_AXES({name}, {window}, {t.short})", *parameters)


def _own(t: DType) -> Iterator[KernelSpec]:
    *operands, out = _direct_parameters(t)
    parameters = (*operands, source("bias", t, nullable=True), out)
    for name, transposed in (("conv2d", "false"), ("conv_transpose2d", "true")):
        yield _kernel(f"{name}_axes_{t.short}", f"CONV_AXES({name}, {transposed}, {t.short})", *parameters)
    if t in TILED:
        for tile in SHIPPED.values():
            yield from _tiles(t.short, tile)


FAMILY: Final = Family(
    "conv",
    "convolutions, im2col, pooling and resampling of images",
    tuple(kernel for make in (_candle, _pools, _own) for t in NUMBERS for kernel in make(t)),
)

TUNABLES: Final = (
    Tunable(
        "conv2d",
        "conv",
        tuple(t.short for t in TILED),
        ("channels", "pixels", "depth", "thread_channels", "thread_pixels"),
        TILES,
        _tiles,
    ),
)
