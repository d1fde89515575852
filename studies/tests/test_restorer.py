"""The learned stage: its input, its refusals, and that it restores the same again."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("safetensors")
from safetensors.numpy import save

from legato import _core
from legato_studies.restorer import frames, weights
from legato_studies.restorer.weights import RestorerError, Shape

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


@pytest.mark.parametrize(("count", "side"), [(1, 8), (3, 2), (3, 1)])
def test_planes_move_as_number_by_number(count: int, side: int):
    random = np.random.default_rng(4)
    planes = random.random((count, 3 * side, 5 * side), np.float32)
    motion = random.integers(-30, 31, (3, 5, 2)).astype(np.int32)
    found = frames.moved(planes, motion, side)
    _, height, width = planes.shape
    for y, x in np.ndindex(height, width):
        right, down = motion[y // side, x // side]
        from_y, from_x = min(max(y + down, 0), height - 1), min(max(x + right, 0), width - 1)
        assert (found[:, y, x] == planes[:, from_y, from_x]).all(), (y, x)


@pytest.mark.parametrize("cell", [4, 8])
def test_a_correction_is_the_weighted_sum_of_its_bases(cell: int):
    random = np.random.default_rng(6)
    luma = random.integers(0, 256, (16, 32)).astype(np.uint8)
    carried = random.normal(0, 0.02, (1, 16, 32)).astype(np.float32)
    scale = random.uniform(2 / 255, 32 / 255, (1, 16 // cell, 32 // cell)).astype(np.float32)
    shares = random.uniform(-1, 1, (frames.BASES, *scale.shape[1:])).astype(np.float32)
    found = frames.Bases(16, 32, cell).corrected(luma, carried, scale, shares)
    padded = np.pad(luma / 255, 3, mode="edge")
    for y, x in np.ndindex(luma.shape):
        here = y // cell, x // cell
        limit, expected = 2 * scale[0][here], shares[-1][here] * carried[0, y, x]
        for (rows, columns), share in zip(frames.MEANS, shares, strict=False):
            top, left = y + 3 - rows // 2, x + 3 - columns // 2
            mean = padded[top : top + rows, left : left + columns].mean()
            expected += share[here] * np.clip(luma[y, x] / 255 - mean, -limit, limit)
        assert found[y, x] == pytest.approx(expected, abs=1e-6), (y, x)


def test_the_shipped_network_restores_a_short_stream_as_it_always_did():
    """Pictures made up, so that no change of the codec changes them; the last depends on all before it."""
    pytest.importorskip("onnxruntime", reason="needs the extra 'onnx'")
    from legato_studies.restorer.stage import Restorer

    random, restorer = np.random.default_rng(11), Restorer()
    scene = np.kron(random.integers(60, 200, (10, 12)), np.ones((8, 8), np.int64))
    for index in range(5):
        luma = scene[2 * index : 2 * index + 48, index : index + 64] + random.integers(-6, 7, (48, 64))
        states = np.stack([random.choice(3, (3, 4)), random.integers(0, 16, (3, 4)), np.full((3, 4), 90)], -1)
        motion = np.array([4, 8]) + random.integers(-12, 13, (6, 8, 2))
        motion[random.random((6, 8)) < 0.1] = frames.NOT_PREDICTED
        shown = frames.Shown(luma.astype(np.uint8), states.astype(np.uint8), motion.astype(np.int16), min(index, 1))
        added = restorer.restored(shown).astype(int) - shown.luma
    sums = added.reshape(6, 8, 8, 8).sum((1, 3))
    # Grey levels added, by blocks of 8x8. Processors round differently: a pixel or two may be off by one.
    expected = [
        [-9, -25, -19, 3, -30, 12, 13, -25],
        [-8, 14, -11, -8, 16, -21, -24, 5],
        [6, 5, -2, -9, -1, 4, 1, -4],
        [-8, -9, 3, -5, -10, -12, 3, -15],
        [25, 4, 8, -5, -9, 7, 5, 16],
        [3, 8, -6, -26, 3, 22, 5, 9],
    ]
    assert np.abs(sums - expected).max() <= 2, sums.tolist()


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
