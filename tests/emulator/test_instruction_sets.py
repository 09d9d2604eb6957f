"""An instruction set is what differs from its parent, and no more."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rocmkern.emulator.isa import table
from rocmkern.emulator.isa.table import ISAS, SETS, InstructionSet, tables

SEVENTH = """\
[SOP1]
 200 s_new_b64 2 2 -
= s_mov_b32=7
- s_mov_b64
[VOP1]
 127 v_new_f32 1 1 -
"""


@pytest.fixture
def seventh(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A set that differs from gfx12 in four instructions."""
    monkeypatch.setitem(SETS, "gfx13", InstructionSet("gfx12", (SEVENTH,), halves=True))
    yield "gfx13"
    table._lines.cache_clear()
    tables.cache_clear()


def test_another_set_is_a_short_text(seventh: str) -> None:
    """It has its parent's rows but those that its text adds, moves or takes away; also the VOP3 form of a new one."""
    own, parent = tables(seventh), tables("gfx12")
    changed = {
        (encoding, opcode): row and row.name
        for encoding, rows in own.items()
        for opcode, row in enumerate(rows)
        if row != parent[encoding][opcode]
    }
    opcodes = {row.name: opcode for opcode, row in enumerate(parent["SOP1"]) if row is not None}
    assert opcodes["s_mov_b32"] != 7
    assert changed == {
        ("SOP1", 200): "s_new_b64",
        ("SOP1", 7): "s_mov_b32",
        ("SOP1", opcodes["s_mov_b32"]): None,
        ("SOP1", opcodes["s_mov_b64"]): None,
        ("VOP1", 127): "v_new_f32",
        ("VOP3", 0x180 + 127): "v_new_f32",
    }


@pytest.mark.parametrize("isa", ISAS)
def test_each_line_changes_something(isa: str) -> None:
    """No line repeats what the parent has, and no two instructions of an encoding share an opcode."""
    parent = SETS[isa].parent
    inherited = {} if parent is None else table._lines(parent)
    rows, repeated = dict[str, tuple[str, str, str, str]](), []
    for line in (line for text in SETS[isa].texts for line in text.splitlines()):
        first, *fields = line.split()
        if not fields:
            rows = inherited.get(first.strip("[]"), {})
        elif first == "=":
            repeated += [name for name, opcode in (f.split("=") for f in fields) if rows[name][0] == opcode]
        elif first == "-":
            repeated += [name for name in fields if name not in rows]
        else:
            repeated += [fields[0]] if rows.get(fields[0]) == (first, *fields[1:]) else []
    assert repeated == []
    for lines in table._lines(isa).values():
        opcodes = [opcode for opcode, *_ in lines.values()]
        assert len(set(opcodes)) == len(opcodes)
