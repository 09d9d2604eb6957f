"""`rocmkern doctor`: what is here, whether it works, and what to do where it does not."""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

import attrs
import click

from rocmkern import __version__, drivers
from rocmkern.cli.output import console, json_option, print_json, size, table
from rocmkern.disk_cache import limit_bytes
from rocmkern.drivers import hip
from rocmkern.drivers.protocol import DeviceInfo
from rocmkern.errors import RocmkernError
from rocmkern.paths import CACHE_VARIABLE, cache_folder, config_folder
from rocmkern.targets import BUILT, is_ptx, resolve

OK, NOTE, WRONG = "ok", "note", "wrong"
_LIBRARIES: Final = ("numpy", "ml_dtypes", "hip-python", "llvmlite", "ziglang", "cuda-bindings")
_NODES: Final = (Path("/dev/kfd"), Path("/dev/dri"))
_COLORS: Final = {OK: "green", NOTE: "yellow", WRONG: "red"}


@attrs.frozen
class Finding:
    """One thing that was looked at; `remedy` says what to do where it is not right."""

    what: str
    state: str
    fact: str
    remedy: str = ""


def look(every_device: bool) -> Iterator[Finding]:
    """All findings, in the order in which a program would come to need what they are about."""
    yield _system()
    yield from _libraries()
    yield from _hip()
    yield from _nodes()
    yield from _folders()
    yield from _devices(every_device)


def _system() -> Finding:
    fact = f"rocmkern {__version__}, Python {platform.python_version()}, {platform.platform()}"
    if sys.platform != "linux" or platform.machine() not in ("x86_64", "AMD64"):
        return Finding("system", NOTE, fact, "rocmkern is tested on x86-64 Linux alone")
    return Finding("system", OK, fact)


def _libraries() -> Iterator[Finding]:
    lacks = {
        "llvmlite": "emulated devices need it: pip install llvmlite",
        "hip-python": "AMD GPUs need it: pip install hip-python",
        "ziglang": "only compiling needs it: pip install 'rocmkern[build]'",
        "cuda-bindings": "only NVIDIA GPUs need it: pip install 'rocmkern[cuda]'",
    }
    for name in _LIBRARIES:
        found = _version(name)
        if found:
            yield Finding(name, OK, found)
        else:
            yield Finding(name, NOTE, "not installed", lacks.get(name, f"pip install {name}"))


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return ""


def _hip() -> Iterator[Finding]:
    try:
        count = int(hip.check("hipGetDeviceCount"))
    except RocmkernError as error:
        fact, _, remedy = str(error).partition("; ")
        yield Finding("HIP", NOTE, fact, remedy or "use an emulator device")
        return
    yield Finding("HIP", OK, f"{count} devices{_hip_version()}")


def _hip_version() -> str:
    """`, version 6.3`; nothing where the library does not say."""
    try:
        number = int(hip.check("hipRuntimeGetVersion"))
    except RocmkernError:
        return ""
    return f", version {number // 10_000_000}.{number // 100_000 % 100}"


def _nodes() -> Iterator[Finding]:
    """The files through which a process reaches an AMD GPU."""
    if not _NODES[0].exists():
        yield Finding("AMD driver", NOTE, f"no {_NODES[0]}", "an AMD GPU needs the kernel's amdgpu driver")
        return
    nodes = [_NODES[0], *sorted(_NODES[1].glob("renderD*"))]
    shut = [str(node) for node in nodes if not os.access(node, os.R_OK | os.W_OK)]
    if shut:
        remedy = "add the user to the groups render and video, and log in again"
        yield Finding("AMD driver", WRONG, f"no access to {', '.join(shut)}", remedy)
    else:
        yield Finding("AMD driver", OK, ", ".join(map(str, nodes)))


def _folders() -> Iterator[Finding]:
    for what, folder in (("cache", cache_folder()), ("settings", config_folder())):
        yield _folder(what, folder)


def _folder(what: str, folder: Path) -> Finding:
    known = folder
    while not known.exists() and known != known.parent:
        known = known.parent
    limit = f", at most {size(limit_bytes())} a kind" if what == "cache" else ""
    if not os.access(known, os.W_OK):
        remedy = f"nothing is kept between processes; make it writable, or name another in {CACHE_VARIABLE}"
        return Finding(what, WRONG, f"{folder}: {known} can't be written", remedy)
    if not folder.exists():
        return Finding(what, OK, f"{folder}, not made yet{limit}")
    status = folder.stat()
    if hasattr(os, "geteuid") and status.st_uid != os.geteuid():
        remedy = "what lies there is not used: take it over with chown, or remove it"
        return Finding(what, WRONG, f"{folder} belongs to user {status.st_uid}", remedy)
    used = sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file())
    return Finding(what, OK, f"{folder}, {size(used)}{limit}")


def _devices(every: bool) -> Iterator[Finding]:
    """The real devices and the default one, or every one: which code object it gets, and whether a launch is right."""
    default = drivers.default_name()
    found = {info.name: info for info in drivers.present()}
    real = [name for name in found if not name.startswith("emulator")]
    names = dict.fromkeys((*real, default, *(found if every else ())))
    for name in names:
        yield _device(name, found.get(name), is_default=name == default)


def _device(name: str, info: DeviceInfo | None, *, is_default: bool) -> Finding:
    try:
        return _launched(name, info or drivers.open(name).info, is_default=is_default)
    except (RocmkernError, OSError) as error:
        fact, _, remedy = str(error).partition("; ")
        return Finding(name, WRONG, fact, remedy)


def _launched(name: str, info: DeviceInfo, *, is_default: bool) -> Finding:
    import numpy as np

    import rocmkern as rk

    target = resolve(info.arch, BUILT, "affine") if not is_ptx(info.target) else info.target
    values, times = np.arange(1000, dtype=np.float32), list[float]()
    x = rk.asarray(values, device=name)
    for _ in range(2):
        start = time.perf_counter()
        found = (x * 2 + 1).numpy()
        times.append((time.perf_counter() - start) * 1e3)
    fact = f"{info.marketing}, {info.arch}, code for {target}"
    fact += f"; first launch {times[0]:.1f} ms, then {times[1]:.2f}" + (" (default)" if is_default else "")
    if not np.array_equal(found, values * 2 + 1):
        wrong = int(np.flatnonzero(found != values * 2 + 1)[0])
        remedy = "please report this with the output of `rocmkern doctor --json`"
        return Finding(name, WRONG, f"{fact}; x * 2 + 1 is {found[wrong]} for {values[wrong]}", remedy)
    return Finding(name, OK, fact)


@click.command()
@click.option("--all", "every_device", is_flag=True, help="Launch on each emulated device too.")
@json_option
def doctor(every_device: bool, as_json: bool) -> None:
    """Look at libraries, drivers, permissions, caches and devices, and launch a kernel on each device.

    Exits with 1 where something is wrong.
    """
    if as_json:
        findings = list(look(every_device))
        print_json([attrs.asdict(finding) for finding in findings])
    else:
        findings = []
        with console().status("looking") as status:
            for finding in look(every_device):
                findings.append(finding)
                status.update(f"looking at {finding.what}")
        rows = [
            (f"[{_COLORS[f.state]}]{f.state}[/]", f.what, f.fact + (f"\n→ {f.remedy}" if f.remedy else ""))
            for f in findings
        ]
        console().print(table("", ("", "what", "found"), rows))
    if any(finding.state == WRONG for finding in findings):
        raise SystemExit(1)
