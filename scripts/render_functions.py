"""Render docs/functions.md: every function of the tensor namespace, from its signature and docstring."""

from __future__ import annotations

import inspect
import re
from operator import attrgetter
from pathlib import Path

import rocmkern as rk
from rocmkern import methods as tensor_methods
from rocmkern.ops.elementwise import ROWS

TARGET = Path(__file__).parent.parent / "docs" / "functions.md"
CHAPTERS = {
    "creation": "Creation",
    "manipulation": "Shapes",
    "rows_unary": "Elementwise, one operand",
    "rows_binary": "Elementwise, two operands",
    "rounding": "Elementwise, rounding",
    "composed": "Elementwise, composed",
    "reduction": "Reductions and statistics",
    "indexing": "Indexing and searching",
    "items": "Subscripts",
    "scatter": "Writing by index",
    "sorting": "Sorting",
    "sets": "Sets",
    "linear": "Products",
    "einsum": "Sums of products",
    "reductions": "Reductions with all that NumPy takes",
    "familiar": "As in NumPy, beyond the standard",
    "arranged": "Rows, diagonals, windows",
    "statistics": "Statistics",
    "series": "Along one axis",
    "quantiles": "Quantiles",
    "passing_nan": "What is no NaN",
    "elementary": "Elementwise, in NumPy's names",
    "numpy_names": "NumPy's names of what the standard has",
    "stacking": "Joining, cutting, turning",
    "choosing": "Choosing and ordering",
    "grids": "Spaced numbers and grids",
    "numpy_sets": "Sets in which all NaN are one",
    "polynomials": "Polynomials",
    "windows": "Windows",
    "files": "NumPy's files",
    "nn": "Neural networks",
    "conv": "Convolutions, pools, resampling",
    "datatypes": "Dtypes and inspection",
    "memory": "Memory",
    "tuned": "Kernels chosen by measurement",
    "specialized": "Kernels for one shape",
}
EXTENSIONS = {"linalg": "Linear algebra", "fft": "Fourier transforms"}
TAKES = {
    "float": "Floats; other dtypes become the default one.",
    "numeric": "Numbers.",
    "rounding": "Numbers; integers are their own result.",
    "test": "Any dtype; gives bool.",
    "bits": "Bool and integers.",
    "integer": "Integers.",
    "logical": "The truth of any dtype; gives bool.",
    "any": "Any dtype; gives bool.",
}
HEAD = """\
# Tensor functions

Rendered by `python scripts/render_functions.py` from the docstrings. Operands broadcast and promote as
[the array API page](array_api.md) says; values are those of [What an operation means](semantics.md). A wrong shape or
axis is a `ValueError`, a wrong dtype a `TypeError`, an index outside its axis an `IndexError`.

In signatures `Operand` is a tensor or a number, Python's or NumPy's; `Scalar` a Python number; `Axes` one axis,
several, or None for all; `Shares` a number, several, or an array of them; `ShapeLike` a length or several;
`DeviceLike` a `Device`, its name, or None for the default.
"""


def entry(name: str) -> str:
    function = attrgetter(name)(rk)
    signature = str(inspect.signature(function)).replace("'", "").partition(" -> ")[0]
    doc = inspect.getdoc(function) or ""
    takes = f" {TAKES[ROWS[name].accepts]}" if name in ROWS else ""
    takes += " Complex numbers too." if name in ROWS and ROWS[name].of_complex else ""
    return f"### {name}\n\n`{name}{signature}`\n\n{doc}{takes}\n"


def own_functions(extension: str) -> list[str]:
    """The functions of an extension's namespace that the main one has not."""
    namespace = getattr(rk, extension)
    return [n for n in namespace.__all__ if inspect.isfunction(getattr(namespace, n)) and n not in rk.__all__]


def methods(kind: type, names: list[str]) -> list[str]:
    """A line for each method, in the order of the names."""
    lines = []
    for name in names:
        method = vars(kind)[name]
        shown = "" if isinstance(method, property) else str(inspect.signature(method)).partition(" -> ")[0]
        shown = re.sub(r"\((self|x: Tensor)(, |(?=\)))", "(", shown.replace("'", ""))
        doc = (inspect.getdoc(method) or "").replace("\n\n", " ").replace("\n", " ")
        lines.append(f"- `{name}{shown}`: {doc}")
    return lines


def of_tensor() -> list[str]:
    """What a tensor has beside operators and the standard's attributes."""
    return methods(
        rk.Tensor, [n for n, f in vars(tensor_methods).items() if inspect.isfunction(f) and n in vars(rk.Tensor)]
    )


def of_generator() -> list[str]:
    generator = rk.random.Generator
    return methods(generator, [n for n, f in vars(generator).items() if inspect.isfunction(f) and n[0] != "_"])


def render() -> str:
    parts = [HEAD]
    for module, title in CHAPTERS.items():
        names = [n for n in rk.__all__ if rk._HOME[n] == f"rocmkern.ops.{module}"]
        parts.append(f"## {title}\n")
        parts += [entry(n) for n in names if inspect.isfunction(getattr(rk, n))]
    for extension, title in EXTENSIONS.items():
        parts.append(f"## {title}\n")
        parts += [entry(f"{extension}.{n}") for n in own_functions(extension)]
    parts += ["## Random numbers\n", entry("random.default_rng"), entry("random.Generator"), *of_generator(), ""]
    return "\n".join([*parts, "## Methods of a tensor\n", *of_tensor(), ""])


if __name__ == "__main__":
    TARGET.write_text(render())
