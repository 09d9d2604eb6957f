"""The page of instructions is made from the rows."""

from __future__ import annotations

from pathlib import Path

from rocmkern.emulator.instruction_table import markdown
from rocmkern.emulator.meaning import ROWS

PAGE = Path(__file__).parents[2] / "docs" / "emulator-instructions.md"


def test_page_names_every_instruction() -> None:
    """Every row but tier 0's own is on the page, with its signature as code."""
    page = markdown()
    assert [n for n, r in ROWS.items() if r.unit not in ("count", "untranslated") and f"`{n}`" not in page] == []
    assert "| `v_add3_u32` | `u32 = u32 u32 u32` | add3 |" in page
    assert "`s_cbranch_scc1` | `= scc` |" in page


def test_the_page_is_current() -> None:
    """What lies in docs/ is what the rows give today."""
    assert PAGE.read_text("utf-8") == markdown(), "run `python -m rocmkern.emulator.instruction_table` on the page"
