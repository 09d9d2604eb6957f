"""From families and targets to hsaco/: what has to be compiled, compiling it, and checking what came out."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from attrs import frozen

from rocmkern import codeobject
from rocmkern.build import compiled, hip_source
from rocmkern.build.toolchain import Toolchain
from rocmkern.codeobject import Kernel
from rocmkern.errors import BuildError, CodeObjectError, StaleCodeObject
from rocmkern.kernels import files, shipped, sources
from rocmkern.kernels.catalogue import Family
from rocmkern.kernels.shipped import Origin
from rocmkern.targets import file_name, is_ptx


@frozen
class Job:
    """One code object to build."""

    family: Family
    target: str

    @property
    def name(self) -> str:
        return f"{self.target}/{file_name(self.family.name, self.target)}"


def is_current(job: Job) -> bool:
    """Whether the code object is there, whole, and of today's sources, flags and declarations."""
    name = job.family.name
    try:
        origin = _held(job)
        shipped.require_current(name, job.target, origin)
    except (FileNotFoundError, CodeObjectError, StaleCodeObject):
        return False
    return origin is not None and origin.sources == sources.source_hash(name)


def _held(job: Job) -> Origin | None:
    """What a code object that can be read whole was made of."""
    if is_ptx(job.target):
        return shipped.ptx_origin(shipped.ptx_path(job.family.name, job.target).read_bytes())
    piece = shipped.pieces(job.family.name).get(job.target)
    return piece.origin if piece is not None and piece.entry.data else None


def plan(families: Iterable[Family], targets: Iterable[str], *, force: bool = False) -> tuple[Job, ...]:
    """What is missing or out of date, or all of it with `force`."""
    jobs = (Job(family, target) for target in targets for family in families)
    return tuple(job for job in jobs if force or not is_current(job))


def spills(kernel: Kernel) -> bool:
    """Whether registers spill to memory: a scalar register parked in a lane of a vector register costs no access."""
    return bool(kernel.vgpr_spills or (kernel.sgpr_spills and kernel.private_size))


def _check(job: Job, built: bytes) -> None:
    if is_ptx(job.target):
        there, spilling = set(re.findall(r"\.visible \.entry (\w+)\(", built.decode())), list[str]()
    else:
        kernels = codeobject.read(built).kernels
        there, spilling = set(kernels), sorted(name for name, kernel in kernels.items() if spills(kernel))
    wanted = set(job.family.by_symbol)
    if wanted != there:
        missing, extra = sorted(wanted - there)[:4], sorted(there - wanted)[:4]
        raise BuildError(f"build {job.name}: symbols differ from the catalogue; missing {missing}, not in it {extra}")
    if spilling:
        raise BuildError(f"build {job.name}: registers spill in {', '.join(spilling[:4])}; make the kernel smaller")


def build(job: Job, toolchain: Toolchain, *, force: bool = False) -> int:
    """Compiles one code object, unless these very sources were compiled by these tools before; its size in bytes.

    Raises BuildError if it does not hold what the catalogue says.
    """
    sources.require_rendered(job.family)
    family, root = job.family.name, files.sources()
    source_hash = sources.source_hash(family)
    key = compiled.key(family, job.target, source_hash, toolchain)
    with tempfile.TemporaryDirectory() as scratch:
        fresh = Path(scratch, file_name(family, job.target))
        if force or not compiled.fetch(key, fresh):
            toolchain.compile(root.parent, f"{root.name}/{family}.hip", job.target, fresh)
            if sources.source_hash(family) != source_hash:
                raise BuildError(f"build {job.name}: its sources changed while it was compiled; build again")
            compiled.keep(key, fresh)
        built = fresh.read_bytes()
    _check(job, built)
    origin = Origin(
        sources=source_hash,
        catalogue=shipped.catalogue_hash(family),
        flags=toolchain.flags(job.target),
        compiler=toolchain.compiler,
        library=toolchain.library(job.target),
    )
    shipped.add(family, job.target, built, origin)
    return len(built)


def build_all(
    jobs: Iterable[Job], toolchain: Toolchain, *, workers: int, done: Callable[[Job, int], None], force: bool = False
) -> None:
    """Builds the jobs side by side; `done` hears of each that succeeds, with its size in bytes.

    One that fails does not stop the others; BuildError names all that failed.
    """
    failed = []
    with ThreadPoolExecutor(workers) as pool:
        running = {pool.submit(build, job, toolchain, force=force): job for job in jobs}
        try:
            for future in as_completed(running):
                job = running[future]
                try:
                    nbytes = future.result()
                except BuildError as error:
                    failed.append(str(error))
                    continue
                done(job, nbytes)
        finally:
            for future in running:
                future.cancel()
    if failed:
        raise BuildError("\n".join(failed))


def build_file(source: Path, target: str, output: Path, toolchain: Toolchain, options: tuple[str, ...] = ()) -> str:
    """Compiles a HIP or CUDA source outside of the package, with the package's headers on its include path; the
    compiler's warnings.

    Raises BuildError with the compiler's messages.
    """
    output.parent.mkdir(parents=True, exist_ok=True)
    extra = (f"-I{files.sources()}", *hip_source.flags_for(source), *options)
    return toolchain.compile(source.parent.resolve(), source.name, target, output.resolve(), extra)
