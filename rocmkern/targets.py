"""One row per gfx target: wave size, generic family, limits, and which code object serves which device."""

from __future__ import annotations

from typing import Final

from attrs import frozen

from rocmkern.errors import TargetNotBuilt


@frozen
class Target:
    """A gfx target. Limits are those of the hardware; the emulator states the same."""

    name: str
    isa: str  # encoding family: gfx90a, gfx940, gfx950, gfx10, gfx11, gfx12
    wave_size: int
    generic: str | None  # code objects of this generic target run here too
    marketing: str
    compute_units: int = 0
    lds_bytes: int = 65536
    max_threads_per_block: int = 1024


TARGETS: Final[dict[str, Target]] = {
    t.name: t
    for t in (
        Target("gfx90a", "gfx90a", 64, None, "MI210/MI250", 104),
        Target("gfx942", "gfx940", 64, "gfx9-4-generic", "MI300", 304),
        Target("gfx950", "gfx950", 64, "gfx9-4-generic", "MI350", 256, 163840),
        *(Target(f"gfx{n}", "gfx10", 32, "gfx10-3-generic", m, cu) for n, m, cu in (
            ("1030", "RX 6800/6900", 80), ("1031", "RX 6700", 40), ("1032", "RX 6600", 32), ("1033", "Van Gogh", 8),
            ("1034", "RX 6500", 16), ("1035", "680M", 12), ("1036", "610M", 2))),
        *(Target(f"gfx{n}", "gfx11", 32, "gfx11-generic", m, cu) for n, m, cu in (
            ("1100", "RX 7900", 96), ("1101", "RX 7800", 60), ("1102", "RX 7600", 32), ("1103", "780M", 12),
            ("1150", "890M", 16), ("1151", "8060S", 40), ("1152", "860M", 8), ("1153", "840M", 4))),
        *(Target(f"gfx{n}", "gfx12", 32, "gfx12-generic", m, cu) for n, m, cu in (
            ("1200", "RX 9060", 32), ("1201", "RX 9070", 64))),
    )
}  # fmt: skip

BUILT: Final[tuple[str, ...]] = (
    "gfx90a",
    "gfx942",
    "gfx950",
    "gfx10-3-generic",
    "gfx11-generic",
    "gfx12-generic",
)


# PTX of an older virtual architecture runs on a newer one, compiled at load.
PTX: Final[tuple[str, ...]] = ("sm_120", "sm_100", "sm_90", "sm_89", "sm_86", "sm_80")


def is_ptx(target: str) -> bool:
    """Whether `target` names an NVIDIA architecture, whose code is PTX text."""
    return target.startswith("sm_")


def file_name(family: str, target: str) -> str:
    """The file of a kernel family in the folder of a target."""
    return f"{family}.ptx" if is_ptx(target) else f"{family}.hsaco"


def strip_features(arch: str) -> str:
    """`gfx90a:sramecc+:xnack-` without its feature flags."""
    return arch.split(":", 1)[0]


def devices(target: str) -> tuple[Target, ...]:
    """The rows of the devices that a code object target runs on: several for a generic one, none for an unknown one."""
    base = strip_features(target)
    return tuple(row for row in TARGETS.values() if base in (row.name, row.generic))


def isa(target: str) -> str:
    """The encoding family of a code object target, generic ones included.

    Raises TargetNotBuilt for a target that has no row here.
    """
    found = devices(target)
    if not found:
        raise TargetNotBuilt(f"isa: nothing is known of {target}; known: {', '.join(TARGETS)}")
    return found[0].isa


def features(arch: str) -> frozenset[str]:
    """The feature flags of a target id: {"sramecc+", "xnack-"}."""
    return frozenset(arch.split(":")[1:])


def candidates(arch: str) -> tuple[str, ...]:
    """Code object targets that run on a device of `arch`, best first: exact, stripped, generic."""
    if is_ptx(arch):
        number = int(arch.removeprefix("sm_").rstrip("af"))
        return tuple(dict.fromkeys((arch, *(t for t in PTX if int(t[3:]) <= number))))
    base = strip_features(arch)
    row = TARGETS.get(base)
    generic = (row.generic,) if row is not None and row.generic else ()
    return tuple(dict.fromkeys((arch, base, *generic)))


def _best(available: tuple[str, ...], arch: str) -> str | None:
    """A code object that names a feature runs only where the device has it so; one that doesn't runs with either."""
    bases, has = candidates(arch), features(arch)
    fitting = [t for t in available if strip_features(t) in bases and features(t) <= has]
    return max(fitting, key=lambda t: (-bases.index(strip_features(t)), len(features(t))), default=None)


def serving(available: tuple[str, ...], arch: str) -> str:
    """The one of the targets in a file that runs on a device of `arch`, the best if several do.

    Raises TargetNotBuilt naming what was wanted and what is there.
    """
    found = _best(available, arch)
    if found is None:
        needed, held = " or ".join(candidates(arch)), ", ".join(available) or "nothing"
        raise TargetNotBuilt(
            f"load: it holds code for {held}, the device is {arch} (served by {needed}); "
            f"compile it with --offload-arch={strip_features(arch)}"
        )
    return found


def resolve(arch: str, available: tuple[str, ...], family: str) -> str:
    """The best of the packaged targets that a kernel family is `available` for, for a device of `arch`.

    Raises TargetNotBuilt naming what was searched and what is there.
    """
    found = _best(available, arch)
    if found is None:
        searched, shipped = ", ".join(candidates(arch)), ", ".join(available) or "nothing"
        raise TargetNotBuilt(
            f"resolve: no {family} built for {arch} (searched {searched}); built: {shipped}; "
            f"build it with `rocmkern build --target {strip_features(arch)}`"
        )
    return found
