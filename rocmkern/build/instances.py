"""Building instances that do not ship, one file a kernel."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from attrs import frozen

from rocmkern import codeobject, disk_cache
from rocmkern.build import compiled
from rocmkern.build.toolchain import Toolchain
from rocmkern.disk_cache import DiskCache
from rocmkern.errors import BuildError, CodeObjectError
from rocmkern.kernels import files, instance_files
from rocmkern.kernels.catalogue import KernelSpec


@frozen
class InstanceJob:
    """One kernel to build for one target."""

    kernel: KernelSpec
    target: str
    output: Path

    @property
    def name(self) -> str:
        return f"{self.target}/{self.output.name}"


def plan(
    kernels: Iterable[KernelSpec], target: str, folder: Path | None = None, *, force: bool = False
) -> list[InstanceJob]:
    """What is missing or out of date of `kernels` for a target, in `folder` or the user's cache."""
    where = instance_files.default_folder() if folder is None else folder
    wanted = {kernel.symbol: kernel for kernel in kernels}
    jobs = [InstanceJob(k, target, instance_files.path(k, target, where)) for k in wanted.values()]
    return [job for job in jobs if force or instance_files.current(job.output, job.kernel) is None]


def build(job: InstanceJob, toolchain: Toolchain) -> None:
    """Compiles one kernel, unless these sources were compiled before. Raises BuildError."""
    key = compiled.key(job.kernel.symbol, job.target, instance_files.source_hash(job.kernel), toolchain)
    with tempfile.TemporaryDirectory() as scratch:
        built = Path(scratch, job.output.name)
        if not compiled.fetch(key, built):
            Path(scratch, "instance.hip").write_text(instance_files.source_text(job.kernel))
            toolchain.compile(Path(scratch), "instance.hip", job.target, built, (f"-I{files.sources()}",))
            compiled.keep(key, built)
        content = built.read_bytes()
    held = codeobject.read(content).kernels
    if list(held) != [job.kernel.symbol]:
        raise BuildError(f"build {job.name}: it holds {', '.join(held)}, not {job.kernel.symbol}; fix the family")
    disk_cache.write(job.output, content)
    instance_files.mark(job.output, job.kernel, content)
    if job.output.is_relative_to(instance_files.default_folder()):
        DiskCache(instance_files.default_folder()).bound(len(content))


def build_all(
    jobs: Iterable[InstanceJob],
    toolchain: Toolchain,
    *,
    workers: int,
    done: Callable[[InstanceJob, Exception | None], None],
) -> None:
    """Builds the jobs side by side; `done` hears of each, with what went wrong. A failure stops no other."""
    with ThreadPoolExecutor(workers) as pool:
        running = {pool.submit(build, job, toolchain): job for job in jobs}
        try:
            for future in as_completed(running):
                error = future.exception()
                if error is not None and not isinstance(error, (BuildError, CodeObjectError, OSError)):
                    raise error
                done(running[future], error)
        finally:
            for future in running:
                future.cancel()
