"""Building: what is compiled, what is kept, and what a failure says."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from attrs import evolve
from click.testing import CliRunner

from rocmkern import codeobject
from rocmkern.build import builder, compiled, device_library, toolchain
from rocmkern.cli import main
from rocmkern.codeobject import CodeObject
from rocmkern.errors import BuildError
from rocmkern.kernels import families, files, shipped, sources
from rocmkern.kernels.catalogue import Family
from rocmkern.kernels.shipped import Origin

TARGET = "gfx1100"
AFFINE = families.family("affine")
NOTED = Origin("", "", (), "", "")


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the sources with an empty hsaco/ beside it."""
    shutil.copytree(files.sources(), tmp_path / "kernels_hip")
    (tmp_path / "hsaco").mkdir()
    monkeypatch.setenv("ROCMKERN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("rocmkern.kernels.files.sources", lambda: tmp_path / "kernels_hip")
    monkeypatch.setattr("rocmkern.kernels.files.code_objects", lambda: tmp_path / "hsaco")
    yield tmp_path


def test_build_makes_a_bundle_and_then_keeps_it(checkout: Path) -> None:
    """The second run compiles nothing; a changed header makes it compile again."""
    runner = CliRunner()
    first = runner.invoke(main, ["build", "--family", "affine", "--target", TARGET, "--toolchain", "zig"])
    assert first.exit_code == 0, first.output
    assert f"{TARGET}/affine.hsaco" in first.output
    piece = shipped.pieces("affine")[TARGET]
    assert piece.origin is not None and piece.origin.sources == sources.source_hash("affine")
    assert set(codeobject.read(piece.entry.data).kernels) == set(AFFINE.by_symbol)
    second = runner.invoke(main, ["build", "--family", "affine", "--target", TARGET])
    assert second.output == "everything is up to date\n"
    header = checkout / "kernels_hip" / "include" / "types.hpp"
    header.write_text(header.read_text() + "// more\n")
    assert [job.name for job in builder.plan([AFFINE], [TARGET])] == [f"{TARGET}/affine.hsaco"]


def test_damaged_bundle_is_built_again(checkout: Path) -> None:
    """One that can't be read whole does not count as built; the next build replaces it."""
    job, zig = builder.Job(AFFINE, TARGET), toolchain.detect("zig")
    builder.build_all([job], zig, workers=1, done=lambda job, nbytes: None)
    assert builder.plan([AFFINE], [TARGET]) == ()
    path = shipped.path("affine")
    path.write_bytes(path.read_bytes()[:-9] + bytes(9))
    assert builder.plan([AFFINE], [TARGET]) == (job,)
    builder.build(job, zig)
    assert builder.plan([AFFINE], [TARGET]) == ()


def test_builds_of_targets_share_a_bundle(checkout: Path) -> None:
    """Each brings its code object and leaves the others' as they were."""
    images = {target: f"code for {target}".encode() * 1000 for target in ("gfx942", "gfx90a", "gfx1100", "gfx1201")}

    def add(target: str) -> None:
        shipped.add("affine", target, images[target], NOTED)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(add, images))
    held = shipped.pieces("affine")
    assert {target: piece.entry.data for target, piece in held.items()} == images
    assert {piece.origin for piece in held.values()} == {NOTED}


def test_same_sources_are_compiled_once(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another checkout, or this one cleaned, takes the kept file; --force compiles, and so does a changed source."""
    calls = []
    compile_ = toolchain.Zig.compile
    monkeypatch.setattr(toolchain.Zig, "compile", lambda *a, **k: (calls.append(a[2]), compile_(*a, **k))[1])
    job, zig, path = builder.Job(AFFINE, TARGET), toolchain.detect("zig"), shipped.path("affine")
    builder.build(job, zig)
    first = path.read_bytes()
    path.unlink()
    builder.build(job, zig)
    assert path.read_bytes() == first and len(calls) == 1
    builder.build(job, zig, force=True)
    assert path.read_bytes() == first and len(calls) == 2
    code = shipped.pieces("affine")[TARGET].entry.data
    header = checkout / "kernels_hip" / "include" / "types.hpp"
    header.write_text(header.read_text() + "// more\n")
    builder.build(job, zig)
    assert shipped.pieces("affine")[TARGET].entry.data == code and len(calls) == 3


def test_compiler_error_is_shown(checkout: Path) -> None:
    """The message names source and target and carries what the compiler says; nothing is left behind."""
    source = checkout / "kernels_hip" / "affine.hip"
    source.write_text(source.read_text() + "int wrong = ;\n")
    with pytest.raises(BuildError, match=r"build kernels_hip/affine.hip for gfx1100: .*\n.*error: expected expression"):
        builder.build(builder.Job(AFFINE, TARGET), toolchain.detect("zig"))
    assert [path for path in (checkout / "hsaco").rglob("*") if path.is_file()] == []


def test_warnings_are_errors(checkout: Path) -> None:
    """An unused variable does not pass."""
    source = checkout / "kernels_hip" / "affine.hip"
    source.write_text(source.read_text() + "RK_KERNEL idle() { int unused; }\n")
    with pytest.raises(BuildError, match="error: unused variable 'unused'"):
        builder.build(builder.Job(AFFINE, TARGET), toolchain.detect("zig"))


def test_spilling_kernel_is_refused(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Registers in scratch memory would cost more than the kernel saves."""
    read = codeobject.read

    def spilling(data: bytes) -> CodeObject:
        found = read(data)
        kernel = evolve(found.kernels["affine_f64"], vgpr_spills=3)
        return evolve(found, kernels=found.kernels | {"affine_f64": kernel})

    monkeypatch.setattr(codeobject, "read", spilling)
    with pytest.raises(BuildError, match="registers spill in affine_f64; make the kernel smaller"):
        builder.build(builder.Job(AFFINE, TARGET), toolchain.detect("zig"))


def test_kernel_outside_the_catalogue_is_refused(checkout: Path) -> None:
    """A symbol that the catalogue lacks would never be checked or documented."""
    source = checkout / "kernels_hip" / "affine.hip"
    source.write_text(source.read_text() + "RK_KERNEL stray() {}\n")
    with pytest.raises(BuildError, match=r"symbols differ from the catalogue; missing \[\], not in it \['stray'\]"):
        builder.build(builder.Job(AFFINE, TARGET), toolchain.detect("zig"))


def test_stale_instances_are_refused_until_rendered(checkout: Path) -> None:
    """A catalogue that moved on says which command brings the instances after it."""
    path = sources.instances_path(AFFINE)
    path.write_text("AFFINE(f32)\n")
    with pytest.raises(BuildError, match=r"affine.inc is not what the catalogue says; run `rocmkern build --render`"):
        builder.build(builder.Job(AFFINE, TARGET), toolchain.detect("zig"))
    outcome = CliRunner().invoke(main, ["build", "--render", "--family", "affine"])
    assert outcome.output == "rendered affine\n"
    assert path.read_text() == sources.rendered(AFFINE)


def test_missing_source_is_named(checkout: Path) -> None:
    """A family declared without its file."""
    lonely = Family("lonely", "no source", ())
    with pytest.raises(BuildError, match=r"no source lonely.hip in .*kernels_hip; it should define family lonely"):
        sources.source_hash(lonely.name)


def test_ptx_of_the_same_sources(checkout: Path) -> None:
    """sm_90 gives PTX with the same kernels, in a file of its own that says in its last line what it was made of."""
    job = builder.Job(AFFINE, "sm_90")
    assert builder.plan([AFFINE], ["sm_90"]) == (job,)
    builder.build_all([job], toolchain.detect("zig"), workers=1, done=lambda job, nbytes: None)
    text = (checkout / "hsaco" / "sm_90" / "affine.ptx").read_text()
    assert all(f".entry {symbol}(" in text for symbol in AFFINE.by_symbol)
    assert sources.source_hash("affine") in text.splitlines()[-1]
    assert not shipped.path("affine").exists()
    assert builder.plan([AFFINE], ["sm_90"]) == ()


def test_ptx_moves_selected_rows_through_registers(checkout: Path) -> None:
    """In 16 bytes at a time. NVPTX moves structs of words in halves, and arrays of them through local memory."""
    (checkout / "kernels_hip" / "instances" / "indexing.inc").write_text("INDEX_SELECT(i64, f32, u32)\n")
    output = checkout / "indexing.ptx"
    toolchain.detect("zig").compile(checkout, "kernels_hip/indexing.hip", "sm_90", output)
    text = output.read_text()
    assert "ld.global.v4.b32" in text or "ld.global.v2.b64" in text
    assert ".local" not in text


def test_ptx_without_libdevice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels that call no library function need none; another is told which function and what to install."""
    monkeypatch.setattr(device_library, "libdevice", lambda: None)
    zig, root = toolchain.detect("zig"), files.sources().parent
    zig.compile(root, "kernels_hip/affine.hip", "sm_90", tmp_path / "affine.ptx")
    (tmp_path / "sine.hip").write_text('#include "include/math.hpp"\nRK_KERNEL f(float *x) { *x = rk::sin(*x); }\n')
    with pytest.raises(BuildError, match=r"it calls __nv_sinf, and no libdevice.10.bc is here; install it with `pip"):
        zig.compile(tmp_path, "sine.hip", "sm_90", tmp_path / "sine.ptx", ("-I", str(files.sources())))


def test_absent_compiler_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without hipcc and zig there is a remedy, not a traceback."""
    monkeypatch.setattr(toolchain, "_find_hipcc", lambda: None)
    monkeypatch.setattr(toolchain, "_find_zig", lambda: None)
    with pytest.raises(BuildError, match=r"no hipcc or ziglang here; install ROCm, or `pip install rocmkern\[build\]`"):
        toolchain.detect()


def test_hipcc_gets_one_command(tmp_path: Path) -> None:
    """Where ROCm is installed its driver does all; the file is a bare code object."""
    hipcc = tmp_path / "hipcc"
    hipcc.write_text('#!/bin/sh\nprintf "%s " "$@" > "$(dirname "$0")/asked"\n')
    hipcc.chmod(0o755)
    toolchain.Hipcc(hipcc).compile(tmp_path, "kernels_hip/affine.hip", "gfx12-generic", tmp_path / "out.hsaco")
    asked = (tmp_path / "asked").read_text().split()
    assert asked[:4] == ["--genco", "--offload-arch=gfx12-generic", "--no-gpu-bundle-output", "-mcode-object-version=6"]
    assert asked[-3:] == ["kernels_hip/affine.hip", "-o", str(tmp_path / "out.hsaco")]


@pytest.mark.parametrize(
    ("target", "number"),
    [("gfx90a", 9010), ("gfx942", 9402), ("gfx950", 9500), ("gfx1030", 10300), ("gfx1151", 11501), ("gfx1201", 12001),
     ("gfx10-3-generic", 10300), ("gfx11-generic", 11000), ("gfx12-generic", 12000)],
)  # fmt: skip
def test_control_constants_name_the_target(target: str, number: int) -> None:
    """ocml compares its ISA number and the wave size; denormals and exact square roots are on."""
    text = device_library.control_constants(target, 6)
    assert f"@__oclc_ISA_version = linkonce_odr hidden addrspace(4) constant i32 {number}\n" in text
    assert f"@__oclc_wavefrontsize64 = linkonce_odr hidden addrspace(4) constant i8 {int('gfx9' in target)}\n" in text
    assert "@__oclc_daz_opt = linkonce_odr hidden addrspace(4) constant i8 0\n" in text


def test_damaged_kept_file_is_compiled_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It counts as not there."""
    monkeypatch.setenv("ROCMKERN_CACHE", str(tmp_path / "cache"))
    built, out = tmp_path / "built", tmp_path / "out"
    built.write_bytes(bytes(1000))
    assert not compiled.fetch("key", out)
    compiled.keep("key", built)
    assert compiled.fetch("key", out) and out.read_bytes() == bytes(1000)
    (kept,) = (tmp_path / "cache" / "compiled").glob("*.kept")
    kept.write_bytes(kept.read_bytes()[:500])
    assert not compiled.fetch("key", out)
