"""The page of instructions is made from the rows."""

from __future__ import annotations

from rocmkern.emulator.instruction_table import markdown
from rocmkern.emulator.meaning import ROWS


def test_page_names_every_instruction() -> None:
    """Every row but tier 0's own is on the page, with its signature."""
    page = markdown()
    assert [n for n, r in ROWS.items() if r.unit not in ("count", "untranslated") and f"`{n}`" not in page] == []
    assert "| `v_add3_u32` | u32 = u32 u32 u32 | add3 |" in page
    assert "`s_cbranch_scc1` | = scc |" in page
