"""The page of instructions, rendered from the rows of meaning.

`python -m rocmkern.emulator.instruction_table docs/emulator-instructions.md` writes it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from rocmkern.emulator.meaning import ROWS, Row
from rocmkern.emulator.meaning.api import OVERRIDES

HEADINGS: Final = (
    ("salu", "Scalar ALU"),
    ("valu", "Vector ALU"),
    ("lanes", "Across lanes"),
    ("state", "On registers in memory"),
    ("memory", "Memory and LDS"),
    ("branch", "Branches"),
    ("barrier", "Barriers"),
    ("end", "Ends"),
    ("sleep", "Let others run"),
    ("wait", "Where loads to LDS land"),
    ("nop", "Without effect here"),
    ("dual", "Pairs"),
)
TABLE_HEAD: Final = "| instructions | signature | meaning |\n|---|---|---|"
HEAD: Final = """\
# Instructions that the emulator knows

Rendered from the rows of `rocmkern/emulator/meaning`; names are LLVM's, of all targets. A signature reads
`destinations = sources`; `rocmkern/emulator/meaning/api.py` explains the types.
"""


def _meaning(row: Row) -> str:
    if row.access is not None:
        a = row.access
        size = f"{a.count} × {a.bits} bits" if a.count > 1 else f"{a.bits} bits"
        if a.typed:
            size = f"{a.count} of an element's components" + (", in halves" if a.typed == "d16" else "")
        what = _name(row) if a.op == "custom" else a.op
        parts = [
            what, size, a.extend if a.bits < 32 and a.op == "load" else "", a.half and f"{a.half} half", a.element,
            a.place and f"by {a.place}",
        ]  # fmt: skip
        return ", ".join(p for p in parts if p)
    first = row.doc.splitlines()[0] if row.doc else ""
    return first or _name(row)


def _name(row: Row) -> str:
    name = getattr(row.emit, "__name__", "")
    return "" if name.startswith("<") else name.strip("_").replace("_", " ")


def _signature(row: Row) -> str:
    left, right = " ".join(row.destinations), " ".join(row.sources)
    text = f"{left} = {right}".strip() if left or right else ""
    return text + (" (packed)" if row.packed else "")


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")


def _code(text: str) -> str:
    return f"`{_escaped(text)}`" if text else ""


def _section(unit: str, heading: str, rows: list[Row]) -> str:
    """One table; instructions of equal signature and meaning share a line."""
    lines: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if row.unit == unit:
            name = f"`{row.name}`" + (f" ({', '.join(row.isas)})" if row.isas else "")
            lines.setdefault((_signature(row), _meaning(row)), []).append(name)
    count = sum(map(len, lines.values()))
    table = [f"| {' '.join(names)} | {_code(s)} | {_escaped(m)} |" for (s, m), names in lines.items()]
    return "\n".join((f"## {heading} ({count})\n", TABLE_HEAD, *table, ""))


def markdown() -> str:
    """The whole page."""
    rows = [*ROWS.values(), *OVERRIDES.values()]
    return "\n".join((HEAD, *(_section(unit, heading, rows) for unit, heading in HEADINGS)))


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(markdown())
