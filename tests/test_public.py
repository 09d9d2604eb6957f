"""`import rocmkern`: its names, its weight, and what it must not load."""

from __future__ import annotations

import ast
import subprocess
import sys
from operator import attrgetter
from pathlib import Path

import pytest

import rocmkern


def test_type_checkers_see_the_names_that_are_exported() -> None:
    """The TYPE_CHECKING block imports from exactly the modules that the names come from, and each name is there."""
    tree = ast.parse(Path(rocmkern.__file__).read_text())
    block = next(n for n in tree.body if isinstance(n, ast.If))
    modules = [n.module for n in block.body if isinstance(n, ast.ImportFrom) and n.module != "rocmkern"]
    assert sorted(modules) == sorted({*rocmkern._HOME.values()})
    for name, module in rocmkern._HOME.items():
        assert getattr(rocmkern, name) is vars(sys.modules[module])[name]


def test_every_public_name_says_what_it_is() -> None:
    """Classes and functions have docstrings."""
    things = {name: getattr(rocmkern, name) for name in rocmkern.__all__}
    assert [n for n, thing in things.items() if callable(thing) and not thing.__doc__] == []


def test_unknown_name_is_an_attribute_error() -> None:
    """As of any module."""
    assert not hasattr(rocmkern, "nonsense")


def test_names_of_other_libraries_lead_to_ours() -> None:
    """The error of each says what is there, and that is there."""
    for theirs, ours in rocmkern._ELSEWHERE.items():
        with pytest.raises(AttributeError, match=f"'{theirs}'; it has {ours}$"):
            getattr(rocmkern, theirs)
        assert callable(attrgetter(ours)(rocmkern))


def test_modules_of_their_own_are_there_after_the_import() -> None:
    """Nobody imports `rocmkern.errors` to catch an error."""
    code = f"import rocmkern as rk; print(*(getattr(rk, name).__name__ for name in {rocmkern._EXTENSIONS}))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert found == [f"rocmkern.{name}" for name in rocmkern._EXTENSIONS]
    assert "errors" in rocmkern._EXTENSIONS


def test_import_is_light() -> None:
    """Importing loads no other package: neither the HIP bindings, nor LLVM, nor NumPy."""
    code = (
        "import sys; before = set(sys.modules); import rocmkern;"
        "print(*{m.split('.')[0] for m in set(sys.modules) - before} - sys.stdlib_module_names)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert found == ["rocmkern"]
