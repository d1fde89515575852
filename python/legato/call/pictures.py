"""The pictures that a Legato end sends, and how all ends code them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Pictures:
    """The source is a Y4M file, or a generated scene of this size and rate. The codec is one of
    :func:`legato._core.codecs`. Reed-Solomon parity is as the ``controller`` asks, as the reported losses need
    (``adaptive``), or a share of each frame's packets from 0 to 0.5. The recovery from losses is one of
    :data:`legato.call.ends.RECOVERIES`.
    """

    clip: Path | None = None
    width: int = 1280
    height: int = 720
    fps: int = 30
    codec: str = "h264"
    parity: str = "controller"
    recovery: str = "nack"

    def options(self) -> dict[str, Any]:
        """The command line's options that ask for these."""
        scene = {"clip": str(self.clip)} if self.clip else {"size": f"{self.width}x{self.height}", "fps": self.fps}
        # Folders of before these, and calls without them, have no such options.
        parity = {} if self.parity == "controller" else {"parity": self.parity}
        recovery = {} if self.recovery == "nack" else {"recovery": self.recovery}
        return {**scene, "codec": self.codec, **parity, **recovery}
