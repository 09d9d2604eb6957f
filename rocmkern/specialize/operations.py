"""The operations of the templates: their tensors, their dtypes, the line that makes an instance, their launch."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from attrs import frozen

from rocmkern.dtypes import DType, float32, int32
from rocmkern.errors import ConfigError
from rocmkern.kernels import files
from rocmkern.kernels.catalogue import NUMBERS
from rocmkern.kernels.families.matmul import TILES, Tile
from rocmkern.kernels.plans_matmul import fastest_tile
from rocmkern.specialize.descriptor import TensorDescriptor
from rocmkern.targets import devices

if TYPE_CHECKING:
    from rocmkern.specialize.config import Request

THREADS: Final = 256
_LARGEST_GRID: Final = (1 << 32) // THREADS - 1
_UNITS: Final = 132  # compute units of a target that has no row
_TURNED_EDGE: Final = 64  # and the least extent that is turned, as in templates/lines.hpp
WORTHWHILE: Final = 16
_BINARY: Final = ("add", "sub", "mul", "div")
_UNARY_ANY: Final = ("abs", "sgn", "neg", "step", "relu")
_UNARY_FLOAT: Final = (
    "tanh", "elu", "sigmoid", "gelu", "gelu_quick", "gelu_erf", "silu", "hardswish", "hardsigmoid", "exp",
)  # fmt: skip


@frozen
class Operation:
    """A kernel of a template."""

    name: str
    template: str
    inputs: int
    floats_only: bool = False


OPERATIONS: Final[dict[str, Operation]] = {
    row.name: row
    for row in (
        *(Operation(f"ggml_op_{name}", "binary_ops.hip", 2) for name in _BINARY),
        *(Operation(f"ggml_unary_op_{name}", "unary_ops.hip", 1) for name in _UNARY_ANY),
        *(Operation(f"ggml_unary_op_{name}", "unary_ops.hip", 1, True) for name in _UNARY_FLOAT),
        Operation("ggml_op_cont", "unary_ops.hip", 1),
        Operation("ggml_op_mul_mat", "mul_mat.hip", 2),
    )
}


def templates() -> Path:
    """The folder of the templates inside the package."""
    return files.sources() / "templates"


def check(name: str, source: Path, inputs: tuple[TensorDescriptor, ...], output: TensorDescriptor, where: str) -> None:
    """Raises ConfigError where the tensors do not fit the template's operation; your own sources are your own."""
    if source.parent != templates():
        return
    row = OPERATIONS.get(name)
    if row is None or row.template != source.name:
        there = ", ".join(op.name for op in OPERATIONS.values() if op.template == source.name)
        raise ConfigError(f"{where}, kernel_name: {name!r} is not in {source.name}; it has {there}")
    if len(inputs) != row.inputs:
        raise ConfigError(f"{where}, input_tensors: {name} takes {row.inputs}, {len(inputs)} came; list each input")
    if any(tensor.dtype is not inputs[0].dtype for tensor in inputs):
        raise ConfigError(f"{where}, input_tensors: dtypes differ ({_dtypes(inputs)}); give both inputs one dtype")
    if inputs[0].dtype not in NUMBERS:
        raise ConfigError(f"{where}, input_tensors[0]: {name} of {inputs[0].dtype.short}; it takes real number dtypes")
    if row.floats_only and not inputs[0].dtype.is_float:
        raise ConfigError(f"{where}, input_tensors[0]: {name} of {inputs[0].dtype.short}; it takes float dtypes")
    if name == "ggml_op_mul_mat":
        _check_product(inputs[0], inputs[1], output, where)
        return
    if output.shape != inputs[0].shape or output.dtype is not inputs[0].dtype:
        raise ConfigError(f"{where}, output_tensor: {output}; {name} of {inputs[0]} has that shape and dtype")
    if len(inputs) == 2 and any(n % own for n, own in zip(output.shape, inputs[1].shape, strict=True)):
        raise ConfigError(
            f"{where}, input_tensors[1]: {inputs[1].shape} does not repeat to {output.shape}; dims must divide"
        )


def _dtypes(inputs: tuple[TensorDescriptor, ...]) -> str:
    return ", ".join(tensor.dtype.short for tensor in inputs)


def product_dtype(dtype: DType) -> DType:
    """The dtype of a matrix product's result."""
    if dtype.is_float:
        return float32 if dtype.itemsize <= float32.itemsize else dtype
    return int32


def _check_product(a: TensorDescriptor, b: TensorDescriptor, output: TensorDescriptor, where: str) -> None:
    if a.shape[0] != b.shape[0]:
        raise ConfigError(f"{where}: k is {a.shape[0]} in input 0 and {b.shape[0]} in input 1; dim 0 must be equal")
    if any(n % own for n, own in zip(b.shape[2:], a.shape[2:], strict=True)):
        raise ConfigError(f"{where}: batches {a.shape[2:]} do not repeat to {b.shape[2:]}; dims must divide")
    wanted = (a.shape[1], b.shape[1], *b.shape[2:])
    if output.shape != wanted:
        raise ConfigError(f"{where}, output_tensor: shape {output.shape}; the product of {a} and {b} has {wanted}")
    tiled = [t.short for t in NUMBERS if _tiles(t)]
    if a.dtype.short not in tiled:
        raise ConfigError(f"{where}: ggml_op_mul_mat of {a.dtype.short}; it takes {', '.join(tiled)}")
    result = product_dtype(a.dtype).short
    if output.dtype.short != result:
        raise ConfigError(f"{where}, output_tensor: {output.dtype.short}; the product of {a.dtype.short} is {result}")


def instance(request: Request) -> str:
    """The source that makes one kernel of a template."""

    def layout(tensor: TensorDescriptor, strides: bool) -> str:
        values = tensor.strides if strides else tensor.shape
        return f"rk::{'Pitch' if strides else 'Extent'}<{', '.join(map(str, values))}>"

    names = [request.exported_name, request.kernel_name, request.inputs[0].dtype.short]
    aliases = []
    tensors = [*request.inputs, request.output]
    for index, tensor in enumerate(tensors):
        if index == len(tensors) - 1 and request.kernel_name == "ggml_op_mul_mat":
            names.append(request.output.dtype.short)
        for kind, strides in (("Shape", False), ("Strides", True)):
            aliases.append(f"using {kind}{index} = {layout(tensor, strides)};")
            names.append(f"{kind}{index}")
    if request.kernel_name == "ggml_op_mul_mat":
        names.append(str(_tile(request)[0]))
    lines = [f'#include "templates/{request.source.name}"', *aliases, f"RK_SPECIALIZE({', '.join(names)})"]
    return "\n".join(lines) + "\n"


def _tiles(dtype: DType) -> dict[str, Tile]:
    return {kind: tile for kind, (tile, pairs) in TILES.items() if (dtype, dtype) in pairs}


def _tile(request: Request) -> tuple[Tile, int]:
    """The tile of a product, and how many there are; its columns are ggml's m."""
    columns, rows, d2, d3 = request.output.shape
    tiles = _tiles(request.inputs[0].dtype)
    units = max((row.compute_units for row in devices(request.target)), default=_UNITS)
    kind, count = fastest_tile(d2 * d3, rows, columns, tiles, units)
    return tiles[kind], count


def geometry(request: Request) -> tuple[int, int]:
    """Blocks and threads of the launch."""
    if request.kernel_name == "ggml_op_mul_mat":
        tile, count = _tile(request)
        return min(count, _LARGEST_GRID), tile.threads
    turned = _turned(request.inputs[0], request.output) if len(request.inputs) == 1 else 0
    if turned:
        rows, columns = request.output.shape[turned], request.output.shape[0]
        tiles = -(-rows // _TURNED_EDGE) * -(-columns // _TURNED_EDGE) * (request.output.size // (rows * columns))
        return min(tiles, _LARGEST_GRID), THREADS
    width = 16 // request.output.dtype.itemsize
    packs = all(_has_packs(t, width) for t in (request.inputs[0], request.output))
    packs = packs and all(t.shape[0] == 1 or _has_packs(t, width) for t in request.inputs[1:])
    return min(-(-request.output.size // (THREADS * (width if packs else 1))), _LARGEST_GRID), THREADS


def _has_packs(tensor: TensorDescriptor, width: int) -> bool:
    """As `Fixed::has_packs` of templates/lines.hpp: another grid than that would be right too, and slower."""
    steps = (s for n, s in zip(tensor.shape[1:], tensor.strides[1:], strict=True) if n > 1)
    return tensor.strides[0] == 1 and tensor.shape[0] % width == 0 and all(step % width == 0 for step in steps)


def _turned(source: TensorDescriptor, output: TensorDescriptor) -> int:
    """As `turned_dimension` of templates/lines.hpp."""
    if source.strides[0] == 1 or output.strides[0] != 1 or output.shape[0] < WORTHWHILE:
        return 0
    return next((d for d in (1, 2, 3) if source.strides[d] == 1 and output.shape[d] >= WORTHWHILE), 0)
