"""Whole programs of HIP or CUDA sources by zig's clang: host code with `kernel<<<…>>>(…)`, and the kernels' code for
each target in the executable, as hipcc lays it there.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from attrs import field, frozen

from rocmkern.build import hip_source
from rocmkern.build.hip_source import ZigForSources
from rocmkern.build.toolchain import run
from rocmkern.codeobject import bundler
from rocmkern.errors import BuildError
from rocmkern.targets import TARGETS

DEFAULT_TARGETS: Final = ("gfx942",)
_HOST: Final = "x86_64-linux-gnu"
_LINKED: Final = f"{_HOST}.2.28"
_SOURCES: Final = (".hip", ".cu", ".cpp", ".cc", ".cxx", ".C")
_PLAIN_SOURCES: Final = (".c",)
_HEADER_FLAGS: Final = ("-I", "-isystem", "-include", "-D", "-U", "-iquote", "-idirafter")
_LINK_FLAGS: Final = ("-L", "-l", "-Wl,", "-Xlinker", "-shared", "-static-lib", "-rdynamic")
_TARGET_FLAGS: Final = ("--offload-arch=", "--amdgpu-target=", "--cuda-gpu-arch=")
_TAKING_A_WORD: Final = (*_HEADER_FLAGS, "-L", "-l", "-Xlinker", "-x", "-o", "-MF", "-MT", "-MQ", "-target")
# Zig's clang has no OpenMP, and those that say what a compiler of ROCm's would do anyway.
_IGNORED: Final = ("-fopenmp", "-x", "--hip-link", "-target", "-MF", "-MT", "-MQ", "-MD", "-MMD", "-MP", "-pipe")
_REFUSED: Final = {
    "-fgpu-rdc": "code of several sources can't be linked on the device",
    "-E": "only objects and programs are written",
    "-S": "only objects and programs are written",
}


@frozen
class Command:
    """A command line of hipcc's, sorted by what its words are for."""

    sources: tuple[Path, ...]
    objects: tuple[str, ...]
    output: Path | None
    makes: str  # "program", "object", or "bundle" of device code only
    targets: tuple[str, ...]
    compiling: tuple[str, ...] = field(repr=False)
    linking: tuple[str, ...] = field(repr=False)


def parse(words: Sequence[str]) -> Command:
    """Raises BuildError for what is not there, such as relocatable device code."""
    sources, objects, compiling, linking, targets = [], [], [], [], []
    output, makes = None, "program"
    waiting = list(reversed(words))
    while waiting:
        word = waiting.pop()
        if word in _REFUSED:
            raise BuildError(f"hipcc: {word}: {_REFUSED[word]}")
        more = [waiting.pop()] if word in _TAKING_A_WORD and waiting else []
        if word == "-o" and more:
            output = Path(more[0])
        elif word == "-c":
            makes = "object"
        elif word in ("--genco", "--cuda-device-only"):
            makes = "bundle"
        elif word.startswith(_TARGET_FLAGS):
            targets += word.split("=", 1)[1].split(",")
        elif word.startswith(_IGNORED):
            continue
        elif word.startswith(_LINK_FLAGS):
            linking += [word, *more]
        elif word.startswith("-"):
            compiling += [word, *more]
        elif word.endswith((*_SOURCES, *_PLAIN_SOURCES)):
            sources.append(Path(word))
        else:
            objects.append(word)
    targets = [target.split(":")[0] for target in targets]
    unknown = [target for target in targets if target not in TARGETS and not target.endswith("generic")]
    if unknown:
        raise BuildError(f"hipcc: no target {unknown[0]!r}; there are {', '.join(TARGETS)}")
    if not sources and not objects:
        raise BuildError("hipcc: no source; name a .hip, .cu or .cpp file")
    return Command(
        tuple(sources), tuple(objects), output, makes, tuple(dict.fromkeys(targets)) or DEFAULT_TARGETS,
        tuple(compiling), tuple(linking),
    )  # fmt: skip


def build(command: Command, library: Path) -> str:
    """Compiles and links as the command says, with the runtime libraries in a folder. Returns the warnings.

    Raises BuildError with the compiler's messages.
    """
    compiler = hip_source.compiler("zig")
    if not isinstance(compiler, ZigForSources):
        raise BuildError("hipcc: no zig here; `pip install rocmkern[build]`")
    said = []
    with tempfile.TemporaryDirectory() as scratch:
        objects = []
        for number, source in enumerate(command.sources):
            made = Path(scratch) / f"{number}.o"
            if command.makes == "object":
                made = (command.output or Path(source.with_suffix(".o").name)).resolve()
            said.append(_compile(compiler, command, source, made))
            objects.append(str(made))
        if command.makes == "program":
            output = command.output or Path("a.out")
            plain = not command.objects and not any(map(_needs_cpp, objects))
            words = [
                str(compiler.zig.path),
                "cc" if plain else "c++",
                "-target",
                _LINKED,
                *objects,
                *command.objects,
                *command.linking,
            ]
            words += [f"-L{library}", "-lamdhip64", "-o", str(output)]
            said.append(run(words, Path.cwd(), str(output)).stderr)
    return "".join(said)


def _needs_cpp(made: str) -> bool:
    """Whether an object calls C++'s library, which zig takes minutes to compile when it is first linked."""
    data = Path(made).read_bytes()
    return any(mark in data for mark in (b"_ZNSt", b"_ZNKSt", b"_ZSt", b"_Zn", b"_Zd", b"__cxa_", b"__gxx_"))


def _compile(compiler: ZigForSources, command: Command, source: Path, made: Path) -> str:
    zig, options = compiler.zig, (*hip_source.flags_for(source), *command.compiling)
    common = [str(zig.path), "clang", "-target", _HOST, "-fPIC", "-O2"]
    headers = hip_source.headers(zig)
    if command.makes == "bundle":
        output = command.output or source.with_suffix(".hipfb")
        said, data = _device_code(compiler, command, source, options)
        output.write_bytes(data)
        return said
    if source.suffix in _PLAIN_SOURCES:
        words = [*common, *headers[:-2], *command.compiling, "-c", str(source), "-o", str(made)]
        return run(words, Path.cwd(), str(source)).stderr
    with tempfile.TemporaryDirectory() as scratch:
        said, data = _device_code(compiler, command, source, options)
        bundle = Path(scratch) / "code.hipfb"
        bundle.write_bytes(data)
        device = [f"--offload-arch={target}" for target in command.targets[:1]]
        words = [*common, "-x", "hip", "--cuda-host-only", *device, "-nogpuinc", "-nogpulib", "-std=c++17", *headers]
        words += [*options, "-Xclang", "-fcuda-include-gpubinary", "-Xclang", str(bundle)]
        run([*words, "-c", str(source), "-o", str(made)], Path.cwd(), str(source))
    return said


def _device_code(
    compiler: ZigForSources, command: Command, source: Path, options: tuple[str, ...]
) -> tuple[str, bytes]:
    """The warnings, and a bundle with the code for every target."""
    pieces, said = {}, []
    with tempfile.TemporaryDirectory() as scratch:
        for target in command.targets:
            code = Path(scratch) / f"{target}.hsaco"
            said.append(compiler.compile(Path.cwd(), str(source), target, code, options))
            pieces[target] = code.read_bytes()
    return "".join(said), bundler.bundle(b"", pieces)
