"""The profile `low-delay` of `gcc` keeps what docs/measured/gcc-profiles.md shows, on a few links."""

from __future__ import annotations

import pytest

from legato.links import TUNED
from legato_studies.pages import gcc_profiles as profiles


def test_low_delay_waits_and_stalls_less_at_the_same_picture() -> None:
    from legato.plan import shipped

    families = sorted({trace.family for trace in shipped.traces()})
    links = [spec for family in families for spec in profiles.sampled(family, 4)]
    pairs = profiles.called(links, profiles.ENCODERS["OpenH264"], ["foreman", "asl-please"])
    assert 0.4 < pairs.ratio("viewed_delay_p95_ms") < 0.7
    assert pairs.ratio_of_means("stall_ratio") < 0.75
    assert pairs.difference("viewed_ssim_db_mean") > -0.1
    assert pairs.difference("frame_drop_ratio") < 0.02, "it does not wait less by showing less"


def test_no_file_of_the_tuning_is_a_link_of_the_page() -> None:
    from legato.links import access_networks
    from legato.plan import shipped

    tuned = {path for access in access_networks.ACCESSES for path in access_networks.files(access, TUNED)}
    for family in {trace.family for trace in shipped.traces()}:
        assert not [spec for spec in profiles.sampled(family) if any(spec.startswith(f"{p}@") for p in tuned)]


def test_ratios_are_of_pairs() -> None:
    import numpy as np

    values = {figure: np.array([100.0, 400.0]) for figure in profiles.FIGURES}
    halves = {figure: np.array([50.0, 800.0]) for figure in profiles.FIGURES}
    pairs = profiles.Pairs(values, halves)
    # Half and twice: one; 850 over 500.
    assert pairs.ratio("viewed_delay_p95_ms") == pytest.approx(1.0)
    assert pairs.ratio_of_means("stall_ratio") == pytest.approx(1.7)
    assert pairs.difference("goodput_bps") == pytest.approx(175.0)
