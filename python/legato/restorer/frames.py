"""What the decoder says of a picture, as the network's planes, and how the network's memory moves with the picture.

The picture in whole macroblocks is cut into *cells* of 4x4 or 8x8 luma pixels; motion is of blocks of 8x8. The memory
is a correction per pixel and some numbers per cell. Both move by whole steps, pixels or cells: it is cheap, and a
correction that is not interpolated is not blurred.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from legato import _core

NOT_PREDICTED = -32768
MACROBLOCK = 16
BLOCK = 8
BASES = 5
"""Planes of which a correction is the weighted sum."""
SIDES = 5
"""Planes that say how a block came about: missing, of copied motion, not predicted, with coefficients, quantiser."""

Plane = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Shown:
    """A decoded picture and where its macroblocks came from."""

    luma: npt.NDArray[np.uint8]
    """In whole macroblocks; pixels beyond the picture repeat its edge."""
    states: npt.NDArray[np.uint8]
    """(rows, columns, 3) of macroblocks: origin, bit per block with coefficients, quantiser (``_core.pyi``)."""
    motion: npt.NDArray[np.int16]
    """(2 rows, 2 columns, 2) of blocks: x, y in quarters of a pixel, or ``NOT_PREDICTED``."""
    distance: int
    """How many frames before it is the one it was predicted from; 0 for a key frame."""


def shown(decoder: _core.HybridDecoder, width: int, height: int) -> Shown:
    """The decoder's latest picture, of ``width`` x ``height`` pixels."""
    luma, rest = decoder.luma(), decoder.shown()
    assert luma is not None and rest is not None, "a frame was decoded"
    distance, states, motion = rest
    rows, columns = -(-height // MACROBLOCK), -(-width // MACROBLOCK)
    vectors = np.frombuffer(motion, np.int16).reshape(rows, columns, 2, 2, 2)
    return Shown(
        whole(np.frombuffer(luma, np.uint8).reshape(height, width)),
        np.frombuffer(states, np.uint8).reshape(rows, columns, 3),
        vectors.transpose(0, 2, 1, 3, 4).reshape(2 * rows, 2 * columns, 2),
        distance,
    )


def whole(luma: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """A picture in whole macroblocks: its edge is repeated."""
    height, width = luma.shape
    below, after = -height % MACROBLOCK, -width % MACROBLOCK
    return np.pad(luma, ((0, below), (0, after)), mode="edge") if below or after else luma


def sides(states: npt.NDArray[np.uint8], motion: npt.NDArray[np.int16], cell: int) -> Plane:
    """The planes (``side_planes(cell)``, rows, columns) of cells that say how each came about."""
    origin, coded, quantiser = (np.repeat(np.repeat(states[..., i], 2, 0), 2, 1) for i in range(3))
    bits = np.tile(np.array([[1, 2], [4, 8]], np.uint8), states.shape[:2])
    planes = np.stack(
        [
            origin != 0,
            origin == 1,
            motion[..., 0] == NOT_PREDICTED,
            (coded & bits) != 0,
            quantiser.astype(np.float32) / 255,
        ]
    ).astype(np.float32)
    if cell == BLOCK:
        return planes
    planes = np.repeat(np.repeat(planes, 2, 1), 2, 2)
    # Which quarter of its block a cell is: seams of the transform lie between blocks.
    rows, columns = np.indices(planes.shape[1:])
    return np.concatenate([planes, np.stack([rows % 2, columns % 2]).astype(np.float32)])


def scale(states: npt.NDArray[np.uint8], cell: int) -> Plane:
    """The unit of each cell's corrections (1, rows, columns), where white is one: its quantiser's step, limited to 2 to
    32 grey levels. What coding leaves wrong grows with the step, so a network that works in steps learns all bitrates
    at once."""
    levels = np.exp2(np.clip(states[..., 2].astype(np.float32) / 32, 1, 5)) / 255
    side = MACROBLOCK // cell
    return np.repeat(np.repeat(levels, side, 0), side, 1)[None]


MEANS = ((1, 3), (3, 1), (3, 3), (7, 7))
"""Rows and columns of the pixels whose means the first bases are differences from."""
_MARGIN = 3


class Bases:
    """What a correction is a weighted sum of: the pixels against their means (``MEANS``), each limited to two steps,
    and the correction that was carried.

    A positive weight sharpens, a negative one smooths: along an edge and not across it, if the network says so. Tried
    before: corrections that are free in every pixel; they fit what they were trained on and gained nothing elsewhere
    (docs/hybrid-codec.md). Planes are made once: new ones for every picture take three times as long.
    """

    def __init__(self, height: int, width: int, cell: int) -> None:
        self.height, self.width, self.cell = height, width, cell
        self._padded = np.empty((height + 2 * _MARGIN, width + 2 * _MARGIN), np.float32)
        self._across = np.empty((height + 2 * _MARGIN, width), np.float32)
        self._differences = np.empty((BASES - 1, height, width), np.float32)
        self._limit, self._part = np.empty((2, height, width), np.float32)

    def corrected(self, luma: Plane, carried: Plane, scale: Plane, shares: Plane) -> Plane:
        """The correction (height, width) by the weights (BASES, rows, columns) of cells."""
        planes = [*self._of(luma, scale), carried[0]]
        blocks = (self.height // self.cell, self.cell, self.width)
        found, part = np.zeros(blocks, np.float32), self._part.reshape(blocks)
        for share, plane in zip(np.repeat(shares, self.cell, 2), planes, strict=True):
            found += np.multiply(share[:, None], plane.reshape(blocks), out=part)
        return found.reshape(self.height, self.width)

    def _of(self, luma: Plane, scale: Plane) -> Plane:
        """The differences from the means; valid until the next picture."""
        self._padded[...] = np.pad(luma, _MARGIN, mode="edge")
        spread = np.repeat(2 * scale[0], self.cell, 1)[:, None]
        self._limit.reshape(-1, self.cell, self.width)[...] = spread
        for (rows, columns), difference in zip(MEANS, self._differences, strict=True):
            across = _total([self._padded[:, i : i + self.width] for i in _places(columns)], self._across)
            _total([across[i : i + self.height] for i in _places(rows)], difference)
            np.multiply(difference, np.float32(-1 / (rows * columns)), out=difference)
            np.add(difference, luma, out=difference)
            np.minimum(difference, self._limit, out=difference)
            np.maximum(difference, np.negative(self._limit, out=self._part), out=difference)
        return self._differences


def _places(count: int) -> range:
    return range(_MARGIN - count // 2, _MARGIN + count // 2 + 1)


def _total(parts: list[Plane], out: Plane) -> Plane:
    if len(parts) == 1:
        out[...] = parts[0]
        return out
    np.add(parts[0], parts[1], out=out)
    for part in parts[2:]:
        np.add(out, part, out=out)
    return out


def side_planes(cell: int) -> int:
    """The number of planes of :func:`sides`."""
    return SIDES + (2 if cell < BLOCK else 0)


def steps(motion: npt.NDArray[np.int16], step: int) -> npt.NDArray[np.int32]:
    """Motion in whole steps of so many pixels, rounded; none where a block is not predicted."""
    still = np.where(motion == NOT_PREDICTED, np.int32(0), motion.astype(np.int32))
    return (still + 2 * step) // (4 * step)


def moved(planes: Plane, motion: npt.NDArray[np.int32], side: int) -> Plane:
    """Planes (count, height, width) as the motion shows them; ``side`` is a block's, in their pixels.

    What lies outside repeats the edge. Blocks that are not predicted show what was at their place. One plane is moved
    block by block, several number by number: each is the faster way for it.
    """
    count, height, width = planes.shape
    rows, columns = motion.shape[:2]
    if count > 1:
        spread = np.repeat(np.repeat(motion, side, 0), side, 1)
        y = np.clip(np.arange(height)[:, None] + spread[..., 1], 0, height - 1)
        x = np.clip(np.arange(width)[None, :] + spread[..., 0], 0, width - 1)
        return planes.reshape(count, -1).take(y * width + x, axis=1)
    padded = np.pad(planes[0], side, mode="edge")
    tops = np.clip(side * np.arange(rows)[:, None] + motion[..., 1], -side, height) + side
    lefts = np.clip(side * np.arange(columns)[None, :] + motion[..., 0], -side, width) + side
    blocks = np.lib.stride_tricks.sliding_window_view(padded, (side, side))[tops, lefts]
    return np.ascontiguousarray(blocks.transpose(0, 2, 1, 3)).reshape(planes.shape)
