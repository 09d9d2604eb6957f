"""Draw the pictures of the tutorials: those that their programs make, and what their commands print, as SVG."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from io import StringIO
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.text import Text

ROOT: Final = Path(__file__).resolve().parents[1]
IMAGES: Final = ROOT / "docs" / "images"
PROGRAMS: Final = ROOT / "examples" / "tutorials"
PLOTS: Final = ("tensors", "own_kernel", "cost", "language_model")
TERMINALS: Final = {
    "find_the_bug": ("rocmkern check find_the_bug.py",),
    "ship_kernels": ("rocmkern new my_things", "pytest -q my_things"),
    "from_cuda": ("rocmkern hipify --write reduce.cu", "rocmkern lint-waves reduce.cu"),
}
ADDRESS: Final = re.compile(r"0x7f[0-9a-f]{10}")


def session(commands: tuple[str, ...], folder: Path) -> str:
    """What a terminal shows of commands, addresses alike on every run."""
    shown = []
    for command in commands:
        words = [sys.executable, "-m", *command.split()]
        done = subprocess.run(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        shown.append(f"$ {command}\n{ADDRESS.sub('0x7f0000000100', done.stdout).rstrip()}\n")
    return "\n".join(shown)


def terminal(text: str, title: str) -> str:
    console = Console(record=True, width=104, file=StringIO())
    shown = Text(text)
    shown.highlight_regex(r"(?m)^\$ .*$", "bold cyan")
    shown.highlight_regex(r"(?m)^.*(in sum_of_squares|errors in).*$", "bold red")
    shown.highlight_regex(r"(?m)^.*→.*$", "green")
    shown.highlight_regex(r"(?m); write .*$", "green")
    console.print(shown)
    return console.export_svg(title=title, unique_id="rocmkern")


if __name__ == "__main__":
    for name in PLOTS:
        subprocess.run([sys.executable, PROGRAMS / f"{name}.py", IMAGES / f"tutorial-{name}.png"], check=True)
    for name, commands in TERMINALS.items():
        with tempfile.TemporaryDirectory() as scratch:
            shutil.copytree(PROGRAMS, scratch, dirs_exist_ok=True)
            picture = terminal(session(commands, Path(scratch)), commands[-1])
        (IMAGES / f"tutorial-{name}.svg").write_text(picture, "utf-8")
