"""The pages of docs/: rendered ones are up to date, the site builds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.scripts import script

ROOT = Path(__file__).resolve().parents[2]


def test_kernel_tables_are_what_the_catalogue_says() -> None:
    """docs/kernels.md is what scripts/render_kernels.py writes today."""
    rendered = script("render_kernels")
    assert rendered.PAGE.read_text() == rendered.page(), "run `python scripts/render_kernels.py`"


def test_the_site_builds(tmp_path: Path) -> None:
    """mkdocs builds the site, every link and page in place."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "site" / "index.html").exists()
