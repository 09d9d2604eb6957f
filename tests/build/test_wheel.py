"""The built wheel works by itself: its kernels are inside."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

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
