"""`legato` does not collapse in the edge cases of scenarios/edges."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from legato.plan import shipped
from legato_studies.leaderboard import edges
from legato_studies.leaderboard.edges import EDGES, Edge, Edges

REACHED = {
    "deep_drop": {"max_p95_ms": 2_700.0, "max_stalled_ratio": 0.1},
    "bursty_loss_10": {"min_goodput_ratio": 0.7},
}
"""Where less is reached than is asked (docs/measured/edges.md): it shall not become worse."""


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Edges:
    return edges.play(tmp_path_factory.mktemp("edges"), ["gcc", "legato"], seeds=3)


@pytest.mark.parametrize("edge", EDGES, ids=lambda edge: edge.key)
def test_nothing_collapses(played: Edges, edge: Edge):
    held = dataclasses.replace(edge, **REACHED.get(edge.key, {}))
    missed = [ask for ask in played.asks("legato", held) if not ask.met]
    assert not missed, missed


def test_the_bands_can_fail(tmp_path: Path):
    # A controller that does not adapt: too fast for the policer, and it fills the queue of the shaper.
    fast = "fixed@target_bitrate_bps=2300000,label=fast"
    found = edges.play(tmp_path / "runs", ["gcc", fast], seeds=1)
    assert not {"policer", "token_bucket", "static_scene"} & set(found.met("fast"))


def test_every_scenario_of_the_folder_is_a_case():
    here = {path.stem for path in shipped.scenarios() if path.parent.name == "edges"}
    assert here == {"clean", *(edge.key for edge in EDGES)}
