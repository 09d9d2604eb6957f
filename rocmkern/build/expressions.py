"""Kernels from a line of C++: `ElementwiseKernel` and `ReductionKernel`, with CuPy's parameters."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, Final

from attrs import field, frozen

from rocmkern.build import jit
from rocmkern.dtypes import DType, dtype
from rocmkern.errors import ArgumentError, AxisError, ConfigError, DTypeError
from rocmkern.ops.creation import empty
from rocmkern.ops.manipulation import broadcast_shapes, broadcast_to, contiguous, permute_dims, reshape
from rocmkern.runtime import Device, Function, Module
from rocmkern.tensor import Tensor

__all__ = ["ElementwiseKernel", "ReductionKernel"]

_C_TYPES: Final = {
    "bool": "bool", "u8": "unsigned char", "u16": "unsigned short", "u32": "unsigned", "u64": "unsigned long",
    "i8": "signed char", "i16": "short", "i32": "int", "i64": "long", "f16": "__half", "bf16": "__hip_bfloat16",
    "f32": "float", "f64": "double",
}  # fmt: skip
_HEADERS: Final = "#include <hip/hip_bf16.h>\n#include <hip/hip_fp16.h>\n#include <hip/hip_runtime.h>\n"
_PARAMETER: Final = re.compile(r"(raw\s+)?(\w+)\s+([A-Za-z_]\w*)")
_BLOCK: Final = 256
_MOST_BLOCKS: Final = 1 << 16


@frozen
class _Parameter:
    type: str  # a dtype's name, or a letter that stands for one
    name: str
    is_raw: bool

    @property
    def is_open(self) -> bool:
        return len(self.type) == 1


def _parameters(text: str, what: str) -> tuple[_Parameter, ...]:
    found = []
    for part in filter(None, map(str.strip, text.split(","))):
        row = _PARAMETER.fullmatch(part)
        if row is None:
            raise ConfigError(f"{what}: parameter {part!r}; write a type and a name, such as `T x` or `raw float32 y`")
        found.append(_Parameter(row[2], row[3], bool(row[1])))
    return tuple(found)


def _bound(what: str, parameters: Sequence[_Parameter], values: Sequence[Any]) -> dict[str, DType]:
    """The dtype that each letter stands for. Raises DTypeError for tensors of other dtypes than their parameters'."""
    letters: dict[str, DType] = {}
    for parameter, value in zip(parameters, values, strict=True):
        if not isinstance(value, Tensor):
            continue
        wanted = letters.setdefault(parameter.type, value.dtype) if parameter.is_open else dtype(parameter.type)
        if value.dtype is not wanted:
            raise DTypeError(f"{what}: {parameter.name} is {value.dtype}, {wanted} was wanted; cast it first")
    return letters


def _dtype(what: str, parameter: _Parameter, letters: dict[str, DType]) -> DType:
    found = letters.get(parameter.type) if parameter.is_open else dtype(parameter.type)
    if found is None:
        raise DTypeError(f"{what}: nothing tells what {parameter.type} of {parameter.name} is; pass a tensor")
    if found.short not in _C_TYPES:
        raise DTypeError(f"{what}: {parameter.name} is {found}; expressions take {', '.join(_C_TYPES)}")
    return found


def _device(what: str, values: Sequence[Any]) -> Device:
    for value in values:
        if isinstance(value, Tensor):
            return value.device
    raise ArgumentError(f"{what}: no argument is a tensor; pass one")


@frozen(eq=False)
class _Source:
    """What both kinds have in common: compiling their text for the dtypes and the device of a call, once."""

    in_params: str
    out_params: str
    name: str
    preamble: str
    options: tuple[str, ...]
    inputs: tuple[_Parameter, ...] = field(init=False)
    outputs: tuple[_Parameter, ...] = field(init=False)
    _functions: dict[Any, Function] = field(init=False, factory=dict)

    def __attrs_post_init__(self) -> None:
        if not self.name.isidentifier():
            raise ConfigError(f"kernel name {self.name!r} is no identifier; use letters, digits and _")
        object.__setattr__(self, "inputs", _parameters(self.in_params, self.name))
        object.__setattr__(self, "outputs", _parameters(self.out_params, self.name))

    def function(self, device: Device, letters: dict[str, DType], kinds: tuple[bool, ...], text: str) -> Function:
        """The kernel for these types; `kinds` tell which inputs are tensors."""
        key = device, tuple(sorted((letter, found.short) for letter, found in letters.items())), kinds
        if key not in self._functions:
            types = "".join(f"using {letter} = {_C_TYPES[found.short]};\n" for letter, found in letters.items())
            source = f"{_HEADERS}{types}{self.preamble}\n{text}"
            code = jit.compiled(source, device.info.target, name=self.name, options=self.options)
            self._functions[key] = Module.load_data(code, device).get_function(self.name)
        return self._functions[key]

    def bind(self, values: Sequence[Any]) -> tuple[Device, dict[str, DType]]:
        """The device of a call, and what its letters stand for."""
        if len(values) != len(self.inputs):
            raise ArgumentError(f"{self.name}: {len(values)} arguments came; it takes `{self.in_params}`")
        return _device(self.name, values), _bound(self.name, self.inputs, values)

    def c_type(self, parameter: _Parameter, letters: dict[str, DType]) -> str:
        return parameter.type if parameter.is_open else _C_TYPES[_dtype(self.name, parameter, letters).short]

    def declared(self, letters: dict[str, DType], values: Sequence[Any]) -> list[str]:
        """The C parameters of the inputs: pointers to tensors, numbers by value."""
        rows = []
        for parameter, value in zip(self.inputs, values, strict=True):
            kind = self.c_type(parameter, letters)
            is_whole = parameter.is_raw or not isinstance(value, Tensor)
            name = parameter.name if is_whole else f"_{parameter.name}"
            rows.append(f"const {kind} {'*' if isinstance(value, Tensor) else ''}{name}")
        return rows

    def loads(self, letters: dict[str, DType], values: Sequence[Any], index: str) -> str:
        """What gives the inputs' elements their names."""
        pairs = zip(self.inputs, values, strict=True)
        return " ".join(
            f"const {self.c_type(p, letters)} {p.name} = _{p.name}[{index}];"
            for p, value in pairs
            if isinstance(value, Tensor) and not p.is_raw
        )


def _numbers(values: Sequence[Any]) -> tuple[bool, ...]:
    return tuple(isinstance(value, Tensor) for value in values)


class ElementwiseKernel:
    """A kernel that computes each element by C++ statements: `ElementwiseKernel("T x, T y", "T z", "z = x * y")`.

    Types are dtypes' names or single letters, which the tensors of a call decide. Inputs broadcast; one that is `raw`
    is an array to be indexed, by `i`, the number of the element, of `_ind.size()`, or by anything else. A call gives
    the outputs: new tensors, or those passed behind the inputs. Numbers pass as numbers. `preamble` stands before the
    kernel, `loop_prep` before the loop over elements, `after_loop` behind it. Raises BuildError for a mistake in the
    C++, ConfigError, DTypeError, ArgumentError and ShapeError for one in the call.
    """

    def __init__(
        self, in_params: str, out_params: str, operation: str, name: str = "kernel", *, preamble: str = "",
        loop_prep: str = "", after_loop: str = "", options: Sequence[str] = (),
    ) -> None:  # fmt: skip
        self._source = _Source(in_params, out_params, name, preamble, tuple(options))
        self._operation, self._before, self._behind = operation, loop_prep, after_loop

    def __call__(self, *arguments: Any, size: int | None = None) -> Any:
        source = self._source
        count = len(source.inputs)
        values, given = arguments[:count], arguments[count:]
        device, letters = source.bind(values)
        if given and len(given) != len(source.outputs):
            raise ArgumentError(f"{source.name}: {len(given)} outputs came; it has `{source.out_params}`, or pass none")
        if given:
            letters = _bound(source.name, source.outputs, given) | letters
        shapes = [
            value.shape
            for p, value in zip(source.inputs, values, strict=True)
            if isinstance(value, Tensor) and not p.is_raw
        ]
        shape = (size,) if size is not None else given[0].shape if given else broadcast_shapes(*shapes)
        if not (shapes or given or size is not None):
            raise ArgumentError(f"{source.name}: nothing tells how many elements there are; pass size")
        dtypes = [_dtype(source.name, p, letters) for p in (*source.inputs, *source.outputs)]
        outputs = given or [empty(shape, dtype=kind, device=device) for kind in dtypes[count:]]
        held = [
            contiguous(value if p.is_raw else broadcast_to(value, shape)) if isinstance(value, Tensor) else value
            for p, value in zip(source.inputs, values, strict=True)
        ]
        function = source.function(device, letters, _numbers(values), self._text(letters, values))
        total = math.prod(shape)
        if total:
            grid = min(-(-total // _BLOCK), _MOST_BLOCKS)
            function(total, *held, *outputs, grid=grid, block=_BLOCK)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def _text(self, letters: dict[str, DType], values: Sequence[Any]) -> str:
        source = self._source
        results = [(source.c_type(p, letters), p) for p in source.outputs]
        stored = " ".join(f"{kind} &{p.name} = _{p.name}[i];" for kind, p in results if not p.is_raw)
        pointers = [f"{kind} *{'' if p.is_raw else '_'}{p.name}" for kind, p in results]
        return (
            "struct _Count { long count; __device__ long size() const { return count; } };\n"
            f'extern "C" __global__ void {source.name}'
            f"(long _size, {', '.join((*source.declared(letters, values), *pointers))}) {{\n"
            f"    [[maybe_unused]] const _Count _ind{{_size}};\n    {self._before};\n"
            "    const long _step = gridDim.x * (long)blockDim.x;\n"
            "    for (long i = blockIdx.x * (long)blockDim.x + threadIdx.x; i < _size; i += _step) {\n"
            f"        {source.loads(letters, values, 'i')} {stored}\n        {self._operation};\n    }}\n"
            f"    {self._behind};\n}}\n"
        )


class ReductionKernel:
    """A kernel that reduces along axes: `ReductionKernel("T x, T y", "T z", "x * y", "a + b", "z = a", "0")`.

    `map_expr` gives what counts for an element, `reduce_expr` joins two such numbers `a` and `b`, `post_map_expr` makes
    the result of the last one, `a`; `identity` is what no element gives, in C++. `reduce_type` is the type of `a` and
    `b`, that of the output if left out. Call it with tensors, which broadcast, numbers, and `axis=`, `keepdims=`.
    Raises as ElementwiseKernel does.
    """

    def __init__(
        self, in_params: str, out_params: str, map_expr: str, reduce_expr: str, post_map_expr: str, identity: Any,
        name: str = "reduce_kernel", *, reduce_type: str | None = None, preamble: str = "", options: Sequence[str] = (),
    ) -> None:  # fmt: skip
        self._source = _Source(in_params, out_params, name, preamble, tuple(options))
        if len(self._source.outputs) != 1 or any(p.is_raw for p in self._source.inputs):
            raise ConfigError(
                f"{name}: a reduction has one output and no raw inputs; it is `{in_params}`, `{out_params}`"
            )
        self._map, self._reduce, self._post, self._identity = map_expr, reduce_expr, post_map_expr, identity
        self._type = reduce_type

    def __call__(self, *arguments: Any, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> Tensor:
        source = self._source
        device, letters = source.bind(arguments)
        output = _dtype(source.name, source.outputs[0], letters)
        shape = broadcast_shapes(*(value.shape for value in arguments if isinstance(value, Tensor)))
        axes = tuple(range(len(shape))) if axis is None else (axis,) if isinstance(axis, int) else axis
        for a in axes:
            if not -len(shape) <= a < len(shape):
                raise AxisError(f"{source.name}: axis {a} of {len(shape)} dimensions; count from {-len(shape)} on")
        axes = tuple(sorted({a % len(shape) for a in axes}))
        kept = [a for a in range(len(shape)) if a not in axes]
        rows, columns = math.prod(shape[a] for a in kept), math.prod(shape[a] for a in axes)
        held = [
            contiguous(permute_dims(broadcast_to(value, shape), (*kept, *axes))) if isinstance(value, Tensor) else value
            for value in arguments
        ]
        out = empty((rows,), dtype=output, device=device)
        function = source.function(device, letters, _numbers(arguments), self._text(letters, arguments))
        if rows:
            function(rows, columns, *held, out, grid=min(rows, _MOST_BLOCKS), block=_BLOCK)
        result = tuple(1 if a in axes else n for a, n in enumerate(shape) if keepdims or a in kept)
        return reshape(out, result)

    def _text(self, letters: dict[str, DType], values: Sequence[Any]) -> str:
        source, output = self._source, self._source.outputs[0]
        kind = source.c_type(output, letters)
        total = self._type if self._type is None or len(self._type) == 1 else _C_TYPES[dtype(self._type).short]
        total = total or kind
        parameters = ", ".join((*source.declared(letters, values), f"{kind} *_{output.name}"))
        return (
            f"__device__ {total} _joined({total} a, {total} b) {{ return {self._reduce}; }}\n"
            f'extern "C" __global__ void {source.name}'
            f"(long _rows, long _columns, {parameters}) {{\n"
            f"    __shared__ {total} _parts[{_BLOCK}];\n"
            "    for (long _row = blockIdx.x; _row < _rows; _row += gridDim.x) {\n"
            f"        {total} _mine = {self._identity};\n"
            "        for (long _i = threadIdx.x; _i < _columns; _i += blockDim.x) {\n"
            f"            {source.loads(letters, values, '_row * _columns + _i')}\n"
            f"            _mine = _joined(_mine, {self._map});\n        }}\n"
            "        _parts[threadIdx.x] = _mine;\n"
            f"        for (int _step = {_BLOCK // 2}; _step; _step /= 2) {{\n"
            "            __syncthreads();\n"
            "            if (threadIdx.x < _step) {\n"
            "                _parts[threadIdx.x] = _joined(_parts[threadIdx.x], _parts[threadIdx.x + _step]);\n"
            "            }\n        }\n"
            "        if (threadIdx.x == 0) {\n"
            f"            const {total} a = _parts[0];\n            {kind} &{output.name} = _{output.name}[_row];\n"
            f"            {self._post};\n        }}\n        __syncthreads();\n    }}\n}}\n"
        )
