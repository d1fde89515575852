"""The command line: ``legato VERB``. One file a verb; each is a shell around the function of its name.

Everything raised on purpose is a :class:`legato.Error` and ends here as an ``error:`` line, a ``hint:``
line and status 2. Ctrl-C ends in status 130 with what was finished left readable.
"""

from __future__ import annotations

import sys
import traceback
from typing import Annotated, Any

import typer

from legato.cli import (
    call,
    compare,
    conformance,
    controllers,
    demo,
    gap,
    link,
    policy,
    profile,
    replay,
    report,
    reproduce,
    rtp_log,
    run,
    terminal,
    traces,
    train,
)
from legato.errors import Error

_EPILOG = "Start with: legato demo. One verb in detail: legato compare --help."

app = typer.Typer(
    name="legato",
    help="Rate control for real-time video: simulate calls over real traces with real clips, compare, report.",
    epilog=_EPILOG,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
app.command("demo", help=demo.HELP)(demo.demo)
app.command("run", help=run.HELP)(run.run)
app.command("compare", help=compare.HELP)(compare.compare)
app.command("call", help=call.HELP)(call.call)
app.command("link", help=link.HELP)(link.link)
app.command("conformance", help=conformance.HELP)(conformance.conformance)
app.command("gap", help=gap.HELP)(gap.gap)
app.command("report", help=report.HELP)(report.report)
app.command("replay", help=replay.HELP)(replay.replay)
app.command("rtp-log", help=rtp_log.HELP)(rtp_log.rtp_log)
app.command("reproduce", help=reproduce.HELP)(reproduce.reproduce)
app.command("train", help=train.HELP)(train.train)
app.command("profile", help=profile.HELP)(profile.profile)
app.add_typer(traces.app, name="traces")
app.add_typer(controllers.app, name="controllers")
app.add_typer(policy.app, name="policy")


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
    try:
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
        terminal.say_error(error.format_message(), _usage_hint(error.format_message()))
        return 2
    except BrokenPipeError:
        return 0
    except OSError as error:
        if terminal.debug:
            traceback.print_exc()
        terminal.say_error(f"{error.filename}: {error.strerror}" if error.filename else str(error), None)
        return 2
    return result if isinstance(result, int) else 0


def _usage_hint(message: str) -> str:
    if "unexpected extra argument" in message:
        return "patterns go in quotes, so that the shell leaves them alone: --traces 'data/traces/**/*.txt'"
    return "legato --help lists the verbs, legato VERB --help their options"
