"""The command line: ``legato VERB``. One file a verb; each is a shell around the function of its name.

Everything raised on purpose is a :class:`legato.Error` and ends here as an ``error:`` line, a ``hint:``
line and status 2. Ctrl-C ends in status 130 and leaves finished results readable.
"""

from __future__ import annotations

import functools
import importlib
import itertools
import re
import sys
import traceback
from typing import Annotated, Any

import typer

from legato.cli import terminal
from legato.errors import Error
from legato.plan import specs

app = typer.Typer(
    name="legato",
    help="Rate control for real-time video: simulate calls over real traces with real clips, compare, report.",
    epilog="Start with: legato demo. One verb in detail: legato compare --help.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)


class OncePerOption(typer.core.TyperCommand):
    """A verb that refuses an option that is given twice and takes one value: the first would be lost unnoticed."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Look at the arguments before the options are read."""
        _, _, given = self.make_parser(ctx).parse_args(list(args))
        for option in dict.fromkeys(given):
            single = not (getattr(option, "multiple", True) or getattr(option, "is_flag", True))
            if single and given.count(option) > 1:
                raise Error(f"{option.opts[0]}: is given twice, and takes one value")
        return super().parse_args(ctx, args)


_VERBS = (
    "demo", "run", "compare", "call", "link", "conformance", "gap", "report", "replay", "rtp-log", "train", "profile",
)  # fmt: skip
_GROUPS = ("traces", "controllers", "policy")
_OF_STUDIES = ("leaderboard", "reproduce")
"""Verbs of the package ``legato-studies``."""


def _add(verb: str, module: Any) -> None:
    """A verb is the function of its name in its module, explained by the module's ``HELP``."""
    app.command(verb, help=module.HELP, cls=OncePerOption)(getattr(module, verb.replace("-", "_")))


def _add_missing(verb: str, package: str) -> None:
    """In place of a verb whose package is not installed: whatever is typed after it, the answer is what to install."""
    anything = {"allow_extra_args": True, "ignore_unknown_options": True}

    @app.command(verb, help=f"Needs {package}: `pip install {package}`.", context_settings=anything)
    def refuse() -> None:
        raise Error(f"{verb} needs the package {package}, which is not installed", f"pip install {package}")


for _verb in _VERBS:
    _add(_verb, importlib.import_module(f"legato.cli.{_verb.replace('-', '_')}"))
for _group in _GROUPS:
    app.add_typer(importlib.import_module(f"legato.cli.{_group}").app, name=_group)


@functools.cache
def _add_further() -> None:
    """Verbs of other packages. Not where one of our own was typed: to ask what is installed takes a while."""
    from importlib import metadata

    installed = {point.name: point for point in metadata.entry_points(group="legato.verbs")}
    for verb in sorted({*installed, *_OF_STUDIES} - {*_VERBS, *_GROUPS}):
        if verb in installed:
            _add(verb, installed[verb].load())
        else:
            _add_missing(verb, "legato-studies")


def _print_version(wanted: bool) -> None:
    if wanted:
        import legato

        print(f"legato {legato.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and leave."),
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show where in the code an error came from.")] = False,
) -> None:
    terminal.debug = debug


def main(arguments: list[str] | None = None) -> None:
    """Entry point: run a command line and leave with its status."""
    sys.exit(status_of(sys.argv[1:] if arguments is None else arguments))


def status_of(arguments: list[str]) -> int:
    """Run a command line; its exit status. 0 done, 1 it says no, 2 something to put right, 130 stopped."""
    terminal.debug = "--debug" in arguments
    terminal.show_anything()
    try:
        for argument in arguments:
            if not specs.is_text(argument):
                raise Error(specs.not_text(argument), "rename it: run folders and pages record names as text")
        if not {*_VERBS, *_GROUPS}.intersection(arguments[:1]):
            _add_further()
        result: Any = app(arguments, prog_name="legato", standalone_mode=False)
    except (KeyboardInterrupt, typer.Abort):  # terminal.watch has said what there is
        return 130
    except Error as error:
        if terminal.debug:
            traceback.print_exc()
        terminal.say_error(str(error), error.hint)
        return 2
    except typer.TyperException as error:
        if not error.format_message():  # a verb alone: its help was printed
            return 0
        terminal.say_error(_plain(error.format_message(), arguments), _usage_hint(error.format_message()))
        return 2
    except BrokenPipeError:
        return 0
    except OSError as error:
        if terminal.debug:
            traceback.print_exc()
        terminal.say_error(f"{error.filename}: {error.strerror}" if error.filename else str(error), None)
        return 2
    return result if isinstance(result, int) else 0


def _plain(message: str, arguments: list[str]) -> str:
    """A message about a parameter with the value it was given, without the words of the parser."""
    wrong = re.fullmatch(r"Invalid value for '(.+?)': (?:Value error, )?(.*)", message, re.DOTALL)
    if wrong is None:
        return message.removeprefix("Invalid value: ")
    name, why = wrong[1], wrong[2].partition(", unable to parse")[0].replace("Input should be", "has to be")
    words = [*arguments, ""]
    given = [after for word, after in itertools.pairwise(words) if word == name]
    given += [word.partition("=")[2] for word in words if word.startswith(f"{name}=")]
    return f"{name} = {', '.join(given)}: {why}" if given else f"{name}: {why}"


def _usage_hint(message: str) -> str:
    if "unexpected extra argument" in message:
        return "patterns go in quotes, so that the shell leaves them alone: --traces 'data/traces/**/*.txt'"
    return "legato --help lists the verbs, legato VERB --help their options"
