"""What the decoder says of a picture, as the network's planes, and how the network's memory moves with the picture.

The picture in whole macroblocks is cut into *cells* of 4x4 or 8x8 luma pixels; motion is of blocks of 8x8. The memory
is a correction per pixel and some numbers per cell. Both move by whole steps, pixels or cells: it is cheap, and a
correction that is not interpolated is not blurred.
"""

from __future__ import annotations

from collections.abc import Iterator
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
    rows, columns = states.shape[:2]
    origin, coded, quantiser = (states[:, None, :, None, i] for i in range(3))
    planes = np.empty((SIDES, 2 * rows, 2 * columns), np.float32)
    blocks = planes.reshape(SIDES, rows, 2, columns, 2)
    blocks[0] = origin != 0
    blocks[1] = origin == 1
    planes[2] = motion[..., 0] == NOT_PREDICTED
    blocks[3] = (coded & np.array([[[1, 2]], [[4, 8]]], np.uint8)) != 0
    blocks[4] = quantiser / np.float32(255)
    if cell == BLOCK:
        return planes
    found = np.empty((side_planes(cell), 4 * rows, 4 * columns), np.float32)
    found[:SIDES] = np.repeat(np.repeat(planes, 2, 2), 2, 1)
    # Which quarter of its block a cell is: seams of the transform lie between blocks.
    found[SIDES] = np.arange(4 * rows)[:, None] % 2
    found[SIDES + 1] = np.arange(4 * columns) % 2
    return found


def scale(states: npt.NDArray[np.uint8], cell: int) -> Plane:
    """The unit of each cell's corrections (1, rows, columns), where white is one: its quantiser's step, limited to 2 to
    32 grey levels. What coding leaves wrong grows with the step, so a network that works in steps learns all bitrates
    at once."""
    levels = np.exp2(np.clip(states[..., 2].astype(np.float32) / 32, 1, 5)) / 255
    side = MACROBLOCK // cell
    return np.asarray(np.repeat(np.repeat(levels, side, 0), side, 1)[None], np.float32)


MEANS = ((1, 3), (3, 1), (3, 3), (7, 7))
"""Rows and columns of the pixels whose means the first bases are differences from."""
_MARGIN = 3


class Bases:
    """What a correction is a weighted sum of: the pixels against their means (``MEANS``), each limited to two steps,
    and the correction that was carried.

    A positive weight sharpens, a negative one smooths: along an edge and not across it, if the network says so. Tried
    before: corrections that are free in every pixel; they fit their training data and gained nothing elsewhere
        (docs/concepts/hybrid-codec.md).

    Most of the time goes into reading and writing planes. Pixels are therefore summed as whole numbers of 16 bits, half
    the bytes and no rounding, and planes are made once: new ones for every picture take longer.
    """

    def __init__(self, height: int, width: int, cell: int) -> None:
        self.height, self.width, self.cell = height, width, cell
        beyond = 2 * _MARGIN
        self._pixels = np.empty((height + beyond, width + beyond), np.int16)
        self._three_across = np.empty((height + beyond, width + beyond - 2), np.int16)
        self._seven_across = np.empty((height + beyond, width), np.int16)
        self._three_down = np.empty((height + beyond - 2, width), np.int16)
        self._total, self._difference = np.empty((2, height, width), np.int16)
        self._per_limit, self._part = np.empty((2, height, width), np.float32)

    def corrected(self, luma: npt.NDArray[np.uint8], carried: Plane, scale: Plane, shares: Plane) -> Plane:
        """The correction (height, width) by the weights (BASES, rows, columns) of cells."""
        self._pixels[...] = np.pad(luma, _MARGIN, mode="edge")
        limit = 2 * 255 * scale[0]  # in grey levels, as pixels are
        blocks = (self.height // self.cell, self.cell, self.width)
        self._per_limit.reshape(blocks)[...] = self._across(1 / limit)
        found: Plane = np.multiply(carried[0].reshape(blocks), self._across(shares[-1])).reshape(
            self.height, self.width
        )
        difference, part = self._difference, self._part
        pixels = self._pixels[_MARGIN:-_MARGIN, _MARGIN:-_MARGIN]
        for (rows, columns), total, share in zip(MEANS, self._totals(), shares[:-1], strict=True):
            count = rows * columns
            np.multiply(pixels, np.int16(count), out=difference)
            np.subtract(difference, total, out=difference)
            part[...] = difference  # apart from the product: numpy converts within one at a third of the speed
            np.multiply(part, self._per_limit, out=part)
            np.clip(part, -count, count, out=part)
            weight = self._across(share * (limit / np.float32(255 * count)))
            np.multiply(part.reshape(blocks), weight, out=part.reshape(blocks))
            found += part
        return found

    def _across(self, cells: Plane) -> Plane:
        """A number per cell as (rows of cells, 1, width): for a plane in rows of cells."""
        return np.repeat(cells, self.cell, 1)[:, None]

    def _totals(self) -> Iterator[npt.NDArray[np.int16]]:
        """Around each pixel, the sums whose means are ``MEANS``; each is valid until the next."""
        width, height, total = self.width, self.height, self._total
        three = _three(self._pixels.T, self._three_across.T).T
        yield three[_MARGIN:-_MARGIN, 2:-2]
        yield _three(self._pixels[2:-2, _MARGIN:-_MARGIN], total)
        yield _three(three[2:-2, 2:-2], total)
        seven = np.add(three[:, :width], three[:, 3 : 3 + width], out=self._seven_across)
        seven += self._pixels[:, 6:]
        down = _three(seven, self._three_down)
        np.add(down[:height], down[3 : 3 + height], out=total)
        total += seven[6:]
        yield total


def _three(plane: npt.NDArray[np.int16], out: npt.NDArray[np.int16]) -> npt.NDArray[np.int16]:
    """The sums of three neighbours down a plane, of two rows less."""
    np.add(plane[:-2], plane[1:-1], out=out)
    return np.add(out, plane[2:], out=out)


def side_planes(cell: int) -> int:
    """The number of planes of :func:`sides`."""
    return SIDES + (2 if cell < BLOCK else 0)


def steps(motion: npt.NDArray[np.int16], step: int) -> npt.NDArray[np.int32]:
    """Motion in whole steps of so many pixels, rounded; none where a block is not predicted."""
    still = np.where(motion == NOT_PREDICTED, np.int32(0), motion.astype(np.int32))
    return (still + 2 * step) // (4 * step)


def moved(planes: Plane, motion: npt.NDArray[np.int32], side: int) -> Plane:
    """Planes (count, height, width) as the motion shows them; ``side`` is a block's, in their pixels.

    What lies outside repeats the edge. Blocks that are not predicted show the previous picture at their place. One
    plane is moved by rows of blocks, several number by number: each is the faster way for it.
    """
    count, height, width = planes.shape
    rows, columns = motion.shape[:2]
    if count > 1:
        right, down = (np.repeat(np.repeat(motion[..., i], side, 0), side, 1) for i in range(2))
        y = np.clip(np.arange(height, dtype=np.int32)[:, None] + down, 0, height - 1)
        x = np.clip(np.arange(width, dtype=np.int32) + right, 0, width - 1)
        moved: Plane = planes.reshape(count, -1).take(y * width + x, axis=1)
        return moved
    padded = np.pad(planes[0], side, mode="edge")
    tops = np.clip(side * np.arange(rows)[:, None] + motion[..., 1], -side, height) + side
    lefts = np.clip(side * np.arange(columns) + motion[..., 0], -side, width) + side
    # Wherever a block lies, each of its rows is one run of numbers: an opaque element that begins at any of them.
    runs = np.ndarray(padded.size - side + 1, f"V{4 * side}", padded, strides=(4,))
    starts = (tops * padded.shape[1] + lefts)[:, None] + padded.shape[1] * np.arange(side)[:, None]
    one: Plane = runs[starts].view(np.float32).reshape(planes.shape)
    return one
