"""Convolutions, pooling and resampling of images (batch, channels, height, width)."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from rocmkern.dtypes import float32
from rocmkern.engine.operation import planned
from rocmkern.errors import DTypeError, ShapeError
from rocmkern.kernels import plans_conv
from rocmkern.layout import made, normal_integer
from rocmkern.ops import tuned
from rocmkern.ops.casting import cast, packed
from rocmkern.ops.elementwise import as_tensor, device_and_dtype, same_device
from rocmkern.ops.launch import context, empty, kernel, layout_info
from rocmkern.ops.manipulation import reshape
from rocmkern.ops.rows_binary import add
from rocmkern.tensor import Tensor

Pair = int | tuple[int, int]


@planned
def conv2d(
    x: Tensor,
    /,
    weight: Tensor,
    bias: Tensor | None = None,
    *,
    stride: Pair = 1,
    padding: Pair = 0,
    dilation: Pair = 1,
    groups: int = 1,
) -> Tensor:
    """Images (b, c, h, w) with kernels (out, c/groups, kh, kw), any layout; a pair is for height and width."""
    steps, pads, spread = _geometry("conv2d", stride, padding, dilation)
    groups = normal_integer(groups, "conv2d", "groups")
    images, kernels = _operands("conv2d", x, weight, groups, over_groups=True)
    size = tuple(map(plans_conv.windows, images.shape[2:], _reach(kernels.shape[2:], spread), steps, pads))
    if min(size) <= 0:
        raise ShapeError(f"conv2d: kernel {kernels.shape[2:]} does not fit image {images.shape[2:]}")
    if weight.shape[0] % groups:
        raise ShapeError(f"conv2d: {weight.shape[0]} output channels in {groups} groups")
    geometry = (groups, *size, *steps, *pads, *spread)
    result = empty((images.shape[0], kernels.shape[0], *size), images.dtype, images.device)
    here, instance, depth = context(images.device), None, prod(kernels.shape[1:])
    if tuned.tables is not None:
        problem = kernels.shape[0], images.shape[0] * size[0] * size[1], depth
        instance = tuned.chosen("conv2d", images.device, images.dtype.short, *problem)
    pixels = images.shape[2] * images.shape[3]
    sizes = result.shape, pixels, groups, images.dtype, _packs(kernels), depth
    plan = here.plan(plans_conv.planned, *sizes, tuned=instance)
    chosen, (info, *addresses) = here.kernel(images.device, plan.variant), _pointers(images, kernels)
    shift = _bias("conv2d", bias, result)
    if plan.variant.startswith("conv2d_axes"):
        chosen.run(plan, *geometry, info, *addresses, 0 if shift is None else shift.address, result.address)
        return _as_given(result, x)
    chosen.run(plan, *geometry, info, *addresses, result.address)
    return _as_given(result if shift is None else add(result, reshape(shift, (-1, 1, 1))), x)


@planned
def conv_transpose2d(
    x: Tensor,
    /,
    weight: Tensor,
    bias: Tensor | None = None,
    *,
    stride: Pair = 1,
    padding: Pair = 0,
    output_padding: Pair = 0,
    dilation: Pair = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of conv2d: images (b, c, h, w) with kernels (c, out/groups, kh, kw)."""
    groups = normal_integer(groups, "conv_transpose2d", "groups")
    images, kernels = _operands("conv_transpose2d", x, weight, groups, over_groups=False)
    steps, pads, spread = _geometry("conv_transpose2d", stride, padding, dilation)
    more = _pair("conv_transpose2d", output_padding)
    if any(o >= max(s, d) for o, s, d in zip(more, steps, spread, strict=True)):
        raise ShapeError(f"conv_transpose2d: output_padding {more}; stay below stride {steps} or dilation {spread}")
    size = tuple(
        (n - 1) * s - 2 * p + d * (k - 1) + o + 1
        for n, k, s, p, d, o in zip(images.shape[2:], kernels.shape[2:], steps, pads, spread, more, strict=True)
    )
    if min(size) <= 0:
        raise ShapeError(f"conv_transpose2d: padding {pads} leaves nothing of image {images.shape[2:]}")
    result = empty((images.shape[0], kernels.shape[1] * groups, *size), images.dtype, images.device)
    geometry = (groups, *size, *steps, *pads, *spread)
    shift = _bias("conv_transpose2d", bias, result)
    kernel(images.device, f"conv_transpose2d_axes_{images.dtype.short}")(
        result.size, *geometry, *_pointers(images, kernels), 0 if shift is None else shift.address, result.address
    )
    return _as_given(result, x)


@planned
def conv1d(
    x: Tensor,
    /,
    weight: Tensor,
    bias: Tensor | None = None,
    *,
    stride: int = 1,
    padding: int = 0,
    dilation: int = 1,
    groups: int = 1,
) -> Tensor:
    """Signals (b, c, n) with kernels (out, c/groups, k)."""
    image, kernels = _as_image("conv1d", x), _as_image("conv1d", weight)
    result = conv2d(
        image, kernels, bias, stride=(1, stride), padding=(0, padding), dilation=(1, dilation), groups=groups
    )
    return _as_signal(result)


@planned
def conv_transpose1d(
    x: Tensor,
    /,
    weight: Tensor,
    bias: Tensor | None = None,
    *,
    stride: int = 1,
    padding: int = 0,
    output_padding: int = 0,
    dilation: int = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of conv1d: signals (b, c, n) with kernels (c, out/groups, k)."""
    result = conv_transpose2d(
        _as_image("conv_transpose1d", x),
        _as_image("conv_transpose1d", weight),
        bias,
        stride=(1, stride),
        padding=(0, padding),
        output_padding=(0, output_padding),
        dilation=(1, dilation),
        groups=groups,
    )
    return _as_signal(result)


@planned
def avg_pool2d(
    x: Tensor,
    window: Pair,
    /,
    *,
    stride: Pair | None = None,
    padding: Pair = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The mean of each window of images (b, c, h, w); the stride is the window by default.

    `padding` zeros lie around the image, and count in the mean unless `count_include_pad` is false. With `ceil_mode`
    windows may reach beyond the end, where nothing counts. As PyTorch has it.
    """
    return _pooled("avg_pool2d", x, window, stride, padding, 1, ceil_mode, count_include_pad)


@planned
def max_pool2d(
    x: Tensor,
    window: Pair,
    /,
    *,
    stride: Pair | None = None,
    padding: Pair = 0,
    dilation: Pair = 1,
    ceil_mode: bool = False,
) -> Tensor:
    """The largest value of each window of images (b, c, h, w), NaN where there is one.

    The stride is the window by default. Padding is never the largest; `dilation` is the distance of a window's places.
    With `ceil_mode` windows may reach beyond the end. As PyTorch has it.
    """
    return _pooled("max_pool2d", x, window, stride, padding, dilation, ceil_mode, False)


@planned
def interpolate(x: Tensor, size: Pair, /, *, mode: str = "nearest", align_corners: bool = False) -> Tensor:
    """Images resampled to a height and width, "nearest" or "bilinear"."""
    size = _pair("interpolate", size)
    images = _images("interpolate", x)
    if mode not in ("nearest", "bilinear"):
        raise ShapeError(f'interpolate: mode {mode!r}; use "nearest" or "bilinear"')
    if min(size) <= 0 or 0 in images.shape[2:]:
        raise ShapeError(f"interpolate: image {images.shape[2:]} to {size}; sizes are positive")
    result = empty((*images.shape[:2], *size), images.dtype, images.device)
    info = layout_info(images.device, images.shape + images.strides)
    options = (
        tuple(n / m for n, m in zip(images.shape[2:], size, strict=True))
        if mode == "nearest"
        else (align_corners, False, 0.0, False, 0.0)
    )
    # Candle calls the third axis w where nearest and pools are concerned, and h in bilinear.
    ordered = size if mode == "nearest" else size[::-1]
    kernel(images.device, f"upsample_{mode}2d_{images.dtype.short}")(
        result.size, *ordered, *options, info, images.address, result.address
    )
    return cast(result, x.dtype)


def _pooled(
    name: str, x: Tensor, window: Pair, stride: Pair | None, padding: Pair, dilation: Pair, ceil: bool, counts: bool
) -> Tensor:
    lengths = _pair(name, window)
    steps, pads, spread = _geometry(name, lengths if stride is None else stride, padding, dilation)
    images = _images(name, x)
    if 0 in lengths:
        raise ShapeError(f"{name}: window {lengths}; use numbers from 1 on")
    reach = _reach(lengths, spread)
    if any(2 * p > r for p, r in zip(pads, reach, strict=True)):
        raise ShapeError(f"{name}: padding {pads} of windows that cover {reach}; use half of that at most")
    size = tuple(map(plans_conv.windows, images.shape[2:], reach, steps, pads, (ceil, ceil)))
    if min(size) <= 0:
        raise ShapeError(f"{name}: window {lengths} does not fit image {images.shape[2:]}")
    result = empty((*images.shape[:2], *size), images.dtype, images.device)
    info = layout_info(images.device, images.shape + images.strides)
    kernel(images.device, f"{name}_axes_{images.dtype.short}")(
        result.size, *size, *lengths, *steps, *pads, *spread, counts, info, images.address, result.address
    )
    return cast(result, x.dtype)


def _reach(lengths: tuple[int, ...], spread: tuple[int, ...]) -> tuple[int, ...]:
    """How many elements windows of these lengths cover, their places `spread` apart."""
    return tuple(d * (k - 1) + 1 for k, d in zip(lengths, spread, strict=True))


def _images(name: str, x: Tensor) -> Tensor:
    """Four dimensions, in a dtype that the kernels have: f8 goes through f32."""
    if as_tensor(name, x).ndim != 4:
        raise ShapeError(f"{name}: shape {x.shape}; it takes (batch, channels, height, width)")
    if x.dtype.kind in ("bool", "complex"):
        raise DTypeError(f"{name}: dtype {x.dtype}; it takes a real number dtype, cast it or take its parts")
    return cast(x, float32) if x.dtype.short == "f8_e4m3" else x


def _operands(name: str, x: Tensor, weight: Tensor, groups: int, *, over_groups: bool) -> tuple[Tensor, Tensor]:
    """Images and kernels of one dtype, whose channels fit: `over_groups` kernels hold a group's, else all."""
    _, dtype = device_and_dtype(name, as_tensor(name, x), as_tensor(name, weight))
    images, kernels = _images(name, cast(x, dtype)), _images(name, cast(weight, dtype))
    wanted = weight.shape[1] * groups if over_groups else weight.shape[0]
    if groups < 1 or images.shape[1] != wanted or images.shape[1] % groups:
        raise ShapeError(
            f"{name}: {images.shape[1]} channels, weights {weight.shape} and {groups} groups do not fit together"
        )
    return images, kernels


def _pair(name: str, value: Pair) -> tuple[int, int]:
    if value.__class__ is int and value >= 0:
        return (value, value)
    if value.__class__ is tuple and [n.__class__ for n in value] == [int, int] and min(value) >= 0:
        return value
    pair = tuple(normal_integer(n, name, "number") for n in (value if isinstance(value, Sequence) else (value,) * 2))
    if len(pair) != 2 or min(pair) < 0:
        raise ShapeError(f"{name}: {value!r}; use a number or a pair of numbers from 0 on")
    return pair


def _geometry(name: str, stride: Pair, padding: Pair, dilation: Pair) -> tuple[tuple[int, int], ...]:
    """Strides, paddings and dilations of height and width."""
    steps, pads, spread = (_pair(name, p) for p in (stride, padding, dilation))
    if 0 in steps + spread:
        raise ShapeError(f"{name}: stride {steps}, dilation {spread}; use numbers from 1 on")
    return steps, pads, spread


def _packs(kernels: Tensor) -> bool:
    """Whether the weights of one output channel lie side by side."""
    return kernels.view(kernels.layout.narrow(0, 0, min(1, kernels.shape[0]))).is_contiguous


def _pointers(images: Tensor, kernels: Tensor) -> tuple[int, int, int]:
    words = images.shape + images.strides + kernels.shape + kernels.strides
    return layout_info(images.device, words), images.address, kernels.address


def _as_image(name: str, x: Tensor) -> Tensor:
    if as_tensor(name, x).ndim != 3:
        raise ShapeError(f"{name}: shape {x.shape}; it takes three dimensions")
    (b, c, n), strides = x.layout.shape, x.layout.strides
    return x.view(made((b, c, 1, n), (*strides[:2], 0, strides[2]), x.layout.offset))


def _as_signal(image: Tensor) -> Tensor:
    (b, c, _, n), strides = image.layout.shape, image.layout.strides
    return image.view(made((b, c, n), (*strides[:2], strides[3]), image.layout.offset))


def _as_given(result: Tensor, x: Tensor) -> Tensor:
    """What went through f32 as f8 again."""
    return cast(result, x.dtype) if x.dtype.short == "f8_e4m3" else result


def _bias(name: str, bias: Tensor | None, result: Tensor) -> Tensor | None:
    """What is added to each channel, in the result's dtype and contiguous."""
    if bias is None:
        return None
    if as_tensor(name, bias).shape != result.shape[1:2]:
        raise ShapeError(
            f"{name}: a bias of shape {bias.shape} for {result.shape[1]} output channels; give it one each"
        )
    same_device(name, result.device, bias)
    return packed(cast(bias, result.dtype))
