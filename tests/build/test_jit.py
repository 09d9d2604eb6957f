"""rk.compile: a source to a module, once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import rocmkern as rk
from rocmkern.build import jit, toolchain
from rocmkern.errors import BuildError
from rocmkern.kernels import files
from rocmkern.paths import CACHE_VARIABLE, cache_folder
from tests.hip_double import Double

SOURCE = '#include "include/device.hpp"\nRK_KERNEL scale(float a, float *x) { x[rk::thread_x()] *= a * FACTOR; }\n'


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    jit.compiler_for.cache_clear()
    yield
    jit.compiler_for.cache_clear()


def test_source_becomes_a_module() -> None:
    """Compiled for the device's target with the options given, and launched."""
    device = rk.Device("emulator:gfx90a")
    scale = rk.compile(SOURCE, device=device, options=("-DFACTOR=3",)).get_function("scale")
    with device.alloc(256) as memory:
        memory.copy_from_host(np.ones(64, np.float32))
        scale(np.float32(2), memory, grid=1, block=64)
        assert np.array_equal(memory.copy_to_host(np.empty(64, np.float32)), np.full(64, 6, np.float32))


def test_second_time_comes_from_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same source and options are compiled once; others are not the same."""
    first = jit.compiled(SOURCE, "gfx942", options=("-DFACTOR=1",))
    assert jit.compiled(SOURCE, "gfx942", options=("-DFACTOR=2",)) != first
    monkeypatch.setattr(jit, "_compile", None)
    assert jit.compiled(SOURCE, "gfx942", options=("-DFACTOR=1",)) == first


def test_errors_carry_log_and_numbered_source() -> None:
    """A mistake shows the compiler's words and the line."""
    with pytest.raises(BuildError, match=r"(?s)compile kernel for gfx942 with .*error: .*FACTOR.* 2 \| RK_KERNEL"):
        jit.compiled(SOURCE, "gfx942")
    assert list((cache_folder() / "jit").iterdir()) == []


def test_errors_of_long_sources_show_the_lines_around() -> None:
    """What the compiler does not name is left out."""
    source = "\n" * 600 + "__global__ void k(int *p) { *p = missing; }\n" + "\n" * 600
    with pytest.raises(BuildError, match=r"(?s)undeclared identifier 'missing'.* 601 \| __global__") as raised:
        jit.compiled(source, "gfx942")
    assert len(str(raised.value).splitlines()) < 30
    assert "\n 598 |" in str(raised.value) and "\n 597 |" not in str(raised.value)


def test_errors_of_many_lines_show_the_first() -> None:
    """The log has all that the compiler says."""
    source = "__global__ void k(int *p) {\n" + "".join(f"*p = missing_{n};\n" for n in range(300)) + "}\n"
    with pytest.raises(BuildError, match=r"and \d+ lines more") as raised:
        jit.compiled(source, "gfx942")
    log = raised.value.log.splitlines()
    assert len(str(raised.value).splitlines()) < len(log) and str(raised.value).splitlines()[1] == log[0]


def test_unknown_targets_are_told_with_the_nearest() -> None:
    """In place of the compiler's words and the source."""
    with pytest.raises(BuildError, match=r"^build: no target 'gfx943'; there are gfx942, gfx950, gfx90a$"):
        jit.compiled(SOURCE, "gfx943", options=("-DFACTOR=1",))


def test_cache_that_fails_costs_compiling(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A damaged entry is compiled again and replaced; with no folder to write, each time compiles."""
    calls = []
    monkeypatch.setattr(jit, "_compile", lambda *a: (calls.append(a), b"code object")[1])
    for damage in (b"", b"x" * 40):
        assert jit.compiled(SOURCE, "gfx942") == b"code object"
        (kept,) = (tmp_path / "jit").glob("*.kept")
        kept.write_bytes(damage)
    assert jit.compiled(SOURCE, "gfx942") == jit.compiled(SOURCE, "gfx942") == b"code object"
    assert len(calls) == 3
    monkeypatch.setenv(CACHE_VARIABLE, str(kept))
    assert jit.compiled(SOURCE, "gfx942") == jit.compiled(SOURCE, "gfx942") == b"code object"
    assert len(calls) == 5


def test_hiprtc_compiles_where_hip_has_a_device(double: Double) -> None:
    """The source goes to ROCm's run-time compiler with the target and the headers' folder; the code is loaded."""
    double.devices(0)
    code = jit.compiled(SOURCE, "gfx90a", options=("-DFACTOR=3",))
    jit.compiler_for.cache_clear()
    double.compiler_answers(code)
    double.devices(1, "gfx90a", 0x3F, 0x3F)
    module = rk.compile(SOURCE, device=rk.Device("hip:0"), options=("-DFACTOR=3",))
    assert list(module.kernels) == ["scale"]
    asked = double.compiled()
    assert asked[0] == "kernel.hip" and asked[1:3] == SOURCE.splitlines()
    assert "--offload-arch=gfx90a" in asked and f"-I{files.sources()}" in asked and "-DFACTOR=3" in asked
    assert asked[-1] == "destroyed"


def test_hiprtc_errors_carry_its_log(double: Double) -> None:
    """With the numbered source, and the program is destroyed."""
    jit.compiler_for.cache_clear()
    double.compiler_answers(b"", "kernel.hip:2: error: use of undeclared identifier 'FACTOR'")
    with pytest.raises(BuildError, match=r"(?s)with hiprtc 9.1: .*hiprtc answers .*'FACTOR'.* 2 \| RK_KERNEL"):
        jit.compiled(SOURCE, "gfx942")
    assert double.compiled()[-1] == "destroyed"


def test_what_changes_the_code_changes_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Target, options, the compiler and its own flags."""
    chosen = toolchain.detect("zig")
    names = {jit._key(SOURCE, target, options, chosen) for target in ("gfx942", "gfx1100") for options in ((), ("-g",))}
    monkeypatch.setattr(type(chosen), "flags", lambda self, target: ("-O1",))
    names |= {jit._key(SOURCE, "gfx942", (), chosen)}
    monkeypatch.setattr(jit, "_tools", lambda chosen: "another")
    names |= {jit._key(SOURCE, "gfx942", (), chosen)}
    assert len(names) == 6


def test_names_are_identifiers() -> None:
    """They become a file's name."""
    with pytest.raises(ValueError, match=r"compile: name '\.\./scale' is no identifier; use letters, digits and _"):
        rk.compile(SOURCE, device=rk.Device("emulator:gfx90a"), name="../scale")
