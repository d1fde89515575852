"""Training: one readable file per algorithm, one folder per run. Needs the extra: ``pip install legato-rtc[train]``.

Start with :mod:`legato.train.ppo` for the algorithm, :mod:`legato.train.run` for the run around it, and
:mod:`legato.train.recipes` for the policies.
"""

from __future__ import annotations

from importlib.util import find_spec

from legato.errors import TrainingError

for _module in ("torch", "gymnasium", "safetensors", "tensorboard", "onnx"):
    if find_spec(_module) is None:
        raise TrainingError(f"training needs {_module}, which is not installed", "pip install legato-rtc[train]")
