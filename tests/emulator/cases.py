"""Cases for the meaning of instructions: a definition on Python integers per mnemonic, inputs with edge values."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

import numpy as np
from attrs import frozen
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.emulator.instructions import Bench, Outcome, bench, knows

TARGETS = ("gfx90a", "gfx950", "gfx1030", "gfx1100", "gfx1201")  # gfx942 adds no integer instruction
Array = NDArray[Any]

DTYPES: dict[str, type[Any]] = {
    "u16": np.uint16, "i16": np.int16, "u32": np.uint32, "i32": np.int32, "u64": np.uint64, "i64": np.int64,
    "f16": np.float16, "f32": np.float32, "f64": np.float64,
}  # fmt: skip
EDGES = (0, 1, 2, 3, 7, 31, 32, 63, 64, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x10000, 0x7FFFFF, 0x800000, 0xFFFFFF)


def width(kind: str) -> int:
    return int(kind[1:])


def wrapped(value: int, kind: str) -> int:
    """A Python integer as a value of an integer type."""
    value &= (1 << width(kind)) - 1
    return value - (1 << width(kind)) if kind[0] == "i" and value >> (width(kind) - 1) else value


@frozen
class Case:
    """One instruction: mnemonic, operand types, and its definition on Python integers, lane by lane."""

    name: str
    result: str
    sources: tuple[str, ...]
    define: Callable[..., int]
    old: bool = False  # the definition's last argument is the old destination
    suffix: str = ""

    @property
    def key(self) -> str:
        return "k_" + "".join(c if c.isalnum() else "_" for c in self.name + self.suffix)

    @property
    def text(self) -> str:
        """In vector registers: sources from v2, two registers each; v10 is the destination."""
        sources = [register(2 + 2 * i, kind) for i, kind in enumerate(self.sources)]
        return f"{self.name} {', '.join([register(10, self.result), *sources])}{self.suffix}"


def register(first: int, kind: str, letter: str = "v") -> str:
    return f"{letter}[{first}:{first + 1}]" if width(kind) == 64 else f"{letter}{first}"


def cases(table: dict[str, tuple[str, str, Callable[..., int]]]) -> list[Case]:
    """Rows `mnemonics: (result, sources, definition)`; a source `^type` is the old destination."""
    found = []
    for names, (result, sources, define) in table.items():
        kinds = sources.split()
        old = bool(kinds) and kinds[-1].startswith("^")
        found += [Case(n, result, tuple(k for k in kinds if not k.startswith("^")), define, old) for n in names.split()]
    return found


def known(all_cases: Iterable[Case], targets: Iterable[str] = TARGETS) -> list[tuple[str, Case]]:
    """Target and case, for the instructions that each target has."""
    return [(t, c) for t in targets for c in all_cases if knows(t, c.name.removesuffix("_e64").removesuffix("_e32"))]


def assembled(target: str, all_cases: tuple[Case, ...]) -> Bench:
    return bench(target, {c.key: c.text for t, c in known(all_cases, (target,))})


seeds = st.integers(0, 2**32 - 1)
masks = st.one_of(st.just(-1), st.just(0), st.just(1), st.integers(0, 2**64 - 1))


def integers(rng: np.random.Generator, kind: str, lanes: int) -> Array:
    """Values of an integer type: random, of random magnitude, or edges and their complements."""
    bits = width(kind)
    raw = rng.integers(0, 2**64, lanes, np.uint64, endpoint=False)
    small = raw >> rng.integers(0, 64, lanes).astype(np.uint64)
    edges = rng.choice(np.array(EDGES, np.uint64), lanes)
    edges = np.where(rng.random(lanes) < 0.5, edges, ~edges)
    edges = np.where(rng.random(lanes) < 0.1, np.uint64(1 << (bits - 1)), edges)
    chosen = np.choose(rng.integers(0, 3, lanes), [raw, small, edges])
    return chosen.astype(np.uint64).astype(f"u{bits // 8}").view(DTYPES[kind])


FLOAT_EDGES = {
    "f16": (0, 1, 0x3FF, 0x400, 0x3C00, 0x3800, 0x7BFF, 0x7C00, 0x7C01, 0x7E00, 0x6400, 0x77FF, 0x7800),
    "f32": (0, 1, 0x7FFFFF, 0x800000, 0x3F800000, 0x3F000000, 0x7F7FFFFF, 0x7F800000, 0x7F800001, 0x7FC00000,
            0x4B000000, 0x4EFFFFFF, 0x4F000000, 0x4F7FFFFF, 0x4F800000, 0x477FE000, 0x33000000, 0x38800000),
    "f64": (0, 1, 0xFFFFFFFFFFFFF, 1 << 52, 0x3FF0 << 48, 0x3FE0 << 48, 0x7FEFFFFFFFFFFFFF, 0x7FF0 << 48,
            0x7FF0000000000001, 0x7FF8 << 48, 0x41DFFFFFFFC00000, 0x41E0000000000000, 0x41EFFFFFFFE00000),
}  # fmt: skip


def floats(rng: np.random.Generator, kind: str, lanes: int) -> Array:
    """Random bit patterns, values of moderate size, and edges: zeros, denormals, infinities, NaNs of both kinds."""
    bits = width(kind)
    raw = rng.integers(0, 2**64, lanes, np.uint64, endpoint=False).astype(f"u{bits // 8}")
    moderate = (rng.standard_normal(lanes) * 10.0 ** rng.integers(-3, 5, lanes)).astype(DTYPES[kind])
    edges = rng.choice(np.array(FLOAT_EDGES[kind], f"u{bits // 8}"), lanes)
    edges |= rng.integers(0, 2, lanes).astype(edges.dtype) << np.array(bits - 1, edges.dtype)
    chosen = np.choose(rng.integers(0, 3, lanes), [raw, moderate.view(raw.dtype), edges])
    return chosen.astype(raw.dtype).view(DTYPES[kind])


def values(rng: np.random.Generator, kind: str, lanes: int) -> Array:
    return floats(rng, kind, lanes) if kind[0] == "f" else integers(rng, kind, lanes)


def fused(a: Any, b: Any, c: Any, kind: type[Any]) -> Any:
    """a·b + c of numbers of at most 24 bits, rounded once: to odd in f64, whose bits suffice, then to the type."""
    rough = np.float64(a) * np.float64(b) + np.float64(c)
    if not all(np.isfinite(v) for v in (a, b, c)) or rough == 0:
        return kind(rough)
    exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    if exact != Fraction(float(rough)) and not rough.view(np.uint64) & np.uint64(1):
        rough = np.nextafter(rough, np.inf if exact > Fraction(float(rough)) else -np.inf)
    return kind(rough)


def halves(words: Array, high: bool | int) -> Array:
    """The high or the low 16 bits of each word."""
    return (words >> 16 if high else words & 0xFFFF).astype(np.uint16)


def active(mask: int, lanes: int) -> NDArray[np.bool_]:
    return np.array([bool(mask >> lane & 1) for lane in range(lanes)])


def run_lanewise(on: Bench, case: Case, seed: int, mask: int) -> tuple[Outcome, list[Array], Array, Array]:
    """Run on random inputs: the outcome, sources, old destination, and what the definition says of active lanes."""
    rng = np.random.default_rng(seed)
    sources = [values(rng, kind, on.lanes) for kind in case.sources]
    old = values(rng, case.result, on.lanes)
    inputs = {2 + 2 * i: s for i, s in enumerate(sources)} | {10: old}
    outcome = on.run(case.key, inputs, exec_mask=mask)
    arguments = [*sources, old] if case.old else sources
    expected = [wrapped(case.define(*(int(a[lane]) for a in arguments)), case.result) for lane in range(on.lanes)]
    wanted = np.where(active(mask, on.lanes), np.array(expected, DTYPES[case.result]), old)
    return outcome, sources, old, wanted
