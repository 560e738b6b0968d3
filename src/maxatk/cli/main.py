"""The entry point: it runs a command and returns its exit code; every error is printed as one line.

Click does the parsing, the help and the completion: unlike others, it has no dependencies.
"""

import os
import sys
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any

import click
from click.shell_completion import shell_complete

from maxatk.base.errors import MaxAtKError
from maxatk.cli.streams import complain, write_plainly

# Commands in the order of the help, each in a module of its name, with the first sentence of its own help.
COMMANDS = {
    "solve": "Plan for the best of K tries, to a certified interval.",
    "compare": "Compare classes of policies.",
    "attempts": "What a log of attempts says, and what to try next.",
    "run": "Run a saved plan or a learned policy, and check its certificate.",
    "learn": "Learn a policy from samples, with a guarantee.",
    "paper": "Recompute the claims of the paper, one by one.",
    "instances": "List the named problems and their arguments, for --set.",
    "doctor": "Show versions, extras, the cache, cores and GPU, for bug reports.",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0, 1 if output fails, 2 for bad input, 130 after Ctrl-C."""
    if instruction := os.environ.get("_MAXATK_COMPLETE"):
        return shell_complete(commands, {}, "maxatk", "_MAXATK_COMPLETE", instruction)
    if getattr(sys, "stdout", None) is None:
        return complain("cannot write: standard output is closed", 1)
    for stream in (sys.stdout, sys.stderr):
        write_plainly(stream)
    try:
        given = sys.argv[1:] if arguments is None else list(arguments)
        with commands.make_context("maxatk", given) as context:
            code = commands.invoke(context)
        sys.stdout.flush()
    except click.exceptions.Exit as end:  # after --help or --version
        raise SystemExit(end.exit_code) from None
    except click.MissingParameter as error:
        return complain(f"{error.format_message()} {_example(error.ctx)}", 2)
    except click.ClickException as error:
        return complain(error.format_message(), 2)
    except MaxAtKError as error:
        return complain(str(error), 2)
    except KeyboardInterrupt:
        return complain("interrupted", 130)
    except SystemError as error:  # compiled code wraps the exception that interrupts it
        inner: BaseException | None = error
        while inner is not None and not isinstance(inner, KeyboardInterrupt):
            inner = inner.__cause__ or inner.__context__
        if inner is None:
            raise
        return complain("interrupted", 130)
    except BrokenPipeError:  # the reader has closed the pipe; keep Python from complaining at exit
        _drop_output()
        return 0
    except OSError as error:
        _drop_output()
        return complain(f"cannot write: {error.strerror}", 1)
    return code or 0


def _example(ctx: click.Context | None) -> str:
    """The first example in the help of a command."""
    lines = (ctx.command.epilog or "").splitlines() if ctx else []
    return f"For example: {lines[2].strip()}" if len(lines) > 2 else ""


def _drop_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _Help(click.HelpFormatter):
    """Help with headings and names of options in colour, on a terminal that has colours."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        super().write_usage(_coloured(prog, bold=True), args, _coloured("Usage: ", fg="yellow"))

    def write_heading(self, heading: str) -> None:
        super().write_heading(_coloured(heading, fg="yellow"))

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        super().write_dl([(_coloured(name, fg="cyan"), told) for name, told in rows], col_max, col_spacing)


def _coloured(text: str, **style: Any) -> str:
    """Text with codes for colours, which Click leaves out where standard output is not a terminal."""
    return text if "NO_COLOR" in os.environ else click.style(text, **style)


click.Context.formatter_class = _Help


class _Commands(click.Group):
    """Commands that are loaded when they run; an unknown name is answered with a similar one."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return getattr(import_module(f"maxatk.cli.{cmd_name}"), cmd_name) if cmd_name in COMMANDS else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        name = args[0]
        if not name.startswith("-") and name not in COMMANDS:
            from maxatk.base import checks  # loads NumPy, which the help does not need

            close = checks.nearest(name, COMMANDS)
            known = f"did you mean {close}?" if close else f"the commands are {', '.join(COMMANDS)}"
            raise click.UsageError(f"there is no command {checks.shown(name)}: {known}")
        return super().resolve_command(ctx, args)


def _versions(ctx: click.Context, param: click.Parameter, asked: bool) -> None:
    """Print the installed versions and exit."""
    if asked and not ctx.resilient_parsing:
        from maxatk.report.versions import installed  # nothing else needs it

        click.echo(installed())
        ctx.exit()


@click.group(
    cls=_Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog='\b\nTab completion: eval "$(_MAXATK_COMPLETE=bash_source maxatk)" in ~/.bashrc; '
    "zsh_source and fish_source\nfor other shells.",
)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_versions,
    help="Show versions: of maxatk and what it needs, extras, compiled loops.",
)  # fmt: skip
@click.pass_context
def commands(ctx: click.Context) -> None:
    """Best-of-K (max@k) decision making: plan and act when only the best of K tries counts."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
