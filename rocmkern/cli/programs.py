"""What commands run for users: a Python program, or one kernel of a file, on an emulated device."""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from rocmkern import drivers
from rocmkern.cli.kernel_arguments import ARGUMENT, given
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


def program_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What says which program or kernel a command is to `start`."""
    for option in (
        click.argument("arguments", nargs=-1, type=click.UNPROCESSED),
        click.argument("path", metavar="PROGRAM|FILE", type=click.Path(exists=True, dir_okay=False, path_type=Path)),
        click.option(
            "--arg", "values", multiple=True, metavar=ARGUMENT, help="An argument of the kernel, in their order."
        ),
        click.option("--shared", default=0, type=click.IntRange(0), help="Bytes of LDS beside those of the kernel."),
        click.option("--block", default="64", callback=dims, metavar=DIMS, help="Threads of a workgroup."),
        click.option("--grid", default="1", callback=dims, metavar=DIMS, help="Workgroups."),
        click.option("--kernel", "name", help="Of a file of kernels, the one to launch."),
        click.option("--hip", "with_hip", is_flag=True, help="The program uses hip-python."),
    ):
        command = option(command)
    return command


def start(
    device: str,
    *,
    path: Path,
    arguments: tuple[str, ...],
    with_hip: bool,
    name: str | None,
    grid: tuple[int, ...],
    block: tuple[int, ...],
    shared: int,
    values: tuple[str, ...],
) -> bool:
    """Run what was asked for; whether a program failed, which is shown."""
    if name is None:
        return run(device, path, arguments, with_hip)
    launch(device, path, name, grid, block, shared, values)
    return False


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
