"""A code object's memory: it writes its own while it is loaded, and a load that fails takes none."""

from __future__ import annotations

import contextlib
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocmkern.emulator.machine import Machine
from rocmkern.errors import CodeObjectError
from tests.samples import compile_hip

POINTERS = """
__attribute__((device)) int a, b;
__attribute__((device)) int *table[2] = {&a, &b};
KERNEL void f(int i, int **out) { out[0] = table[i]; }
"""
ELF = compile_hip(POINTERS)
RELATIVE64, PCREL32 = 13, 4


def relocation(place: int | None = None, kind: int = RELATIVE64, addend: int | None = None, symbol: int = 0) -> bytes:
    """The file with another first relocation."""
    image = bytearray(ELF)
    sections, count = struct.unpack_from("<Q", image, 40)[0], struct.unpack_from("<H", image, 60)[0]
    for header in range(sections, sections + 64 * count, 64):
        if struct.unpack_from("<I", image, header + 4)[0] == 4:
            at = struct.unpack_from("<Q", image, header + 24)[0]
            place_before, _, _, addend_before = struct.unpack_from("<QIIq", image, at)
            place = place_before if place is None else place
            addend = addend_before if addend is None else addend
            struct.pack_into("<QIIq", image, at, place, kind, symbol, addend)
            return bytes(image)
    raise AssertionError("no relocations")


@pytest.fixture(scope="module")
def machine() -> Machine:
    """A machine with something in its memory beside what is loaded."""
    return Machine("gfx942", compiles=False)


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        ({"place": 1 << 20}, "a relocation writes to 0x100000, outside the module"),
        ({"place": (1 << 64) - 8}, "a relocation writes to 0xfffffffffffffff8, outside the module"),
        ({"place": 0}, None),  # its own header, which nothing reads
        ({"addend": 1 << 20}, "leads to 0x100000, outside the module"),
        ({"addend": -8}, "leads to -0x8, outside the module"),
        ({"kind": PCREL32}, "relocation of type 4 at 0x.*; 13 and 3 are known"),
        ({"kind": 255}, "relocation of type 255"),
        ({"kind": 3}, "needs '', which nothing defines"),
    ],
)
def test_relocations_stay_within_the_module(machine: Machine, damage: dict[str, int], words: str | None) -> None:
    """What they write lies in it, and so does what they lead to; of an unknown type there is none."""
    data = relocation(**damage)
    if words is None:
        machine.load(data).close()
        return
    with pytest.raises(CodeObjectError, match=words):
        machine.load(data)


@settings(max_examples=200, deadline=None)
@given(st.integers(-(1 << 14), 1 << 14), st.integers(-(1 << 14), 1 << 14))
def test_loading_writes_nothing_else(machine: Machine, place: int, addend: int) -> None:
    """Whatever a relocation says, allocations on both sides of the module keep their bytes, and none is left over."""
    arena, size = machine.arena, 1 << 14
    room = arena.alloc(1 << 16)
    before, behind = arena.alloc(size), arena.alloc(size)
    arena.free(room)  # where the module goes
    kept = [arena.view(address, size) for address in (before, behind)]
    for view in kept:
        view[:] = bytes(range(256)) * (size // 256)
    used = arena.used
    with contextlib.suppress(CodeObjectError):
        machine.load(relocation(place=place % (1 << 64), addend=addend)).close()
    assert arena.used == used
    assert all(bytes(view) == bytes(range(256)) * (size // 256) for view in kept)
    for address in (before, behind):
        arena.free(address)


def test_failed_loads_leave_nothing(machine: Machine) -> None:
    """No memory of the device stays taken."""
    used = machine.arena.used
    for n in range(200):
        with pytest.raises(CodeObjectError):
            machine.load(relocation(place=(1 << 20) + n))
    assert machine.arena.used == used


def test_pointers_lead_to_what_they_name(machine: Machine) -> None:
    """Where nothing is damaged, a table of pointers holds addresses in the module's memory."""
    loaded = machine.load(ELF)
    program = loaded.program
    table, size = program.code.symbols["table"]
    held = np.frombuffer(bytes(machine.arena.view(program.base + table, size)), np.uint64)
    assert held.tolist() == [program.base + program.code.symbols[name][0] for name in "ab"]
    loaded.close()
