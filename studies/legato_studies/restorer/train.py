"""Train the learned stage: pictures, losses, network and loop, in this one file.

    python -m legato_studies.restorer.train CLIP... --out runs/restorer [--setting small|large] [--rounds N]

The hybrid codec codes each clip, and as many generated scenes, at 150 to 1500 kbit/s. After some intact frames, 0 to 70
% of its packets are lost, with reports to the sender or without. The network sees crops of the decoder's picture and is
judged against the source by L1 and 1 - SSIM. Each is relative to the decoder's picture, so that a quiet clip counts as
much as a busy one.

A round is a batch of such sequences from their first frame to the last, in chunks of a few frames: the memory is kept
from chunk to chunk, gradients are not. The checkpoint is written between rounds, and a round's draws depend on the seed
and its number alone: a resumed training ends with the same weights as one that was never stopped. Without ``--device``
one CPU thread is used.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from legato import _core, atomic
from legato.errors import TrainingError
from legato.profile.clip import Pictures, read_clip
from legato.train import checkpoint
from legato.train.learner import without_gradients
from legato_studies import command
from legato_studies.restorer import frames, weights
from legato_studies.restorer.frames import BASES, BLOCK, MACROBLOCK
from legato_studies.restorer.weights import MOST_WEIGHT, NEAR, Shape

MAX_HEIGHT = 360
FPS = 30
LEAD = 4
"""Intact frames at a sequence's start."""
LOSSY = 14
LENGTH = LEAD + LOSSY
REPORT_AFTER = 3
"""A report of a frame reaches the sender so many frames later: 100 ms."""
SETTINGS = ((4, 0), (8, 1))
"""Packets of a frame, and how many others' motion each repeats."""


@dataclass(frozen=True)
class Setting:
    """A network and how it is trained."""

    shape: Shape
    rounds: int
    batch: int
    crop: int
    """Side of a crop in luma pixels, whole macroblocks."""
    chunk: int
    """Frames through which gradients flow."""
    learning_rate: float
    streams: int
    """Coded sequences to draw crops from."""


SMALL = Setting(Shape(4, 8, ((1, 32), (3, 32), (3, 16))), 480, 16, 64, 3, 2e-3, 78)
LARGE = Setting(Shape(4, 32, ((3, 96), (3, 96), (3, 96), (3, 96), (3, 96), (3, 96))), 20_000, 32, 128, 4, 5e-4, 800)
SETTINGS_BY_NAME = {"small": SMALL, "large": LARGE}


# --- pictures ------------------------------------------------------------------------------------


def scene(random: np.random.Generator, width: int, height: int, length: int) -> np.ndarray:
    """Luma of a generated scene (length, height, width): overlapping discs and boxes with textures of all scales, a
    camera that pans, and some that move by themselves. Statistics like those of photographs: a "dead leaves" model."""
    margin = 2 * length
    ground = np.full((height + 2 * margin, width + 2 * margin), 128.0, np.float32)
    for _ in range(400):
        _put(ground, *_thing(random), random.uniform(0, ground.shape[0]), random.uniform(0, ground.shape[1]))
    pan = random.uniform(-1.5, 1.5, 2) * (random.random() < 0.5)
    movers = [(_thing(random), random.uniform((0, 0), (height, width)), random.normal(0, 2, 2)) for _ in range(6)]
    noise, pictures = random.uniform(0, 2), []
    for index in range(length):
        picture = _shifted(ground, margin + pan * index, height, width)
        for thing, place, speed in movers:
            _put(picture, *thing, *(place + speed * index))
        pictures.append(picture + random.normal(0, noise, picture.shape))
    return np.clip(np.rint(pictures), 16, 235).astype(np.uint8)


def _thing(random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The luma of a disc or box and how much of each pixel it covers."""
    radius = min(4 / random.random() ** 0.7, 160.0)
    side = 2 * int(radius) + 3
    y, x = np.mgrid[:side, :side] - side // 2
    if random.random() < 0.5:
        cover = np.clip(radius - np.hypot(x, y), 0, 1)
    else:
        shape = random.uniform(0.3, 1)
        cover = np.clip(radius - np.abs(x), 0, 1) * np.clip(shape * radius - np.abs(y), 0, 1)
    kind, level, contrast = random.integers(4), random.uniform(30, 220), random.uniform(5, 60)
    texture: np.ndarray
    if kind == 0:
        texture = np.zeros((side, side))
    elif kind == 1:
        texture = (x * random.normal() + y * random.normal()) / side
    elif kind == 2:
        texture = np.sin((x * random.normal() + y * random.normal()) * random.uniform(0.1, 1.5))
    else:
        cells = int(random.integers(1, 6))
        texture = np.kron(random.normal(0, 0.5, (side // cells + 1,) * 2), np.ones((cells, cells)))[:side, :side]
    return (level + contrast * texture).astype(np.float32), cover.astype(np.float32)


def _put(picture: np.ndarray, thing: np.ndarray, cover: np.ndarray, y: float, x: float) -> None:
    side, (height, width) = len(thing), picture.shape
    top, left = round(y) - side // 2, round(x) - side // 2
    rows = slice(max(top, 0), min(top + side, height))
    columns = slice(max(left, 0), min(left + side, width))
    if rows.start >= rows.stop or columns.start >= columns.stop:
        return
    part = slice(rows.start - top, rows.stop - top), slice(columns.start - left, columns.stop - left)
    picture[rows, columns] += cover[part] * (thing[part] - picture[rows, columns])


def _shifted(ground: np.ndarray, by: np.ndarray, height: int, width: int) -> np.ndarray:
    (top, left), (fy, fx) = np.floor(by).astype(int), by % 1
    four = ground[top : top + height + 1, left : left + width + 1]
    upper = (1 - fx) * four[:-1, :-1] + fx * four[:-1, 1:]
    lower = (1 - fx) * four[1:, :-1] + fx * four[1:, 1:]
    return np.asarray((1 - fy) * upper + fy * lower)


def planar(luma: np.ndarray, u: np.ndarray | None = None, v: np.ndarray | None = None) -> bytes:
    """A picture as the encoder takes it; grey without chroma."""
    grey = np.full((luma.shape[0] // 2, luma.shape[1] // 2), 128, np.uint8)
    return b"".join(plane.tobytes() for plane in (luma, grey if u is None else u, grey if v is None else v))


# --- streams -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Stream:
    """What the decoder showed of a sequence, and its source."""

    luma: np.ndarray  # (LENGTH, height, width) uint8 in whole macroblocks
    source: np.ndarray
    states: np.ndarray  # (LENGTH, rows, columns, 3)
    motion: np.ndarray  # (LENGTH, 2 rows, 2 columns, 2)
    distance: np.ndarray  # (LENGTH,)


def streams(clips: Sequence[Path], folder: Path, count: int, seed: int) -> list[Stream]:
    """``count`` coded sequences of the clips and of generated scenes; kept in ``folder``, so that a resumed training
    does not code them again."""
    folder.mkdir(parents=True, exist_ok=True)
    made_of, wanted = folder / "made-of.json", {"clips": [path.name for path in clips], "seed": seed}
    if not made_of.exists():
        atomic.write_json(made_of, wanted)
    elif json.loads(made_of.read_text(encoding="utf-8")) != wanted:
        raise TrainingError(f"{folder}: holds sequences of other clips or another seed", "another --out, or remove it")
    found: list[Stream] = []
    sources: dict[int, Pictures] = {}
    for number in range(count):
        path = folder / f"{number:04}.npz"
        if not path.exists():
            random = np.random.default_rng([seed, number])
            which = number % (len(clips) + max(1, len(clips) // 2))
            if which < len(clips) and which not in sources:
                clip = read_clip(clips[which], longest_frames=120)
                sources[which] = clip.pictures(min(MAX_HEIGHT, 2 * (clip.source_height // 2)))
            _save(path, _stream(random, sources.get(which) if which < len(clips) else None))
        found.append(_load(path))
    return found


def _save(path: Path, stream: Stream) -> None:
    partial = path.with_suffix(".partial")
    with partial.open("wb") as file:
        np.savez(file, **vars(stream))
    partial.replace(path)


def _load(path: Path) -> Stream:
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return Stream(**{name: arrays[name] for name in Stream.__dataclass_fields__})
    except (OSError, ValueError, KeyError) as error:
        raise TrainingError(f"{path}: not a coded sequence: {error}", "remove it: it is made again") from error


def _stream(random: np.random.Generator, pictures: Pictures | None) -> Stream:
    warm = int(random.integers(2, 16))
    length = warm + LENGTH
    if pictures is None:
        luma = scene(random, 480, 272, length)
        coded = [planar(picture) for picture in luma]
    else:
        first = int(random.integers(0, max(1, len(pictures.luma) - length + 1)))
        order = [min(first + index, len(pictures.luma) - 1) for index in range(length)]
        luma, coded = pictures.luma[order], [pictures.planar(index) for index in order]
    height, width = luma[0].shape
    packets, copies = SETTINGS[random.integers(len(SETTINGS))]
    budget = 1000 * np.exp(random.uniform(np.log(150), np.log(1500))) * (width * height / (640 * 360)) / 8 / FPS
    loss = random.uniform(0, 0.7) if random.random() < 0.75 else 0.0
    reported = random.random() < 0.4
    encoder = _core.HybridEncoder(width, height, min_packets=packets, motion_copies=copies)
    decoder, kept = _core.HybridDecoder(), []
    reports: list[tuple[int, list[int], int]] = []
    for index, picture in enumerate(coded):
        if reported and index >= REPORT_AFTER:
            encoder.acknowledge(*reports[index - REPORT_AFTER])
        number, sent, _, _ = encoder.encode(picture, budget_bytes=round(budget * (8 if index == 0 else 1)))
        came = [packet for packet in sent if index < warm + LEAD or random.random() >= loss]
        if came:
            received = decoder.decode(came)[1]
        else:
            decoder.miss()
            received = []
        reports.append((number, received, len(sent)))
        if index >= warm:
            kept.append(frames.shown(decoder, width, height))
    return Stream(
        np.stack([one.luma for one in kept]),
        np.stack([frames.whole(picture) for picture in luma[warm:]]),
        np.stack([one.states for one in kept]),
        np.stack([one.motion for one in kept]),
        np.array([one.distance for one in kept]),
    )


# --- network -------------------------------------------------------------------------------------


class Network(nn.Module):  # type: ignore[misc] # torch is not there to be read
    """The graph of :func:`legato_studies.restorer.weights.graph` in torch."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.convolutions = nn.ModuleList(
            nn.Conv2d(before, after, kernel, padding=kernel // 2) for kernel, before, after in shape.convolutions()
        )
        last = self.convolutions[-1]
        # It begins as the decoder's picture: no correction.
        nn.init.zeros_(last.weight)
        nn.init.zeros_(last.bias)
        nn.init.normal_(last.weight[BASES:], std=0.05)

    def forward(self, luma: Tensor, carried: Tensor, scale: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        cell = self.shape.cell
        cells = functional.pixel_unshuffle(luma, cell)
        around = functional.avg_pool2d(cells.mean(1, keepdim=True), 3, 1, 1, count_include_pad=False)
        near = ((cells - around) / (4 * scale)).clamp(-NEAR, NEAR)
        value = torch.cat([near, functional.pixel_unshuffle(carried, cell) / scale, around - 0.5, state], 1)
        for convolution in self.convolutions[:-1]:
            value = functional.relu(convolution(value))
        shares, memory = self.convolutions[-1](value).tanh().split([BASES, self.shape.memory], 1)
        spread = (MOST_WEIGHT * shares).repeat_interleave(cell, 2).repeat_interleave(cell, 3)
        return (spread * bases(luma, carried, scale, cell)).sum(1, keepdim=True), memory

    def weights(self) -> weights.Weights:
        """As the file has them."""
        found = {}
        for index, convolution in enumerate(self.convolutions):
            found[f"{index}.weight"] = convolution.weight.detach().cpu().numpy()
            found[f"{index}.bias"] = convolution.bias.detach().cpu().numpy()
        return found


def bases(luma: Tensor, carried: Tensor, scale: Tensor, cell: int) -> Tensor:
    """The planes of :class:`legato_studies.restorer.frames.Bases` for a batch: (B, BASES, H, W)."""
    limit = 2 * scale.repeat_interleave(cell, 2).repeat_interleave(cell, 3)
    found = []
    for rows, columns in frames.MEANS:
        padded = functional.pad(luma, [columns // 2] * 2 + [rows // 2] * 2, mode="replicate")
        mean = functional.avg_pool2d(padded, (rows, columns), 1)
        found.append((luma - mean).clamp(-limit, limit))
    return torch.cat([*found, carried], 1)


def moved(planes: Tensor, motion: Tensor, side: int) -> Tensor:
    """:func:`legato_studies.restorer.frames.moved` for a batch: planes (B, C, H, W), motion in their steps
    (B, rows, columns, 2)."""
    batch, channels, height, width = planes.shape
    spread = motion.repeat_interleave(side, 1).repeat_interleave(side, 2)
    y = (torch.arange(height, device=planes.device)[:, None] + spread[..., 1]).clamp(0, height - 1)
    x = (torch.arange(width, device=planes.device)[None, :] + spread[..., 0]).clamp(0, width - 1)
    places = (y * width + x).reshape(batch, 1, -1).expand(-1, channels, -1)
    return planes.flatten(2).gather(2, places).reshape(planes.shape)


# --- loss ----------------------------------------------------------------------------------------


def ssim_loss(source: Tensor, *others: Tensor) -> list[Tensor]:
    """1 - SSIM of each picture of batches (B, 1, H, W) in 0 to 1: a Gaussian window of 11 x 11 with a deviation of 1.5,
    K1 = 0.01, K2 = 0.03, as docs/reference/metrics.md has it. As products with banded matrices: fast on a CPU."""

    def band(length: int) -> Tensor:
        window = torch.exp(-((torch.arange(11, dtype=torch.float32) - 5) ** 2) / (2 * 1.5**2))
        rows = torch.zeros(length - 10, length)
        for index in range(length - 10):
            rows[index, index : index + 11] = window / window.sum()
        return rows.to(source.device)

    rows, columns = band(source.shape[2]), band(source.shape[3]).T

    def blurred(planes: Tensor) -> Tensor:
        return rows @ planes @ columns

    # Variances as differences of means lose digits near white: the middle grey is taken off first.
    x = source - 0.5
    mean_x, square_x = blurred(x), blurred(x * x)
    found = []
    for other in others:
        y = other - 0.5
        mean_y, square_y, product = blurred(y), blurred(y * y), blurred(x * y)
        luminance = (2 * (mean_x + 0.5) * (mean_y + 0.5) + 1e-4) / ((mean_x + 0.5) ** 2 + (mean_y + 0.5) ** 2 + 1e-4)
        covariance = product - mean_x * mean_y
        variances = square_x - mean_x**2 + square_y - mean_y**2
        structure = (2 * covariance + 9e-4) / (variances + 9e-4)
        found.append(1 - (luminance * structure).mean((1, 2, 3)))
    return found


# --- loop ----------------------------------------------------------------------------------------


@dataclass
class Batch:
    """Crops of several sequences, frame by frame."""

    luma: Tensor  # (LENGTH, B, 1, H, W), 0 to 1
    source: Tensor
    sides: Tensor  # (LENGTH, B, planes, rows, columns) of cells
    scale: Tensor  # (LENGTH, B, 1, rows, columns) of cells
    motion: Tensor  # (LENGTH, B, rows, columns, 2) of blocks, quarters of a pixel
    follows: Tensor  # (LENGTH, B): whether the frame is predicted from the one before

    @staticmethod
    def of(parts: Sequence[Stream], cell: int, device: str) -> Batch:
        """Whole sequences of one size."""

        def stacked(arrays: list[np.ndarray]) -> Tensor:
            return torch.from_numpy(np.stack(arrays, 1)).to(device)

        sides = [np.stack([frames.sides(*pair, cell) for pair in zip(p.states, p.motion, strict=True)]) for p in parts]
        return Batch(
            stacked([part.luma for part in parts])[:, :, None].float() / 255,
            stacked([part.source for part in parts])[:, :, None].float() / 255,
            stacked(sides),
            stacked([np.stack([frames.scale(one, cell) for one in part.states]) for part in parts]),
            stacked([part.motion for part in parts]).long(),
            stacked([part.distance for part in parts]) == 1,
        )


def crops(pool: Sequence[Stream], setting: Setting, seed: int, number: int, device: str) -> Batch:
    """The batch of a round."""
    random = np.random.default_rng([seed, 1, number])
    side, parts = setting.crop // MACROBLOCK, []
    for _ in range(setting.batch):
        stream = pool[int(random.integers(len(pool)))]
        rows, columns = stream.source.shape[1] // MACROBLOCK - 1, stream.source.shape[2] // MACROBLOCK
        y, x = (int(random.integers(0, max(1, whole - side + 1))) for whole in (rows, columns))

        def cut(array: np.ndarray, scale: int, y: int = y, x: int = x) -> np.ndarray:
            return array[:, scale * y : scale * (y + side), scale * x : scale * (x + side)]

        parts.append(
            Stream(
                cut(stream.luma, MACROBLOCK),
                cut(stream.source, MACROBLOCK),
                cut(stream.states, 1),
                cut(stream.motion, 2),
                stream.distance,
            )
        )
    return Batch.of(parts, setting.shape.cell, device)


def steps(motion: Tensor, step: int) -> Tensor:
    """:func:`legato_studies.restorer.frames.steps` in torch."""
    still = torch.where(motion == frames.NOT_PREDICTED, torch.zeros_like(motion), motion)
    return torch.div(still + 2 * step, 4 * step, rounding_mode="floor")


def restored(
    network: Network, batch: Batch, index: int, state: tuple[Tensor, Tensor] | None
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """The picture of one frame in 0 to 1, and the state for the next."""
    cell = network.shape.cell
    luma, follows = batch.luma[index], batch.follows[index][:, None, None, None]
    if state is None:
        count, _, height, width = luma.shape
        carried = torch.zeros_like(luma)
        memory = torch.zeros(count, network.shape.memory, height // cell, width // cell, device=luma.device)
    else:
        motion = batch.motion[index]
        carried = moved(state[0], steps(motion, 1), BLOCK) * follows
        memory = moved(state[1], steps(motion, cell), BLOCK // cell) * follows
    correction, memory = network(luma, carried, batch.scale[index], torch.cat([batch.sides[index], memory], 1))
    return (luma + correction).clamp(0, 1), (correction, memory)


def relative_losses(batch: Batch, index: int, shown: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Of each sequence: L1 and 1 - SSIM over the decoder's own, and dB of SSIM above the decoder."""
    source, luma = batch.source[index], batch.luma[index]
    mine, its = ssim_loss(source, shown, luma)
    l1, its_l1 = ((source - one).abs().mean((1, 2, 3)) for one in (shown, luma))
    gain_db = 10 * torch.log10((its + 1e-4) / (mine.detach() + 1e-4))
    return l1 / (its_l1 + 2e-3), mine / (its + 2e-3), gain_db


@without_gradients
def gains(network: Network, batch: Batch) -> dict[str, float]:
    """dB of SSIM above the decoder: of the frames before any loss, and of those after."""
    state, values = None, []
    for index in range(LENGTH):
        shown, state = restored(network, batch, index, state)
        values.append(float(relative_losses(batch, index, shown)[2].mean()))
    return {"check_intact_db": float(np.mean(values[:LEAD])), "check_lossy_db": float(np.mean(values[LEAD:]))}


class Training:
    """A training between two rounds."""

    def __init__(self, setting: Setting, seed: int, device: str) -> None:
        torch.manual_seed(seed)
        self.setting, self.seed, self.device, self.round = setting, seed, device, 0
        self.network = Network(setting.shape).to(device)
        self.optimiser = torch.optim.Adam(self.network.parameters(), lr=setting.learning_rate)

    def play(self, pool: Sequence[Stream]) -> dict[str, float]:
        """One round; its mean figures."""
        share = self.round / self.setting.rounds
        for group in self.optimiser.param_groups:
            group["lr"] = self.setting.learning_rate * max(0.01, 0.5 * (1 + np.cos(np.pi * min(1.0, share))))
        batch = crops(pool, self.setting, self.seed, self.round, self.device)
        state, figures = None, []
        for first in range(0, LENGTH, self.setting.chunk):
            whole = torch.zeros((), device=self.device)
            indices = range(first, min(first + self.setting.chunk, LENGTH))
            for index in indices:
                shown, state = restored(self.network, batch, index, state)
                l1, ssim, gain_db = relative_losses(batch, index, shown)
                whole = whole + (l1 + ssim).mean() / len(indices)
                figures.append([float(one.detach().mean()) for one in (l1, ssim, gain_db)])
            if not torch.isfinite(whole):
                raise TrainingError(f"round {self.round}: the loss is not finite")
            self.optimiser.zero_grad()
            whole.backward()
            nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
            self.optimiser.step()
            state = tuple(part.detach() for part in state) if state else None
        self.round += 1
        return dict(zip(("l1_ratio", "ssim_loss_ratio", "gain_db"), map(float, np.mean(figures, 0)), strict=True))

    def save(self, path: Path) -> None:
        """Write a checkpoint: weights, optimiser, round."""
        tensors = dict(self.network.state_dict())
        for index, state in self.optimiser.state_dict()["state"].items():
            tensors |= {f"adam.{index}.{name}": value for name, value in state.items()}
        checkpoint.save(path, tensors, self._facts() | {"round": self.round})

    def load(self, path: Path) -> None:
        """Go on from a checkpoint of the same setting and seed."""
        tensors, facts = checkpoint.load(path)
        for name, value in self._facts().items():
            if facts.get(name) != value:
                raise TrainingError(f"{path}: {name} = {facts.get(name)}, not {value}", "another --out, or remove it")
        own = {name: value for name, value in tensors.items() if not name.startswith("adam.")}
        self.network.load_state_dict(own)
        state: dict[int, dict[str, Tensor]] = {}
        for name, value in tensors.items():
            if name.startswith("adam."):
                _, index, key = name.split(".")
                state.setdefault(int(index), {})[key] = value
        self.optimiser.load_state_dict(self.optimiser.state_dict() | {"state": state})
        self.round = int(facts["round"])

    def _facts(self) -> dict[str, object]:
        shape = self.setting.shape
        layers = [list(layer) for layer in shape.layers]
        plan = {"rounds": self.setting.rounds, "batch": self.setting.batch, "crop": self.setting.crop}
        return {"seed": self.seed, "cell": shape.cell, "memory": shape.memory, "layers": layers, **plan}


def run(
    training: Training, pool: Sequence[Stream], check: Batch | None, out: Path, every_s: float = 120
) -> Iterator[dict[str, float]]:
    """All rounds that are left. Every ``every_s`` and at the end: a line of figures, a checkpoint, and the network's
    file."""
    began, last, figures = time.monotonic(), time.monotonic(), []
    path = out / "checkpoint.safetensors"
    while training.round < training.setting.rounds:
        figures.append(training.play(pool))
        done = training.round == training.setting.rounds
        if time.monotonic() - last < every_s and not done:
            continue
        last = time.monotonic()
        means = {name: round(float(np.mean([one[name] for one in figures])), 4) for name in figures[0]}
        line = {"round": training.round, "wall_s": round(last - began, 1), **means}
        if check:
            line |= {name: round(value, 4) for name, value in gains(training.network, check).items()}
        figures = []
        weights.write(out / "network.safetensors", training.setting.shape, training.network.weights())
        training.save(path)
        with (out / "progress.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        yield line


OPTIONS: command.Options = {
    "clips": {"nargs": "+", "type": Path, "help": "video files"},
    "--out": {"type": Path, "required": True, "help": "the run folder"},
    "--setting": {"choices": sorted(SETTINGS_BY_NAME), "default": "small", "help": "its size"},
    "--rounds": {"type": int, "help": "in place of the setting's"},
    "--batch": {"type": int, "help": "sequences of a round, in place of the setting's"},
    "--streams": {"type": int, "help": "coded sequences to draw from, in place of the setting's"},
    "--check": {"nargs": "*", "type": Path, "default": [], "help": "clips to watch by, never trained on"},
    "--device": {"default": "cpu", "help": "of torch"},
    "--seed": {"default": 1, "help": "of weights and crops"},
}


def main(arguments: Sequence[str] | None = None) -> int:
    return command.run("restorer.train", __doc__, OPTIONS, _run, arguments)


def _run(given: command.Given) -> str:
    own = {name: getattr(given, name) for name in ("rounds", "batch", "streams")}
    setting = replace(
        SETTINGS_BY_NAME[given.setting], **{name: value for name, value in own.items() if value is not None}
    )
    if given.device == "cpu":
        torch.set_num_threads(1)
    pool = streams(given.clips, given.out / "streams", setting.streams, given.seed)
    held = streams(given.check, given.out / "check", 3 * len(given.check), given.seed + 1)
    training = Training(setting, given.seed, given.device)
    if (given.out / "checkpoint.safetensors").exists():
        training.load(given.out / "checkpoint.safetensors")
    # The same crops throughout: the draw depends on the number of the round, and no round has this one.
    draw = replace(setting, batch=4 * max(1, len(held)))
    check = crops(held, draw, given.seed, setting.rounds, given.device) if held else None
    for line in run(training, pool, check, given.out):
        print(json.dumps(line), flush=True)
    return str(given.out)


if __name__ == "__main__":
    sys.exit(main())
