"""From families and targets to hsaco/: what has to be compiled, compiling it, and checking what came out."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from attrs import frozen

from rocmkern.build import compiled, manifest
from rocmkern.build.manifest import Entry
from rocmkern.build.toolchain import Toolchain
from rocmkern.errors import BuildError
from rocmkern.kernels import files, sources
from rocmkern.kernels.catalogue import Family
from rocmkern.targets import file_name, is_ptx


@frozen
class Job:
    """One file to build."""

    family: Family
    target: str

    @property
    def name(self) -> str:
        return f"{self.target}/{file_name(self.family.name, self.target)}"

    @property
    def output(self) -> Path:
        return files.code_objects() / self.name


def is_current(job: Job, entry: Entry | None) -> bool:
    """True when the file is the one that the manifest describes and its sources are unchanged."""
    return (
        entry is not None
        and job.output.exists()
        and entry.source_hash == sources.source_hash(job.family.name)
        and entry.sha256 == manifest.digest(job.output)
    )


def plan(families: Iterable[Family], targets: Iterable[str], *, force: bool = False) -> tuple[Job, ...]:
    """The files that are missing or out of date, or all of them with `force`."""
    entries = manifest.load()
    jobs = [Job(family, target) for target in targets for family in families]
    return tuple(job for job in jobs if force or not is_current(job, entries.get(job.name)))


def _ptx_rows(text: str) -> dict[str, tuple[int, ...]]:
    return dict.fromkeys(re.findall(r"\.visible \.entry (\w+)\(", text), ())


def _check(job: Job, rows: dict[str, tuple[int, ...]]) -> None:
    wanted, there = set(job.family.by_symbol), set(rows)
    if wanted != there:
        missing, extra = sorted(wanted - there)[:4], sorted(there - wanted)[:4]
        raise BuildError(f"build {job.name}: symbols differ from the catalogue; missing {missing}, not in it {extra}")
    column = manifest.KERNEL_FIELDS.index("spills")
    spilling = sorted(name for name, row in rows.items() if row and row[column])
    if spilling:
        raise BuildError(f"build {job.name}: registers spill in {', '.join(spilling[:4])}; make the kernel smaller")


def build(job: Job, toolchain: Toolchain, *, force: bool = False) -> Entry:
    """Compiles one file, unless these very sources were compiled by these tools before, and describes it.

    Raises BuildError if the file does not hold what the catalogue says.
    """
    sources.require_rendered(job.family)
    source_hash = sources.source_hash(job.family.name)
    job.output.parent.mkdir(parents=True, exist_ok=True)
    fresh = job.output.with_name(f".{job.output.name}.{os.getpid()}")
    root = files.sources()
    name = compiled.key(job.family.name, job.target, source_hash, toolchain)
    try:
        if force or not compiled.fetch(name, fresh):
            toolchain.compile(root.parent, f"{root.name}/{job.family.name}.hip", job.target, fresh)
            if sources.source_hash(job.family.name) != source_hash:
                raise BuildError(f"build {job.name}: its sources changed while it was compiled; build again")
            compiled.keep(name, fresh)
        rows = _ptx_rows(fresh.read_text()) if is_ptx(job.target) else manifest.kernel_rows(fresh.read_bytes())
        _check(job, rows)
        fresh.chmod(0o644)  # lld marks it executable, the cache of compiled files does not
        sha256 = manifest.digest(fresh)
        fresh.replace(job.output)
    finally:
        fresh.unlink(missing_ok=True)
    return Entry(
        target=job.target,
        family=job.family.name,
        sha256=sha256,
        source_hash=source_hash,
        compiler=toolchain.compiler,
        library=toolchain.library(job.target),
        flags=toolchain.flags(job.target),
        kernels=dict(sorted(rows.items())),
    )


def build_all(
    jobs: Iterable[Job], toolchain: Toolchain, *, workers: int, done: Callable[[Job], None], force: bool = False
) -> None:
    """Builds the jobs side by side and notes in the manifest what succeeded.

    A file that fails does not stop the others; BuildError names all that failed.
    """
    entries, failed = dict[str, Entry](), []
    with ThreadPoolExecutor(workers) as pool:
        running = {pool.submit(build, job, toolchain, force=force): job for job in jobs}
        try:
            for future in as_completed(running):
                job = running[future]
                try:
                    entry = future.result()
                except BuildError as error:
                    failed.append(str(error))
                    continue
                if not is_ptx(job.target):
                    entries[job.name] = entry
                done(job)
        finally:
            for future in running:
                future.cancel()
            manifest.add(entries)
    if failed:
        raise BuildError("\n".join(failed))


def build_file(source: Path, target: str, output: Path, toolchain: Toolchain) -> None:
    """Compiles a HIP source outside of the package, with the package's headers on its include path.

    Raises BuildError with the compiler's messages.
    """
    output.parent.mkdir(parents=True, exist_ok=True)
    toolchain.compile(source.parent.resolve(), source.name, target, output.resolve(), (f"-I{files.sources()}",))
