"""Learning in real calls between Legato's ends: data handed over, kept and resumed. Nothing here depends on how fast
the machine is: what a slow one would not learn during a call, it learns from it afterwards."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed: make test-train", exc_type=ImportError)

from legato import _core
from legato.call import Pictures, make
from legato.call.ends import Session
from legato.errors import TrainingError
from legato.plan import Choice, Plan, shipped
from legato.policy import policy_folder
from legato.train import in_calls
from legato.train.online import OnlineSettings
from legato.train.ppo import Settings

needs_calls = pytest.mark.skipif(not hasattr(_core, "RealCall"), reason="built without the feature calls")
PPO = Settings(envs=1, rollout=20, minibatch=20, epochs=2, learning_rate=1e-2)
SETTINGS = OnlineSettings(warm_up_calls=0, ppo=PPO)


def planned(controller: str = "onrl", seeds: int = 1, links: tuple[int, ...] = (1_000_000,)) -> Plan:
    made = Choice("steady", options={"duration_s": 3.0}, controllers=[controller], seeds=seeds).plan()
    return replace(made, traces=[{"path": f"{bps}"} for bps in links]) if len(links) > 1 else made


def called(tmp_path: Path, learning: in_calls.LearningInCalls, of: Plan, name: str, *, resume: bool = False) -> None:
    pictures = Pictures(width=160, height=90, fps=10)
    session = Session.of("legato")
    make(learning.steered(of), tmp_path / name, session, pictures=pictures, learning=learning, resume=resume)


@needs_calls
def test_a_call_is_learned_from_and_the_next_goes_on_where_it_ended(tmp_path: Path):
    folder = tmp_path / "learned"
    called(tmp_path, in_calls.LearningInCalls(planned(), folder, SETTINGS), planned(), "first")
    (line,) = (folder / "progress.jsonl").read_text(encoding="utf-8").splitlines()
    first = json.loads(line)
    # Intervals of 50 ms, of which a busy machine may merge some.
    assert 20 < first["decisions"] <= 60
    assert first["rounds"] == (first["decisions"] - 1) // 20
    weights = [policy_folder.read(of)[2] for of in (shipped.policies_folder() / "onrl", folder / "policy")]
    assert any(not np.array_equal(weights[0][name], weights[1][name]) for name in weights[0])

    with pytest.raises(TrainingError, match="is not empty"):
        in_calls.LearningInCalls(planned(), folder, SETTINGS)
    resumed = in_calls.LearningInCalls(planned(), folder, SETTINGS, resume=True)
    before = resumed._learners[0].rounds_done
    assert before == first["rounds"]
    called(tmp_path, resumed, planned(), "second")
    assert len((folder / "progress.jsonl").read_text(encoding="utf-8").splitlines()) == 2
    assert resumed._learners[0].rounds_done > before


def test_one_call_of_every_user_comes_before_the_next_of_any(tmp_path: Path):
    of = planned(seeds=2, links=(1, 2, 3))
    learning = in_calls.LearningInCalls(planned(), tmp_path / "learned", SETTINGS)
    # Sessions vary the seed fastest: links 0, 0, 1, 1, 2, 2.
    assert learning.order(of) == [0, 2, 4, 1, 3, 5]
    assert in_calls.LearningInCalls(of, tmp_path / "other", SETTINGS).users == 3


def test_after_a_call_of_every_user_all_have_the_mean_of_their_weights(tmp_path: Path):
    of = planned(seeds=1, links=(1, 2))
    learning = in_calls.LearningInCalls(of, tmp_path / "learned", SETTINGS)
    biases = [learner.agent.actor.tensors()["out.bias"] for learner in learning._learners]
    for bias, value in zip(biases, (1.0, 3.0), strict=True):
        bias.data.fill_(value)
    call = in_calls.CallLearned(0, 0, 0, 10, 1, 0, 0.5, 0.0)
    learning._keep(call)
    assert [float(bias.detach()[0]) for bias in biases] == [1.0, 3.0]
    assert float(policy_folder.read(tmp_path / "learned" / "policy")[2]["out.bias"][0]) == 2.0
    learning._keep(replace(call, session=1, user=1))
    assert [float(bias.detach()[0]) for bias in biases] == [2.0, 2.0]


def test_the_first_rounds_teach_the_critic_alone(tmp_path: Path):
    learning = in_calls.LearningInCalls(planned(), tmp_path / "learned", replace(SETTINGS, warm_up_calls=1))
    (learner,) = learning._learners
    rng = np.random.default_rng(1)
    before = {name: tensor.clone() for name, tensor in learner.agent.actor_tensors().items()}
    critic = {name: tensor.clone() for name, tensor in learner.agent.critic.tensors().items()}
    played = in_calls._Round(
        rng.normal(size=(21, 40)).astype(np.float32),
        rng.integers(60, size=20).astype(np.float32),
        np.zeros(20, np.uint64),
        rng.normal(size=20).astype(np.float32),
        {0: learner.agent},
        begins=True,
    )
    learner.learn_from(played)
    assert all(bool((before[name] == tensor).all()) for name, tensor in learner.agent.actor_tensors().items())
    assert any(bool((critic[name] != tensor).any()) for name, tensor in learner.agent.critic.tensors().items())
    for _ in range(SETTINGS.rounds_a_call):
        learner.learn_from(played)
    assert any(bool((before[name] != tensor).any()) for name, tensor in learner.agent.actor_tensors().items())


@pytest.mark.parametrize(
    ("controller", "message"),
    [("gcc", "gcc is not a learned controller"), ("r3net", "r3net is not a learned controller at the sender")],
)
def test_what_cannot_learn_is_refused_by_name(tmp_path: Path, controller: str, message: str):
    with pytest.raises(TrainingError, match=message):
        in_calls.LearningInCalls(planned(controller), tmp_path / "learned")


def test_a_reward_of_what_no_sender_knows_is_refused(tmp_path: Path):
    with pytest.raises(TrainingError, match="reward nvc-cc: reads true_"):
        in_calls.LearningInCalls(planned(), tmp_path / "learned", reward="nvc-cc")
