"""The pages of docs/: rendered ones are up to date, the site builds."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import rocmkern as rk
from rocmkern import errors
from tests.scripts import script

ROOT = Path(__file__).resolve().parents[2]


def test_diagrams_are_what_the_script_draws() -> None:
    """Each SVG that scripts/draw_diagrams.py has, as it is written today."""
    drawn = script("draw_diagrams")
    for name, diagram in drawn.DIAGRAMS.items():
        assert (drawn.FOLDER / f"{name}.svg").read_text("utf-8") == drawn.svg(diagram), "run scripts/draw_diagrams.py"


def test_what_an_installation_without_the_emulator_needs() -> None:
    """The page's list is pyproject's dependencies but llvmlite, and each of those has its line in the table."""
    listed = re.search(r"^dependencies = \[\n(.*?)^\]", (ROOT / "pyproject.toml").read_text(), re.M | re.S)
    assert listed is not None
    needed = re.findall(r'^ +"([\w-]+)', listed[1], re.M)
    page = (ROOT / "docs" / "installation.md").read_text("utf-8")
    command = re.search(r"^pip install (attrs .*)$", page, re.M)
    assert command is not None and command[1].split() == [name for name in needed if name != "llvmlite"]
    table = page.partition("## What it depends on")[2].partition("## ")[0]
    assert [name for name in needed if name not in table] == []


def test_kernel_tables_are_what_the_catalogue_says() -> None:
    """docs/kernels.md is what scripts/render_kernels.py writes today."""
    rendered = script("render_kernels")
    assert rendered.PAGE.read_text() == rendered.page(), "run `python scripts/render_kernels.py`"


@pytest.mark.parametrize("name", ["render_command_line", "render_objects"])
def test_pages_of_the_reference_are_current(name: str) -> None:
    """Commands and classes are what they say of themselves today."""
    rendered = script(name)
    assert rendered.TARGET.read_text("utf-8") == rendered.render(), f"run `python scripts/{name}.py`"


def headings(name: str) -> set[str]:
    return set(re.findall(r"^###? (\S+)$", (ROOT / "docs" / name).read_text("utf-8"), re.M))


def test_every_public_name_has_a_heading() -> None:
    """Functions of tensors on one page, everything else on the other, dtypes and constants in its tables."""
    objects = script("render_objects")
    tabled = {name for name in rk.__all__ if isinstance(getattr(rk, name), rk.DType)} | set(objects.CONSTANTS)
    assert set(rk.__all__) - headings("functions.md") - headings("objects.md") == tabled
    page = (ROOT / "docs" / "objects.md").read_text("utf-8")
    assert [name for name in tabled if f"`{name}`" not in page] == []


def test_every_error_has_its_entry() -> None:
    """Each class with the builtins that it also is, and nothing that is no error."""
    classes = {n: c for n, c in vars(errors).items() if isinstance(c, type) and c.__module__ == errors.__name__}
    page = (ROOT / "docs" / "errors.md").read_text("utf-8")
    entries = {text.partition("\n")[0]: text for text in page.split("\n### ")[1:]}
    assert entries.keys() == classes.keys() - {"RocmkernError"}
    for name, text in entries.items():
        bases = [base.__name__ for base in classes[name].__bases__ if base is not errors.RocmkernError]
        first = text.split("\n\n")[1]
        assert [base for base in bases if f"`{base}`" not in first] == [], name


def test_every_variable_is_on_the_page_of_the_environment() -> None:
    """Each that the sources name, and no other."""
    sources = [path.read_text("utf-8") for end in ("*.py", "*.c") for path in (ROOT / "rocmkern").rglob(end)]
    named = {name for text in sources for name in re.findall(r"\bROCMKERN_[A-Z0-9_]+\b", text)}
    told = set(re.findall(r"`(ROCMKERN_[A-Z0-9_]+)`", (ROOT / "docs" / "environment.md").read_text("utf-8")))
    assert told == named


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make docs` builds it: a link that leads nowhere is an error, as is a page in no list."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "docs", str(folder)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


def test_every_page_is_built(site: Path) -> None:
    """One page of the site for each Markdown file of docs/."""
    pages = {path.relative_to(ROOT / "docs").with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")}
    assert pages <= {path.relative_to(site) for path in site.rglob("*.html")}


@pytest.mark.parametrize("name", ["command-line", "emulator-instructions", "functions", "kernels", "objects"])
def test_signatures_are_no_markup(name: str, site: Path) -> None:
    """A star of a pointer or of `*args` stays one in the rendered tables: nothing is set in italics."""
    assert "<em>" not in (site / f"{name}.html").read_text("utf-8")


def test_pictures_of_checks_are_current(tmp_path: Path) -> None:
    """docs/images has what scripts/render_check.py draws of the commands today."""
    rendered = script("render_check")
    rendered.render(tmp_path)
    drawn = {path.name: path.read_text("utf-8") for path in tmp_path.iterdir()}
    kept = {path.name: path.read_text("utf-8") for path in rendered.PICTURES.glob("check-*.svg")}
    assert drawn == kept, "run `python scripts/render_check.py`"
