"""``legato train``: a paper's policy, trained from nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from legato.cli import options, terminal
from legato.plan import overrides

HELP = """
Train the policy of a learned controller.

Writes a run folder: config.toml, progress.jsonl, TensorBoard events, a checkpoint to continue from, and under policy/
the deployable policies. The same seed gives the same weights on one machine, interrupted or not. With several
seeds there is a folder for each, and the best of them is copied to policy/. Needs `pip install legato-rtc[train]`.

Examples:

```sh
legato train                            # the recipes there are
legato train nvc-cc --out runs/nvc-cc
legato train nvc-cc --seeds 5 --out runs/nvc-cc-5
legato train nvc-cc --out runs/nvc-cc --resume
legato train nvc-cc --set learning_rate=1e-3 --set epochs=4 --out runs/slower
```
"""


def train(
    name: Annotated[
        str | None, typer.Argument(help="The recipe, or a Python file with one; none lists them.", show_default=False)
    ] = None,
    out: Annotated[Path | None, typer.Option(help="The run folder. [default: runs/NAME]", show_default=False)] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of weights, exploration and calls.")] = 1,
    seeds: Annotated[int | None, typer.Option(min=1, help="How many, side by side: seeds 1 to N.")] = None,
    steps: Annotated[int | None, typer.Option(min=1, help="Decisions, instead of the recipe's.")] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A setting of the algorithm, by its name; repeatable."),
    ] = None,
    resume: options.Resume = False,
    as_json: options.Json = False,
) -> None:
    from legato.train import recipe as recipes

    if name is None:
        rows = [(known, recipes.load(known).summary) for known in recipes.names()]
        terminal.table(["recipe", "what it trains"], rows)
        return
    changed = overrides.parse(changes or [], "--set")
    recipe = recipes.load(name, changed)
    folder = out or Path("runs") / recipe.name
    try:
        result = (
            _several(name, folder, seeds, steps, changes or [], resume)
            if seeds
            else _one(recipe, folder, seed, steps, resume)
        )
    except KeyboardInterrupt:
        terminal.say("to continue from the last finished leg, repeat the command with --resume")
        raise
    if as_json:
        typer.echo(json.dumps(result))
        return
    if seeds:
        columns = ("seed", "best_reward", "best_steps", "last_reward", "wall_s")
        of_seeds = [[f"{each[column]:.6g}" for column in columns] for each in result["seeds"]]
        terminal.table([column.replace("_", " ") for column in columns], of_seeds, right=columns)
    terminal.out().print(f"policy: {result['policy']}")
    terminal.out().print(f"best reward on held-out networks: {result['best_reward']:.4f}")


def _one(recipe: Any, folder: Path, seed: int, steps: int | None, resume: bool) -> dict[str, Any]:
    from legato.train import run

    with terminal.watch(f"train {recipe.name}") as watch:
        trained = run.train(recipe, folder, seed=seed, steps=steps, resume=resume, on_progress=watch.training)
    return {
        "policy": str(folder / "policy" / "best"),
        "steps": trained.steps,
        "wall_s": round(trained.wall_s, 1),
        "best_reward": trained.best_reward,
        "last_reward": trained.last_reward,
    }


def _several(
    name: str, folder: Path, seeds: int, steps: int | None, changes: list[str], resume: bool
) -> dict[str, Any]:
    from legato.train.seeds import train_seeds

    with terminal.watch(f"train {name}") as watch:
        summary = train_seeds(
            name,
            folder,
            range(1, seeds + 1),
            steps=steps,
            changes=changes,
            resume=resume,
            on_progress=watch.training_seeds,
        )
    best = max(each["best_reward"] for each in summary["seeds"])
    return {**summary, "policy": str(folder / "policy"), "best_reward": best}
