"""Measuring clips with real encoders: what every frame costs and looks like at every quantiser.

``profile_clip`` makes the profile that the simulator's encoders and decoders are driven by;
docs/reference/profile-format.md describes the file. Needs the extra ``legato-rtc[profile]`` (PyAV, NumPy).
"""

from __future__ import annotations

from legato.profile.container import FORMAT
from legato.profile.measure import ENCODERS, HEIGHTS, profile_clip
from legato.profile.own_coding import warn_of_profile

__all__ = ["ENCODERS", "FORMAT", "HEIGHTS", "profile_clip", "warn_of_profile"]
