"""The `rocmkern` command."""

from __future__ import annotations

import click

from rocmkern.cli.build import build


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="rocmkern")
def main() -> None:
    """Tensor kernels for AMD GPUs: look at devices and kernels, build code objects, run the demo."""


main.add_command(build)
