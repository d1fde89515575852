"""Writes docs/edges.md: `legato` beside `gcc` in the edge cases of scenarios/edges.

python -m legato_studies.pages edges [--seeds N]
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from legato.plan import shipped
from legato_studies.leaderboard import edges
from legato_studies.leaderboard.edges import CLEAN, EDGES, SHOWN, Edges
from legato_studies.leaderboard.measures import Measure

PAGE = Path(__file__).resolve().parents[3] / "docs" / "edges.md"
CONTROLLERS = ("gcc", "legato")
HEAD = """# Edge cases

Written by `python -m legato_studies.pages edges`.
Each row is a case of `scenarios/edges`: one thing that breaks controllers, on a
link of 2.5 Mbit/s with a round trip of 50 ms, a minute per call, means over {seeds} seeds with 95 % intervals. `clean`
has nothing in its way.

What is asked of `legato`: four fifths of its rate on the clean link (of 2 Mbit/s behind policer and token bucket), a
p95 delay of at most 200 ms, at most 1 % of the time stalled; where the link falls to 80 kbit/s, half of the rate,
1,000 ms and 5 %; where packets are lost, 0.85 of the clean rate and at most half of `gcc`'s stalls. A test holds it to
that (`tests/python/test_edges.py`), and where it is not reached, to what is. Delays are as viewed, of every captured
frame. All controllers: [the leaderboard](leaderboard.md#edge-cases).

"""


def main() -> None:
    """Play, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10, help="of each call")
    parser.add_argument("--page", type=Path, default=PAGE, help="the page [default: docs/edges.md]")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        found = edges.play(Path(place), CONTROLLERS, seeds=options.seeds)
    text = HEAD.format(seeds=options.seeds) + verdicts(found) + "\n"
    text += "".join(
        f"## {measure.title[0].upper()}{measure.title[1:]}\n\n{table(found, measure)}\n" for measure in SHOWN
    )
    options.page.write_text(text.rstrip() + "\n", encoding="utf-8")


def titles() -> dict[str, str]:
    """What each case is, from the head of its file."""
    found = {}
    for key in (CLEAN, *(edge.key for edge in EDGES)):
        first = shipped.scenario(f"edges/{key}").read_text(encoding="utf-8").splitlines()[0]
        found[key] = first.removeprefix("# ")
    return found


def verdicts(found: Edges) -> str:
    """Case by case: what is asked, and what is reached."""
    lines = ["| case | what | asked and reached |", "|---|---|---|"]
    for edge in EDGES:
        said = []
        for ask in found.asks("legato", edge):
            scale, digits = (1, 0) if ask.what == "p95 delay" else (1, 2) if ask.what == "rate" else (100, 2)
            unit = {"p95 delay": " ms", "rate": ""}.get(ask.what, " %")
            text = f"{ask.what} {scale * ask.value:.{digits}f}{unit}"
            text += f" ({'>=' if ask.at_least else '<='} {scale * ask.mark:.{digits}f}{ask.why})"
            said.append(text if ask.met else f"**not met: {text}**")
        lines.append(f"| `{edge.key}` | {titles()[edge.key]} | {'; '.join(said)} |")
    return "\n".join(lines) + "\n"


def table(found: Edges, measure: Measure) -> str:
    """One figure of all controllers."""
    lines = [f"| case | {' | '.join(f'`{name}`' for name in CONTROLLERS)} |", "|---|" + "---|" * len(CONTROLLERS)]
    for key in (CLEAN, *(edge.key for edge in EDGES)):
        cells = [measure.interval(found.estimate(name, key, measure)) for name in CONTROLLERS]
        lines.append(f"| `{key}` | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
