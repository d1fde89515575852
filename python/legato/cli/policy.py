"""``legato policy``: trained policies from elsewhere, and policies that go on learning."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from legato.cli import options, terminal

app = typer.Typer(
    help="Trained policies: import an ONNX model, or let one go on learning.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)


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
    """Make a policy of an ONNX model: observation and action map are those of another policy.

    The native engine runs it from then on; its outputs are compared with onnxruntime's before anything is written.
    Needs `pip install legato-rtc[onnx]`, and no torch.

    Examples:

    ```sh
    legato policy import model.onnx --like nvc-cc --out policies/mine
    ```
    """
    from legato.plan import shipped
    from legato.policy import onnx_import, policy_folder

    manifest, _, _ = policy_folder.read(shipped.policy(like, there=True))
    layers = onnx_import.convert(model, manifest, out)
    terminal.say(f"{out}: {len(layers)} layers, the same as {model} to {onnx_import.TOLERANCE:g}")
    return 0


@app.command("learn")
def learn(
    policy: Annotated[Path, typer.Argument(metavar="POLICY", help="Its folder, or a shipped one's name.")],
    out: Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Gets progress.jsonl and policy/.")],
    scenario: Annotated[str, typer.Option(help="A TOML file, or a shipped scenario's name.")] = "nvc_cc",
    reward: Annotated[
        str | None, typer.Option(help="What is learned from. [default: that of the controller]", show_default=False)
    ] = None,
    traces: options.Traces = None,
    users: Annotated[int, typer.Option(min=1, help="How many learn side by side.")] = 8,
    calls: Annotated[int, typer.Option(min=1, help="Calls of each user.")] = 10,
    seed: Annotated[int, typer.Option(min=0, help="Of exploration and calls.")] = 1,
    alone: Annotated[bool, typer.Option("--alone", help="Never average the users' weights.")] = False,
) -> None:
    """Let a policy go on learning in the simulated calls that it decides, under a safeguard.

    Each user learns from its own calls while they run; after each call, the weights of all are averaged. With traces,
    a user's calls are all on one of them. The output compares the reward with learning and exploring to that of the
    initial policy, on the same calls. Needs `pip install legato-rtc[train]`.

    Examples:

    ```sh
    legato policy learn onrl --out runs/learned
    legato policy learn nvc-cc --traces fcc --users 4 --calls 20 --out runs/learned
    ```
    """
    from legato.envs import CallVectorEnv
    from legato.plan import shipped
    from legato.plan import traces as planned
    from legato.policy import policy_folder
    from legato.train import online

    folder = shipped.policy(policy, there=True)
    manifest, _, _ = policy_folder.read(folder)
    controller = str(manifest["controller"])
    links = [_typed(link) for link in planned.chosen(traces or [])]
    config = {key: value for key, value in manifest["observation"].items() if key == "interval_rtt_factor"}
    how: dict[str, Any] = {"config": config, "safeguard": {}, "threads": 1}

    def user(number: int) -> Any:
        own = [links[number % len(links)]] if links else []
        return CallVectorEnv(1, scenario, controller, reward or controller, traces=own, **how)

    def show(call: int, of_users: Any) -> None:
        learned = sum(each.reward for each in of_users) / len(of_users)
        frozen = sum(each.frozen_reward for each in of_users) / len(of_users)
        terminal.say(f"call {call + 1} of {calls}: reward {learned:.3f}, without learning {frozen:.3f}")

    settings = online.OnlineSettings(users=users, calls=calls, federated=not alone)
    learned = online.learn_online(folder, user, out, settings, seed=seed, on_call=show)
    terminal.say(f"policy: {learned.folder / online.POLICY}")


def _typed(link: str | dict[str, Any]) -> str:
    """A trace of a plan as it is typed."""
    if isinstance(link, str):
        return link
    options = ",".join(f"{key}={value}" for key, value in link.items() if key != "path")
    return f"{link['path']}@{options}"
