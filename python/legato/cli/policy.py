"""``legato policy``: trained policies from elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from legato.cli import terminal

app = typer.Typer(help="Trained policies: import an ONNX model.", no_args_is_help=True, rich_markup_mode="markdown")


@app.command("import")
def import_model(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL.onnx", help="Takes (batch, F) and, if it remembers, a state.")
    ],
    like: Annotated[
        Path,
        typer.Option(
            "--like", metavar="POLICY", help="A policy for the same controller: its folder, or a shipped one's name."
        ),
    ],
    out: Annotated[Path, typer.Option("--out", metavar="FOLDER", help="The policy to write.")],
) -> int:
    """Make a policy of an ONNX model: what it observes and what its output means are as in another policy.

    The native engine runs it from then on; its outputs are compared with onnxruntime's before anything is written.
    Needs `pip install legato-rtc[onnx]`, and no torch.

    Examples:

    ```sh
    legato policy import model.onnx --like nvc-cc --out policies/mine
    ```
    """
    from legato import shipped
    from legato.policy import onnx_import, policy_folder

    manifest, _, _ = policy_folder.read(shipped.policy(like))
    layers = onnx_import.convert(model, manifest, out)
    terminal.say(f"{out}: {len(layers)} layers, the same as {model} to {onnx_import.TOLERANCE:g}")
    return 0
