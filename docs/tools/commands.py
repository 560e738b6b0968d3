"""The reference of the command line, from the commands themselves."""

import inspect
import re

import click

from maxatk.cli import commands


def markdown() -> str:
    """All commands, in the order in which they are met."""
    with commands.make_context("maxatk", [], resilient_parsing=True) as top:
        parts = [_section(commands, top)]
        for name in commands.list_commands(top):
            command = commands.get_command(top, name)
            assert command is not None
            with command.make_context(name, [], parent=top, resilient_parsing=True) as ctx:
                parts.append(_section(command, ctx))
    return "\n\n".join(parts)


def _section(command: click.Command, ctx: click.Context) -> str:
    usage = " ".join(command.collect_usage_pieces(ctx))
    parts = [
        f"## {ctx.command_path}",
        f"```text\n{ctx.command_path} {usage}\n```",
        _prose(inspect.cleandoc(command.help or "")),
    ]
    options = [
        record
        for option in command.get_params(ctx)
        if isinstance(option, click.Option) and (record := option.get_help_record(ctx))
    ]
    rows = [f"| `{_cell(names)}` | {_prose(_cell(words))} |" for names, words in options]
    parts.append("\n".join(["| option | what it does |", "| --- | --- |", *rows]))
    if isinstance(command, click.Group):
        summaries = [
            f"| [`{name}`](#maxatk-{name}) | {_prose(inner.get_short_help_str(200))} |"
            for name in command.list_commands(ctx)
            if (inner := command.get_command(ctx, name))
        ]
        parts.append("\n".join(["| command | what it does |", "| --- | --- |", *summaries]))
    examples = re.findall(r"^  (maxatk .*)$", command.epilog or "", re.MULTILINE)
    if examples:
        parts.append("```sh\n" + "\n".join(examples) + "\n```")
    return "\n\n".join(parts)


def _prose(text: str) -> str:
    """Help as Markdown: options as code, as commands are already."""
    return re.sub(r"(?<![`\w-])(--[\w-]+)", r"`\1`", text)


def _cell(text: str) -> str:
    """Text for a cell of a table."""
    return text.replace("|", r"\|").replace("\n", " ")
