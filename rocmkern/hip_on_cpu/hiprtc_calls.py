"""The calls of HIP's run-time compiler, which is zig's clang here."""

from __future__ import annotations

import ctypes
import re
import sys
import tempfile
from pathlib import Path
from typing import Final

from attrs import define, field

from rocmkern import codeobject
from rocmkern.build import hip_source
from rocmkern.build.hip_source import ZigForSources
from rocmkern.errors import BuildError
from rocmkern.hip_on_cpu.arguments import put
from rocmkern.hip_on_cpu.binding import Status
from rocmkern.hip_on_cpu.state import State

VERSION: Final = (6, 4)
INVALID_INPUT, INVALID_PROGRAM, INVALID_OPTION, COMPILATION = 3, 4, 5, 6
TOO_LATE_FOR_NAMES, TOO_EARLY_FOR_NAMES, NO_SUCH_NAME, LINKING = 8, 9, 10, 100
_BITCODE: Final = (100,)  # kinds of input that are linked
_TARGET: Final = re.compile(r"--?(?:offload-arch|gpu-architecture)=(.*)")
_MARK: Final = "__rk_named_"


@define(eq=False)
class Program:
    """A source, and what became of it. `pieces` are kept for as long as pointers to them may be."""

    source: str
    name: str
    headers: dict[str, str]
    expressions: list[str] = field(factory=list)
    lowered: dict[str, ctypes.Array[ctypes.c_char]] | None = None
    log: bytes = b""
    code: bytes | None = None
    bitcode: bytes | None = None


@define(eq=False)
class Link:
    """Bitcode that is to be one code object."""

    pieces: list[bytes] = field(factory=list)
    code: ctypes.Array[ctypes.c_char] | None = None


class HiprtcCalls(State):
    """The part of `Calls` that compiles."""

    def hiprtcVersion(self, major: int, minor: int) -> None:
        for place, number in zip((major, minor), VERSION, strict=True):
            put(place, number, ctypes.c_int)

    def hiprtcCreateProgram(self, program: int, source: int, name: int, count: int, headers: int, names: int) -> None:
        if not (program and source):
            raise Status(INVALID_INPUT)
        titled = _text(name) if name else "program.hip"
        named = dict(zip(_texts(names, count), _texts(headers, count), strict=True))
        put(program, self._keep(Program(_text(source), Path(titled).name or "program.hip", named)))

    def hiprtcDestroyProgram(self, program: int) -> None:
        handle = ctypes.c_void_p.from_address(program).value or 0
        self._program(handle)
        self._drop(handle)
        put(program, 0)

    def _program(self, program: int) -> Program:
        found = self._owned.get(program)
        if not isinstance(found, Program):
            raise Status(INVALID_PROGRAM)
        return found

    def hiprtcAddNameExpression(self, program: int, expression: int) -> None:
        found = self._program(program)
        if found.lowered is not None:
            raise Status(TOO_LATE_FOR_NAMES)
        found.expressions.append(_text(expression))

    def hiprtcCompileProgram(self, program: int, count: int, options: int) -> None:
        found = self._program(program)
        target, is_piece, passed = self.targets[self._device], False, []
        for word in _texts(options, count):
            if chosen := _TARGET.fullmatch(word):
                target = chosen[1].split(":")[0]
            elif word == "-fgpu-rdc":
                is_piece = True
            else:
                passed.append(word)
        with tempfile.TemporaryDirectory() as scratch:
            try:
                self._compile(found, Path(scratch), target, is_piece, tuple(passed))
            except BuildError as error:
                found.log = (error.log or str(error)).encode()
                raise Status(COMPILATION) from None

    def _compile(self, program: Program, folder: Path, target: str, is_piece: bool, options: tuple[str, ...]) -> None:
        for name, text in program.headers.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        mark = f'extern "C" __device__ __attribute__((used)) const void *{_MARK}'
        marks = (f"{mark}{i} = (const void *)&({_plain(each)});\n" for i, each in enumerate(program.expressions))
        (folder / program.name).write_text(f"{program.source}\n{''.join(marks)}")
        options = (f"-I{folder}", "-include", "hip/hip_runtime.h", "-x", "hip", *options)
        made, compiler = folder / "made", _compiler()
        compile = compiler.to_bitcode if is_piece else compiler.compile
        program.log = compile(folder, program.name, target, made, options).encode()
        if is_piece:
            program.bitcode = made.read_bytes()
        else:
            program.code = made.read_bytes()
            program.lowered = _lowered(program)

    def hiprtcGetLoweredName(self, program: int, expression: int, name: int) -> None:
        lowered = self._program(program).lowered
        if lowered is None:
            raise Status(TOO_EARLY_FOR_NAMES)
        if _text(expression) not in lowered:
            raise Status(NO_SUCH_NAME)
        put(name, ctypes.addressof(lowered[_text(expression)]))

    def hiprtcGetProgramLogSize(self, program: int, nbytes: int) -> None:
        put(nbytes, len(self._program(program).log) + 1, ctypes.c_size_t)

    def hiprtcGetProgramLog(self, program: int, log: int) -> None:
        _write(log, self._program(program).log + b"\0")

    def hiprtcGetCodeSize(self, program: int, nbytes: int) -> None:
        put(nbytes, len(_made(self._program(program).code)), ctypes.c_size_t)

    def hiprtcGetCode(self, program: int, code: int) -> None:
        _write(code, _made(self._program(program).code))

    def hiprtcGetBitcodeSize(self, program: int, nbytes: int) -> None:
        put(nbytes, len(_made(self._program(program).bitcode)), ctypes.c_size_t)

    def hiprtcGetBitcode(self, program: int, code: int) -> None:
        _write(code, _made(self._program(program).bitcode))

    # Linking.

    def hiprtcLinkCreate(self, count: int, options: int, values: int, link: int) -> None:
        put(link, self._keep(Link()))

    def _link(self, link: int) -> Link:
        found = self._owned.get(link)
        if not isinstance(found, Link):
            raise Status(INVALID_INPUT)
        return found

    def hiprtcLinkAddFile(self, link: int, kind: int, path: int, count: int, options: int, values: int) -> None:
        self._add_piece(link, kind, Path(_text(path)).read_bytes())

    def hiprtcLinkAddData(
        self, link: int, kind: int, data: int, nbytes: int, name: int, count: int, options: int, values: int
    ) -> None:
        self._add_piece(link, kind, ctypes.string_at(data, nbytes))

    def _add_piece(self, link: int, kind: int, data: bytes) -> None:
        if kind not in _BITCODE:
            raise BuildError(f"input of kind {kind}; only LLVM bitcode is linked")
        self._link(link).pieces.append(data)

    def hiprtcLinkComplete(self, link: int, code: int, nbytes: int) -> None:
        found = self._link(link)
        with tempfile.TemporaryDirectory() as scratch:
            paths = [Path(scratch, f"{number}.bc") for number in range(len(found.pieces))]
            for path, piece in zip(paths, found.pieces, strict=True):
                path.write_bytes(piece)
            made = Path(scratch, "made")
            try:
                _compiler().link_bitcode(paths, self.targets[self._device], made)
            except BuildError as error:
                print(f"hip_on_cpu: hiprtcLinkComplete: {error}", file=sys.stderr)
                raise Status(LINKING) from None
            data = made.read_bytes()
        found.code = ctypes.create_string_buffer(data, len(data))
        put(code, ctypes.addressof(found.code))
        put(nbytes, len(data), ctypes.c_size_t)

    def hiprtcLinkDestroy(self, link: int) -> None:
        self._link(link)
        self._drop(link)


def _compiler() -> ZigForSources:
    found = hip_source.compiler("zig")
    if not isinstance(found, ZigForSources):
        raise BuildError("hiprtc: no zig here; `pip install rocmkern[build]`")
    return found


def _plain(expression: str) -> str:
    """A name expression without the `&` that it may begin with."""
    return expression.strip().removeprefix("&").strip()


def _lowered(program: Program) -> dict[str, ctypes.Array[ctypes.c_char]]:
    """The symbols that the expressions name, by what the linker put where the marks are."""
    code = codeobject.read(program.code or b"")
    names = {kernel.entry_address: kernel.name for kernel in code.kernels.values()}
    names |= {place: name for name, (place, _) in code.symbols.items() if place not in names}
    targets = {place: symbol or names.get(addend, "") for place, _, symbol, addend in code.relocations}
    marked = {each: targets[code.symbols[f"{_MARK}{number}"][0]] for number, each in enumerate(program.expressions)}
    return {each: ctypes.create_string_buffer(name.encode()) for each, name in marked.items()}


def _text(address: int) -> str:
    return ctypes.string_at(address).decode(errors="replace")


def _texts(array: int, count: int) -> list[str]:
    return [_text(address) for address in (ctypes.c_size_t * count).from_address(array)] if count else []


def _made(data: bytes | None) -> bytes:
    if data is None:
        raise Status(INVALID_PROGRAM)
    return data


def _write(to: int, data: bytes) -> None:
    if not to:
        raise Status(INVALID_INPUT)
    ctypes.memmove(to, data, len(data))
