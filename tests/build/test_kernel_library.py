"""Kernels of somebody's own package: found, compiled where missing, and packed into a wheel by `rocmkern new`."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import rocmkern as rk
from rocmkern.build import jit
from rocmkern.cli import main
from rocmkern.errors import BuildError, KernelNotFound, ModuleNotShipped, StaleCodeObject, TargetNotBuilt
from rocmkern.targets import BUILT

ROOT = Path(__file__).resolve().parents[2]
SOURCE = '#include "amount.h"\n__global__ void grow(int *x) { x[threadIdx.x] += AMOUNT; }\n'
PROGRAM = """
import numpy as np, rocmkern as rk
from rocmkern.build import jit
import own_kernels
def refused(*words): raise AssertionError("it compiles")
jit.compiled = refused
x, y = rk.ones(3, device="emulator:gfx1100"), rk.ones(3, device="emulator:gfx1100")
own_kernels.kernels.get_kernel("saxpy", "saxpy", x.device)(x, y, n=3, a=2.0, grid=1, block=64)
print(own_kernels.__file__, *y.numpy())
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A package with one source, compiled for MI300 and for RDNA3 as a generation."""
    folder = tmp_path_factory.mktemp("packages")
    (folder / "growing/kernels").mkdir(parents=True)
    (folder / "growing/__init__.py").touch()
    (folder / "growing/kernels/grow.cu").write_text(SOURCE)
    (folder / "growing/kernels/amount.h").write_text("#define AMOUNT 5\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        made = rk.KernelLibrary("growing").build(["gfx942", "gfx11-generic"])
        assert [path.parent.name for path in made] == ["gfx942", "gfx11-generic"]
        yield folder


@pytest.fixture
def library(built: Path) -> rk.KernelLibrary:
    return rk.KernelLibrary("growing")


@pytest.fixture
def compiling(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The targets that are compiled for meanwhile."""
    found: list[str] = []
    real = jit.compiled

    def compiled(source: Any, target: str, **options: Any) -> bytes:
        found.append(target)
        return real(source, target, **options)

    monkeypatch.setattr(jit, "compiled", compiled)
    return found


@pytest.fixture
def without_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(target: str) -> None:
        raise BuildError("compile: no compiler is here; install rocmkern[build]")

    monkeypatch.setattr(jit, "compiler_for", refuse)


@pytest.fixture
def changed(built: Path) -> Iterator[None]:
    """The header says another amount than when it was compiled."""
    header = built / "growing/kernels/amount.h"
    header.write_text("#define AMOUNT 7\n")
    yield
    header.write_text("#define AMOUNT 5\n")


def grown(library: rk.KernelLibrary, device: str) -> int:
    x = rk.zeros(64, dtype=rk.int32, device=device)
    library.get_kernel("grow", "grow", device)(x, grid=1, block=64)
    (value,) = np.unique(x.numpy())
    return int(value)


@pytest.mark.parametrize("name", ["emulator:gfx942", "emulator:gfx1100", "emulator:gfx1151"])
def test_built_targets_are_loaded(library: rk.KernelLibrary, compiling: list[str], name: str) -> None:
    """The device's own, and the generic one of its generation; nothing is compiled."""
    assert grown(library, name) == 5
    assert compiling == []


def test_a_missing_target_is_compiled(library: rk.KernelLibrary, compiling: list[str]) -> None:
    """For the device's own."""
    assert grown(library, "emulator:gfx1030") == 5
    assert compiling == ["gfx1030"]


def test_a_missing_target_without_a_compiler(library: rk.KernelLibrary, without_compiler: None) -> None:
    """A LookupError that says what could be done."""
    with pytest.raises(TargetNotBuilt, match=r"growing's grow: no code for gfx1030; .* install rocmkern\[build\]"):
        grown(library, "emulator:gfx1030")


@pytest.mark.usefixtures("changed")
def test_a_changed_source_is_compiled_again(library: rk.KernelLibrary, compiling: list[str]) -> None:
    """Also where only a header of its own changed: code of another source is not used."""
    assert grown(library, "emulator:gfx942") == 7
    assert compiling == ["gfx942"]


@pytest.mark.usefixtures("changed", "without_compiler")
def test_a_changed_source_without_a_compiler(library: rk.KernelLibrary) -> None:
    """Is an error, and not the old code."""
    with pytest.raises(StaleCodeObject, match="growing's grow: its source was changed"):
        grown(library, "emulator:gfx942")


def test_names_that_are_not_there(library: rk.KernelLibrary) -> None:
    """Of files and of kernels."""
    assert library.names == ("grow",)
    with pytest.raises(ModuleNotShipped, match="load grew: growing has no such file; it has grow"):
        library.get_kernel("grew", "grow", "emulator:gfx942")
    with pytest.raises(KernelNotFound, match="no kernel 'shrink' in growing's grow"):
        library.get_kernel("grow", "shrink", "emulator:gfx942")


def test_each_thread_has_its_own(library: rk.KernelLibrary) -> None:
    """A kernel is loaded once a thread, and once more when its module was closed."""
    first = library.get_kernel("grow", "grow", "emulator:gfx942")
    assert library.get_kernel("grow", "grow", "emulator:gfx942") is first
    others: list[rk.Function] = []
    thread = threading.Thread(target=lambda: others.append(library.get_kernel("grow", "grow", "emulator:gfx942")))
    thread.start()
    thread.join()
    assert others[0] is not first and others[0].module is not first.module
    first.module.close()
    assert grown(library, "emulator:gfx942") == 5


def test_a_new_package_becomes_a_wheel_that_runs(tmp_path: Path) -> None:
    """Its tests pass, its wheel holds code for every target, and installed elsewhere it compiles nothing."""
    done = CliRunner().invoke(main, ["new", "own_kernels", "--in", str(tmp_path)])
    assert done.exit_code == 0, done.output
    project, site = tmp_path / "own_kernels", tmp_path / "site"
    assert (project / ".github/workflows/test.yml").exists() and (project / ".gitignore").exists()
    assert not [path for path in project.rglob("*") if path.is_file() and "my_kernels" in path.read_text()]

    def python(*words: str, folder: Path, path: Path) -> str:
        environment = {**os.environ, "PYTHONPATH": f"{path}{os.pathsep}{ROOT}", "PYTEST_ADDOPTS": ""}
        done = subprocess.run([sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert "6 passed" in python("-m", "pytest", "-p", "no:cacheprovider", folder=project, path=project)
    pip = ("-m", "pip", "--quiet", "--disable-pip-version-check")
    python(*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", str(tmp_path), ".", folder=project, path=project)
    (wheel,) = tmp_path.glob("own_kernels-*.whl")
    python(*pip, "install", "--no-deps", "--target", str(site), str(wheel), folder=tmp_path, path=site)
    built = sorted(path.parent.name for path in site.glob("own_kernels/kernels/*/saxpy.hsaco"))
    assert built == sorted(BUILT)
    where, *values = python("-c", PROGRAM, folder=tmp_path, path=site).split()
    assert Path(where).is_relative_to(site) and values == ["3.0"] * 3


@pytest.mark.parametrize("name", ["a-b", "2x", "Big", ""])
def test_names_that_no_package_has(tmp_path: Path, name: str) -> None:
    done = CliRunner().invoke(main, ["new", name, "--in", str(tmp_path)])
    assert done.exit_code == 2 and "small letters" in done.output
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_written_over(tmp_path: Path) -> None:
    """A folder of that name stays as it is."""
    (tmp_path / "mine").mkdir()
    done = CliRunner().invoke(main, ["new", "mine", "--in", str(tmp_path)])
    assert done.exit_code == 2 and "is there already" in done.output
