"""NVC-CC on a codec that exists: the hybrid codec as it was measured (docs/concepts/hybrid-codec.md), in place of the
stand-in.

- *hybrid, as printed*: 50 networks of Table 2 by its authors' laws, all controllers padded, as in the paper.
- *hybrid, FAMILY*: the recorded links of each shipped family, padded only by controllers that pad themselves.

Three clips that no training has seen. The policy `nvc-cc-hybrid` was trained on the hybrid codec, on a separate clip
and separate networks; `nvc-cc` was trained on the stand-in. Quality and delay are as viewed: frames that are never
shown are charged with their wait. The paper's claims are of another codec, and its GCC is of another generation;
set-ups differ in the laws of Table 2 alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from legato.links import CAPACITIES, FAMILIES
from legato.plan import Choice
from legato.results.figures import METRICS
from legato.results.stats import Estimate
from legato_studies.papers.nvc_cc.sessions import Sessions
from legato_studies.papers.nvc_cc.sweeps import FIG_12, Size, Sweep, one_link
from legato_studies.papers.reproduction import AS_PRINTED, STRICTER, Grid, Row
from legato_studies.papers.verdict import Lead, judged

SCENARIO = "nvc_cc_hybrid"
CLIPS = ("asl-sister-hybrid", "bunny-hybrid", "foreman-hybrid")
OURS, STANDIN = "nvc-cc-hybrid", "nvc-cc"
SPECS = ("oracle", "clairvoyant", "gcc", "salsify", "fbra", STANDIN, f"nvc-cc@policy={OURS},label={OURS}")
CONTROLLERS = ("oracle", "clairvoyant", "gcc", "salsify", "fbra", STANDIN, OURS)
RIVALS = ("gcc", "salsify", "fbra", STANDIN)
PRINTED = "hybrid, as printed"
UNIFORM = "hybrid, uniform laws"
FIG_8 = ((1_810_000, 0.1), (1_068_000, 0.0))
QUALITY, DELAY = "viewed_ssim_db_mean", "viewed_delay_p98_ms"
TABLES = {
    "Hybrid, Fig. 8": "The hybrid codec: a higher rate with loss against a lower one without",
    "Hybrid, Fig. 9": "The hybrid codec: a queue of one packet",
    "Hybrid, Fig. 11": "The hybrid codec: quality and delay on unseen networks of Table 2",
    "Hybrid, families": "The hybrid codec: recorded links of each family",
}


def setting_of(family: str) -> str:
    """The setting of a family's links."""
    return f"hybrid, {family}"


SETTINGS = (PRINTED, UNIFORM, *map(setting_of, CAPACITIES))


def sweeps(size: Size) -> Iterator[Sweep]:
    """Everything that is run."""
    seeds = list(range(1, size.networks + 1))
    padded: dict[str, Any] = {"forward.capacity": {"generator": "nvc-cc-authors"}, "sender.pad_to_target": True}
    yield _sweep(PRINTED, "hybrid-printed", size, SPECS, seeds, **padded)
    yield _sweep(UNIFORM, "hybrid-uniform", size, SPECS, seeds)
    for setting in CAPACITIES:
        if traces := [link.spec for link in FAMILIES[setting].links(size.links)]:
            yield _sweep(setting_of(setting), f"hybrid-{setting.lower()}", size, SPECS, [1], traces)
    for rate, loss in FIG_8:
        fixed = f"fixed@target_bitrate_bps={rate},label=fixed"
        name = f"hybrid-fig-8-{rate // 1000}"
        yield _sweep(name, name, size, [fixed], seeds[:10], **one_link(8_000_000, 25.0, 300_000, loss))
    yield _sweep("hybrid-fig-9", "hybrid-fig-9", size, SPECS[2:], seeds[:10], **one_link(1_000_000, 10.0, 1_500))


def _sweep(
    setting: str,
    name: str,
    size: Size,
    controllers: Sequence[str],
    seeds: Sequence[int],
    traces: Sequence[str] = (),
    **options: Any,
) -> Sweep:
    if size.duration_s is not None:
        options["duration_s"] = size.duration_s
    made = Choice(
        SCENARIO,
        options=options,
        controllers=controllers,
        traces=traces,
        clips=CLIPS if len(size.clips) > 1 else CLIPS[:1],
        seeds=seeds,
        log="summary",
    ).plan()
    return Sweep(setting, name, made)


def judge(sessions: Sessions) -> list[Row]:
    """Every row for which there are figures."""
    rows = [
        replace(row, setup=setup)
        for setup, setting in ((AS_PRINTED, PRINTED), (STRICTER, UNIFORM))
        for row in _leads(sessions, setting, "Hybrid, Fig. 11")
    ]
    for family in CAPACITIES:
        rows += _leads(sessions, setting_of(family), "Hybrid, families", family)
    return [*rows, *_fig_8(sessions), *_fig_9(sessions)]


def _leads(sessions: Sessions, setting: str, table: str, family: str = "") -> Iterator[Row]:
    ran = sessions.controllers(setting)
    for rival in RIVALS if OURS in ran else ():
        if rival not in ran:
            continue
        for name, pair, figure, unit, printed in (
            ("viewed SSIM above", (OURS, rival), QUALITY, "dB", 1.6),
            ("p98 frame delay below", (rival, OURS), DELAY, "ms", 3.0),
        ):
            lead = sessions.difference(setting, *pair, figure)
            title = f"{family}: {name} {rival}'s" if family else f"{name} {rival}'s"
            yield _lead(table, title, lead, unit, rival, family, printed)


def _lead(table: str, name: str, lead: Estimate, unit: str, rival: str, family: str, printed: float) -> Row:
    """[nvc-cc] claims a lead over rules on networks of Table 2; on recorded links of two kinds it calls it marginal."""
    if rival == STANDIN or (family and family not in FIG_12):
        return Row.of(table, name, None, lead, "no claim", "not of the paper", unit=unit)
    if family:
        return Row.of(table, name, "marginal", lead, "not comparable", "the paper prints no figure", unit=unit)
    return Row.of(table, name, f"≥ {printed:g}", lead, *judged(Lead(printed), lead), unit=unit)


def _fig_8(sessions: Sessions) -> Iterator[Row]:
    (high, _), (low, _) = ((f"hybrid-fig-8-{rate // 1000}", loss) for rate, loss in FIG_8)
    lossy, clean = (
        sessions.mean(name, "fixed", QUALITY) if sessions.controllers(name) else None for name in (high, low)
    )
    if lossy is None or clean is None or lossy.mean is None or clean.mean is None:
        return
    gain = Estimate(lossy.mean - clean.mean, None, None, 1)
    name = "SSIM at 1810 kbit/s and 10 % loss above 1068 kbit/s without"
    yield Row.of("Hybrid, Fig. 8", name, "about 2", gain, *judged(Lead(2.0), gain), unit="dB")


def _fig_9(sessions: Sessions) -> Iterator[Row]:
    setting = "hybrid-fig-9"
    for rival in RIVALS:
        if {rival, OURS} <= set(sessions.controllers(setting)):
            more = sessions.difference(setting, OURS, rival, QUALITY)
            name = f"SSIM above {rival}'s, 1 Mbit/s and a queue of 1.5 KB"
            why = "the paper's figure has OnRL beside it"
            yield Row.of("Hybrid, Fig. 9", name, None, more, "no claim", why, unit="dB")


_COLUMNS = (
    METRICS[QUALITY].named("SSIM as viewed, dB"),
    METRICS[DELAY].named("p98 as viewed, ms", digits=0),
    METRICS["receiver_rate_bps"].named("throughput, Mbit/s", digits=2),
    METRICS["loss_ratio"].named("loss, %", digits=1),
    METRICS["stall_ratio"].named("time stalled, %", digits=1),
)


def own_figures(sessions: Sessions) -> Iterator[Grid]:
    """Every controller's own figures, a setting each."""
    for setting in (setting for setting in SETTINGS if sessions.controllers(setting)):
        table = "Hybrid, Fig. 11" if setting in (PRINTED, UNIFORM) else "Hybrid, families"
        yield sessions.grid(table, setting.capitalize(), setting, CONTROLLERS, _COLUMNS)
