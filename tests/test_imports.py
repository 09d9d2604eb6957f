"""The package is layered: imports go down one list only."""

from __future__ import annotations

import ast
from pathlib import Path

import rocmkern

LAYERS = (
    ("cli", "pytest_plugin"),
    ("dask", "hip_on_cpu", "models", "specialize", "tuning", "verifying"),
    ("build",),
    ("quant", "packages"),
    ("distributed", "fft", "linalg", "random"),
    ("ops",),
    ("engine",),
    ("tensor", "methods", "layout", "promotion", "dlpack", "constants"),
    ("kernels",),
    ("runtime",),
    ("drivers",),
    ("checking", "profiling"),
    ("emulator",),
    ("codeobject",),
    ("disk_cache",),
    ("private_files",),
    ("targets", "dtypes", "default_dtypes", "paths", "rounding"),
    ("locks", "near"),
    ("errors",),
)
LEVEL = {name: i for i, names in enumerate(LAYERS) for name in names}
ROOT = Path(rocmkern.__file__).parent


def imported_parts(tree: ast.AST) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        modules = []
        if isinstance(node, ast.ImportFrom) and node.module:
            modules = [node.module] if node.module != "rocmkern" else [f"rocmkern.{a.name}" for a in node.names]
        elif isinstance(node, ast.Import):
            modules = [a.name for a in node.names]
        found |= {m.split(".")[1] for m in modules if m.startswith("rocmkern.")}
    return found & LEVEL.keys()


def test_imports_go_down_the_list() -> None:
    """No module imports from a layer above its own."""
    wrong = []
    for path in sorted(ROOT.rglob("*.py")):
        part = path.relative_to(ROOT).parts[0].removesuffix(".py")
        if part not in LEVEL:
            continue
        wrong += [
            f"{path.name}: {part} imports {m}"
            for m in imported_parts(ast.parse(path.read_text()))
            if LEVEL[m] < LEVEL[part]
        ]
    assert wrong == []
