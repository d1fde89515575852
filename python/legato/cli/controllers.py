"""``legato controllers``: what there is, its parameters, its sources."""

from __future__ import annotations

import json
from typing import Annotated

import typer

import legato
from legato.cli import options, terminal
from legato.errors import ControllerError

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
        [[entry["name"], entry["side"], entry["summary"]] for entry in entries],
    )


@app.command("show")
def show(name: Annotated[str, typer.Argument(help="A name from the list.", show_default=False)]) -> None:
    """Show one controller: its parameters with their defaults, as TOML, and the papers it follows.

    Example:

    ```sh
    legato controllers show gcc
    ```
    """
    entries = {entry["name"]: entry for entry in legato.controllers()}
    if name not in entries:
        raise ControllerError(f"no controller is called '{name}'", hint=f"there are: {', '.join(entries)}")
    entry = entries[name]
    out = terminal.out()
    out.print(f"# {entry['name']} ({entry['side']}): {entry['summary']}", markup=False)
    out.print(f"# follows: {', '.join(entry['cites']) or 'nothing published'}", markup=False)
    out.print(entry["defaults_toml"].strip() or "# no parameter has a default", markup=False)
