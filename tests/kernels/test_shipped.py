"""The package's code objects: which is taken, and that none of other sources than today's runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from attrs import evolve

import rocmkern as rk
from rocmkern import codeobject
from rocmkern.codeobject import bundler
from rocmkern.errors import CodeObjectError, StaleCodeObject
from rocmkern.kernels import compile_flags, files, shipped, sources
from rocmkern.kernels.cache import KernelCache
from rocmkern.kernels.shipped import Origin
from rocmkern.targets import BUILT

AFFINE = shipped.pieces("affine")
IMAGE = AFFINE["gfx942"].entry.data


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty hsaco/."""
    monkeypatch.setattr(files, "code_objects", lambda: tmp_path)
    return tmp_path


def origin() -> Origin:
    found = AFFINE["gfx942"].origin
    assert found is not None
    return found


@pytest.mark.parametrize("target", BUILT)
def test_the_device_s_code_object_is_taken_out_of_the_bundle(target: str) -> None:
    """What a driver gets is a plain file for that target: HIP of ROCm 6.4 takes no generic one out of a bundle."""
    image = shipped.code("affine", target)
    assert image.startswith(b"\x7fELF")
    assert codeobject.read(image).target == target


CHANGES: dict[str, tuple[Callable[[Origin], Origin], str]] = {
    "sources": (lambda o: evolve(o, sources="0" * 64), "is of other sources than those in kernels_hip/"),
    "flags": (lambda o: evolve(o, flags=(*o.flags, "-Os")), "is of other compiler flags than today's"),
    "catalogue": (lambda o: evolve(o, catalogue="0" * 64), "is of other declarations than the catalogue's"),
}


@pytest.mark.parametrize("what", CHANGES)
def test_code_of_another_build_is_refused(what: str, folder: Path) -> None:
    """Each part of what it was made of counts; operations and kernels by name both say what to do."""
    change, words = CHANGES[what]
    shipped.add("affine", "gfx942", IMAGE, change(origin()))
    with pytest.raises(
        StaleCodeObject, match=rf"^load affine for gfx942: its code object {words}; run `rocmkern build`$"
    ):
        KernelCache().function("affine", "affine_f32", rk.Device("emulator:gfx942"))
    shipped.add("affine", "gfx942", IMAGE, origin())
    assert shipped.code("affine", "gfx942") == IMAGE


def test_an_edited_header_makes_a_checkout_stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that a family includes, directly or not, whichever family asks first; a file that it does not include is
    no matter."""
    root = tmp_path / "kernels_hip"
    root.mkdir()
    for part in sources.parts("affine"):
        copy = root / part.relative_to(files.sources())
        copy.parent.mkdir(exist_ok=True)
        copy.write_bytes(part.read_bytes())
    monkeypatch.setattr(files, "sources", lambda: root)
    (root / "include" / "other.hpp").write_text("int other;\n")
    shipped.code("affine", "gfx942")
    header = root / "include" / "types.hpp"
    header.write_text(header.read_text() + "// more\n")
    with pytest.raises(StaleCodeObject, match="other sources"):
        shipped.code("affine", "gfx942")


def test_a_wheel_s_sources_are_not_compared(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They came with the code objects; the Python beside them is compared still."""
    monkeypatch.setattr(files, "is_checkout", lambda: False)
    shipped.add("affine", "gfx942", IMAGE, evolve(origin(), sources="0" * 64))
    assert shipped.code("affine", "gfx942") == IMAGE
    shipped.add("affine", "gfx942", IMAGE, evolve(origin(), catalogue="0" * 64))
    with pytest.raises(StaleCodeObject, match="other declarations"):
        shipped.code("affine", "gfx942")


@pytest.mark.parametrize("note", [b"", b"host code", b"[1]", b'{"gfx942": {"sources": ""}}', b'{"gfx942": 3}'])
def test_a_bundle_without_our_note_is_refused(note: bytes, folder: Path) -> None:
    """Whatever another tool puts where the note belongs."""
    shipped.path("affine").write_bytes(bundler.bundle(note, {"gfx942": IMAGE}))
    with pytest.raises(StaleCodeObject, match="does not say what it was made of"):
        shipped.code("affine", "gfx942")


def test_ptx_of_other_sources_is_refused(folder: Path) -> None:
    """Its last line says what it was made of."""
    made = evolve(origin(), flags=compile_flags.zig("sm_90"))
    shipped.add("affine", "sm_90", b".version 8.0\n", made)
    assert shipped.code("affine", "sm_90").startswith(b".version 8.0\n// ")
    shipped.add("affine", "sm_90", b".version 8.0\n", evolve(made, sources="0" * 64))
    with pytest.raises(StaleCodeObject, match=r"^load affine for sm_90: .* other sources"):
        shipped.code("affine", "sm_90")
    shipped.ptx_path("affine", "sm_90").write_bytes(b".version 8.0\n")
    with pytest.raises(StaleCodeObject, match="does not say what it was made of"):
        shipped.code("affine", "sm_90")


def test_damage_is_noticed_before_anything_runs(folder: Path) -> None:
    """The checksum of the frame that holds the code object."""
    shipped.add("affine", "gfx942", IMAGE, origin())
    path = shipped.path("affine")
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(CodeObjectError, match="corrupt"):
        shipped.code("affine", "gfx942")


def test_flags_of_every_compiler_are_known() -> None:
    """A build by hipcc is as good as one by zig's clang."""
    for flags in (compile_flags.zig("gfx942"), compile_flags.hipcc("gfx942")):
        shipped.require_current("affine", "gfx942", evolve(origin(), flags=flags))


def test_results_come_from_the_bundle() -> None:
    """Kernels out of the bundles compute."""
    x = rk.asarray(np.arange(5, dtype=np.float32), device="emulator:gfx942")
    np.testing.assert_array_equal((x * 2 + 1).numpy(), np.arange(5) * 2 + 1)
