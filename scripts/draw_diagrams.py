"""Draw the diagrams of docs/images: boxes in columns and rows, and arrows between them, as SVG."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Final

from attrs import frozen

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "images"
WIDTH: Final = 190  # of a box, in pixels
HEIGHT: Final = 58
ACROSS: Final = 250  # from one column to the next
DOWN: Final = 96
MARGIN: Final = 16
COLOURS: Final = {"file": "#fdf1dc", "code": "#e4eefb", "device": "#e2f4e6", "finding": "#fbe4e4"}


@frozen
class Box:
    """One thing: where it stands, what it is called, a line about it."""

    column: float
    row: float
    title: str
    text: str = ""
    kind: str = "code"

    @property
    def left(self) -> float:
        return MARGIN + self.column * ACROSS

    @property
    def top(self) -> float:
        return MARGIN + self.row * DOWN


@frozen
class Diagram:
    """Boxes by name, and arrows as (from, to, words)."""

    title: str
    boxes: dict[str, Box]
    arrows: tuple[tuple[str, str, str], ...]


DIAGRAMS: Final = {
    "overview": Diagram(
        "One code object, two places to run it",
        {
            "source": Box(0, 1, "HIP or CUDA source", "yours, or the package's", "file"),
            "object": Box(1, 1, "code object", "the bytes that a GPU gets", "file"),
            "gpu": Box(2, 0, "AMD GPU", "through HIP", "device"),
            "cpu": Box(2, 1, "emulator", "on this CPU", "device"),
            "check": Box(3, 0.5, "checker", "faults by source line", "finding"),
            "profile": Box(3, 1.5, "profiler", "counts and bounds", "finding"),
            "tensors": Box(1, 2, "tensors", "array API, NumPy's names"),
        },
        (
            ("source", "object", "compile"), ("object", "gpu", ""), ("object", "cpu", ""), ("cpu", "check", ""),
            ("cpu", "profile", ""), ("tensors", "object", "call"),
        ),
    ),
    "launch": Diagram(
        "From a code object to a launch",
        {
            "bundle": Box(0, 0, "bundle", "a piece for each target", "file"),
            "piece": Box(1, 0, "code object", "ELF with metadata", "file"),
            "module": Box(2, 0, "Module", "loaded on a device"),
            "function": Box(3, 0, "Function", "a kernel's arguments, limits"),
            "call": Box(0, 1, "function(x, …)", "grid=, block="),
            "packed": Box(1, 1, "argument block", "counted, typed, placed"),
            "driver": Box(2, 1, "driver", "HIP, CUDA or emulator"),
            "device": Box(3, 1, "device", "runs the workgroups", "device"),
        },
        (
            ("bundle", "piece", "target"), ("piece", "module", "load"), ("module", "function", "name"),
            ("function", "packed", "checks"), ("call", "packed", "pack"), ("packed", "driver", "submit"),
            ("driver", "device", ""),
        ),
    ),
    "plans": Diagram(
        "A call, its key and its plan",
        {
            "call": Box(0, 0, "rk.softmax(x)", "an operation"),
            "key": Box(1, 0, "key", "dtype, shape, strides, …"),
            "plan": Box(2, 0, "plan", "allocations, launches, copies"),
            "driver": Box(3, 0, "driver", "addresses put in", "device"),
            "python": Box(1, 1, "the operation's Python", "on memory without addresses"),
        },
        (
            ("call", "key", ""), ("key", "plan", "known"), ("plan", "driver", "run"), ("key", "python", "new"),
            ("python", "plan", "records"),
        ),
    ),
    "emulator": Diagram(
        "How the emulator runs a kernel",
        {
            "words": Box(0, 0, "instruction words", "of the code object", "file"),
            "decoder": Box(1, 0, "decoder", "name, operands, modifiers"),
            "rows": Box(1, 1, "table of meaning", "one row an instruction"),
            "zero": Box(2, 0, "tier 0", "a function for each shape"),
            "one": Box(2, 1, "tier 1", "hot blocks as one function"),
            "cpu": Box(3, 0, "threads of this CPU", "workgroup by workgroup", "device"),
            "observers": Box(3, 1, "observers", "checker, counts, traces", "finding"),
        },
        (
            ("words", "decoder", ""), ("decoder", "zero", ""), ("rows", "zero", ""), ("zero", "one", "hot"),
            ("zero", "cpu", ""), ("one", "cpu", ""), ("cpu", "observers", "events"),
        ),
    ),
    "checker": Diagram(
        "How the checker finds a fault",
        {
            "access": Box(0, 0, "each access", "lane, address, bytes"),
            "shadow": Box(1, 0, "a record per byte", "who wrote it, who read it"),
            "barrier": Box(0, 1, "barriers, atomics", "what orders waves"),
            "finding": Box(2, 0, "finding", "kind, lanes, allocation", "finding"),
            "lines": Box(2, 1, "line table", "compiled with -g", "file"),
            "report": Box(3, 0, "report", "text, JSON, SARIF", "finding"),
        },
        (
            ("access", "shadow", ""), ("barrier", "shadow", ""), ("shadow", "finding", "compare"),
            ("lines", "finding", "place"), ("finding", "report", ""),
        ),
    ),
    "devices": Diagram(
        "Devices and their drivers",
        {
            "name": Box(0, 1, "rk.Device(name)", "or ROCMKERN_DEVICE"),
            "hip": Box(1, 0, "hip:0", "hip-python"),
            "emulated": Box(1, 1, "emulator:gfx942", "and other targets"),
            "cuda": Box(1, 2, "cuda:0", "cuda-bindings"),
            "amd": Box(2, 0, "AMD GPU", "code object of its target", "device"),
            "cpu": Box(2, 1, "this CPU", "the same code object", "device"),
            "nvidia": Box(2, 2, "NVIDIA GPU", "PTX of the same sources", "device"),
        },
        (
            ("name", "hip", ""), ("name", "emulated", ""), ("name", "cuda", ""), ("hip", "amd", ""),
            ("emulated", "cpu", ""), ("cuda", "nvidia", ""),
        ),
    ),
}  # fmt: skip


def arrow(start: Box, end: Box, words: str) -> str:
    if start.column == end.column:
        down = end.row > start.row
        x1 = x2 = start.left + WIDTH / 2
        y1, y2 = (start.top + HEIGHT, end.top - 6) if down else (start.top, end.top + HEIGHT + 6)
    else:
        x1, x2 = start.left + WIDTH, end.left - 6
        y1, y2 = start.top + HEIGHT / 2, end.top + HEIGHT / 2
    line = f'<path d="M{x1:g} {y1:g} L{x2:g} {y2:g}" stroke="#555" fill="none" marker-end="url(#head)"/>'
    aside, above = (20, 0) if x1 == x2 else (4, 5)
    x, y = (x1 + x2) / 2 + aside, (y1 + y2) / 2 - above
    return line + (f'<text x="{x:g}" y="{y:g}" class="word">{escape(words)}</text>' if words else "")


def box(each: Box) -> str:
    middle = each.left + WIDTH / 2
    return (
        f'<rect x="{each.left:g}" y="{each.top:g}" width="{WIDTH}" height="{HEIGHT}" rx="8" '
        f'fill="{COLOURS[each.kind]}" stroke="#777"/>'
        f'<text x="{middle:g}" y="{each.top + 25:g}" class="title">{escape(each.title)}</text>'
        f'<text x="{middle:g}" y="{each.top + 44:g}" class="text">{escape(each.text)}</text>'
    )


def svg(diagram: Diagram) -> str:
    boxes = diagram.boxes
    width = max(each.left for each in boxes.values()) + WIDTH + MARGIN
    height = max(each.top for each in boxes.values()) + HEIGHT + MARGIN
    arrows = [arrow(boxes[start], boxes[end], words) for start, end, words in diagram.arrows]
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}">',
            f"<title>{escape(diagram.title)}</title>",
            "<style>text{font-family:sans-serif;text-anchor:middle;fill:#222}.title{font-size:15px;font-weight:600}"
            ".text,.word{font-size:12px;fill:#555}</style>",
            '<defs><marker id="head" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="8" markerHeight="8" '
            'orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="#555"/></marker></defs>',
            '<rect width="100%" height="100%" fill="white"/>',
            *arrows,
            *map(box, boxes.values()),
            "</svg>\n",
        )
    )


if __name__ == "__main__":
    for name, diagram in DIAGRAMS.items():
        (FOLDER / f"{name}.svg").write_text(svg(diagram), "utf-8")
