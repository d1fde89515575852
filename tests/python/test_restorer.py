"""The learned stage: what it is given, what it refuses, and that it restores the same again."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("safetensors")
from safetensors.numpy import save

from legato import _core
from legato.errors import RestorerError
from legato.restorer import frames, weights
from legato.restorer.weights import Shape

WIDTH, HEIGHT = 64, 40
TINY = Shape(8, 2, ((1, 6), (3, 4)))


def picture(index: int) -> bytes:
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    luma = (128 + 90 * np.sin((x + 2 * index) / 3) * np.cos(y / 4)).astype(np.uint8)
    return luma.tobytes() + bytes(WIDTH * HEIGHT // 2)


def test_the_decoder_says_what_is_missing_and_how_blocks_move():
    encoder = _core.HybridEncoder(WIDTH, HEIGHT, min_packets=4, motion_copies=0)
    decoder = _core.HybridDecoder()
    assert decoder.shown() is None
    for index in range(4):
        packets = encoder.encode(picture(index), budget_bytes=900 if index else 3000)[1]
        decoder.decode(packets[1:] if index == 3 else packets)
        shown = frames.shown(decoder, WIDTH, HEIGHT)
        assert shown.distance == (0 if index == 0 else 1)
        assert shown.luma.shape == (48, 64) and (shown.luma[40:] == shown.luma[39]).all()
    sides = frames.sides(shown.states, shown.motion, 8)
    assert sides.shape == (frames.side_planes(8), 6, 8)
    missing = shown.states[..., 0] == 2
    assert 1 <= missing.sum() <= 4 and (sides[0].reshape(3, 2, 4, 2)[:, 0, :, 0] == missing).all()
    received = sides[0] == 0
    assert (frames.steps(shown.motion, 1)[received] == (2, 0)).all(1).mean() > 0.5, "the scene moves by two pixels"
    assert frames.sides(shown.states, shown.motion, 4).shape == (frames.side_planes(4), 12, 16)
    decoder.miss()
    assert (frames.shown(decoder, WIDTH, HEIGHT).states[..., 0] == 2).all()


def test_motion_is_rounded_to_whole_steps_and_none_is_rest():
    motion = np.array([[[0, 1], [2, -2], [-3, 7], [frames.NOT_PREDICTED] * 2]], np.int16)
    assert frames.steps(motion, 1).tolist() == [[[0, 0], [1, 0], [-1, 2], [0, 0]]]
    assert frames.steps(motion * np.int16(1), 4)[0, 2].tolist() == [0, 0]


def test_planes_move_by_blocks_and_repeat_the_edge():
    planes = np.arange(16 * 16, dtype=np.float32).reshape(1, 16, 16)
    motion = np.zeros((2, 2, 2), np.int32)
    motion[0, 0] = (3, 1)
    motion[1, 1] = (100, 0)
    found = frames.moved(planes, motion, 8)[0]
    assert found[0, 0] == planes[0, 1, 3] and found[7, 7] == planes[0, 8, 10]
    assert (found[8:, 8:] == planes[0, 8:, 15:]).all()
    assert (found[:8, 8:] == planes[0, :8, 8:]).all()


def tiny() -> weights.Weights:
    random = np.random.default_rng(1)
    return {name: random.normal(0, 0.1, shape).astype(np.float32) for name, shape in TINY.tensors().items()}


def test_a_network_is_read_as_it_was_written(tmp_path: Path):
    weights.write(tmp_path / "net.safetensors", TINY, tiny())
    shape, found = weights.read(tmp_path / "net.safetensors")
    assert shape == TINY
    assert all((found[name] == value.astype(np.float16)).all() for name, value in tiny().items())


def header(**changes: object) -> dict[str, str]:
    facts = {"format": 1, "cell": 8, "memory": 2, "layers": [[1, 6], [3, 4]], **changes}
    return {weights.HEADER: json.dumps(facts)}


def halves() -> dict[str, np.ndarray]:
    return {name: value.astype(np.float16) for name, value in tiny().items()}


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (b"pickle", "not safetensors"),
        (save(halves()), "no header legato_restorer"),
        (save(halves(), {weights.HEADER: "["}), "no header legato_restorer"),
        (save(halves(), {weights.HEADER: "[" * 100_000}), "no header legato_restorer"),
        (save(halves(), header(format=2)), "format = 2: must be 1"),
        (save(halves(), header(cell=1024)), "cell = 1024: must be 4 or 8"),
        (save(halves(), header(memory=10**9)), "memory = 1000000000: must be 1 to 256"),
        (save(halves(), header(layers=[[1, 6]] * 99)), "layers = 99: must be 1 to 15"),
        (save(halves(), header(layers=[[99, 6], [3, 4]])), r"layer \(99, 6\): kernel 1 or 3"),
        (save(halves(), header(layers=[[1, 7], [3, 4]])), r"0.bias: float16 \(6,\), must be float16 \(7,\)"),
        (save(halves() | {"extra": np.zeros(3, np.float16)}, header()), "tensors extra: not those of its shape"),
        (save(tiny(), header()), "float32"),
        (save(halves() | {"0.bias": np.full(6, np.inf, np.float16)}, header()), "0.bias: holds numbers that are not"),
    ],
)
def test_other_files_are_refused_by_name(tmp_path: Path, content: bytes, error: str):
    path = tmp_path / "net.safetensors"
    path.write_bytes(content)
    with pytest.raises(RestorerError, match=error) as refused:
        weights.read(path)
    assert str(path) in str(refused.value)


def test_mutated_files_are_refused_or_read(tmp_path: Path):
    whole, random, path = bytearray(save(halves(), header())), np.random.default_rng(8), tmp_path / "net.safetensors"
    for _ in range(300):
        content = bytearray(whole)
        for _ in range(random.integers(1, 4)):
            content[random.integers(len(content) if random.random() < 0.5 else 600)] = random.integers(256)
        path.write_bytes(content[: random.integers(len(content))] if random.random() < 0.2 else content)
        try:
            shape, found = weights.read(path)
        except RestorerError:
            continue
        assert {name: value.shape for name, value in found.items()} == shape.tensors()


def test_absent_and_huge_files_are_refused(tmp_path: Path):
    with pytest.raises(RestorerError, match="No such file"):
        weights.read(tmp_path / "none.safetensors")
    with (tmp_path / "huge.safetensors").open("wb") as file:
        file.truncate(weights.LARGEST_BYTES + 1)
    with pytest.raises(RestorerError, match="more than 8388608 are not read"):
        weights.read(tmp_path / "huge.safetensors")
