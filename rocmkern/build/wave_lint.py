"""What a CUDA or HIP source takes for granted of a warp of 32 lanes: a wave of CDNA has 64.

The rules read words, not a program's meaning: a place that they name is one to look at. A fix is offered where it does
the same with 32 lanes and the right thing with 64.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from attrs import frozen

from rocmkern.build import source_text

_ALL_OF_32: Final = r"(?:0[xX][fF]{8}[uU]?[lL]{0,2}|\(?-1\)?|~\s*0[uU]?|UINT_MAX|\(?unsigned\)?\s*\(?-1\)?)"
_OF_64: Final = "~0ull"
_WORD_TYPES: Final = r"(?:unsigned(?:\s+int)?|uint32_t|uint|int|int32_t|u32)"
_VOTE: Final = r"__(?:ballot|activemask|match_any|match_all|ballot64)(?:_sync)?\s*\("
_SHUFFLE: Final = r"__shfl(?:_up|_down|_xor)?(?:_sync)?\s*\("
_SYNC: Final = re.compile(r"__(?:shfl\w*|ballot|any|all|match_\w+|reduce_\w+)_sync\s*\(\s*")
_COUNTING: Final = {"__popc": "__popcll", "__ffs": "__ffsll", "__clz": "__clzll", "__brev": "__brevll"}
_SHUFFLED: Final = rf"(?=[^;]*?{_SHUFFLE}|\s*\{{[^}}]*?{_SHUFFLE})"  # what a loop does
# Registers of PTX, and its instructions, which end with a type where AMD's have no dots.
_PTX: Final = re.compile(
    r"%(?:laneid|warpid|lanemask_\w+|clock\w*|smid|globaltimer)\b"
    r"|\b[a-z]\w*(?:\.\w+)*\.(?:[busf]\d+(?:x\d)?|pred|sync|aligned|global|shared|L2)\b"
)
_WARP_SIZE: Final = r"(?:\w*(?:WARP|Warp|warp|WAVE|Wave|wave)_?(?:SIZE|Size|size|SZ|THREADS|LANES|Lanes|lanes)\w*)"
_THREADS: Final = r"threadIdx|thread_rank|laneid|lane_id"
_THREAD_FORMS: Final = (
    r"threadIdx\s*\.\s*[xyz]", r"lane", r"laneId", r"lane_id", r"laneid", r"LaneId", r"blockDim\s*\.\s*[xyz]",
)  # fmt: skip


@frozen
class Finding:
    """A place, the reason, and what would be written instead, where that is safe."""

    line: int
    rule: str
    reason: str
    start: int
    end: int
    fix: str | None = None


@frozen
class _Source:
    text: str
    code: str  # without comments and literals
    threads: str  # a pattern, named `thread`, of what may be a thread's number
    held: tuple[tuple[str, int, int], ...]  # variables that are one, from where to where
    masks: frozenset[str]  # names of masks of 32 ones

    def uses(self, pattern: str) -> Iterator[re.Match[str]]:
        """The places of a pattern with `threads` in it where what stands there is a thread's number."""
        variables = {name for name, _, _ in self.held} - {*_THREAD_FORMS}
        for found in re.finditer(pattern, self.code):
            name, at = found["thread"], found.start("thread")
            if name not in variables or any(name == n and start <= at < end for n, start, end in self.held):
                yield found


def findings(text: str) -> list[Finding]:
    """All places, in order."""
    code = source_text.code(text)
    held = tuple(_held(code))
    names = "|".join(sorted({*_THREAD_FORMS, *(name for name, _, _ in held)}))
    source = _Source(text, code, f"(?P<thread>{names})", held, frozenset(_mask_names(code)))
    found = [each for rule in _RULES for each in rule(source)]
    unique = {(each.start, each.rule): each for each in sorted(found, key=lambda each: (each.start, each.end))}
    return list(unique.values())


def fixed(text: str) -> str:
    """The text with every safe fix."""
    for _ in range(8):  # a fix may make way for another one
        parts, end = [], 0
        for each in findings(text):
            if each.fix is not None and each.start >= end:
                parts += [text[end : each.start], each.fix]
                end = each.end
        if not parts:
            break
        text = "".join((*parts, text[end:]))
    return text


def _held(code: str) -> Iterator[tuple[str, int, int]]:
    """The variables that are made of threadIdx alone, each to the end of its function."""
    declared = re.compile(
        rf"\b(?:auto|{_WORD_TYPES}|size_t|long|short|const)\s+(\w+)\s*=\s*([^;{{}}]*\b(?:{_THREADS})\b[^;{{}}]*);"
    )
    for found in declared.finditer(code):
        if "blockIdx" not in found[2] and found[1] != "int":
            yield found[1], found.start(), _end_of_function(code, found.end())


def _end_of_function(code: str, at: int) -> int:
    """Behind the closing brace of the outermost block around a place; the end where there is none."""
    depth = code.count("{", 0, at) - code.count("}", 0, at)
    for brace in re.finditer(r"[{}]", code[at:]) if depth > 0 else ():
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return at + brace.end()
    return len(code)


def _mask_names(code: str) -> Iterator[str]:
    for found in re.finditer(rf"#[ \t]*define[ \t]+(\w+)[ \t]+{_ALL_OF_32}[ \t]*$", code, re.MULTILINE):
        yield found[1]
    for found in re.finditer(rf"\b{_WORD_TYPES}\s+(\w+)\s*=\s*{_ALL_OF_32}\s*;", code):
        yield found[1]


def _at(source: _Source, rule: str, reason: str, start: int, end: int, fix: str | None = None) -> Finding:
    return Finding(source_text.line_of(source.text, start), rule, reason, start, end, fix)


def _masks(source: _Source) -> Iterator[Finding]:
    reason = "the mask names 32 lanes, half of a wave of 64"
    for call in _SYNC.finditer(source.code):
        literal = re.compile(rf"{_ALL_OF_32}(?=\s*[,)])").match(source.code, call.end())
        word = re.compile(r"\w+(?=\s*[,)])").match(source.code, call.end())
        if literal:
            yield _at(source, "mask", reason, literal.start(), literal.end(), _OF_64)
        elif word and word[0] in source.masks:
            yield _at(source, "mask", f"{reason}: {word[0]}", word.start(), word.end())
    for name in source.masks:
        use = re.search(rf"{_SYNC.pattern}{name}\b", source.code)
        defined = re.search(rf"(#[ \t]*define[ \t]+{name}[ \t]+)({_ALL_OF_32})", source.code)
        if use and defined:
            yield _at(source, "mask", f"{name} {reason[4:]}", defined.start(2), defined.end(2), _OF_64)
        held = re.search(rf"\b({_WORD_TYPES})(\s+{name}\s*=\s*)({_ALL_OF_32})\s*;", source.code)
        if use and held:
            fix = f"unsigned long long{held[2]}{_OF_64}"
            yield _at(source, "mask", f"{name} {reason[4:]}", held.start(1), held.end(3), fix)


def _places(source: _Source) -> Iterator[Finding]:
    """A thread's warp and lane by 32."""
    forms = (
        (r"%\s*32\b", "% warpSize"), (r"&\s*(?:31|0[xX]1[fF])\b", "& (warpSize - 1)"),
        (r"/\s*32\b", "/ warpSize"), (r">>\s*5\b", "/ warpSize"),
    )  # fmt: skip
    for pattern, fix in forms:
        for found in source.uses(rf"\b{source.threads}\s*\)?\s*({pattern})"):
            is_shift = pattern.startswith(">")
            told = "a wave has warpSize lanes, 64 on CDNA"
            yield _at(source, "lane", told, found.start(2), found.end(2), None if is_shift else fix)
    start, step = rf"for\s*\(\s*(?:\w+\s+)?(\w+)\s*=\s*{source.threads}", r"\1\s*(?:\+=|=\s*\1\s*\+)\s*(32)\b"
    for found in source.uses(rf"{start}\s*;[^;]*;\s*{step}"):
        told = "the lanes of a wave go on by warpSize, 64 on CDNA"
        yield _at(source, "lane", told, found.start(3), found.end(3), "warpSize")
    for found in re.finditer(r"\b(?:blockDim\s*\.\s*[xyz]|nthreads|num_threads)\s*\+\s*31\b", source.code):
        yield _at(source, "lane", "warps are counted by 32 lanes", found.start(), found.end())


def _constants(source: _Source) -> Iterator[Finding]:
    name, of_32 = _WARP_SIZE, r"32[uU]?\b"
    forms = (
        rf"#[ \t]*define[ \t]+{name}[ \t]+\(?{of_32}\)?",
        rf"\b{name}\s*[=!]?=\s*{of_32}",
        rf"\b{of_32}\s*==\s*{name}\b",
    )
    for form in forms:
        for found in re.finditer(form, source.code):
            yield _at(source, "constant", "a warp's size is a constant 32; ask warpSize", found.start(), found.end())


def _ballots(source: _Source) -> Iterator[Finding]:
    reason = "a ballot has a bit for each of 64 lanes"
    for found in re.finditer(rf"\b({_WORD_TYPES})(\s+\w+\s*=\s*{_VOTE})", source.code):
        yield _at(source, "ballot", reason, found.start(1), found.end(1), "unsigned long long")
    for found in re.finditer(rf"(\(\s*{_WORD_TYPES}\s*\)\s*)({_VOTE})", source.code):
        yield _at(source, "ballot", reason, found.start(1), found.end(1), "")
    for found in re.finditer(rf"static_cast<\s*({_WORD_TYPES})\s*>\(\s*{_VOTE}", source.code):
        yield _at(source, "ballot", reason, found.start(1), found.end(1), "unsigned long long")
    held = {found[1] for found in re.finditer(rf"\b(\w+)\s*=\s*(?:\([\w ]+\)\s*)?{_VOTE}", source.code)}
    argument = "|".join((_VOTE, *(rf"(?:\w+\s*&\s*)?{name}\b" for name in sorted(held))))
    for found in re.finditer(rf"\b({'|'.join(_COUNTING)})\s*\(\s*(?:{argument})", source.code):
        told = f"{found[1]} counts 32 bits of a ballot of 64"
        yield _at(source, "ballot", told, found.start(1), found.end(1), _COUNTING[found[1]])
    for found in source.uses(rf"\b(?:1[uU]?)\s*<<\s*{source.threads}\b"):
        one = re.compile(r"1[uU]?").match(source.code, found.start())
        assert one is not None
        yield _at(source, "ballot", "a lane's bit needs 64", one.start(), one.end(), "1ull")
    for found in re.finditer(r"%?\blanemask_(?:lt|le|gt|ge|eq)\b", source.code):
        yield _at(source, "ballot", "a mask of the lanes before needs 64 bits", found.start(), found.end())


def _shuffles(source: _Source) -> Iterator[Finding]:
    loop = rf"for\s*\(\s*(?:\w+\s+)?(\w+)\s*=\s*(16|32\s*/\s*2|32\s*>>\s*1)\s*;[^)]*\){_SHUFFLED}"
    for found in re.finditer(loop, source.code):
        told = "the reduction begins at 16, so it joins 32 lanes"
        yield _at(source, "shuffle", told, found.start(2), found.end(2), "warpSize / 2")
    up = rf"for\s*\(\s*(?:\w+\s+)?(\w+)\s*=\s*1\s*;\s*\1\s*(?:<\s*(32)|<=\s*(16))\s*;[^)]*\){_SHUFFLED}"
    for found in re.finditer(up, source.code):
        group = 2 if found[2] else 3
        fix = "warpSize" if found[2] else "warpSize / 2"
        yield _at(source, "shuffle", "the scan ends with 32 lanes", found.start(group), found.end(group), fix)
    for found in re.finditer(rf"{_SHUFFLE}[^;]*?,\s*(32)\s*\)\s*[;,)+]", source.code):
        told = "the width is 32: halves of a wave of 64 keep to themselves"
        yield _at(source, "shuffle", told, found.start(1), found.end(1))
    for found in re.finditer(rf"{_SHUFFLE}[^;,]*,(?:[^;,]*,)?\s*(16)\s*\)", source.code):
        told = "a first step of 16 joins 32 lanes; a wave of 64 needs one of 32 before"
        yield _at(source, "shuffle", told, found.start(1), found.end(1))


def _barriers(source: _Source) -> Iterator[Finding]:
    for found in source.uses(rf"\bif\s*\(\s*{source.threads}\s*<=?\s*(?:32|31|warpSize)\s*\)"):
        told = (
            "one warp goes on alone; between its steps in shared memory `__syncwarp()` or `__syncthreads()` is needed"
        )
        body = source.code[found.end() : found.end() + 400]
        if re.search(r"\w+\s*\[[^\]]*\]\s*[+*|&^-]?=.*?\w+\s*\[[^\]]*\+", body) and "__sync" not in body.split("}")[0]:
            yield _at(source, "barrier", told, found.start(), found.end())
    step = r"(\w+)\s*\[\s*(\w+)\s*\]\s*\+=\s*\1\s*\[\s*\2\s*\+\s*\d+\s*\]\s*;"
    for found in re.finditer(rf"{step}(?=\s*{step})", source.code):
        told = "the next step reads what other lanes write here; `__syncwarp()` is needed between them"
        yield _at(source, "barrier", told, found.start(), found.end())
    for found in re.finditer(
        r"\bvolatile\s+(?:__shared__\s+)?\w+\s*\*\s*(?:\w*(?:shared|sdata|smem|sh|cache)\w*)\b", source.code
    ):
        told = "volatile shared memory stands for barriers of a warp that runs in step"
        yield _at(source, "barrier", told, found.start(), found.end())


def _active(source: _Source) -> Iterator[Finding]:
    for found in re.finditer(r"\b__activemask\s*\(\s*\)", source.code):
        told = "which lanes are active is the compiler's choice; pass the lanes that are meant, in 64 bits"
        yield _at(source, "active", told, found.start(), found.end())


def _inline_ptx(source: _Source) -> Iterator[Finding]:
    for found in re.finditer(r"\basm\b(?:\s*(?:volatile|__volatile__))?\s*\(", source.code):
        end = source.code.find(";", found.end())
        body = source.text[found.end() : end if end > 0 else len(source.text)]
        if _PTX.search(body):
            told = "inline PTX; use a builtin, or code of its own for AMD"
            yield _at(source, "ptx", told, found.start(), found.end() - 1)


_RULES: Final[tuple[Callable[[_Source], Iterator[Finding]], ...]] = (
    _masks, _places, _constants, _ballots, _shuffles, _barriers, _active, _inline_ptx,
)  # fmt: skip
