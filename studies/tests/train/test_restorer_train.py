"""Training of the learned stage: that torch and the file's graph are one network, that it learns, that it resumes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: make test-train", exc_type=ImportError)
pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: make test-train")

from legato import _core  # noqa: E402
from legato.errors import TrainingError  # noqa: E402
from legato_studies.restorer import frames, train, weights  # noqa: E402
from legato_studies.restorer.stage import Restorer  # noqa: E402
from legato_studies.restorer.weights import Shape  # noqa: E402

TINY = train.Setting(Shape(8, 2, ((1, 12), (3, 12))), 6, 4, 48, 3, 4e-3, 3)


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> list[train.Stream]:
    torch.set_num_threads(1)
    return train.streams([], tmp_path_factory.mktemp("streams"), 3, 7)


@pytest.mark.parametrize("cell", [4, 8])
def test_the_file_runs_as_torch_does(tmp_path: Path, pool: list[train.Stream], cell: int):
    torch.manual_seed(3)
    network = train.Network(Shape(cell, 3, ((3, 8), (3, 8))))
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.08)
        parameter.data = parameter.data.half().float()  # as the file keeps them
    weights.write(tmp_path / "tiny.safetensors", network.shape, network.weights())
    restorer, stream = Restorer(tmp_path / "tiny.safetensors"), pool[0]
    batch, state = train.Batch.of([stream], cell, "cpu"), None
    for index in range(6):
        with torch.no_grad():
            expected, state = train.restored(network, batch, index, state)
        parts = (stream.luma, stream.states, stream.motion)
        shown = frames.Shown(*(part[index] for part in parts), distance=int(stream.distance[index]))
        found = restorer.restored(shown)
        assert np.abs(found - 255.0 * expected[0, 0].numpy()).max() <= 0.51, index
    assert not (found == stream.luma[5]).all()


def test_the_loss_is_the_projects_ssim():
    random = np.random.default_rng(5)
    source = np.kron(random.integers(0, 256, (8, 12)), np.ones((8, 8))).astype(np.uint8)
    other = np.clip(source + random.normal(0, 9, source.shape), 0, 255).astype(np.uint8)
    [(ssim, _)] = _core.picture_quality(source.tobytes(), other.tobytes(), 96, 64)
    pair = [torch.from_numpy(one)[None, None].float() / 255 for one in (source, other)]
    assert float(train.ssim_loss(*pair)[0]) == pytest.approx(1 - ssim, rel=0.02)
    assert float(train.ssim_loss(pair[0], pair[0])[0]) == pytest.approx(0, abs=1e-5)


def test_memory_moves_alike_in_both():
    random = np.random.default_rng(2)
    planes = random.normal(size=(2, 32, 48)).astype(np.float32)
    motion = random.integers(-60, 61, (4, 6, 2)).astype(np.int32)
    found = frames.moved(planes, motion, 8)
    expected = train.moved(torch.from_numpy(planes)[None], torch.from_numpy(motion)[None].long(), 8)
    assert (found == expected[0].numpy()).all()


def test_a_tiny_training_lowers_its_loss(pool: list[train.Stream]):
    training = train.Training(replace(TINY, rounds=20), 1, "cpu")
    figures = []
    for _ in range(20):
        training.round = 5  # the same crops each time: others differ by more than a few rounds gain
        figures.append(training.play(pool))
    losses = [one["l1_ratio"] + one["ssim_loss_ratio"] for one in figures]
    assert losses[-1] < losses[0] - 0.01, losses
    assert figures[-1]["gain_db"] > 0.02


def test_a_resumed_training_ends_with_the_same_weights(pool: list[train.Stream], tmp_path: Path):
    whole = train.Training(TINY, 1, "cpu")
    for _ in train.run(whole, pool, train.crops(pool, TINY, 1, 99, "cpu"), tmp_path):
        pass
    first = train.Training(TINY, 1, "cpu")
    for _ in range(3):
        first.play(pool)
    first.save(tmp_path / "half.safetensors")
    second = train.Training(TINY, 1, "cpu")
    second.load(tmp_path / "half.safetensors")
    for _ in range(3):
        second.play(pool)
    for name, value in whole.network.state_dict().items():
        assert torch.equal(value, second.network.state_dict()[name]), name
    assert (tmp_path / "progress.jsonl").read_text(encoding="utf-8").count("\n") == 1
    assert Restorer(tmp_path / "network.safetensors").shape == TINY.shape
    with pytest.raises(TrainingError, match="seed = 1, not 2"):
        train.Training(TINY, 2, "cpu").load(tmp_path / "half.safetensors")


def test_coded_sequences_are_kept_and_the_same_again(tmp_path: Path):
    [made] = train.streams([], tmp_path / "a", 1, 4)
    [again] = train.streams([], tmp_path / "b", 1, 4)
    [kept] = train.streams([], tmp_path / "a", 1, 4)
    for name in train.Stream.__dataclass_fields__:
        assert (getattr(made, name) == getattr(again, name)).all() and (
            getattr(made, name) == getattr(kept, name)
        ).all()
    with pytest.raises(TrainingError, match="other clips or another seed"):
        train.streams([], tmp_path / "a", 1, 5)
    assert (made.states[: train.LEAD, ..., 0] == 0).all(), "the first frames are intact"
