"""What commands run for users: a Python program, or one kernel of a file, on an emulated device."""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from rocmkern import drivers
from rocmkern.cli.kernel_arguments import given
from rocmkern.cli.run import show_error
from rocmkern.errors import ConfigError

DIMS = "X[,Y[,Z]]"


def dims(context: click.Context, parameter: click.Parameter, text: str) -> tuple[int, ...]:
    """Up to three numbers, as an option has them."""
    try:
        found = tuple(int(part) for part in text.split(","))
    except ValueError:
        found = ()
    if not 1 <= len(found) <= 3:
        raise click.BadParameter(f"{text!r} is not {DIMS}")
    return found


def launch(
    device: str,
    path: Path,
    name: str,
    grid: tuple[int, ...],
    block: tuple[int, ...],
    shared: int,
    values: tuple[str, ...],
) -> None:
    """Launch a kernel of a file, and wait for it."""
    from rocmkern.runtime import Device, Module

    on = Device(device)
    function = Module.load(path, on).get_function(name)
    wanted = len(function.kernel.logical_arguments)
    if len(values) != wanted:
        raise ConfigError(f"launch: {name} takes {wanted} arguments, {len(values)} are given; say each with --arg")
    function(*(given(on, value) for value in values), grid=grid, block=block, shared_bytes=shared)
    on.synchronize()


def run(device: str, path: Path, arguments: tuple[str, ...], with_hip: bool) -> bool:
    """Run a program; whether it failed, which is shown."""
    if with_hip:
        from rocmkern import hip_on_cpu

        hip_on_cpu.activate(device.split(":")[1])
    os.environ[drivers.VARIABLE] = device
    with _program(path, arguments):
        try:
            runpy.run_path(str(path), run_name="__main__")
        except SystemExit as end:
            return end.code not in (None, 0)
        except Exception as error:
            show_error(error, str(path))
            return True
    return False


@contextmanager
def _program(path: Path, arguments: tuple[str, ...]) -> Iterator[None]:
    """The interpreter as a program finds it."""
    before = sys.argv, sys.path[:]
    sys.argv = [str(path), *arguments]
    sys.path.insert(0, str(path.resolve().parent))
    try:
        yield
    finally:
        sys.argv, sys.path[:] = before
