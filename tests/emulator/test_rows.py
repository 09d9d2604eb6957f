"""The table of instruction meanings is well formed."""

from __future__ import annotations

import pytest

from rocmkern.emulator.meaning import ROWS
from rocmkern.emulator.meaning.api import ELEMENT, OVERRIDES


@pytest.mark.parametrize("row", [*ROWS.values(), *OVERRIDES.values()], ids=lambda r: r.name)
def test_signature_uses_known_types(row: object) -> None:
    """Every type in a signature is one that operand fetch knows."""
    types = [t.removeprefix("^").removeprefix("2x") for t in (*row.destinations, *row.sources)]
    assert [t for t in types if t not in ELEMENT and not (t[0] == "r" and t[1:].isdigit())] == []


def test_every_cmpx_row_writes_exec() -> None:
    """v_cmpx narrows EXEC, whatever it compares."""
    rows = [row for row in ROWS.values() if row.name.startswith("v_cmpx_")]
    assert len(rows) > 100
    assert [row.name for row in rows if row.destinations != ("mx",)] == []
