"""Launches go on after a fault; findings tell their place in the source, who did it and where the memory is from."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from attrs import evolve
from click.testing import CliRunner
from numpy.typing import NDArray

import rocmkern as rk
from rocmkern.checking import report
from rocmkern.checking.running import Findings, Text, finding
from rocmkern.checking.suppressions import read
from rocmkern.cli import main
from rocmkern.codeobject.lines import Lines
from rocmkern.emulator.faults import SIMPLE, Fault, collected
from rocmkern.errors import BarrierDeadlock, ConfigError
from tests.checking.kernels import CDNA, NAMES
from tests.checking.launched import FLAGS, PRELUDE, bench, found, line_of
from tests.samples import compile_hip

SOURCE = """
DEVICE u32 pick(const u32 *x, u32 i) {
    return x[i];  // pick
}
KERNEL void shift(const u32 *x, u32 *out, u32 by) {
    out[T] = pick(x, T + by);  // call
}
KERNEL void swap(u32 *out, u32 *seen) {
    SHARED u32 part[128];
    part[T] = T;  // store
    if (seen[0]) barrier();
    out[T] = part[127 - T];  // load
}
KERNEL void overwrite(u32 *out) {
    SHARED volatile u32 one[1];
    one[0] = 7;  // all
    barrier();
    out[T] = one[0];
}
KERNEL void several(u32 *out, u32 *lanes) {
    SHARED volatile u32 one[1];
    if (T < 32) one[0] = lanes[T];  // several lanes
    barrier();
    out[T] = one[0];
}
KERNEL void leave(u32 *out) {
    if (T < 64) barrier();
    out[T] = 1;
}
KERNEL void apart(u32 *out) {
    if (T < 64) {
        out[T] = 1;
        barrier();  // one
    } else {
        out[T] = 2;
        barrier();
    }
}
KERNEL void lanes_apart(u32 *out) {
    if (T & 1) barrier();
    out[T] = 1;
}
KERNEL void never(volatile u32 *out) {
    if (T < 64) barrier();
    else while (out[0] != 77);  // waits
}
KERNEL void patch(u64 *where, u32 *out) {
    if (T == 0) *(volatile u32 *)where[0] = 3;  // patch
    out[T] = 1;
}
KERNEL void count(u8 *out) {
    __atomic_fetch_add((u32 *)(out + 2), 1u, __ATOMIC_RELAXED);
}
KERNEL void odd(u8 *x, u64 *out) {
    out[T] = *(u64 *)(x + 8 * T + 1);  // odd
}
KERNEL void local(u32 *out, u32 i, u32 j) {
    volatile u32 x[8];
    x[i] = 1;
    out[T] = x[j];  // local
}
"""


def numbers(count: int) -> NDArray[np.uint32]:
    return np.arange(count, dtype=np.uint32)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("target", NAMES)
def test_a_finding_tells_all(target: str, compiled: bool) -> None:
    """Kind, line, the functions that it was put into, lanes, allocation and where that was made; and the launch went
    on: other lanes have done their part.
    """
    x, out = numbers(64), np.zeros(64, np.uint32)
    findings = found(SOURCE, target, "shift", x, out, np.uint32(3), compiled=compiled)
    (one,) = findings
    assert (one.kind, one.kernel, one.count, one.is_note) == ("out of bounds", "shift", 3, False)
    assert one.at.source == f"k.hip:{line_of(SOURCE, '// pick')}"
    assert one.at.calls == (f"shift at k.hip:{line_of(SOURCE, '// call')}",)
    assert one.access is not None
    wave, lanes = (0, (61, 62, 63)) if target in CDNA else (1, (29, 30, 31))
    assert (one.access.operation, one.access.size, one.access.wave, one.access.lanes) == ("load", 4, wave, lanes)
    assert "256 bytes at" in one.access.place and "made by tests/emulator/device.py:" in one.access.place
    assert np.array_equal(out[:61], x[3:]) and not out[61:].any()


@pytest.mark.parametrize("target", NAMES)
def test_races_name_both_accesses(target: str) -> None:
    """A load before the barrier races with the store of another wave, and the store with the load."""
    findings = found(SOURCE, target, "swap", np.zeros(128, np.uint32), np.zeros(1, np.uint32), block=128, only=["race"])
    assert {one.kind for one in findings} == {"race, write after read", "race, read after write"}
    lines = {what: f"k.hip:{line_of(SOURCE, f'// {what}')}" for what in ("store", "load")}
    for one in findings:
        first, second = ("load", "store") if one.kind == "race, write after read" else ("store", "load")
        assert one.after is not None and one.access is not None
        assert (one.after.source, one.at.source) == (lines[first], lines[second])
        assert one.access.other.startswith("lane ") and f"of wave {one.access.wave}" not in one.access.other
    sound = found(SOURCE, target, "swap", np.zeros(128, np.uint32), np.ones(1, np.uint32), block=128)
    assert not sound


def test_lanes_that_store_to_one_place() -> None:
    """A note where they store different values; where all store the same nothing is wrong with it."""
    out = np.zeros(64, np.uint32)
    assert not found(SOURCE, "gfx942", "overwrite", out)
    assert not found(SOURCE, "gfx942", "several", out, np.full(32, 5, np.uint32))
    (one,) = found(SOURCE, "gfx942", "several", out, numbers(32))
    assert (one.kind, one.is_note) == ("race, lanes of a wave", True)
    assert one.at.source == f"k.hip:{line_of(SOURCE, '// several lanes')}"
    assert one.access is not None and one.access.other == "lane 0 of wave 0"


@pytest.mark.parametrize("target", NAMES)
def test_barriers(target: str) -> None:
    """Waves that end ahead of one, waves at different ones; lanes that jump over one are a note."""
    out = np.zeros(128, np.uint32)
    kinds = [
        [(one.kind, one.is_note) for one in found(SOURCE, target, kernel, out, block=128)]
        for kernel in ("leave", "apart", "lanes_apart")
    ]
    assert kinds == [
        [("barrier skipped", False)], [("different barriers", False)], [("barrier in divergent lanes", True)],
    ]  # fmt: skip


def test_a_wave_that_never_comes_to_the_barrier() -> None:
    """The error ends the launch, and the finding has both places."""
    findings = Findings()
    with pytest.raises(BarrierDeadlock), collected(findings):
        bench(SOURCE, "gfx942").run("never", np.zeros(1, np.uint32), block=128)
    (one,) = findings
    assert one.kind == "barrier deadlock" and one.access is not None and one.access.wave == 1
    assert one.after is not None and "s_barrier" in one.after.text


@pytest.mark.parametrize("target", NAMES)
def test_stores_into_code(target: str) -> None:
    """Nobody may write where a module's instructions are; they stay as they were."""
    device = bench(SOURCE, target)
    text = device.module.program.translation
    before = bytes(device.machine.view(text.address, 64, writes=False))
    (one,) = found(SOURCE, target, "patch", np.array([text.address], np.uint64), np.zeros(64, np.uint32))
    assert (one.kind, one.at.source) == ("store into code", f"k.hip:{line_of(SOURCE, '// patch')}")
    assert bytes(device.machine.view(text.address, 64, writes=False)) == before


@pytest.mark.parametrize("target", NAMES)
def test_alignment(target: str) -> None:
    """Atomics need theirs; for what else lies at odd addresses there is a note."""
    (one,) = found(SOURCE, target, "count", np.zeros(64, np.uint8))
    assert (one.kind, one.is_note, one.access and one.access.operation) == ("misaligned", False, "atomic")
    notes = found(SOURCE, target, "odd", np.zeros(520, np.uint8), np.zeros(64, np.uint64))
    assert notes and not notes.errors and {one.kind for one in notes} == {"unaligned"}


@pytest.mark.parametrize("target", NAMES)
def test_scratch(target: str) -> None:
    """An element of a local array that nothing wrote; one that was written is fine."""
    out = np.zeros(64, np.uint32)
    assert not found(SOURCE, target, "local", out, np.uint32(3), np.uint32(3))
    (one,) = found(SOURCE, target, "local", out, np.uint32(3), np.uint32(4))
    assert (one.kind, one.at.source) == ("uninitialised", f"k.hip:{line_of(SOURCE, '// local')}")
    assert one.access is not None and one.access.place.endswith("bytes of scratch")
    beyond = found(SOURCE, target, "local", out, np.uint32(3), np.uint32(1 << 20))
    assert [one.kind for one in beyond] == ["out of bounds"]


def test_without_lines_there_is_the_disassembly() -> None:
    """The instruction is marked among those around it."""
    device = bench(SOURCE, "gfx942")
    code, kernel = device.module.program.code, device.module.kernel("shift").kernel
    fault = Fault(code, kernel, 0, "load", SIMPLE[0], 0, 4, 0, 1, (0, 0, 0), "")
    one = finding(fault, evolve(Text.of(code), lines=Lines((), ())))
    assert one.at.source == "" and len(one.at.listing) == 4
    assert one.at.listing[0].startswith("→ 0x0000  ") and one.at.text in one.at.listing[0]


def test_reports() -> None:
    """As text, as JSON and as SARIF the same findings, with kind, place and count."""
    findings = found(SOURCE, "gfx942", "shift", numbers(64), np.zeros(64, np.uint32), np.uint32(3))
    line = line_of(SOURCE, "// pick")
    text = report.as_text(findings)
    assert text.startswith("out of bounds in shift, 3 times\n") and text.endswith("\n\n1 error in 1 launch")
    assert f"  k.hip:{line}  0x" in text and "by lanes 61 to 63 of wave 0, workgroup (0, 0, 0)" in text
    data = json.loads(json.dumps(report.as_dict(findings)))
    assert [one["kind"] for one in data["findings"]] == ["out of bounds"]
    (run,) = report.as_sarif(findings)["runs"]
    (result,) = run["results"]
    assert (result["ruleId"], result["level"], result["occurrenceCount"]) == ("out of bounds", "error", 3)
    place = result["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("k.hip", line)


def test_suppressions(tmp_path: Path) -> None:
    """A line of the file covers kind, kernel and place, and has to say why."""
    file = tmp_path / "known"
    file.write_text("# known faults\n\nout of bounds: sh*: k.hip  # the last row is padded\n")
    findings = Findings((), read(file))
    for one in found(SOURCE, "gfx942", "shift", numbers(64), np.zeros(64, np.uint32), np.uint32(3)):
        findings.take(one)
    assert not findings and sum(findings.suppressed.values()) == 3
    assert report.summary(findings) == "no errors in no launches; 3 suppressed"
    for wrong, fact in (("a: b: c\n", "has no reason"), ("a: b  # c\n", "write kind: kernel: place")):
        file.write_text(wrong)
        with pytest.raises(ConfigError, match=fact):
            read(file)


def test_unknown_kinds_are_refused() -> None:
    """With those that there are."""
    with pytest.raises(ConfigError, match=r"nothing is called 'races'; there is .*race, read after write"):
        Findings(["races"])


def test_check_collects_what_operations_do() -> None:
    """Of the package's own operations too, on devices that are checked; others are counted as such."""
    with rk.check() as findings:
        device = rk.Device("emulator:gfx942:checked")
        (rk.empty(10, device=device) + 1).numpy()
        rk.ones(10, device="emulator:gfx90a")
    assert [one.kind for one in findings] == ["uninitialised"] * 2
    assert findings.launches > findings.unchecked > 0
    assert "on devices that are not checked" in report.summary(findings)


def test_the_command_checks_programs(tmp_path: Path) -> None:
    """Devices that the program opens are checked, also the default one; it exits with 1 for errors."""
    program, sarif = tmp_path / "p.py", tmp_path / "p.sarif"
    program.write_text("import sys, rocmkern as rk\n(rk.empty(int(sys.argv[1])) + 1).numpy()\n")
    found = CliRunner().invoke(main, ["check", "--sarif", str(sarif), str(program), "10"])
    assert found.exit_code == 1 and "2 errors in 1 launch" in found.output
    assert len(json.loads(sarif.read_text())["runs"][0]["results"]) == 2
    program.write_text("import rocmkern as rk\nrk.ones(10) + 1\n")
    found = CliRunner().invoke(main, ["check", "--json", str(program)])
    assert found.exit_code == 0 and json.loads(found.output)["findings"] == []
    program.write_text("raise SystemExit(3)\n")
    assert CliRunner().invoke(main, ["check", str(program)]).exit_code == 1


def test_the_command_checks_kernels(tmp_path: Path) -> None:
    """Of a file, with buffers by what they hold."""
    file, array = tmp_path / "k.hsaco", tmp_path / "x.npy"
    file.write_bytes(compile_hip(PRELUDE + SOURCE, "gfx942", flags=FLAGS))
    np.save(array, numbers(64))
    base = ["check", "--kernel", "shift", "--block", "64", "--arg", str(array), "--arg", "u32[64]", "--arg"]
    assert CliRunner().invoke(main, [*base, "u32:0", str(file)]).exit_code == 0
    found = CliRunner().invoke(main, [*base, "u32:2", str(file)])
    assert found.exit_code == 1 and "out of bounds in shift, 2 times" in found.output
    only = CliRunner().invoke(main, [base[0], "--only", "race", *base[1:], "u32:2", str(file)])
    assert only.exit_code == 0
    for wrong in ("x32:1", "u32:a", "u32[4]=b", "u32"):
        found = CliRunner().invoke(main, [*base, wrong, str(file)])
        assert found.exit_code == 1 and "DTYPE:NUMBER" in found.output
    assert "takes 3 arguments, 2 are given" in CliRunner().invoke(main, [*base[:-1], str(file)]).output


pytest_plugins = ["pytester"]


def test_the_plugin_fails_tests(pytester: pytest.Pytester) -> None:
    """All with the option, marked ones without; the report is the failure."""
    pytester.makepyfile(
        """
        import pytest, rocmkern as rk

        @pytest.fixture
        def x():
            return rk.empty(10)

        def test_plain(x):
            (x + 1).numpy()

        @pytest.mark.rocmkern_check(only=["uninitialised"])
        def test_marked(x):
            (x + 1).numpy()

        @pytest.mark.rocmkern_check(only=["race"])
        def test_of_races(x):
            (x + 1).numpy()
        """
    )
    plugin = ("-p", "no:cacheprovider")
    some = pytester.runpytest_subprocess(*plugin)
    some.assert_outcomes(passed=2, failed=1)
    some.stdout.fnmatch_lines(["*uninitialised in affine_f32*", "*made by test_the_plugin_fails_tests.py:*"])
    pytester.runpytest_subprocess(*plugin, "--rocmkern-check").assert_outcomes(passed=1, failed=2)


def test_copies_of_what_nothing_wrote() -> None:
    """The host gets bytes that nobody wrote: how many, of which allocation, and who asked for them."""
    device = rk.Device("emulator:gfx942:checked")
    with rk.check() as findings:
        memory = device.alloc(64)
        memory.copy_from_host(np.zeros(5, np.uint8))
        memory.copy_to_host()
    (one,) = findings
    assert (one.kind, one.at.source.rpartition(":")[0]) == ("uninitialised copy", "tests/checking/test_running.py")
    assert "nothing wrote 59 from" in one.rule and "it is 5 bytes into the allocation of 64 bytes" in one.rule
    assert report.as_text(findings).startswith("uninitialised copy\n  tests/checking/test_running.py:")


@pytest.mark.parametrize("count", [1, 2, 8, 100, 1009])
def test_transforms_read_nothing_unwritten(count: int) -> None:
    """Their tables have just the roots that they use."""
    with rk.check() as findings:
        rk.fft.fft(rk.ones(count, device="emulator:gfx942:checked")).numpy()
    assert not findings and findings.launches


@pytest.mark.parametrize("target", ["gfx942", "gfx1201"])
def test_a_sample_of_workgroups(target: str) -> None:
    """Loads and races of the others are not looked at; their stores are, so that what they wrote counts as written."""
    source = """
KERNEL void load(const u32 *x, u32 *out) { if (G == 3) out[T] = x[64 + T]; }
KERNEL void store(const u32 *x, u32 *out) { if (G == 3) out[64 + T] = 1; }
KERNEL void write_all(const u32 *x, u32 *out) { out[G] = 1; }
KERNEL void race(const u32 *x, u32 *out) { if (G == 1 || G == 3) out[T] = G; }
"""
    device, x = bench(source, target), np.zeros(64, np.uint32)
    kinds = dict[tuple[str, int], set[str]]()
    for kernel in ("load", "store", "write_all", "race"):
        for sample in (1, 3, 4):
            findings = Findings(sample=sample)
            with collected(findings):
                device.run(kernel, x, np.zeros(64, np.uint32), grid=8, block=64)
            kinds[kernel, sample] = {one.kind for one in findings.errors}
    assert kinds["load", 1] == kinds["load", 3] == {"out of bounds"} and kinds["load", 4] == set()
    assert kinds["store", 1] == kinds["store", 4] == {"out of bounds"}
    assert kinds["race", 1] == {"race, write after write"} and kinds["race", 4] == set()
    assert not any(kinds["write_all", sample] for sample in (1, 3, 4))
    assert "of 8 workgroups one looked at whole" in report.summary(Findings(sample=8))
    with pytest.raises(ConfigError, match="from 1 on"):
        Findings(sample=0)
    wrong = CliRunner().invoke(main, ["check", "--sample", "2/8", __file__])
    assert wrong.exit_code == 2 and "is not 1/N" in wrong.output
