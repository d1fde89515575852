"""``legato controllers``: what there is, its parameters, its sources."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any

import typer

import legato
from legato.cli import options, terminal
from legato.plan import controllers, parameters

app = typer.Typer(help="The rate controllers: list them, show one.", no_args_is_help=True, rich_markup_mode="markdown")


@app.command("list")
def list_controllers(
    as_json: options.Json = False,
) -> None:
    """List every controller.

    Example:

    ```sh
    legato controllers list --json
    ```
    """
    entries = legato.controllers()
    if as_json:
        print(json.dumps(entries, indent=2))
        return
    terminal.table(
        ["name", "side", "what it is"],
        [[entry["name"], entry["side"], _summary(entry)] for entry in entries],
    )


@app.command("show")
def show(
    name: Annotated[str, typer.Argument(help="A name from the list, with parameters if wanted.", show_default=False)],
) -> None:
    """Show one controller: what each parameter means, its unit and value, as TOML, and the papers it follows.

    Examples:

    ```sh
    legato controllers show gcc
    legato controllers show gcc@profile=low-delay
    ```
    """
    (chosen,) = controllers.chosen([name]) or [name]
    known, config = (chosen, {}) if isinstance(chosen, str) else (chosen["name"], chosen["config"])
    entry = next(entry for entry in legato.controllers() if entry["name"] == known)
    out = terminal.out()
    out.print(f"# {entry['name']} ({entry['side']}): {_summary(entry)}", markup=False)
    out.print(f"# follows: {', '.join(entry['cites']) or 'nothing published'}", markup=False)
    out.print("", markup=False)
    out.print(parameters.as_toml(known, config), markup=False, soft_wrap=True)


def _summary(entry: Mapping[str, Any]) -> str:
    """One line. For study: its policy loses to GCC on links that Legato ships (docs/measured/generalisation.md)."""
    return f"{entry['summary']}{'; for study' if entry['for_study'] else ''}"
