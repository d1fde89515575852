"""Ships what ``legato train NAME --seeds 5`` made: the best seed's policy, its card, and how all seeds went.

    python3 tools/ship_policy.py runs/nvc-cc              into policies/, under the recipe's name

Writes policies/NAME/policy.toml, weights.safetensors, training.json (every evaluation of every seed, which
``legato reproduce`` draws) and, between two marks of README.md, the figures; the words around them are left alone.
"""

from __future__ import annotations

import json
import shutil
import sys
import tomllib
from pathlib import Path
from typing import Any

POLICIES = Path(__file__).resolve().parents[1] / "policies"
BEGIN, END = "<!-- figures: tools/ship_policy.py -->", "<!-- end of figures -->"


def trainings(run: Path) -> list[dict[str, Any]]:
    """Every finished seed of a run: its evaluations as (steps, seconds, reward)."""
    found = []
    for folder in sorted(run.glob("seed-*"), key=lambda path: int(path.name.removeprefix("seed-"))):
        if not (folder / "policy" / "best" / "policy.toml").is_file():
            print(f"{folder}: not finished, left out", file=sys.stderr)
            continue
        rows = [json.loads(line) for line in (folder / "progress.jsonl").read_text(encoding="utf-8").splitlines()]
        points = [
            [row["steps"], row["wall_s"], round(row["evaluation_reward"], 5)]
            for row in rows
            if "evaluation_reward" in row
        ]
        found.append({"seed": int(folder.name.removeprefix("seed-")), "evaluations": points})
    return found


def interval(values: list[float]) -> str:
    """Mean and 95 % interval over seeds; fewer than five have none."""
    from legato.results.stats import of_separate_groups

    found = of_separate_groups([values], lambda means: means[0])
    return f"{found.mean:.3f}" + ("" if found.low is None else f" ({found.low:.3f} to {found.high:.3f})")


def figures(trained: dict[str, Any], seeds: list[dict[str, Any]]) -> str:
    """What the card says of the training."""
    best = [max(point[2] for point in seed["evaluations"]) for seed in seeds]
    last = [seed["evaluations"][-1][2] for seed in seeds]
    rows = "".join(
        f"| {seed['seed']} | {top:.3f} | {end:.3f} |\n" for seed, top, end in zip(seeds, best, last, strict=True)
    )
    return (
        f"- trained by: `{trained['command']}`; of {len(seeds)} seeds, the one with the best evaluation\n"
        f"- at {trained['steps']} decisions; reward on held-out networks: {trained['evaluation_reward']:.3f}\n"
        f"- over seeds, mean and 95 % interval: best {interval(best)}, last {interval(last)}\n\n"
        f"| seed | best | last |\n|---|---|---|\n{rows}"
    )


def ship(run: Path) -> Path:
    """Into policies/NAME."""
    seeds = trainings(run)
    if not seeds:
        raise SystemExit(f"error: {run}: no finished seed")
    best = max(seeds, key=lambda seed: max(point[2] for point in seed["evaluations"]))
    source = run / f"seed-{best['seed']}" / "policy" / "best"
    trained = tomllib.loads((source / "policy.toml").read_text(encoding="utf-8"))["trained"]
    folder = POLICIES / str(trained["recipe"])
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("policy.toml", "weights.safetensors"):
        shutil.copy(source / name, folder / name)
    document = {"recipe": trained["recipe"], "seeds": seeds}
    (folder / "training.json").write_text(json.dumps(document) + "\n", encoding="utf-8")
    card = folder / "README.md"
    text = card.read_text(encoding="utf-8") if card.is_file() else f"# {trained['recipe']}\n\n{BEGIN}\n{END}\n"
    before, _, rest = text.partition(BEGIN)
    card.write_text(f"{before}{BEGIN}\n{figures(trained, seeds)}{END}{rest.partition(END)[2]}", encoding="utf-8")
    return folder


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    print(ship(Path(sys.argv[1])))
