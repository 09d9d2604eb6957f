"""`rocmkern info`, `kernels` and `inspect`: what they show, and how they say that something is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rocmkern.cli import main
from rocmkern.kernels import families
from rocmkern.targets import BUILT, TARGETS
from tests import samples
from tests.hip_double import Double


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def output(*arguments: str) -> str:
    done = run(*arguments)
    assert done.exit_code == 0, done.output
    return done.output


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    path = tmp_path / "sample.hsaco"
    path.write_bytes(samples.compile_hip(samples.ADD))
    return path


def test_info_lists_every_emulated_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each target with its wave size; the default is what the variable says."""
    monkeypatch.setenv("ROCMKERN_DEVICE", "emulator:gfx950")
    found = json.loads(output("info", "--json"))
    assert found["default"] == "emulator:gfx950"
    waves = {d["name"].removeprefix("emulator:"): d["wave_size"] for d in found["devices"] if "emulator" in d["name"]}
    assert waves == {name: target.wave_size for name, target in TARGETS.items()}
    shown = output("info")
    assert all(f"emulator:{name}" in shown for name in TARGETS)
    assert "default  emulator:gfx950" in shown


def test_info_lists_real_devices_first(double: Double, monkeypatch: pytest.MonkeyPatch) -> None:
    """HIP's devices with their arch, and how many HIP sees."""
    monkeypatch.delenv("ROCMKERN_DEVICE", raising=False)
    found = json.loads(output("info", "--json"))
    assert [d["name"] for d in found["devices"][:2]] == ["hip:0", "hip:1"]
    assert found["devices"][0]["arch"] == "gfx942:sramecc+:xnack-"
    assert (found["default"], found["hip"]) == ("hip:0", "2 devices")


def test_kernels_lists_the_settings_of_tunable_kernels() -> None:
    """Those of a family by kernelId, with what ships; operations of the same settings share a line."""
    found = json.loads(output("kernels", "matmul", "--instances", "--json"))
    assert list(found) == ["matmul"]
    settings = found["matmul"]["settings"]
    assert [s["kernelId"] for s in settings] == list(range(len(families.tunables()["matmul"].settings)))
    assert settings[0]["ships"] and not all(s["ships"] for s in settings)
    shown = output("kernels", "--instances")
    assert "sum prod mean" in shown and "64x64x32x4x4x1*" in shown


def test_kernels_lists_the_catalogue() -> None:
    """Every family with as many kernels as it declares; of a named family every symbol with its arguments."""
    found = json.loads(output("kernels", "--json"))
    assert {f["family"]: len(f["kernels"]) for f in found} == {f.name: len(f.kernels) for f in families.families()}
    affine = json.loads(output("kernels", "affine", "--json"))[0]["kernels"]
    assert affine["affine_f32"] == ("numel: u64, num_dims: u64, info: u64*, inp: f32*, out: f32*, mul: f32, add: f32")
    shown = output("kernels", "affine")
    assert all(symbol in shown for symbol in families.family("affine").by_symbol)


def test_inspect_shows_what_the_file_says(sample: Path) -> None:
    """Target, version, kernels with limits; of one kernel every argument."""
    (part,) = json.loads(output("inspect", str(sample), "--json"))
    assert (part["target"], part["version"]) == ("gfx942", 6)
    assert {k["name"]: k["max_threads_per_block"] for k in part["kernels"]} == {"add_f32": 1024, "store_one": 256}
    shown = output("inspect", str(sample), "--kernel", "add_f32")
    assert "sample.hsaco: gfx942, code object v6" in shown
    assert [line.split() for line in shown.splitlines() if "global_buffer" in line] == [
        ["8", "8", "global_buffer", "global"],
        ["16", "8", "global_buffer", "global"],
    ]


def test_inspect_shows_all_of_a_bundle_or_one_part(tmp_path: Path) -> None:
    """Without --target every device's part, with it the part that serves that device."""
    triple = "hipv4-amdgcn-amd-amdhsa--"
    parts = {triple + t: samples.compile_hip(samples.ADD, t) for t in ("gfx942", "gfx10-3-generic")}
    path = tmp_path / "both.hipfb"
    path.write_bytes(samples.bundle(parts))
    assert [p["target"] for p in json.loads(output("inspect", str(path), "--json"))] == ["gfx942", "gfx10-3-generic"]
    (part,) = json.loads(output("inspect", str(path), "--json", "--target", "gfx1030"))
    assert part["target"] == "gfx10-3-generic"


def test_a_family_stands_for_its_bundle(tmp_path: Path) -> None:
    """inspect shows what the package's bundle holds, extract writes it as plain files."""
    found = json.loads(output("inspect", "affine", "--json"))
    assert [part["target"] for part in found] == sorted(BUILT)
    shown = output("extract", "affine", "--out", str(tmp_path))
    for part in found:
        path = tmp_path / part["target"] / "affine.hsaco"
        assert str(path) in shown
        (plain,) = json.loads(output("inspect", str(path), "--json"))
        assert plain == part and path.stat().st_size == part["bytes"]


def test_extract_writes_the_part_of_a_device(tmp_path: Path) -> None:
    """Of a bundle that anybody made, under the target's name."""
    image = samples.compile_hip(samples.ADD, "gfx10-3-generic")
    path = tmp_path / "both.hipfb"
    triple = "hipv4-amdgcn-amd-amdhsa--"
    path.write_bytes(
        samples.bundle({triple + "gfx10-3-generic": image, triple + "gfx942": samples.compile_hip(samples.ADD)})
    )
    output("extract", str(path), "--target", "gfx1030", "--out", str(tmp_path / "plain"))
    (written,) = (path for path in (tmp_path / "plain").rglob("*") if path.is_file())
    assert written == tmp_path / "plain" / "gfx10-3-generic" / "both.hipfb"
    assert written.read_bytes() == image


def test_inspect_disassembles(sample: Path) -> None:
    """--asm prints each kernel's instructions to its end."""
    lines = output("inspect", str(sample), "--asm", "--kernel", "store_one").splitlines()
    assert lines[0] == "store_one:"
    assert lines[1].startswith("  0x0000  ")
    assert lines[-1].split()[-1] == "s_endpgm"
    assert any("global_store_dword" in line for line in lines)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("inspect", "{sample}", "--kernel", "nope"), 1, "no kernel 'nope' in sample.hsaco; it has add_f32, store_one"),
        (("inspect", "{sample}", "--target", "gfx1030"), 1, "holds code for gfx942, the device is gfx1030"),
        (("inspect", __file__), 1, "no ELF and no offload bundle"),
        (("extract", "{sample}", "--target", "gfx1030"), 1, "holds code for gfx942, the device is gfx1030"),
        (("extract", "affin"), 2, "'affin' does not exist; of families there are affine"),
        (("inspect", "/nowhere"), 2, "'/nowhere' does not exist"),
        (("kernels", "affin"), 1, "no kernel family 'affin'; there are affine"),
        (("kernel",), 2, "no command 'kernel'; there is kernels"),
        (("inspect", "{sample}", "--asm", "--json"), 2, "leave out --json"),
        (("build", "--target", "gfx"), 1, "no target 'gfx'; there are gfx"),
        (("build", "--target", "gfx94"), 1, "Error: build: no target 'gfx94'; there are gfx942"),
        (("build", __file__, "--target", "gfx11-genric"), 1, "no target 'gfx11-genric'; there are gfx11-generic"),
        (("build", "--jobs", "0"), 2, "0 is not in the range"),
        (("bench", "--plot", "/nowhere/bench.png"), 2, "'/nowhere' is no folder"),
        (("run", "--record", "/nowhere/misses.json", __file__), 2, "'/nowhere' is no folder"),
    ],
)
def test_mistakes_become_messages(sample: Path, arguments: tuple[str, ...], code: int, words: str) -> None:
    """An exit code and one line that says what is wrong, never a traceback."""
    done = run(*(argument.format(sample=sample) for argument in arguments))
    assert done.exit_code == code
    assert words in done.output
    assert isinstance(done.exception, SystemExit)


def test_a_program_fails_as_under_python(tmp_path: Path) -> None:
    """Its own traceback and no frame of ours, even for errors that a command of ours would turn into a message."""
    program = tmp_path / "model.py"
    program.write_text("def load():\n    open('/nowhere/weights')\n\nload()\n")
    done = run("run", str(program))
    assert done.exit_code == 1
    assert done.output.count("File ") == 2
    assert "line 2, in load" in done.output


def test_help_names_every_command() -> None:
    """Each with a sentence."""
    shown = output("--help")
    for name in ("build", "extract", "info", "inspect", "kernels"):
        line = next(line for line in shown.splitlines() if line.strip().startswith(name))
        assert len(line.split()) > 3
