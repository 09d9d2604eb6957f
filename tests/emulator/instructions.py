"""Runs single instructions on the emulator: one small kernel each, all of a target assembled at once.

Before the instruction, v2…v9 and the old destination v10…v13 hold the inputs of each lane, s24…s31 scalar inputs,
s40…s43 a copy of s28…s31 (the old scalar destination), and EXEC, VCC, SCC and M0 (-1) are set. v1 is 4 times the lane.
What is left in v10…v13, s40…s43, VCC, EXEC and SCC comes back.
"""

from __future__ import annotations

import struct
from functools import cache
from typing import Any

import numpy as np
from attrs import define, field, frozen
from numpy.typing import NDArray

from rocmkern.emulator.isa.table import tables
from rocmkern.emulator.machine import Loaded, Machine
from rocmkern.targets import TARGETS
from tests.emulator.device import machine
from tests.samples import assemble

Words = NDArray[np.uint32]
INPUTS = range(2, 14)
VECTOR_RESULTS = range(10, 14)
SCALAR_RESULTS = ("s40", "s41", "s42", "s43", "vcc_lo", "vcc_hi", "s36", "s37", "s38")

LONG_NAMES = {
    "load4": "s_load_dword",
    "load32": "s_load_dwordx8",
    "load": "global_load_dword",
    "store": "global_store_dword",
}
SHORT_NAMES = {"load4": "s_load_b32", "load32": "s_load_b256", "load": "global_load_b32", "store": "global_store_b32"}
WAIT = {"gfx12": "s_wait_loadcnt 0x0\n s_wait_kmcnt 0x0\n s_wait_dscnt 0x0"}


KEPT = (("float_denorm_mode_32", 3),)


@frozen
class Dialect:
    """How a target spells what every kernel here needs."""

    target: str
    mode: tuple[tuple[str, int], ...] = KEPT  # what descriptors say of it

    @property
    def isa(self) -> str:
        return TARGETS[self.target].isa

    @property
    def wave_size(self) -> int:
        return TARGETS[self.target].wave_size

    @property
    def names(self) -> dict[str, str]:
        return SHORT_NAMES if self.isa in ("gfx11", "gfx12") else LONG_NAMES

    @property
    def wait(self) -> str:
        return WAIT.get(self.isa, "s_waitcnt vmcnt(0) lgkmcnt(0)")

    @property
    def wide(self) -> bool:
        return self.wave_size == 64

    def mask(self, name: str) -> str:
        return name if self.wide else f"{name}_lo"

    def body(self, instruction: str) -> str:
        n, row = self.names, 4 * self.wave_size
        bits, pair = ("b64", "s[{0}:{1}]") if self.wide else ("b32", "s{0}")
        loads = [f"{n['load']} v{v}, v1, s[16:17] offset:{i * row}" for i, v in enumerate(INPUTS)]
        results = [*(f"v{v}" for v in VECTOR_RESULTS), *SCALAR_RESULTS]
        stores = []
        for i, result in enumerate(results):
            register = result
            if not result.startswith("v") or result.startswith("vcc"):
                stores.append(f"v_mov_b32 v20, {result}")
                register = "v20"
            stores.append(f"{n['store']} v1, {register}, s[18:19] offset:{i * row}")
        lines = [
            f"{n['load32']} s[16:23], s[0:1], 0x0",
            f"{n['load32']} s[24:31], s[0:1], 0x20",
            f"{n['load4']} s32, s[0:1], 0x40",
            "v_and_b32 v1, 0x3ff, v0",
            "v_lshlrev_b32 v1, 2, v1",
            self.wait,
            *loads,
            *(f"s_mov_b32 s{40 + i}, s{28 + i}" for i in range(4)),
            "s_mov_b32 m0, -1",
            "s_mov_b32 s37, 0",
            self.wait,
            f"s_mov_{bits} {self.mask('vcc')}, {pair.format(22, 23)}",
            f"s_mov_{bits} {self.mask('exec')}, {pair.format(20, 21)}",
            "s_cmp_lg_u32 s32, 0",
            instruction,
            "s_cselect_b32 s38, 1, 0",
            f"s_mov_{bits} {pair.format(36, 37)}, {self.mask('exec')}",
            self.wait,
            f"s_mov_{bits} {self.mask('exec')}, -1",
            *stores,
            "s_endpgm",
        ]
        return "\n".join(f" {line}" for line in lines)

    def kernel(self, name: str, instruction: str) -> str:
        extra = " .amdhsa_accum_offset 64\n" if self.wide else " .amdhsa_wavefront_size32 1\n"
        extra += "".join(f" .amdhsa_{field} {value}\n" for field, value in self.mode)
        return (
            f".globl {name}\n.p2align 8\n.type {name},@function\n{name}:\n{self.body(instruction)}\n"
            f".size {name}, .-{name}\n.section .rodata\n.p2align 6\n.amdhsa_kernel {name}\n"
            " .amdhsa_next_free_vgpr 64\n .amdhsa_next_free_sgpr 64\n .amdhsa_user_sgpr_kernarg_segment_ptr 1\n"
            " .amdhsa_user_sgpr_count 2\n .amdhsa_group_segment_fixed_size 4096\n"
            f"{extra}.end_amdhsa_kernel\n.text\n"
        )

    def metadata(self, names: list[str]) -> str:
        kernels = "".join(
            f"  - .name: {n}\n    .symbol: {n}.kd\n    .kernarg_segment_size: 72\n    .kernarg_segment_align: 8\n"
            "    .group_segment_fixed_size: 4096\n    .private_segment_fixed_size: 0\n"
            f"    .wavefront_size: {self.wave_size}\n    .sgpr_count: 64\n    .vgpr_count: 64\n"
            f"    .max_flat_workgroup_size: {self.wave_size}\n"
            for n in names
        )
        return f".amdgpu_metadata\n---\namdhsa.version: [1, 2]\namdhsa.kernels:\n{kernels}...\n.end_amdgpu_metadata\n"

    def source(self, cases: dict[str, str]) -> str:
        text = "".join(self.kernel(name, instruction) for name, instruction in cases.items())
        return f".text\n{text}{self.metadata(list(cases))}"


@frozen
class Outcome:
    """Registers after the instruction."""

    words: Words  # one row per result, one column per lane

    def vector(self, register: int, dtype: type[Any] = np.uint32) -> NDArray[Any]:
        """v10…v13 as a type; a 64-bit type takes two registers, 16 bits are the low half."""
        return lanes_as(self.words[register - VECTOR_RESULTS.start :], dtype)

    def scalar(self, name: str) -> int:
        return int(self.words[len(VECTOR_RESULTS) + SCALAR_RESULTS.index(name)][0])

    def pair(self, low: str, high: str) -> int:
        return self.scalar(low) | self.scalar(high) << 32

    @property
    def vcc(self) -> int:
        return self.pair("vcc_lo", "vcc_hi")

    @property
    def exec_mask(self) -> int:
        return self.pair("s36", "s37")

    @property
    def s40(self) -> int:
        return self.pair("s40", "s41")

    @property
    def scc(self) -> int:
        return self.scalar("s38")


def lanes_as(rows: Words, dtype: type[Any]) -> NDArray[Any]:
    """Registers (row, lane) as one value per lane."""
    size = np.dtype(dtype).itemsize
    if size == 8:
        return np.ascontiguousarray(rows[:2].T).view(dtype)[:, 0]
    if size == 2:
        return (rows[0] & 0xFFFF).astype(np.uint16).view(dtype)
    return rows[0].view(dtype)


def rows_of(values: NDArray[Any]) -> Words:
    """One value per lane as registers."""
    if values.dtype.itemsize == 8:
        return np.ascontiguousarray(values.view(np.uint32).reshape(-1, 2).T)
    if values.dtype.itemsize == 2:
        return values.view(np.uint16).astype(np.uint32)[None]
    return values.view(np.uint32)[None]


@define(eq=False)
class Bench:
    """The kernels of some instructions on one target."""

    dialect: Dialect
    machine: Machine
    module: Loaded
    _buffers: tuple[int, int] | None = field(default=None)

    @property
    def lanes(self) -> int:
        return self.dialect.wave_size

    def run(
        self,
        name: str,
        vectors: dict[int, NDArray[Any]],
        *,
        exec_mask: int = -1,
        vcc: int = 0,
        scc: int = 0,
        scalars: tuple[int, ...] = (),
        more: int = 0,
    ) -> Outcome:
        """Run case `name`. `vectors`: first register → value per lane. `scalars`: the dwords of s24…s31.

        `more`: rows behind the results, into which the instruction itself stores through s[18:19].
        """
        rows = np.full((len(INPUTS), self.lanes), 0xDEADBEEF, np.uint32)
        for register, values in vectors.items():
            words = rows_of(values)
            rows[register - INPUTS.start : register - INPUTS.start + len(words)] = words
        results = len(VECTOR_RESULTS) + len(SCALAR_RESULTS) + more
        if self._buffers is None:
            self._buffers = self.machine.alloc(rows.nbytes), self.machine.alloc(results * self.lanes * 4)
        source, out = self._buffers
        self.machine.view(source, rows.nbytes)[:] = rows.tobytes()
        if more:
            self.machine.view(out, results * self.lanes * 4)[:] = bytes(results * self.lanes * 4)
        full = (1 << self.lanes) - 1
        padded = (tuple(s & 0xFFFFFFFF for s in scalars) + (0,) * 8)[:8]
        kernarg = struct.pack("<QQQQ8II4x", source, out, exec_mask & full, vcc & full, *padded, scc)
        self.machine.launch(self.module.kernel(name), (1, 1, 1), (self.lanes, 1, 1), 0, kernarg)
        words = np.frombuffer(bytes(self.machine.view(out, results * self.lanes * 4)), np.uint32)
        return Outcome(words.reshape(results, self.lanes))


@cache
def knows(target: str, mnemonic: str) -> bool:
    """Whether a target has an instruction of that name."""
    encodings = tables(TARGETS[target].isa).values()
    return any(row is not None and row.name == mnemonic for rows in encodings for row in rows)


def bench(target: str, cases: dict[str, str], mode: dict[str, int] | None = None) -> Bench:
    """Assemble the cases, name → instruction text; once for equal cases."""
    return _bench(target, tuple(cases.items()), KEPT if mode is None else tuple(mode.items()))


@cache
def _bench(target: str, cases: tuple[tuple[str, str], ...], mode: tuple[tuple[str, int], ...]) -> Bench:
    dialect = Dialect(target, mode)
    on = machine(target)
    return Bench(dialect, on, on.load(assemble(dialect.source(dict(cases)), target)))
