"""The meaning of every instruction, one row each; importing the package registers them all."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from rocmkern.emulator.meaning.api import ROWS, Context, Row, row_of

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

__all__ = ["ROWS", "Context", "Row", "row_of"]
