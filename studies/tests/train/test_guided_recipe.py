"""What R3Net's variants train with, by the paper."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="torch is not installed: make test-train", exc_type=ImportError)


def test_the_unguided_recipe_is_ppo_alone_by_what_the_paper_prints():
    # [r3net] §2.3: PPO, and Adam with a learning rate of 3e-5.
    from legato.train import ppo
    from legato_studies.recipes import r3net

    recipe, guided = r3net.RECIPES[-1], r3net.AS_PRINTED
    assert type(recipe.settings) is ppo.Settings
    assert recipe.settings.learning_rate == 3e-5
    assert recipe.settings.action_std is None
    assert recipe.layers == guided.layers
    assert recipe.make_env is guided.make_env
