"""Where in the program that uses the package something was asked for."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

PACKAGE: Final = str(Path(__file__).parents[1]) + os.sep
INSTALLED: Final = f"{os.sep}site-packages{os.sep}"


def caller() -> str:
    """`file:line` of the innermost frame outside the package and installed ones; "" where there is none."""
    frame = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith((PACKAGE, "<")) and INSTALLED not in file:
            near = os.path.relpath(file)
            return f"{file if near.startswith(os.pardir) else near}:{frame.f_lineno}"
        frame = frame.f_back  # type: ignore[assignment]
    return ""
