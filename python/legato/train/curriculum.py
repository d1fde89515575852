"""A curriculum: train where a rule-based controller still does better ([xia2022], Genet).

What Genet believes: on a network where a policy lags far behind a simple baseline it can improve; on one that is merely
hard it may not. At the beginning of each leg the gap, the baseline's reward minus the policy's, is measured on several
families of networks. The one with the widest gap is promoted and gets a share of the training from then on. The rest
goes to the recipe's distribution, so that the policy does not forget it.

Missing: Genet searches a continuous space of networks by Bayesian optimisation; here the families are a list.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from legato.errors import TrainingError
from legato.train.evaluation import evaluate

if TYPE_CHECKING:
    from legato.train.recipe import Situation

Options = Mapping[str, Any]


class GapCurriculum:
    """Chooses the networks of each leg; what :attr:`legato.train.recipe.Recipe.curriculum` takes.

    Args:
        families: options of the environment's ``reset``, by the name of the family of networks they choose.
        env: one that takes these options; the first episode of each of its calls is measured.
        baseline: the baseline's reward per decision on a family, on the calls that :func:`evaluate` plays with
            ``evaluation_seed``.
        first_leg: number of legs before the first measurement, so that there is a policy to measure.
        promoted_ratio: the share of later legs that play a promoted family; Genet's is 0.3 for each it promotes.
        evaluation_seed: of the calls that are measured on.
    """

    def __init__(
        self,
        families: Mapping[str, Options],
        env: Any,
        baseline: Callable[[str], float],
        *,
        first_leg: int = 1,
        promoted_ratio: float = 0.3,
        evaluation_seed: int = 1,
    ) -> None:
        if not families:
            raise TrainingError("a curriculum has no families of networks to choose from")
        self._families, self._env, self._baseline = dict(families), env, baseline
        self._first_leg, self._promoted_ratio, self._seed = first_leg, promoted_ratio, evaluation_seed
        self._baseline_rewards: dict[str, float] = {}
        self.promoted: list[str] = []
        """Families in order of promotion, once per promotion."""
        self.gaps: dict[str, float] = {}
        """As last measured."""

    def __call__(self, situation: Situation) -> Options | None:
        """The options of a leg; ``None`` selects the recipe's own distribution."""
        if situation.leg < self._first_leg:
            return None
        self.gaps = {name: self._gap(name, situation.actor) for name in self._families}
        widest = max(self.gaps, key=lambda name: self.gaps[name])
        if self.gaps[widest] > 0:  # where the policy leads everywhere there is nothing to promote
            self.promoted.append(widest)
        random = np.random.default_rng(situation.seed)
        if not self.promoted or random.random() < (1 - self._promoted_ratio) ** len(self.promoted):
            return None
        return self._families[choose(self.promoted, self._promoted_ratio, random)]

    def facts(self) -> dict[str, Any]:
        """What a checkpoint saves."""
        return {"promoted": self.promoted}

    def restore(self, facts: Mapping[str, Any]) -> None:
        """Restore a saved state."""
        self.promoted = list(facts["promoted"])

    def _gap(self, name: str, actor: Any) -> float:
        if name not in self._baseline_rewards:
            self._baseline_rewards[name] = self._baseline(name)
        reward = evaluate(actor, self._env, self._seed, self._families[name])["reward"]
        return self._baseline_rewards[name] - reward


def choose(promoted: Sequence[str], promoted_ratio: float, random: np.random.Generator) -> str:
    """One of the promoted families: each promotion took its share of everything before, so later ones weigh more."""
    weights = (1 - promoted_ratio) ** np.arange(len(promoted) - 1, -1, -1.0)
    return promoted[int(random.choice(len(promoted), p=weights / weights.sum()))]
