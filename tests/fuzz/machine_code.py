"""Kernels with damaged machine code, launched on an emulated device."""

from __future__ import annotations

import struct
from contextlib import suppress
from functools import cache
from typing import Any, ClassVar, Final

import numpy as np
from attrs import define, field

import rocmkern as rk
from rocmkern.codeobject import Kernel
from rocmkern.emulator.machine import Machine
from rocmkern.errors import RocmkernError
from rocmkern.targets import TARGETS
from tests.fuzz.canaries import Canaries, damaged_wave
from tests.fuzz.draws import Draws
from tests.fuzz.elf import Image, code_object
from tests.fuzz.kind import MB, Damage, Kind
from tests.fuzz.sources import KernelCode, kernels

TIMEOUT_S: Final = 0.05
GRID, BLOCK = (2, 1, 1), (64, 1, 1)
BUFFERS, BUFFER_BYTES = 4, 2048
COUNT: Final = 70  # what kernels get for every number
COMPILED_EVERY: Final = 4  # cases of which one runs compiled as well, if it ended well
GUARDS_EVERY: Final = 16
LLVM_BYTES: Final = 128 * MB  # loaded by the first case whose instructions are not in the cache
WORD: Final = struct.Struct("<I")

# The fixed bits of each encoding and its words.
_SCALAR: Final = (
    (0x80000000, 1), (0xB0000000, 1), (0xBE800000, 1), (0xBF000000, 1), (0xBF800000, 1),
    (0x00000000, 1), (0x7C000000, 1), (0x7E000000, 1),
)  # fmt: skip
ENCODINGS: Final = {
    "gfx9": (
        *_SCALAR, (0xC0000000, 2), (0xD0000000, 2), (0xD1000000, 2), (0xD2000000, 2), (0xD3800000, 2), (0xD3C00000, 2),
        (0xD8000000, 2), (0xDC000000, 2), (0xDC004000, 2), (0xDC008000, 2), (0xE0000000, 2), (0xE8000000, 2),
    ),
    "gfx10": (
        *_SCALAR, (0xF4000000, 2), (0xD4000000, 2), (0xD5000000, 2), (0xD7000000, 2), (0xCC000000, 2), (0xD8000000, 2),
        (0xDC000000, 2), (0xDC004000, 2), (0xDC008000, 2), (0xE0000000, 2), (0xE8000000, 2),
    ),
    "gfx11": (
        *_SCALAR, (0xF4000000, 2), (0xD4000000, 2), (0xD5000000, 2), (0xD6000000, 2), (0xD7000000, 2), (0xCC000000, 2),
        (0xC8000000, 2), (0xD8000000, 2), (0xDC000000, 2), (0xDC010000, 2), (0xDC020000, 2), (0xE0000000, 2),
        (0xE8000000, 2),
    ),
    "gfx12": (
        *_SCALAR, (0xF4000000, 2), (0xD4000000, 2), (0xD5000000, 2), (0xD6000000, 2), (0xD7000000, 2), (0xCC000000, 2),
        (0xC8000000, 2), (0xD8000000, 2), (0xEC000000, 3), (0xED000000, 3), (0xEE000000, 3), (0xC4000000, 3),
    ),
}  # fmt: skip
OPERANDS: Final = (0, 1, 2, 0x65, 0x66, 0x67, 0x6A, 0x7A, 0x7C, 0x7D, 0x7E, 0x7F, 0x80, 0xC1, 0xF0, 0xF9, 0xFA, 0xFC,
                   0xFD, 0xFE, 0xFF)  # fmt: skip
BRANCHES: Final = (0xBF820000, 0xBF840000, 0xBF850000, 0xBFA00000, 0xBFA10000, 0xBFA20000)
JUMPS: Final = (0xBE801C00, 0xBE801D00, 0xBE801E00, 0xBE802000, 0xBE804800, 0xBE804900)
MOVES: Final = (0xBE8000FF, 0xBE8003FF)
WILD: Final = (0xFFFFFFFF, 0x7FFF0000, 0x80000000, 0x00010000, 0x00020000, 0x7FFFFFFF, 0x7F, 0xFFFF0000)


def generation(target: str) -> str:
    isa = TARGETS[target].isa
    return isa if isa in ENCODINGS else "gfx9"


def instruction(draws: Draws, target: str) -> bytes:
    """Words that may be an instruction of a target: an encoding's fixed bits, operands on the edges of their files."""
    head, words = draws.choice(ENCODINGS[generation(target)])
    word = bytearray(draws.randbytes(4 * words))
    for i in range(len(word)):
        if draws.randrange(3) == 0:
            word[i] = draws.choice(OPERANDS)
    free = (1 << (head & -head).bit_length() - 1) - 1 if head else (1 << 31) - 1
    free = min(free, (1 << 25) - 1) if head not in (0, 0x80000000, 0xB0000000) else (1 << 30) - 1
    word[:4] = WORD.pack(head | WORD.unpack_from(word)[0] & free)
    return bytes(word)


def mutated(draws: Draws, code: bytes, others: tuple[KernelCode, ...], target: str) -> bytes:
    """Other code of the same length."""
    words, size = bytearray(code), len(code)

    def spot() -> int:
        return 4 * int(size // 4 * draws.random() ** 1.5)  # what comes early surely runs

    def put(at: int, patch: bytes, moves: bool = False) -> None:
        words[at : at if moves else at + len(patch)] = patch
        del words[size:]

    for _ in draws.few():
        at = spot()
        kind = draws.randrange(12)
        if kind == 0:
            put(at, draws.randbytes(4))
        elif kind == 1:
            words[at + draws.randrange(4)] ^= 1 << draws.randrange(8)
        elif kind == 2:
            other = spot()
            first, second = words[at : at + 4], words[other : other + 4]
            words[at : at + 4], words[other : other + 4] = second, first
        elif kind in (3, 4):
            words[at + draws.randrange(4)] = draws.choice(OPERANDS)
        elif kind in (5, 6, 7):
            put(at, instruction(draws, target), moves=kind == 7)
        elif kind == 8:
            put(at, WORD.pack(draws.choice(BRANCHES) | draws.choice((0, 0xFFFE, 0x7FFF, draws.randrange(1 << 16)))))
        elif kind == 9:
            put(at, WORD.pack(draws.choice(JUMPS) | draws.randrange(128) | draws.randrange(128) << 16), moves=True)
        elif kind == 10:
            move = draws.choice(MOVES) | draws.randrange(32) << 16
            put(at, WORD.pack(move) + WORD.pack(draws.choice(WILD)), moves=True)
        else:
            source = draws.choice(others).code
            first = 4 * draws.randrange(len(source) // 4)
            put(at, source[first : first + 4 * draws.randrange(1, 5)], moves=True)
    return bytes(words[:size])


@cache
def images(target: str) -> tuple[Image, ...]:
    """A code object for each kernel."""
    return tuple(code_object([kernel], target) for kernel in kernels(target))


@define(eq=False)
class Bench:
    """An emulated device that says when something was written that must not be."""

    device: rk.Device
    machine: Machine
    canaries: Canaries
    memory: rk.DeviceMemory
    content: Any

    @staticmethod
    def of(name: str) -> Bench:
        canaries = Canaries()
        canaries.watch_workers()
        device = rk.Device(name)
        machine = device.driver._machine  # type: ignore[attr-defined]
        machine.timeout_s, machine.compiles = TIMEOUT_S, False
        canaries.watch(machine)
        content = np.arange(BUFFERS * BUFFER_BYTES // 4, dtype=np.uint32) % 61 + 0x3F800000
        return Bench(device, machine, canaries, device.alloc(content.nbytes), content)

    def arguments(self, kernel: Kernel) -> bytes:
        """An argument block: a buffer for each pointer, the same small number for everything else."""
        block = bytearray(max(kernel.explicit_bytes, kernel.kernarg_size))
        buffers = 0
        for argument in kernel.explicit_arguments:
            value = COUNT
            if argument.is_pointer and argument.size == 8:
                value, buffers = self.memory.address + buffers % BUFFERS * BUFFER_BYTES, buffers + 1
            block[argument.offset : argument.end] = value.to_bytes(8, "little")[: argument.size].ljust(
                argument.size, b"\0"
            )
        return bytes(block)

    def launch(self, image: bytes, name: str, *, compiled: bool = False) -> str:
        """Load a code object and launch one of its kernels."""
        self.memory.copy_from_host(self.content)
        used = self.machine.arena.used
        module = rk.Module.load_data(image, self.device)
        try:
            function = module.get_function(name)
            kernel = function.kernel
            block = kernel.required_block or BLOCK
            function.launch_packed(self.arguments(kernel), grid=GRID, block=block)
            driver: Any = self.device.driver
            entry = driver._entries[function._handle]
            plan = entry.start(self.machine, GRID, block, 0).plan
            nbytes = len(plan.argument_block(self.arguments(kernel)))
            damage = damaged_wave(self.machine, plan.waves, plan.wave_bytes, nbytes)
            if damage is not None:
                raise Damage(damage)
            if compiled:
                entry.module.program.compile(kernel)
                function.launch_packed(self.arguments(kernel), grid=GRID, block=block)
        finally:
            module.close()
            left = self.machine.arena.used - used
            if left > SPACE_BYTES:
                raise Damage(f"{left} bytes of device memory are not given back")
        return "compiled" if compiled else "finished"


SPACE_BYTES: Final = 8192  # that the first launch keeps for later ones


@define(eq=False)
class Launched(Kind):
    """Cases that launch a kernel, all of a worker's on one device. The target may be that of a checked device."""

    slow_s: ClassVar[float] = 5.0
    _bench: Bench | None = field(default=None, init=False)

    @property
    def base(self) -> str:
        return self.target.partition(":")[0]

    @property
    def bench(self) -> Bench:
        assert self._bench is not None
        return self._bench

    def prepare(self) -> None:
        self._bench = Bench.of(f"emulator:{self.target}")
        for kernel, image in zip(kernels(self.base), images(self.base), strict=True):
            with suppress(RocmkernError):  # some take what the buffers hold for indices
                self.bench.launch(image.data, kernel.name)

    def damage(self) -> str | None:
        return self.bench.canaries.changed()

    def allowance(self) -> int:
        return LLVM_BYTES + super().allowance()


@define(eq=False)
class MachineCode(Launched):
    """Kernels whose instructions were changed."""

    name: ClassVar[str] = "kernel"
    batch: ClassVar[int] = GUARDS_EVERY
    lifetime: ClassVar[int] = 6000
    peak_bytes: ClassVar[int] = 256 * MB
    growth_bytes: ClassVar[float] = 64 << 10  # translations of instructions that no case had before

    def make(self, seed: int) -> bytes:
        draws, number = self._drawn(seed)
        known = kernels(self.base)
        code = mutated(draws, known[number].code, known, self.base)
        return images(self.base)[number].with_code(known[number].name, code)

    def run(self, data: bytes, seed: int) -> str:
        _, number = self._drawn(seed)
        compiled = seed % COMPILED_EVERY == 0 and not self.bench.machine.observers
        return self.bench.launch(data, kernels(self.base)[number].name, compiled=compiled)

    def _drawn(self, seed: int) -> tuple[Draws, int]:
        draws = Draws(f"{self.name} {self.base}", seed)
        return draws, draws.randrange(len(kernels(self.base)))
