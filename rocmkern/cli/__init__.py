"""The `rocmkern` command: one module per subcommand, imported when it is called."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

import click

from rocmkern.errors import RocmkernError
from rocmkern.near import near

INTERRUPTED: Final = 130  # as a shell has it: 128 and the number of the signal

# Each is a function of that name in the module named.
_COMMANDS: Final = {
    "bench": "bench", "bench-model": "language", "build": "build", "cache": "cache", "chat": "language",
    "check": "check", "compile": "compile", "demo": "demo", "doctor": "doctor", "embed": "embed", "extract": "extract",
    "generate": "language", "hipcc": "hipcc", "hipify": "hipify", "info": "info", "inspect": "inspect",
    "gen-kernels": "gen_kernels", "kernels": "kernels", "lint-code": "lint_code", "lint-waves": "lint_waves",
    "new": "new", "package": "package", "perplexity": "language", "profile": "profile", "replay": "replay",
    "run": "run", "run-hip": "run_hip", "search": "embed", "serve": "serve", "tune": "tune", "verify": "verify",
}  # fmt: skip


class _Commands(click.Group):
    """Finds subcommands by name, and turns the user's mistakes into messages: the only place that does."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            ctx.fail(f"no command {cmd_name!r}; there is {near(cmd_name, _COMMANDS)}")
        command: click.Command = getattr(
            import_module(f"rocmkern.cli.{_COMMANDS[cmd_name]}"), cmd_name.replace("-", "_")
        )
        return command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # click ends quietly where nobody reads on
            raise
        except (RocmkernError, OSError) as error:
            raise click.ClickException(str(error)) from None
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            raise click.exceptions.Exit(INTERRUPTED) from None


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="rocmkern")
def main() -> None:
    """Tensor kernels for AMD GPUs: look at devices and kernels, build code objects, run the demo."""
