"""Kernels that Triton compiled, launched without Triton."""

from __future__ import annotations

import math
from typing import Any, Final, Protocol

from attrs import frozen

from rocmkern import dtypes
from rocmkern.dtypes import DType
from rocmkern.errors import ArgumentError, CodeObjectError
from rocmkern.kernels.catalogue import Parameter
from rocmkern.runtime import Function, Module, Stream
from rocmkern.runtime.device import DeviceLike
from rocmkern.runtime.dim3 import DimLike, sizes

__all__ = ["TritonKernel", "from_triton"]

_TYPES: Final[dict[str, DType]] = {
    "i1": dtypes.bool_, "i8": dtypes.int8, "i16": dtypes.int16, "i32": dtypes.int32, "i64": dtypes.int64,
    "u1": dtypes.bool_, "u8": dtypes.uint8, "u16": dtypes.uint16, "u32": dtypes.uint32, "u64": dtypes.uint64,
    "fp16": dtypes.float16, "bf16": dtypes.bfloat16, "fp32": dtypes.float32, "fp64": dtypes.float64,
    "fp8e4nv": dtypes.float8_e4m3,
}  # fmt: skip
# What the compiler adds behind the arguments: memory of the launch's own, none where it has no bytes.
_SCRATCH: Final = tuple(Parameter(name, "in", dtypes.uint8, nullable=True) for name in ("scratch", "profile_scratch"))


class Compiled(Protocol):
    """What `triton.compile` returns, as far as it is read here."""

    @property
    def asm(self) -> Any: ...
    @property
    def metadata(self) -> Any: ...
    @property
    def src(self) -> Any: ...


@frozen
class TritonKernel:
    """A kernel of Triton's on a device: `kernel(*args, grid=…)` takes what was no constant when it was compiled."""

    function: Function
    block: int
    shared_bytes: int
    scratch_bytes: int  # for each program of the grid

    @property
    def signature(self) -> str:
        """The call with names and dtypes, those that the compiler added included."""
        return self.function.signature

    def __call__(self, *args: Any, grid: DimLike, stream: Stream | None = None, **named: Any) -> None:
        """Launches a program for each place of the grid. Arguments may be given by name."""
        device, scratch = self.function.module.device, None
        if self.scratch_bytes:
            scratch = device.alloc(self.scratch_bytes * math.prod(sizes(grid, "grid")))
        behind = {_SCRATCH[0].name: scratch, _SCRATCH[1].name: None}
        self.function(
            *args, grid=grid, block=self.block, shared_bytes=self.shared_bytes, stream=stream, **named, **behind
        )


def from_triton(compiled: Compiled, device: DeviceLike = None) -> TritonKernel:
    """What `triton.compile(source, target=GPUTarget("hip", "gfx942", 64))` returned, loaded on a device.

    Neither Triton nor its driver takes part in launches; compiling needs no GPU. Raises TargetNotBuilt for code of
    another target, CodeObjectError for code that is not for AMD GPUs, ArgumentError for arguments of a type that no
    dtype here stands for: descriptors of tensors, tuples.
    """
    try:
        about, code, kinds = compiled.metadata, compiled.asm.get("hsaco"), compiled.src.signature
    except AttributeError:
        raise ArgumentError(
            f"from_triton: a {type(compiled).__name__} is no compiled kernel; give what triton.compile() returned"
        ) from None
    if code is None:
        raise CodeObjectError(f"from_triton: {about.name} has no hsaco; compile it for GPUTarget('hip', …)")
    given = [_parameter(about.name, name, kind) for name, kind in kinds.items() if kind != "constexpr"]
    module = Module.load_data(code, device, name=about.name)
    function = module.get_function(about.name, (*given, *_SCRATCH))
    return TritonKernel(
        function, about.num_warps * about.warp_size, about.shared, about.global_scratch_size * about.num_ctas
    )


def _parameter(kernel: str, name: str, kind: str) -> Parameter:
    is_pointer = str(kind).startswith("*")
    t = _TYPES.get(str(kind).lstrip("*k"))
    if t is None:
        raise ArgumentError(f"from_triton: {kernel}'s {name} is of type {kind}; there is {', '.join(_TYPES)}")
    return Parameter(name, "inout" if is_pointer else "scalar", t, nullable=is_pointer)
