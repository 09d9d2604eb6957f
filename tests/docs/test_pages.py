"""The pages of docs/: rendered ones are up to date, the site builds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.scripts import script

ROOT = Path(__file__).resolve().parents[2]


def test_kernel_tables_are_what_the_catalogue_says() -> None:
    """docs/kernels.md is what scripts/render_kernels.py writes today."""
    rendered = script("render_kernels")
    assert rendered.PAGE.read_text() == rendered.page(), "run `python scripts/render_kernels.py`"


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


@pytest.mark.parametrize("name", ["array_api", "emulator-instructions", "functions", "kernels"])
def test_signatures_are_no_markup(name: str, site: Path) -> None:
    """A star of a pointer or of `*args` stays one in the rendered tables: nothing is set in italics."""
    assert "<em>" not in (site / f"{name}.html").read_text("utf-8")
