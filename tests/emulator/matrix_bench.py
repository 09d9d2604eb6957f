"""Runs single matrix instructions on the emulator, elements placed in registers as the manuals draw them."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from rocmkern.emulator.isa.table import Row, tables
from rocmkern.targets import TARGETS
from tests.emulator.device import Bench, machine
from tests.emulator.instructions import Dialect
from tests.samples import assemble

Array = NDArray[Any]
NAME = re.compile(
    r"v_(mfma|smfmac|wmma|swmmac)_(scale_)?([a-z0-9]+)_(\d+)x\d+x(\d+?)(?:_\d+b)?_?(xf32|f8f6f4|f64|f32|f16|bf16|i8"
    r"|iu8|iu4|[fb]+p?8)(?:_([fb]+p?8))?(_1k)?"
)
TYPES: dict[str, tuple[int, Any]] = {
    "f64": (64, np.float64), "f32": (32, np.float32), "xf32": (32, np.float32), "f16": (16, np.float16),
    "bf16": (16, ml_dtypes.bfloat16), "i8": (8, np.int8), "iu8": (8, np.int8), "iu4": (4, np.int8),
    "fp8": (8, ml_dtypes.float8_e4m3fn), "bf8": (8, ml_dtypes.float8_e5m2), "fp6": (6, ml_dtypes.float6_e2m3fn),
    "bf6": (6, ml_dtypes.float6_e3m2fn), "fp4": (4, ml_dtypes.float4_e2m1fn), "i32": (32, np.int32),
}  # fmt: skip
FNUZ = {"fp8": ml_dtypes.float8_e4m3fnuz, "bf8": ml_dtypes.float8_e5m2fnuz}
FORMATS = ("fp8", "bf8", "fp6", "bf6", "fp4")


@frozen
class Form:
    """One instruction with its modifiers on one target."""

    target: str
    name: str
    suffix: str = ""
    constant: str = ""  # in the place of C
    parts: re.Match[str] = field(init=False)

    def __attrs_post_init__(self) -> None:
        found = NAME.fullmatch(self.name)
        assert found is not None, self.name
        object.__setattr__(self, "parts", found)

    @property
    def key(self) -> str:
        return "k_" + re.sub(r"\W+", "_", f"{self.name}_{self.suffix}_{self.constant}")

    def modifier(self, name: str) -> int:
        """A number, or bits listed in brackets."""
        found = re.search(rf"{name}:(?:(\d+)|\[([\d,]+)\])", self.suffix)
        if found is None:
            return 0
        return int(found[1]) if found[1] else sum(int(bit) << i for i, bit in enumerate(found[2].split(",")))

    @property
    def lanes(self) -> int:
        return TARGETS[self.target].wave_size

    @property
    def is_sparse(self) -> bool:
        return self.parts[1] in ("smfmac", "swmmac")

    @property
    def size(self) -> int:
        return int(self.parts[4])

    @property
    def k(self) -> int:
        return int(self.parts[5])

    @property
    def result(self) -> str:
        return self.parts[3]

    @property
    def kinds(self) -> tuple[str, str]:
        if self.parts[6] == "f8f6f4":
            return FORMATS[self.modifier("cbsz")], FORMATS[self.modifier("blgp")]
        return self.parts[6], self.parts[7] or self.parts[6]

    @property
    def blocks(self) -> int:
        """Products side by side, as many as fill the result's registers."""
        if self.lanes == 32:
            return 1
        elements = row(self.target, self.name).dst[0].count // (2 if self.result == "f64" else 1)
        return elements * self.lanes // (self.size * self.size)

    @property
    def per_lane(self) -> int:
        """Elements of B in a lane."""
        return self.k if self.target == "gfx1100" else self.k * self.size * self.blocks // self.lanes

    @property
    def outputs(self) -> int:
        """Elements of D in a lane."""
        return self.size * self.size * self.blocks // self.lanes

    def dtype(self, kind: str) -> Any:
        return FNUZ.get(kind, TYPES[kind][1]) if self.target == "gfx942" else TYPES[kind][1]

    def registers(self, kind: str, count: int) -> int:
        if kind in ("f16", "bf16") and count == 8 and self.target == "gfx1100":
            return count
        return -(-count * TYPES[kind][0] // 32)

    def source_place(self, kind: str, compressed: bool = False) -> tuple[Array, Array, Array]:
        """Block, row or column, and k of each lane's elements, (lanes, elements); of compressed k for sparse A."""
        count = self.per_lane // (2 if compressed else 1)
        lane, j = np.arange(self.lanes)[:, None], np.arange(count)[None, :]
        group, at = lane // self.size, lane % self.size
        if self.target == "gfx1100":
            return 0 * (lane + j), at + 0 * j, 0 * lane + j
        if self.parts[6] == "f8f6f4" and kind in ("fp8", "bf8"):
            k = j // 16 * (self.k // 2) + 16 * group + j % 16
            return 0 * k, at + 0 * k, k
        return group % self.blocks + 0 * j, at + 0 * j, group // self.blocks * count + j

    def result_place(self) -> tuple[Array, Array, Array]:
        """Block, row and column of each lane's results, (lanes, outputs)."""
        lane, v = np.arange(self.lanes)[:, None], np.arange(self.outputs)[None, :]
        group, column, zero = lane // self.size, lane % self.size, 0 * (lane + v)
        if self.target == "gfx1100":
            return zero, 2 * v + group, column + zero
        if self.lanes == 32:
            return zero, 8 * group + v, column + zero
        if self.result == "f64":
            if self.size == 4:
                return group % 4 + zero, group // 4 + zero, column + zero
            return zero, 4 * v + group, column + zero
        if self.size == 4:
            return group + zero, v + zero, column + zero
        if self.size == 32:
            return v // 16 + zero, v % 16 // 4 * 8 + 4 * group + v % 4, column + zero
        return v // 4 + zero, 4 * group + v % 4, column + zero

    def pack(self, values: Array, kind: str) -> Array:
        """Elements of each lane, (lanes, count), as registers, (registers, lanes); the first in the lowest bits."""
        bits, _ = TYPES[kind]
        if kind in ("i8", "iu8", "iu4"):
            codes = values.astype(np.int64) & ((1 << bits) - 1)
        else:
            codes = values.astype(self.dtype(kind)).view(f"u{max(bits, 8) // 8}").astype(np.uint64)
        flat = ((codes[..., None].astype(np.uint64) >> np.arange(bits, dtype=np.uint64)) & 1).reshape(len(values), -1)
        return np.packbits(flat.astype(np.uint8), axis=1, bitorder="little").view(np.uint32).T

    def unpack(self, words: Array, kind: str) -> Array:
        """The reverse for results: (registers, lanes) to (lanes, count)."""
        return np.ascontiguousarray(words.T).view(TYPES[kind][1])

    def text(self) -> tuple[str, dict[str, tuple[int, int]]]:
        """The instruction, and where its operands lie: name → first register and count."""
        a_kind, b_kind = self.kinds
        sizes = {
            "a": self.registers(a_kind, self.per_lane // (2 if self.is_sparse else 1)),
            "b": self.registers(b_kind, self.per_lane),
            "c": self.registers(self.result, self.outputs),
        }
        if self.is_sparse or self.parts[2]:
            sizes["x"] = 1
        if self.parts[2]:
            sizes["y"] = 1
        sizes["d"] = sizes["c"]
        places, at = {}, 8
        for operand, count in sizes.items():
            places[operand] = (at, count)
            at += -(-count // 8) * 8
        shown = {name: f"v[{p}:{p + n - 1}]" if n > 1 else f"v{p}" for name, (p, n) in places.items()}
        if self.is_sparse:
            operands = [shown["c"], shown["a"], shown["b"], shown["x"]]
            places["d"] = places["c"]
        else:
            operands = [shown["d"], shown["a"], shown["b"], self.constant or shown["c"]]
            operands += [shown["x"], shown["y"]] if self.parts[2] else []
        return f"{self.name} {', '.join(operands)} {self.suffix}", places

    def body(self) -> str:
        instruction, places = self.text()
        d = Dialect(self.target)
        n, row = d.names, 4 * d.wave_size
        loaded = [first + i for name, (first, count) in places.items() if name != "d" for i in range(count)]
        if self.constant:
            loaded = [r for r in loaded if not 0 <= r - places["c"][0] < places["c"][1]]
        lines = [
            f"{n['load4']} s16, s[0:1], 0x0", f"{n['load4']} s17, s[0:1], 0x4", f"{n['load4']} s18, s[0:1], 0x8",
            f"{n['load4']} s19, s[0:1], 0xc", "v_and_b32 v1, 0x3ff, v0", "v_lshlrev_b32 v1, 2, v1", d.wait,
        ]  # fmt: skip
        for register in loaded:
            lines += [f"{n['load']} v{register}, v1, s[16:17]", f"s_add_u32 s16, s16, {row}", "s_addc_u32 s17, s17, 0"]
        first, count = places["d"]
        if not self.is_sparse:
            lines += [f"v_mov_b32 v{first + i}, 0" for i in range(count)]
        lines += [d.wait, instruction, *(["s_nop 15"] * 2)]
        for register in range(first, first + count):
            lines += [f"{n['store']} v1, v{register}, s[18:19]", f"s_add_u32 s18, s18, {row}", "s_addc_u32 s19, s19, 0"]
        return "\n".join(f" {line}" for line in [*lines, "s_endpgm"])

    @property
    def kernel(self) -> str:
        extra = " .amdhsa_accum_offset 256\n" if self.lanes == 64 else " .amdhsa_wavefront_size32 1\n"
        return (
            f".globl {self.key}\n.p2align 8\n.type {self.key},@function\n{self.key}:\n{self.body()}\n"
            f".size {self.key}, .-{self.key}\n.section .rodata\n.p2align 6\n.amdhsa_kernel {self.key}\n"
            " .amdhsa_next_free_vgpr 256\n .amdhsa_next_free_sgpr 64\n .amdhsa_user_sgpr_kernarg_segment_ptr 1\n"
            f" .amdhsa_user_sgpr_count 2\n .amdhsa_float_denorm_mode_32 3\n{extra}.end_amdhsa_kernel\n.text\n"
        )

    @property
    def metadata(self) -> str:
        arguments = "".join(
            f"      - .offset: {8 * i}\n        .size: 8\n        .value_kind: global_buffer\n"
            "        .address_space: global\n"
            for i in range(2)
        )
        return (
            f"  - .name: {self.key}\n    .symbol: {self.key}.kd\n    .kernarg_segment_size: 16\n"
            "    .kernarg_segment_align: 8\n    .group_segment_fixed_size: 0\n    .private_segment_fixed_size: 0\n"
            f"    .wavefront_size: {self.lanes}\n    .sgpr_count: 64\n    .vgpr_count: 256\n"
            f"    .max_flat_workgroup_size: {self.lanes}\n    .args:\n{arguments}"
        )


@cache
def bench(forms: tuple[Form, ...], compiled: bool) -> Bench:
    """The kernels of one target's forms."""
    kernels, notes = "".join(f.kernel for f in forms), "".join(f.metadata for f in forms)
    note = f".amdgpu_metadata\n---\namdhsa.version: [1, 2]\namdhsa.kernels:\n{notes}...\n.end_amdgpu_metadata\n"
    on = machine(forms[0].target)
    return Bench(on, on.load(assemble(f".text\n{kernels}{note}", forms[0].target)), compiled)


def run(form: Form, among: tuple[Form, ...], operands: dict[str, Array], compiled: bool = False) -> Array:
    """D's registers, (registers, lanes), in threaded or in compiled code."""
    _, places = form.text()
    rows = np.concatenate([operands[name] for name in places if name in operands]).astype(np.uint32)
    out = np.zeros((places["d"][1], form.lanes), np.uint32)
    bench(among, compiled).run(form.key, rows, out, block=form.lanes)
    return out


@cache
def row(target: str, name: str) -> Row:
    """The decoder's row: register counts, which are tested against LLVM."""
    return next(r for r in tables(TARGETS[target].isa)["VOP3P"] if r is not None and r.name == name)


def names(target: str) -> list[str]:
    """Every matrix instruction of a target."""
    rows = tables(TARGETS[target].isa)["VOP3P"]
    return sorted({r.name for r in rows if r is not None and NAME.fullmatch(r.name)})
