"""`rocmkern info`: which devices there are."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Final

import attrs
import click

from rocmkern import __version__, drivers
from rocmkern.cli.output import console, json_option, print_json, size, table
from rocmkern.drivers import hip
from rocmkern.errors import RocmkernError

_LIBRARIES: Final = ("hip-python", "llvmlite", "numpy", "ml_dtypes")


def _hip_state() -> str:
    """What HIP answers, in words."""
    try:
        return f"{hip.check('hipGetDeviceCount')} devices"
    except RocmkernError as error:
        return str(error)


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return "not installed"


@click.command()
@json_option
def info(as_json: bool) -> None:
    """List the devices that can be opened here, and which one is the default."""
    found, default, state = drivers.present(), drivers.default_name(), _hip_state()
    libraries = {library: _version(library) for library in _LIBRARIES}
    if as_json:
        about = {"version": __version__, "default": default, "hip": state, "libraries": libraries}
        print_json({**about, "devices": [attrs.asdict(device) for device in found]})
        return
    out = console()
    rows = [
        (d.name, d.marketing, d.arch, d.wave_size, d.compute_units, size(d.lds_bytes), size(d.total_memory))
        for d in found
    ]
    out.print(table("", ("device", "is", "arch", "wave", "CUs", "LDS", "memory"), rows))
    out.print(f"\ndefault  {default}  (set {drivers.VARIABLE} to change it)", highlight=False)
    out.print(f"HIP      {state}", highlight=False)
    out.print("with     " + ", ".join(f"{name} {number}" for name, number in libraries.items()), highlight=False)
