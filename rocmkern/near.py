"""What a misspelt name may have meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def near(name: object, names: Iterable[str]) -> str:
    """The names that are nearest to one that is none of them, in a line; all of them where none is alike."""
    known = list(dict.fromkeys(names))
    return ", ".join(get_close_matches(str(name), known) or known) or "none"
