"""From requests to files: `<folder>/<target>/<exported_name>.hsaco` and its sidecar."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rocmkern import codeobject, disk_cache
from rocmkern.build.toolchain import Toolchain
from rocmkern.errors import BuildError, CodeObjectError, ConfigError
from rocmkern.kernels import files, sidecar, sources
from rocmkern.kernels.sidecar import Sidecar, TensorRow
from rocmkern.specialize import operations
from rocmkern.specialize.config import Request
from rocmkern.specialize.descriptor import TensorDescriptor
from rocmkern.targets import file_name, strip_features

Report = Callable[[Request, str, Exception | None], None]  # request, "generated" "kept" or "failed", why


def output_path(folder: Path, request: Request) -> Path:
    return folder / strip_features(request.target) / file_name(request.exported_name, request.target)


def source_text(request: Request) -> str:
    """The source that is compiled: an instance of a template, or the user's file as it is."""
    if request.source.parent == operations.templates():
        return operations.instance(request)
    return request.source.read_text()


def source_hash(request: Request) -> str:
    """Of the source and all that it includes, and of the names and tensors that it is compiled for."""
    tensors = " ".join(map(str, (*request.inputs, request.output)))
    digest = hashlib.sha256(f"{source_text(request)}\0{request.kernel_name}\0{tensors}".encode())
    for path in sources.with_includes(request.source):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def generate(
    requests: Sequence[Request], folder: Path, toolchain: Toolchain, *, jobs: int = 1, report: Report
) -> list[Request]:
    """Makes every kernel that is missing or out of date; the requests that failed. A failure stops no other."""
    failed = []

    def one(request: Request) -> None:
        try:
            report(request, "kept" if _is_current(request, folder) else _make(request, folder, toolchain), None)
        except (BuildError, CodeObjectError, ConfigError, OSError) as error:
            failed.append(request)
            report(request, "failed", error)

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(one, requests))
    return failed


def _is_current(request: Request, folder: Path) -> bool:
    try:
        row, _ = sidecar.read_both(output_path(folder, request))
    except ConfigError:
        return False
    return row.source_hash == source_hash(request)


def _make(request: Request, folder: Path, toolchain: Toolchain) -> str:
    path = output_path(folder, request)
    own = request.source.parent != operations.templates()
    with tempfile.TemporaryDirectory() as scratch:
        if not own:
            Path(scratch, "kernel.hip").write_text(source_text(request))
        root, name = (request.source.parent.resolve(), request.source.name) if own else (Path(scratch), "kernel.hip")
        built = Path(scratch, "kernel.out")
        toolchain.compile(root, name, request.target, built, (f"-I{files.sources()}",))
        symbol = request.kernel_name if own else request.exported_name
        held = codeobject.read(built.read_bytes()).kernels
        if symbol not in held:
            raise BuildError(
                f"{request.source.name}: it has no kernel {symbol!r} but {', '.join(held)}; fix kernel_name"
            )
        code = built.read_bytes()
        disk_cache.write(path, code)
    _sidecar(request, symbol, code).write(path, code)
    return "generated"


def _sidecar(request: Request, symbol: str, code: bytes) -> Sidecar:
    def row(tensor: TensorDescriptor) -> TensorRow:
        return TensorRow(tensor.dtype.short, tensor.shape, tensor.strides)

    grid, block = operations.geometry(request)
    return Sidecar(
        op=request.kernel_name,
        symbol=symbol,
        target=strip_features(request.target),
        inputs=tuple(map(row, request.inputs)),
        output=row(request.output),
        grid=grid,
        block=block,
        source_hash=source_hash(request),
        sha256=hashlib.sha256(code).hexdigest(),
    )
