"""The learned stage at work: decoded pictures in, restored luma out, one after another, on one processor core."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from legato_studies.restorer import frames, weights
from legato_studies.restorer.frames import BLOCK, Bases, Plane, Shown
from legato_studies.restorer.weights import RestorerError


class Restorer:
    """Restores the pictures of one stream. No frame is predicted from its output: the codec does not know of it.

    Only luma is restored; chroma stays as decoded.
    """

    def __init__(self, path: Path = weights.SHIPPED) -> None:
        """Load a network that :mod:`legato_studies.restorer.train` wrote.

        Args:
            path: its file; that which Legato ships if none is named.

        Raises:
            RestorerError: the file is no network, or onnxruntime and onnx are not installed.
        """
        self.shape, found = weights.read(path)
        try:
            import onnxruntime

            content = weights.graph(self.shape, found)
        except ImportError:
            raise RestorerError(
                "the learned stage needs onnx and onnxruntime", hint="pip install 'legato-rtc[onnx]'"
            ) from None
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self._session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        self._bases: Bases | None = None
        self.memory: tuple[Plane, Plane] | None = None
        """What the next picture gets of this one: correction per pixel, numbers per cell. Kept and put back, the stage
        goes on from there, as a decoder that is copied does."""

    def restored(self, shown: Shown) -> npt.NDArray[np.uint8]:
        """The restored luma of the stream's next picture, in whole macroblocks as ``shown.luma`` is."""
        cell, luma = self.shape.cell, shown.luma.astype(np.float32)
        luma /= 255
        carried, memory = self._moved(shown)
        scale = frames.scale(shown.states, cell)
        state = np.concatenate([frames.sides(shown.states, shown.motion, cell), memory])
        feed = {"luma": luma[None, None], "carried": carried[None], "scale": scale[None], "state": state[None]}
        shares, memory = self._session.run(["weights", "memory"], feed)
        correction = self._bases_of(shown.luma).corrected(shown.luma, carried, scale, shares[0])
        self.memory = correction[None], memory[0]
        luma += correction
        luma *= 255
        return np.rint(np.clip(luma, 0, 255, out=luma), out=luma).astype(np.uint8)

    def _bases_of(self, luma: npt.NDArray[np.uint8]) -> Bases:
        height, width = luma.shape
        if self._bases is None or (self._bases.height, self._bases.width) != (height, width):
            self._bases = Bases(height, width, self.shape.cell)
        return self._bases

    def _moved(self, shown: Shown) -> tuple[Plane, Plane]:
        """The memory of the previous frame, at its present place in the picture; nothing after a key frame."""
        height, width = shown.luma.shape
        cell = self.shape.cell
        at_rest = (1, height, width), (self.shape.memory, height // cell, width // cell)
        if self.memory is None or shown.distance != 1 or self.memory[0].shape != at_rest[0]:
            return np.zeros(at_rest[0], np.float32), np.zeros(at_rest[1], np.float32)
        correction, memory = self.memory
        return (
            frames.moved(correction, frames.steps(shown.motion, 1), BLOCK),
            frames.moved(memory, frames.steps(shown.motion, cell), BLOCK // cell),
        )
