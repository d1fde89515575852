"""Fig. 19 to 21 of Concerto: the calls of each set-up, and their judged figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from legato.links import HELD_OUT, access_networks, spread
from legato.plan import Choice, Plan
from legato.results.query import query
from legato.results.stats import NO_FIGURE
from legato_studies.papers.concerto.estimates import direction, gap, mean, percent, ratio, scaled, turned
from legato_studies.papers.concerto.setups import (
    AS_RECORDED_POLICY,
    BEST_OF_TWO,
    BY_SECOND_POLICY,
    CLAIRVOYANT,
    CONCERTO,
    ORACLE,
    OTHER,
    PRINTED,
    RL_V,
    SALSIFY,
    STRICT,
    WEBRTC,
    Setup,
)
from legato_studies.papers.reproduction import Row
from legato_studies.papers.verdict import AtMost, Lead

NEGLIGIBLE_PERCENT = 10.0
"""The increase of frame delay that Fig. 21's "negligible" is taken for."""
CLOSE_PERCENT = 10.0
"""How far apart the scores of rivals may be that section 5.2 calls "quite close to each other"."""
RIVALS = (WEBRTC, SALSIFY, RL_V)
"""The schemes that the paper compares with; its Salsify is WebRTC's estimate with a codec that obeys at once."""
CEILING = {PRINTED.name: ORACLE, STRICT.name: CLAIRVOYANT}
"""What no controller can be ahead of: the best that knows the future, by each set-up's score."""

PUBLISHED_GAP_PERCENT = {"3G": 23.8, "4G": 24.9, "Wi-Fi": 34.3}
"""[concerto] section 5.2: how far the closest rival is behind, in both scores."""
PUBLISHED_THROUGHPUT_PERCENT = {WEBRTC: 54.9, SALSIFY: 53.9, RL_V: 37.3}
PUBLISHED_STEP_KBPS = 116.0

# [concerto] Table 2: the constants of eq. (8), which no controller can change.
CONSTANT = {"qoe_p": 3.30, "qoe_d": 2.67}


@dataclass(frozen=True)
class Call:
    """The compared figures of one call."""

    scheme: str
    access: str
    network: str
    """Of the trace, with the window's beginning."""
    clip: str
    seed: int
    qoe_p: float
    """As the set-up has it: of the frames that were shown, or as viewed."""
    qoe_d: float
    ssim_db: float
    frame_delay_ms: float
    throughput_bps: float
    smoothness_mbps: float
    """Mean step of the target from one second to the next, eta of [concerto] section 5.3."""
    stall_ratio: float
    viewed_qoe_p: float
    viewed_qoe_d: float
    viewed_delay_ms: float
    viewed_delay_p95_ms: float
    on_time_150ms_ratio: float
    loss_ratio: float
    utilisation_ratio: float

    @property
    def condition(self) -> tuple[str, str]:
        """What calls of all schemes have in common."""
        return (f"{self.access} {self.network}", self.clip)

    @property
    def recording(self) -> str:
        """What intervals are over: windows of one file are alike, whatever the clip."""
        return f"{self.access} {self.network.split('@')[0]}"


def schemes(setup: Setup, prompt: bool) -> list[str]:
    """The controllers that share an encoder: WebRTC's, or the one that obeys at once."""
    if prompt:
        return [f"{setup.gcc}@label={SALSIFY}"]
    (other,) = {AS_RECORDED_POLICY, BY_SECOND_POLICY} - {setup.policy}
    return [
        f"{setup.gcc}@label={WEBRTC}",
        f"salsify@label={BEST_OF_TWO}",
        f"rl-v@policy={setup.rl_v_policy},label={RL_V}",
        f"concerto@policy={setup.policy},label={CONCERTO}",
        f"concerto@policy={other},label={OTHER}",
        f"oracle@horizon_ms=1000,label={ORACLE}",
        *([] if setup.by_second else [CLAIRVOYANT]),
    ]


def scheme_names(setup: Setup) -> list[str]:
    """The schemes of a set-up, rivals first."""
    return [*RIVALS, BEST_OF_TWO, CONCERTO, OTHER, ORACLE, *([] if setup.by_second else [CLAIRVOYANT])]


def chosen(setup: Setup, access: str, folder: Path, quick: bool) -> list[str]:
    """The test networks of a kind of access."""
    windows = setup.windows(access, HELD_OUT, folder)
    return spread(windows, 3) if quick else windows


def call_plans(setup: Setup, folder: Path, seeds: int, quick: bool) -> Iterator[tuple[str, str, Plan]]:
    """Name, kind of access and plan of each sweep."""
    for access in access_networks.ACCESSES:
        for prompt in (False, True):
            name = f"{setup.name.replace(' ', '-')}-{access}-{'prompt' if prompt else '1s'}"
            yield name, access, call_plan(setup, access, schemes(setup, prompt), folder, seeds, quick, prompt=prompt)


def call_plan(
    setup: Setup,
    access: str,
    controllers: Sequence[str],
    folder: Path,
    seeds: int,
    quick: bool,
    *,
    prompt: bool = False,
) -> Plan:
    """Of some controllers on the test networks of a kind of access."""
    clips = access_networks.TEST_CLIPS
    return Choice(
        setup.scenario,
        options={**setup.encoder(prompt), "duration_s": setup.duration_s},
        controllers=controllers,
        traces=chosen(setup, access, folder, quick),
        clips=clips[:1] if quick else clips,
        seeds=seeds,
        log="summary",
    ).plan()


_CALLS = """
select session, controller as scheme, clip, seed, {qoe_p} as qoe_p, {qoe_d} as qoe_d, ssim_db_mean as ssim_db,
    frame_delay_mean_ms as frame_delay_ms, goodput_bps as throughput_bps,
    coalesce(target_bitrate_change_ratio, 0) * (target_bitrate_mean_bps / 1e6) as smoothness_mbps,
    coalesce(stall_ratio, 0) as stall_ratio, coalesce(viewed_qoe_p, 'nan') as viewed_qoe_p,
    coalesce(viewed_qoe_d, 'nan') as viewed_qoe_d, coalesce(viewed_delay_mean_ms, 'nan') as viewed_delay_ms,
    coalesce(viewed_delay_p95_ms, 'nan') as viewed_delay_p95_ms,
    coalesce(on_time_150ms_ratio, 'nan') as on_time_150ms_ratio, coalesce(loss_ratio, 0) as loss_ratio,
    coalesce(utilisation_ratio, 'nan') as utilisation_ratio
from summary where {qoe_p} is not null order by call
"""


def read_calls(folder: Path, access: str, plan: Plan, windows: Sequence[str], setup: Setup) -> list[Call]:
    """The figures of every call of a run folder. One in which no picture was shown has no score and is left out."""
    rows = query(folder, _CALLS.format(qoe_p=setup.qoe[0], qoe_d=setup.qoe[1]))
    networks = [Path(windows[plan.places(row.pop("session"))[1]]).name for row in rows]
    return [Call(access=access, network=network, **row) for network, row in zip(networks, rows, strict=True)]


# --- verdicts -----------------------------------------------------------------------------------------------------


def judge(calls: Sequence[Call], setup: Setup) -> list[Row]:
    """Fig. 19 to 21, and what sections 5.2 and 5.3 say of the rivals, in one set-up."""
    of = {"setup": setup.name}
    rows = []
    for access in access_networks.ACCESSES:
        here = [call for call in calls if call.access == access]
        for figure in ("qoe_p", "qoe_d"):
            rows += _scores(here, access, figure, setup) + _rivals(here, access, figure, setup)
    for rival, printed in PUBLISHED_THROUGHPUT_PERCENT.items():
        gain = percent(ratio(calls, "throughput_bps", CONCERTO, rival, less_one=True))
        rows.append(Row.judged("Fig. 20", f"throughput above {rival}'s (%)", printed, gain, Lead(printed), **of))
    for rival in RIVALS:
        more = percent(ratio(calls, setup.delay, CONCERTO, rival, less_one=True))
        name = f"frame delay above {rival}'s (%)"
        rows.append(Row.judged("Fig. 21", name, "negligible", more, AtMost(NEGLIGIBLE_PERCENT), **of))
    return rows + _smoothness(calls, setup)


def _rivals(calls: Sequence[Call], access: str, figure: str, setup: Setup) -> list[Row]:
    """Section 5.2: the rivals are quite close to each other, RL-V slightly better on 4G and Wi-Fi and worse on 3G."""
    of = {"setup": setup.name}
    scores = {scheme: mean(calls, figure, scheme).mean or 0.0 for scheme in RIVALS}
    lowest, highest = min(scores, key=scores.__getitem__), max(scores, key=scores.__getitem__)
    apart = percent(turned(ratio(calls, figure, lowest, highest)))
    name = f"{figure}, {access}: lowest rival behind the highest (%)"
    rows = [Row.judged("5.2", name, "quite close", apart, AtMost(CLOSE_PERCENT), **of)]
    worse = access == "3G"
    others = sorted((WEBRTC, SALSIFY), key=scores.__getitem__)
    ahead = percent(ratio(calls, figure, RL_V, others[0 if worse else 1], less_one=True))
    name = f"{figure}, {access}: {RL_V} above the {'worse' if worse else 'better'} of the other two (%)"
    claim = Lead(more_is_better=not worse)
    rows.append(Row.judged("5.2", name, f"slightly {direction(claim)}", ahead, claim, **of))
    return rows


def _smoothness(calls: Sequence[Call], setup: Setup) -> list[Row]:
    """Section 5.3: Concerto's bitrate is more stable than the others'."""
    of = {"setup": setup.name}
    rows = []
    for scheme in (CONCERTO, *RIVALS):
        printed = PUBLISHED_STEP_KBPS if scheme == CONCERTO else None
        step = scaled(mean(calls, "smoothness_mbps", scheme), 1e3)
        name = f"mean step of the target, {scheme} (kbit/s)"
        rows.append(Row.of("5.3", name, printed, step, "not comparable", "other networks", **of))
    for rival in RIVALS:
        over, claim = ratio(calls, "smoothness_mbps", CONCERTO, rival), Lead(no_effect=1.0, more_is_better=False)
        name = f"mean step of the target, {CONCERTO}'s over {rival}'s"
        rows.append(Row.judged("5.3", name, direction(claim), over, claim, **of))
    return rows


def _scores(calls: Sequence[Call], access: str, figure: str, setup: Setup) -> list[Row]:
    """The order: the lead over each of the paper's rivals; the size: the gap of the closest one."""
    of = {"setup": setup.name}
    by_scheme = {scheme: mean(calls, figure, scheme) for scheme in scheme_names(setup)}
    name = f"{figure}, {access}"
    rows = [
        Row.of("Fig. 19", f"{name}: {scheme}", None, found, "not comparable", "the score itself, eq. (8)", **of)
        for scheme, found in by_scheme.items()
    ]
    # Salsify as its authors built it comes last; the paper's took WebRTC's estimate.
    for rival in (*RIVALS, BEST_OF_TWO):
        ahead, claim = percent(ratio(calls, figure, CONCERTO, rival, less_one=True)), Lead()
        rows.append(
            Row.judged("Fig. 19", f"{name}: {CONCERTO} above {rival} (%)", direction(claim), ahead, claim, **of)
        )
    closest = max(RIVALS, key=lambda scheme: by_scheme[scheme].mean or 0.0)
    printed = PUBLISHED_GAP_PERCENT[access]
    moved = percent(gap(calls, figure, closest, CONSTANT[figure], CONCERTO))
    label = f"{name} minus its constant: closest rival behind {CONCERTO} (%)"
    if min(by_scheme[scheme].mean or 0.0 for scheme in (closest, CONCERTO)) > CONSTANT[figure]:
        rows.append(Row.judged("Fig. 19", label, printed, moved, Lead(printed), **of))
    else:
        why = "a score is below its constant, so that no share of the rest can be taken"
        rows.append(Row.of("Fig. 19", label, printed, NO_FIGURE, "undecidable", why, **of))
    # The possible gain: nothing can be further ahead.
    ceiling = percent(gap(calls, figure, closest, CONSTANT[figure], CEILING[setup.name]))
    why = f"what {CEILING[setup.name]} leaves {closest}: the most that any controller could show here"
    label = f"{name} minus its constant: closest rival behind the ceiling (%)"
    rows.append(Row.of("Fig. 19", label, None, ceiling, "not comparable", why, **of))
    return rows
