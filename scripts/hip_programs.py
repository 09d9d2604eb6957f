"""Builds and runs public HIP programs on emulated devices, and prints what became of each.

Get the sources first; nothing of them is in this repository:

    git clone https://github.com/ROCm/rocm-examples
    git clone https://github.com/zjin-lcf/HeCBench
    python scripts/hip_programs.py rocm-examples HeCBench --json programs.json

A program is right where its own check says so: by its exit status in rocm-examples, by what it prints in HeCBench.
There the arguments of its `make run` are reduced, since a CPU runs it: of several numbers the last, usually how often
to repeat, becomes 1, and the others are halved until they are at most 512.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import click
from attrs import asdict, frozen

ROCMKERN: Final = (sys.executable, "-m", "rocmkern")
TARGETS: Final = ("gfx942", "gfx1100")
MOST: Final = 512

# Arguments that the rule would spoil, or that its programs need smaller.
EXAMPLE_ARGUMENTS: Final[dict[str, tuple[str, ...]]] = {
    "bandwidth": ("-trials", "1"), "bitonic_sort": ("-l", "10"),
}  # fmt: skip
BENCHMARK_ARGUMENTS: Final[dict[str, tuple[str, ...]]] = {}

# What needs more than HIP and its run-time compiler.
_OTHER_LIBRARIES: Final = re.compile(
    r"hipcub|rocprim|rocthrust|<thrust|hipblas|rocblas|hipfft|rocfft|hiprand|rocrand|hipsparse|rocsparse|hipsolver|rocsolver"
    r"|miopen|rocwmma|rccl|hipdnn|<omp\.h>|<mpi\.h>|<boost|vulkan|GLFW|composable_kernel|hipTexture|tex[123]D"
    r"|benchmark/benchmark|gtest"
)
_COMMENT: Final = re.compile(r"//.*")
_RIGHT: Final = re.compile(r"\b(pass(ed)?|success(ful(ly)?)?|correct|verified|ok)\b", re.IGNORECASE)
_WRONG: Final = re.compile(r"\b(fail(s|ed|ure)?|mismatch|incorrect|wrong|not equal)\b", re.IGNORECASE)
_NUMBER: Final = re.compile(r"\d+")


@frozen
class Program:
    """One that is built by a command in a folder and leaves an executable there."""

    name: str
    folder: Path
    build: tuple[str, ...]
    executable: Path
    arguments: tuple[str, ...]
    says_by_status: bool


@frozen
class Outcome:
    """What became of a program on a target: `built`, `ran`, `right`, and otherwise why not."""

    name: str
    target: str
    stage: str
    why: str


def examples(root: Path) -> Iterator[Program]:
    """Of ROCm/rocm-examples: a program for each folder, and for each file of the tutorials."""
    folders = sorted(path.parent for kind in ("HIP-Basic", "Applications") for path in (root / kind).rglob("main.*"))
    found = [(folder.name, folder, sorted(_sources(folder))) for folder in folders]
    steps = (root / "Tutorials" / "reduction" / "example").glob("*.hip")
    found += [(f"reduction {path.stem}", path.parent, [path]) for path in sorted(steps)]
    for name, folder, sources in found:
        headers = (root / "Common", root / "Tutorials/reduction/include", *filter(Path.is_dir, folder.iterdir()))
        more = (*(f"-I{inner}" for inner in headers), "-std=c++20", "-fexperimental-library")
        arguments = EXAMPLE_ARGUMENTS.get(folder.name, ())
        yield Program(name, folder, (*more, *map(str, sources)), Path("program"), arguments, says_by_status=True)


def _sources(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*"):
        if path.suffix in (".hip", ".cpp", ".cu") and path.stem != "module":
            yield path


def benchmarks(root: Path) -> Iterator[Program]:
    """Of zjin-lcf/HeCBench: a program for each folder with a Makefile."""
    for folder in sorted((root / "src").glob("*-hip")):
        if not (folder / "Makefile").is_file():
            continue
        name = folder.name.removesuffix("-hip")
        shown = subprocess.run(["make", "-n", "-B", "run"], cwd=folder, capture_output=True, text=True, check=False)
        steps = shown.stdout.replace("\\\n", " ").splitlines()
        lines = [line.strip() for line in steps if line.strip().startswith("./")]
        words = shlex.split(lines[-1]) if lines else ["./main"]
        arguments = BENCHMARK_ARGUMENTS.get(name, tuple(reduced(words[1:])))
        yield Program(name, folder, ("make",), Path(words[0]), arguments, says_by_status=False)


def reduced(arguments: list[str]) -> list[str]:
    """Arguments for a run of seconds."""
    numbers = [place for place, word in enumerate(arguments) if _NUMBER.fullmatch(word)]
    small = list(arguments)
    for place in numbers:
        value = int(arguments[place])
        while value > MOST:
            value //= 2
        small[place] = str(value)
    if numbers and int(small[numbers[-1]]) > 1:
        small[numbers[-1]] = "1"
    return small


def lacking(program: Program) -> str:
    """The library that a program needs besides HIP; empty for none."""
    for path in program.folder.rglob("*"):
        if path.suffix in (".hip", ".cu", ".cuh", ".h", ".hpp", ".cpp", ".cc") or path.name == "Makefile":
            found = _OTHER_LIBRARIES.search(_COMMENT.sub("", path.read_text(errors="replace")))
            if found:
                return found[0]
    return ""


def outcomes(program: Program, targets: tuple[str, ...], seconds: int) -> list[Outcome]:
    """Builds a program once for all targets and runs it on each."""
    missing = lacking(program)
    if missing:
        return [Outcome(program.name, target, "left out", missing) for target in targets]
    compiler = (*ROCMKERN, "hipcc", f"--offload-arch={','.join(targets)}")
    with tempfile.TemporaryDirectory() as scratch:
        if program.build == ("make",):
            executable = program.folder / program.executable
            _run(["make", "clean"], program.folder, seconds)
            command = [
                "make",
                "-B",
                f"CC={shlex.join(compiler)}",
                f"HIPCC={shlex.join(compiler)}",
                f"NVCC={shlex.join(compiler)}",
                "LAUNCHER=",
            ]
        else:
            executable = Path(scratch) / program.executable
            for module in program.folder.glob("module.hip"):
                _run([*compiler, "--genco", str(module), "-o", f"{scratch}/module.co"], program.folder, seconds)
            command = [*compiler, *program.build, "-o", str(executable)]
        status, said = _run(command, program.folder, 10 * seconds)
        if status or not executable.is_file():
            return [Outcome(program.name, target, "not built", _first_error(said)) for target in targets]
        return [_ran(program, executable, target, seconds) for target in targets]


def _ran(program: Program, executable: Path, target: str, seconds: int) -> Outcome:
    command = [*ROCMKERN, "run-hip", "--device", target, str(executable), *program.arguments]
    status, said = _run(command, program.folder if program.build == ("make",) else executable.parent, seconds)
    if status is None:
        return Outcome(program.name, target, "built", f"no end within {seconds} s")
    if status:
        return Outcome(program.name, target, "built", f"status {status}: {_last_line(said)}")
    if _WRONG.search(said) and not program.says_by_status:
        return Outcome(program.name, target, "ran", next(line for line in said.splitlines() if _WRONG.search(line)))
    if program.says_by_status or _RIGHT.search(said):
        return Outcome(program.name, target, "right", "")
    return Outcome(program.name, target, "ran", "it has no check")


def _run(command: list[str], folder: Path, seconds: int) -> tuple[int | None, str]:
    """Status and output; None for one that had to be ended."""
    with tempfile.TemporaryFile() as output:
        started = subprocess.Popen(command, cwd=folder, stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            status: int | None = started.wait(seconds)
        except subprocess.TimeoutExpired:
            started.kill()
            started.wait()
            status = None
        output.seek(0)
        return status, output.read(1 << 20).decode(errors="replace")


def _first_error(said: str) -> str:
    lines = said.splitlines()
    return next((line for line in lines if "error:" in line), lines[-1] if lines else "")[:160]


def _last_line(said: str) -> str:
    lines = [line for line in said.splitlines() if line.strip()]
    return next((line for line in reversed(lines) if "hip_on_cpu" in line), lines[-1] if lines else "")[:160]


def table(found: list[Outcome]) -> Iterator[str]:
    """A line for each that is not right, and the counts."""
    for each in found:
        if each.stage != "right":
            yield f"{each.name:28} {each.target:8} {each.stage:10} {each.why}"
    for target in dict.fromkeys(each.target for each in found):
        counts = Counter(each.stage for each in found if each.target == target)
        yield f"{target}: {', '.join(f'{count} {stage}' for stage, count in counts.most_common())}"


@click.command()
@click.argument("folders", nargs=-1, required=True, type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--target", "targets", multiple=True, default=TARGETS, show_default=True)
@click.option("--only", multiple=True, help="Programs of these names.")
@click.option("--seconds", default=60, show_default=True, help="That a run may take; a build ten times as many.")
@click.option("--jobs", default=1, show_default=True)
@click.option("--json", "report", type=click.Path(path_type=Path), help="Where every outcome goes.")
def main(
    folders: tuple[Path, ...],
    targets: tuple[str, ...],
    only: tuple[str, ...],
    seconds: int,
    jobs: int,
    report: Path | None,
) -> None:
    """Build and run the programs of FOLDERS, clones of ROCm/rocm-examples or zjin-lcf/HeCBench."""
    programs = [
        program
        for folder in folders
        for program in (benchmarks if (folder / "src").is_dir() else examples)(folder.resolve())
        if not only or program.name in only
    ]
    found: list[Outcome] = []
    with ThreadPoolExecutor(jobs) as pool:
        for made in pool.map(lambda program: outcomes(program, targets, seconds), programs):
            found += made
            click.echo(f"{made[0].name}: {', '.join(each.stage for each in made)}", err=True)
    click.echo("\n".join(table(found)))
    if report:
        report.write_text(json.dumps([asdict(each) for each in found], indent=1))


if __name__ == "__main__":
    main()
