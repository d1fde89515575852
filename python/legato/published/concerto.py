"""Concerto (docs/papers/concerto.md): its Fig. 19 to 21 and Tables 3 and 4 on recorded 3G, 4G and Wi-Fi links.

Nothing of the test is seen in training: files of traces and clips are others (:mod:`legato.access_networks`), and the
shipped policies were chosen by windows of training files. Each call has
five seeds: they move where in the clip it begins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from legato import access_networks
from legato import plan as plans
from legato.eval.stats import NO_FIGURE, Estimate, grouped_mean, of_groups
from legato.pages import Section, counted
from legato.plan import Plan
from legato.published.reproduction import Figure, Paper, Reproduction, Row, means, play
from legato.published.trainings import OnTraining
from legato.published.verdict import AtMost, Lead
from legato.sweep import Progress, check_empty, query, version

SEEDS = 5
NEGLIGIBLE = 0.10
"""The increase of frame delay that Fig. 21's "negligible" is taken for."""
SMOOTH_ENCODER_MS = 1000
"""The VBV of WebRTC's encoder: it follows its target in about a second, as the paper measures."""
PROMPT_ENCODER_MS = 66
"""That of the paper's Salsify, whose codec obeys each new estimate: two frames."""

WEBRTC, SALSIFY, BEST_OF_TWO, RL_V, CONCERTO, ORACLE = (
    "webrtc", "salsify as described", "salsify", "rl-v", "concerto", "oracle"
)  # fmt: skip
RIVALS = (WEBRTC, SALSIFY, RL_V)
"""The schemes that the paper compares with; its Salsify is WebRTC's estimate with a codec that obeys at once."""
SCHEMES = (*RIVALS, BEST_OF_TWO, CONCERTO, ORACLE)

PUBLISHED_GAP = {"3G": 0.238, "4G": 0.249, "Wi-Fi": 0.343}
"""[concerto] section 5.2: how far the closest rival is behind, in both scores."""
PUBLISHED_THROUGHPUT = {WEBRTC: 0.549, SALSIFY: 0.539, RL_V: 0.373}
PUBLISHED_SMOOTHNESS = {"with": 0.116, "without": 0.136}
# [concerto] Table 3, QoE_p over that of the whole.
PUBLISHED_TABLE_3 = {"2-state": 0.82, "loss 1": 0.87, "loss 2": 0.85, "loss 3": 0.82}
# [concerto] Table 4. Its text has the columns as what was trained on.
PUBLISHED_TABLE_4 = {
    ("4G", "3G"): 0.84, ("Wi-Fi", "3G"): 0.91, ("3G", "4G"): 0.94, ("Wi-Fi", "4G"): 0.99, ("3G", "Wi-Fi"): 0.82,
    ("4G", "Wi-Fi"): 0.81,
}  # fmt: skip

# [concerto] Table 2: the constants of eq. (8), which no controller can change.
CONSTANT = {"qoe_p": 3.30, "qoe_d": 2.67}

PAPER = Paper(
    "concerto",
    "Concerto",
    {
        "Fig. 19": "Fig. 19: the two scores",
        "Fig. 20": "Fig. 20: throughput, Concerto's over",
        "Fig. 21": "Fig. 21: frame delay, Concerto's over",
        "5.3": "Section 5.3: smoothness",
        "Table 3": "Table 3: inputs and losses, QoE_p without its constant, over the whole's",
        "Table 4": "Table 4: trained on one kind of access, tested on another",
    },
    digits=".3f",
    over="recordings",
)


@dataclass(frozen=True)
class Call:
    """What is compared of one call."""

    scheme: str
    access: str
    network: str
    """Of the trace, with the window's beginning."""
    clip: str
    seed: int
    qoe_p: float
    qoe_d: float
    ssim_db: float
    frame_delay_ms: float
    throughput_bps: float
    smoothness_mbps: float
    """Mean step of the target from one second to the next, eta of [concerto] section 5.3."""
    stall_ratio: float
    viewed_qoe_p: float
    viewed_qoe_d: float
    viewed_delay_p95_ms: float
    on_time_150ms_ratio: float

    @property
    def condition(self) -> tuple[str, str]:
        """What calls of all schemes have in common."""
        return (f"{self.access} {self.network}", self.clip)

    @property
    def recording(self) -> str:
        """What intervals are over: windows of one file are alike, whatever the clip."""
        return f"{self.access} {self.network.split('@')[0]}"


def reproduce(
    out: str | Path,
    *,
    seeds: int = SEEDS,
    quick: bool = False,
    trainings: bool = True,
    threads: int = 0,
    resume: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
    on_training: OnTraining | None = None,
) -> Reproduction:
    """Make the calls of Fig. 19 to 21, train and test the variants of Tables 3 and 4, judge.

    Args:
        out: the folder; calls go to ``out/runs``, trainings to ``out/trainings``.
        seeds: of the calls of Fig. 19 to 21; variants get one.
        quick: three windows of each kind of access, one clip and one seed, and no trainings.
        trainings: train and test the variants of Tables 3 and 4; ``quick`` does not.
        resume: continue with what is there.
        on_training: called before each training.
    """
    out = Path(out)
    check_empty(out, resume=resume)
    seeds = 1 if quick else seeds

    def calls_of(made: dict[tuple[str, str], Plan]) -> list[Call]:
        named = {f"{access}-{part}": plan for (access, part), plan in made.items()}
        runs = play(named, out / "runs", threads=threads, on_progress=on_progress)
        found = []
        for (access, part), plan in made.items():
            found += read_calls(runs[f"{access}-{part}"], access, plan, _windows(access, quick))
        return found

    encoders = (("1s", _SLOW_ENCODER, SMOOTH_ENCODER_MS), ("prompt", _PROMPT_ENCODER, PROMPT_ENCODER_MS))
    calls = calls_of(
        {
            (access, f"encoder-{name}"): _plan(access, schemes, seeds, vbv_ms, quick)
            for access in access_networks.ACCESSES
            for name, schemes, vbv_ms in encoders
        }
    )
    rows = judge(calls)
    trainings_s = None
    if trainings and not quick:
        from legato.published import concerto_variants

        trained = concerto_variants.train_all(out / "trainings", on_training)
        trainings_s = trained.wall_s
        variants = {
            (access, "variants"): _plan(access, trained.specs, 1, SMOOTH_ENCODER_MS, quick)
            for access in access_networks.ACCESSES
        }
        rows += judge_variants(calls_of(variants))
    folder = next((out / "runs").glob("*/manifest.json")).parent
    done = Reproduction(PAPER, out, version(folder), tuple(rows), tuple(calls))
    return done.write(
        [_introduction(done, seeds, trainings_s)],
        [_behind(calls)],
        before_rows={"seeds": seeds, "trainings_s": trainings_s},
    )


_SLOW_ENCODER = (
    f"gcc@label={WEBRTC}",
    f"salsify@label={BEST_OF_TWO}",
    RL_V,
    CONCERTO,
    "oracle@horizon_ms=1000,label=oracle",
)
_PROMPT_ENCODER = (f"gcc@label={SALSIFY}",)


def _windows(access: str, quick: bool) -> list[str]:
    return access_networks.of_all([access], "test", 3) if quick else access_networks.windows(access, "test")


def _plan(access: str, schemes: Sequence[str], seeds: int, vbv_ms: int, quick: bool) -> Plan:
    clips = access_networks.TEST_CLIPS
    return plans.make(
        "mobile",
        options={"video.vbv_ms": vbv_ms},
        controller_specs=schemes,
        trace_specs=_windows(access, quick),
        clip_specs=clips[:1] if quick else clips,
        seed_spec=seeds,
        log="summary",
    )


_CALLS = """
select session, controller as scheme, clip, seed, qoe_p, qoe_d, ssim_db_mean as ssim_db,
    frame_delay_mean_ms as frame_delay_ms, goodput_bps as throughput_bps,
    coalesce(target_bitrate_change_ratio, 0) * (target_bitrate_mean_bps / 1e6) as smoothness_mbps,
    coalesce(stall_ratio, 0) as stall_ratio, coalesce(viewed_qoe_p, 'nan') as viewed_qoe_p,
    coalesce(viewed_qoe_d, 'nan') as viewed_qoe_d, coalesce(viewed_delay_p95_ms, 'nan') as viewed_delay_p95_ms,
    coalesce(on_time_150ms_ratio, 'nan') as on_time_150ms_ratio
from summary where qoe_p is not null order by call
"""


def read_calls(folder: Path, access: str, plan: Plan, windows: Sequence[str]) -> list[Call]:
    """The figures of every call of a run folder. One in which no picture was shown has no score and is left out."""
    rows = query(folder, _CALLS)
    networks = [Path(windows[plan.places(row.pop("session"))[1]]).name for row in rows]
    return [Call(access=access, network=network, **row) for network, row in zip(networks, rows, strict=True)]


# --- verdicts -----------------------------------------------------------------------------------------------------


def judge(calls: Sequence[Call]) -> list[Row]:
    """Fig. 19 to 21."""
    rows = []
    for access in access_networks.ACCESSES:
        here = [call for call in calls if call.access == access]
        for figure in ("qoe_p", "qoe_d"):
            rows += _scores(here, access, figure)
    for rival, printed in PUBLISHED_THROUGHPUT.items():
        gain = ratio(calls, "throughput_bps", CONCERTO, rival, less_one=True)
        rows.append(Row.judged("Fig. 20", f"throughput over {rival}", printed, gain, Lead(printed)))
    for rival in RIVALS:
        more = ratio(calls, "frame_delay_ms", CONCERTO, rival, less_one=True)
        rows.append(Row.judged("Fig. 21", f"frame delay over {rival}", 0.0, more, AtMost(NEGLIGIBLE)))
    printed = PUBLISHED_SMOOTHNESS["with"]
    step = mean(calls, "smoothness_mbps", CONCERTO)
    why = "other networks: what is comparable is with against without (Table 3 and smoothness)"
    rows.append(Row.of("5.3", "mean step of the target (Mbit/s)", printed, step, "not comparable", why))
    return rows


def _scores(calls: Sequence[Call], access: str, figure: str) -> list[Row]:
    """The closest of the paper's rivals, how far behind it is in each reading of "normalized", and the scores."""
    by_scheme = {scheme: mean(calls, figure, scheme) for scheme in SCHEMES}
    ranked = sorted(RIVALS, key=lambda scheme: -(by_scheme[scheme].mean or 0.0))
    closest, name = ranked[0], f"{figure}, {access}"
    rows = [
        Row.of("Fig. 19", f"{name}: {scheme}", None, by_scheme[scheme], "not comparable", "the score itself, eq. (8)")
        for scheme in SCHEMES
    ]
    ahead = ratio(calls, figure, CONCERTO, closest, less_one=True)
    rows.append(Row.judged("Fig. 19", f"{name}: ahead of {closest}, raw", None, ahead, Lead()))
    printed = PUBLISHED_GAP[access]
    moved = gap(calls, figure, closest, CONSTANT[figure])
    rows.append(Row.judged("Fig. 19", f"{name}: gap of {closest}, without the constant", printed, moved, Lead(printed)))
    over_best = ratio(calls, figure, CONCERTO, BEST_OF_TWO, less_one=True)
    # Salsify as its authors built it; the paper's took WebRTC's estimate.
    rows.append(Row.judged("Fig. 19", f"{name}: ahead of {BEST_OF_TWO}, raw", None, over_best, Lead()))
    # What is left to gain: an oracle is a rival that nothing can be this far ahead of.
    ceiling = gap(calls, figure, closest, CONSTANT[figure], best=ORACLE)
    why = f"what an oracle leaves {closest}: the most that any controller could show here"
    rows.append(Row.of("Fig. 19", f"{name}: gap of {closest} to the oracle", None, ceiling, "not comparable", why))
    return rows


def judge_variants(calls: Sequence[Call]) -> list[Row]:
    """Table 3, smoothness and Table 4, of variants that were all trained alike."""
    rows = []
    for name, printed in PUBLISHED_TABLE_3.items():
        ours = ratio(calls, "qoe_p", name, "whole", base_qoe=CONSTANT["qoe_p"])
        rows.append(Row.judged("Table 3", f"{name} over 4-state, loss 4", printed, ours, _below_one(printed)))
    with_it, without = (mean(calls, "smoothness_mbps", scheme) for scheme in ("whole", "not smooth"))
    less = ratio(calls, "smoothness_mbps", "whole", "not smooth")
    rows.append(Row.of("5.3", "mean step with the regulariser (Mbit/s)", 0.116, with_it, "not comparable", "networks"))
    rows.append(Row.of("5.3", "mean step without it (Mbit/s)", 0.136, without, "not comparable", "networks"))
    rows.append(Row.judged("5.3", "with over without", 0.116 / 0.136, less, _below_one(0.116 / 0.136)))
    for (trained, tested), printed in PUBLISHED_TABLE_4.items():
        here = [call for call in calls if call.access == tested]
        ours = ratio(here, "qoe_p", f"only {trained}", f"only {tested}", base_qoe=CONSTANT["qoe_p"])
        name = f"trained on {trained}, tested on {tested}, over trained on the same"
        rows.append(Row.judged("Table 4", name, printed, ours, _below_one(printed)))
    return rows


def mean(calls: Iterable[Call], figure: str, scheme: str) -> Estimate:
    """The mean of a figure, with an interval over recordings."""
    return grouped_mean((call.recording, getattr(call, figure)) for call in calls if call.scheme == scheme)


def ratio(
    calls: Sequence[Call],
    figure: str,
    above: str,
    below: str,
    *,
    base_qoe: float = 0.0,
    less_one: bool = False,
) -> Estimate:
    """One scheme's mean over another's, over the conditions both have; an interval over recordings.

    ``base_qoe`` is subtracted from the figure first, ``less_one`` gives the gain.
    """
    first, second = (_means(calls, figure, scheme) for scheme in (above, below))
    recordings = {call.condition: call.recording for call in calls}
    totals: dict[str, NDArray[np.float64]] = {}
    for key in (key for key in first if key in second):
        row = np.array([first[key] - base_qoe, second[key] - base_qoe, 1.0])
        totals[recordings[key]] = totals.get(recordings[key], np.zeros(3)) + row
    if not totals:
        return NO_FIGURE
    table = np.array(list(totals.values()))

    def over(weights: NDArray[np.float64]) -> NDArray[np.float64]:
        return (weights @ table[:, 0]) / (weights @ table[:, 1])

    if (table > 0).all():
        # On a logarithmic scale: a half is as far from 1 as a double, and no ratio is below 0.
        return _shifted(of_groups(lambda weights: np.log(over(weights)), table[:, 2]), np.exp, less_one)
    return _shifted(of_groups(over, table[:, 2]), np.positive, less_one)


def _shifted(found: Estimate, unscaled: Callable[[float], float], less: float) -> Estimate:
    """An estimate back on its own scale, less a number."""
    mean, low, high = (
        None if end is None else float(unscaled(end)) - less for end in (found.mean, found.low, found.high)
    )
    return replace(found, mean=mean, low=low, high=high)


def gap(calls: Sequence[Call], figure: str, rival: str, base_qoe: float, best: str = CONCERTO) -> Estimate:
    """The share of the best scheme's score, without its constant, that a rival lacks."""
    lacks = ratio(calls, figure, rival, best, base_qoe=base_qoe)
    mean, high, low = (None if end is None else 1.0 - end for end in (lacks.mean, lacks.low, lacks.high))
    return replace(lacks, mean=mean, low=low, high=high)


def _means(calls: Iterable[Call], figure: str, scheme: str) -> dict[tuple[str, str], float]:
    """Of a scheme, by condition."""
    values: dict[tuple[str, str], list[float]] = {}
    for call in calls:
        if call.scheme == scheme:
            values.setdefault(call.condition, []).append(getattr(call, figure))
    return {condition: float(np.mean(of_condition)) for condition, of_condition in values.items()}


def _below_one(printed: float) -> Lead:
    return Lead(printed, no_effect=1.0, more_is_better=False)


# --- the page -----------------------------------------------------------------------------------------------------


def _introduction(done: Reproduction, seeds: int, trainings_s: float | None) -> Markup:
    conditions = len({call.condition for call in done.calls})
    named = ((access, access_networks.files(access, "test")) for access in access_networks.ACCESSES)
    trained = "Tables 3 and 4 were left out."
    if trainings_s is not None:
        trained = f"The trainings of Tables 3 and 4 took {trainings_s / 60:.0f} min."
    return Markup(
        "Zhou et al., MobiCom 2019, in calls of a minute over recorded 3G, 4G and Wi-Fi links slowed into the range "
        "of its bitrates. {} networks and clips, {}, Legato {}. Means with 95 % intervals over "
        "recordings, of which networks are windows. Training and tests share no trace file and no clip: tests have "
        "every fifth file ({}) and the clips {}. {} Differences from the paper, and what its normalised scores may be: "
        "<code>docs/papers/concerto.md</code>."
    ).format(
        conditions,
        counted(seeds, "seed"),
        done.version,
        "; ".join(f"{access}: {', '.join(path.name for path in paths)}" for access, paths in named),
        ", ".join(access_networks.TEST_CLIPS),
        trained,
    )


_BEHIND: dict[str, Figure] = {
    "qoe_p": ("QoE_p", 1.0, 3),
    "qoe_d": ("QoE_d", 1.0, 3),
    "viewed_qoe_p": ("QoE_p as viewed", 1.0, 3),
    "viewed_qoe_d": ("QoE_d as viewed", 1.0, 3),
    "viewed_delay_p95_ms": ("p95 frame delay as viewed ms", 1.0, 0),
    "on_time_150ms_ratio": ("on time, 150 ms %", 100.0, 1),
    "ssim_db": ("SSIM dB", 1.0, 2),
    "throughput_bps": ("throughput kbit/s", 1e-3, 0),
    "frame_delay_ms": ("frame delay ms", 1.0, 0),
    "stall_ratio": ("stalled %", 100.0, 1),
    "smoothness_mbps": ("step Mbit/s", 1.0, 3),
}


def _behind(calls: Sequence[Call]) -> Section:
    """What stands behind the scores, by access and scheme."""
    rows = [
        (f"{access}, {scheme}", [mean([c for c in calls if c.access == access], name, scheme).mean for name in _BEHIND])
        for access in access_networks.ACCESSES
        for scheme in SCHEMES
    ]
    return means("Behind the figures", list(_BEHIND.values()), rows)
