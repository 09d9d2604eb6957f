"""Writes the pictures of `docs/check.md`: `python scripts/render_check.py`.

They are what the commands print for the kernel that the page shows, as SVG.
"""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from click.testing import CliRunner
from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from rocmkern.cli import main  # noqa: E402  # from this checkout

PAGE = ROOT / "docs" / "check.md"
PICTURES = ROOT / "docs" / "images"
WIDTH = 132
ADDRESS = re.compile(r"7[0-9a-f]{11}")  # of a process: another one has others
HEADER = re.compile(r"\S*/hip_include/(?:\w+/)*")  # where a checkout's headers lie, if the kernel lies near it
LAUNCH = ["--kernel", "sum", "--block", "128", "--arg", "f32[128]=arange", "--arg", "f32[1]"]
STYLES = (
    (re.compile(r"^note: "), "bold yellow"),
    (re.compile(r"^(out of bounds|uninitialised|race|missing|barrier)"), "bold red"),
    (re.compile(r"^ *→"), "cyan"),
    (re.compile(r"^\d+ errors?"), "red"),
    (re.compile(r"^no errors"), "green"),
    (re.compile(r"^;"), "cyan"),
    (re.compile(r"^\$"), "bold"),
)


def kernel() -> str:
    """The one that the page shows."""
    return re.search(r"```cpp\n(.*?)```", PAGE.read_text("utf-8"), re.S)[1]  # type: ignore[index]


def mended(source: str) -> str:
    """With a barrier ahead of the loop."""
    return source.replace("    for (", "    __syncthreads();\n    for (", 1)


def ran(arguments: list[str]) -> str:
    return CliRunner().invoke(main, arguments).output


def picture(path: Path, command: str, output: str, lines: int) -> None:
    """Write the first lines of what a command prints."""
    console = Console(record=True, width=WIDTH, file=io.StringIO())
    shown = HEADER.sub("", ADDRESS.sub("7f6262f07100", output)).splitlines()
    more = ["…"] if len(shown) > lines else []
    for line in (f"$ {command}", *shown[:lines], *more):
        style = next((style for form, style in STYLES if form.search(line)), "")
        console.print(Text(line, style), soft_wrap=False, overflow="crop", no_wrap=True)
    svg = console.export_svg(title="rocmkern", unique_id=path.stem)
    path.write_text(svg, "utf-8")


def render(into: Path = PICTURES) -> None:
    """Write all of them."""

    with TemporaryDirectory() as folder:
        built = {}
        for name, source in (("sum", kernel()), ("mended", mended(kernel()))):
            file = Path(folder) / name / "sum.hip"
            file.parent.mkdir()
            file.write_text(source, "utf-8")
            ran(["compile", "-g", str(file), "--target", "gfx942", "-o", str(file.parent)])
            built[name] = str(file.parent / "gfx942" / "sum.hsaco")
        bug, small = str(Path(folder) / "bug.rkz"), str(Path(folder) / "small.rkz")
        found = ran(["check", "--save", bug, *LAUNCH, built["sum"]])
        picture(into / "check-found.svg", "rocmkern check --save bug.rkz --kernel sum … sum.hsaco", found, 40)
        picture(
            into / "check-shrunk.svg",
            "rocmkern replay bug.rkz --shrink small.rkz",
            ran(["replay", bug, "--shrink", small]),
            4,
        )
        trace = ran(["replay", bug, "--trace", "wg=0,wave=0,lane=5"])
        picture(into / "check-trace.svg", "rocmkern replay bug.rkz --trace wg=0,wave=0,lane=5", trace, 30)
        clean = ran(["check", *LAUNCH, built["mended"]])
        picture(into / "check-clean.svg", "rocmkern check --kernel sum … sum.hsaco", clean, 4)


if __name__ == "__main__":
    render()
