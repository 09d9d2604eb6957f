"""The built wheel works by itself: its kernels are inside."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import numpy as np, rocmkern as rk
x = rk.asarray(np.array([[1.0, 2.0, 3.0]], np.float32))
print(rk.__file__)
print(float(rk.sum(rk.softmax(x))))
"""


def test_wheel_holds_its_kernels_and_runs_from_elsewhere(tmp_path: Path) -> None:
    """Under 15 MB; unpacked into an empty folder it computes from there, not from the checkout."""
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(tmp_path), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("rocmkern-*.whl")
    assert wheel.stat().st_size < 15_000_000
    folder = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    bundles = [path.name for path in sorted(folder.glob("rocmkern/hsaco/*.hsaco"))]
    assert bundles == sorted(path.name for path in ROOT.glob("hsaco/*.hsaco"))
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    where, total = done.stdout.split()
    assert Path(where).is_relative_to(folder)
    assert abs(float(total) - 1) < 1e-6


def names_and_sums(wheel: Path) -> dict[str, int]:
    with zipfile.ZipFile(wheel) as archive:
        return {entry.filename: entry.CRC for entry in archive.infolist() if not entry.filename.endswith("/RECORD")}


@pytest.mark.slow
def test_the_sdist_builds_the_same_wheel(tmp_path: Path) -> None:
    """Whoever builds from the source distribution gets the files that the checkout gives, byte by byte."""
    build = [sys.executable, "-m", "hatchling", "build", "--directory", str(tmp_path)]
    subprocess.run([*build, "--target", "sdist"], cwd=ROOT, check=True, capture_output=True)
    (archive,) = tmp_path.glob("*.tar.gz")
    subprocess.run(["tar", "-xf", str(archive), "-C", str(tmp_path)], check=True)
    unpacked = archive.with_name(archive.name.removesuffix(".tar.gz"))
    wheels = {}
    for folder in (ROOT, unpacked):
        out = tmp_path / f"wheel-{len(wheels)}"
        command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(out)]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
        (wheel,) = out.glob("*.whl")
        wheels[folder] = names_and_sums(wheel)
    assert wheels[ROOT] == wheels[unpacked]
