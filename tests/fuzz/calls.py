"""Public functions called with arguments that nobody means: they compute, or say in our own words what is wrong."""

from __future__ import annotations

import inspect
import os
import traceback
from collections.abc import Callable
from functools import cache
from math import prod
from pathlib import Path
from types import FunctionType
from typing import Any, ClassVar, Final

import numpy as np
from attrs import define, field, frozen

import rocmkern as rk
from rocmkern.errors import RocmkernError
from tests.fuzz.draws import Draws
from tests.fuzz.kind import MB, Kind

LIBRARY: Final = str(Path(rk.__file__).parent)
SPACES: Final = {"": rk, "linalg.": rk.linalg, "fft.": rk.fft, "random.": rk.random}
# They set what outlives a call, write files, or are for `with`.
LEFT_OUT: Final = frozenset(
    ("check", "compile", "jit_kernels", "load", "load_gguf", "profile", "save", "save_reproducer", "savez", "use_tuned")
)
SHAPES: Final = ((), (0,), (3,), (2, 3), (3, 3), (1, 3), (2, 2, 2), (0, 3), (5, 1))
DTYPES: Final = (
    rk.float32, rk.float64, rk.float16, rk.bfloat16, rk.int64, rk.int8, rk.uint8, rk.bool_, rk.complex64, rk.complex128,
)  # fmt: skip
# No size between these: it would only take time.
NUMBERS: Final = (
    0, 1, -1, 2, 3, 5, -7, 1 << 63, -(1 << 63), 1 << 64, 1 << 200, 1.5, -0.0, float("nan"), float("inf"), 1e300, 1j,
    True, False, None, np.float32(2), np.int64(3),
)  # fmt: skip
WORDS: Final = ("x", "", "float32", "ij,jk->ik", "same", "left", "sum", b"x", "ï", "\0")
THINGS: Final = (rk.float32, rk.int64, np.float64, np.int8, float, int, NotImplemented, ..., slice(None), len)
ARRAYS: Final = (
    np.array([1, 2, 3]), np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([]), np.array(["a"]), np.array([None]),
    np.array([1 + 2j]), np.array([True, False]),
)  # fmt: skip
DEPTH: Final = 2
POSITIONAL: Final = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@cache
def functions() -> dict[str, Callable[..., Any]]:
    """The public functions and the tensors' methods, by name."""
    found = {
        f"{prefix}{name}": getattr(space, name)
        for prefix, space in SPACES.items()
        for name in dir(space)
        if not name.startswith("_") and name not in LEFT_OUT
    }
    found |= {f"Tensor.{name}": method for name, method in vars(rk.Tensor).items() if not name.startswith("_")}
    return {name: call for name, call in sorted(found.items()) if isinstance(call, FunctionType)}


@frozen
class Wanted:
    """A tensor that is still to be made."""

    shape: tuple[int, ...]
    dtype: rk.DType
    values: tuple[float, ...]
    turned: bool

    def on(self, device: rk.Device) -> rk.Tensor:
        found = rk.asarray(np.array(self.values).reshape(self.shape), device=device).astype(self.dtype)
        return found.T if self.turned and found.ndim == 2 else found


@define(eq=False)
class Calls(Kind):
    """Calls of one public function each."""

    name: ClassVar[str] = "api"
    batch: ClassVar[int] = 256
    lifetime: ClassVar[int] = 20_000
    slow_s: ClassVar[float] = 8.0  # a kernel's first launch takes its translation
    peak_bytes: ClassVar[int] = 512 * MB
    growth_bytes: ClassVar[float] = 32 << 10  # plans and kernels are kept

    _device: rk.Device = field(init=False)

    def prepare(self) -> None:
        os.environ["ROCMKERN_DEVICE"] = f"emulator:{self.target}"
        self._device = rk.Device(f"emulator:{self.target}")

    def allowance(self) -> int:
        return 512 * MB

    def make(self, seed: int) -> bytes:
        name, args, options = drawn(Draws(self.name, seed))
        return f"{name}(*{args!r}, **{options!r})".encode()

    def run(self, data: bytes, seed: int) -> str:
        name, args, options = drawn(Draws(self.name, seed))
        given = [self._made(value) for value in args]
        named = {word: self._made(value) for word, value in options.items()}
        try:
            found = functions()[name](*given, **named)
            if isinstance(found, rk.Tensor):
                found.numpy()
        except RocmkernError:
            raise
        except Exception as error:
            if not is_told(error):
                raise
            return type(error).__name__
        return "done"

    def _made(self, value: Any) -> Any:
        """A value with the tensors in it made."""
        if isinstance(value, list | tuple):
            return type(value)(self._made(part) for part in value)
        return value.on(self._device) if isinstance(value, Wanted) else value


def drawn(draws: Draws) -> tuple[str, list[Any], dict[str, Any]]:
    """A function's name with arguments, of which the first ones mostly are tensors."""
    name = draws.choice(list(functions()))
    parameters = list(inspect.signature(functions()[name]).parameters.values())
    named = [p for p in parameters if p.kind in POSITIONAL]
    wanted = sum(p.default is p.empty for p in named)
    count = draws.choice((wanted, wanted, draws.randint(wanted, len(named)), draws.randrange(len(named) + 2)))
    args = [tensor(draws) if at == 0 and draws.randrange(3) else anything(draws) for at in range(count)]
    if name.startswith("Tensor."):
        args[:1] = [tensor(draws)]
    for at, parameter in enumerate(named[:count]):
        if is_flag(parameter):
            args[at] = draws.choice(NUMBERS)
    left = [p for p in parameters if p.kind is p.KEYWORD_ONLY or p in named[max(count, 1) :]]
    options = {p.name: anything(draws) for p in left if draws.randrange(4) == 0 and not is_flag(p)}
    return name, args, options


def tensor(draws: Draws) -> Wanted:
    shape = draws.choice(SHAPES)
    values = tuple(draws.choice((0, 1, -1, 2, 3, 7, 0.5)) for _ in range(prod(shape)))
    return Wanted(shape, draws.choice(DTYPES), values, turned=draws.randrange(4) == 0)


def anything(draws: Draws, depth: int = 0) -> Any:
    kind = draws.randrange(16)
    if kind < 6:
        return tensor(draws)
    if kind < 11:
        return draws.choice(NUMBERS)
    if kind < 14:
        return draws.choice((WORDS, THINGS, ARRAYS)[kind - 11])
    several = [anything(draws, depth + 1) for _ in range(draws.randrange(4) if depth < DEPTH else 0)]
    return several if kind == 14 else tuple(several)


def is_flag(parameter: inspect.Parameter) -> bool:
    """Arrays are their own judges of whether they are true."""
    return isinstance(parameter.default, bool) or parameter.name == "copy"


def is_told(error: Exception) -> bool:
    """Whether an error was raised by a line of the library that says so, or by Python for a call that names or counts
    its arguments wrongly.
    """
    frames = traceback.extract_tb(error.__traceback__)
    last = frames[-1]
    if last.filename.startswith(LIBRARY):
        return (last.line or "").startswith("raise") or is_signature(error)
    return isinstance(error, TypeError) and frames[-1].filename == __file__


def is_signature(error: Exception) -> bool:
    return isinstance(error, TypeError) and any(
        words in str(error) for words in ("positional argument", "keyword argument", "multiple values for argument")
    )
