"""NVC-CC on a codec that exists: the hybrid codec as it was measured (docs/hybrid-codec.md), in place of the stand-in.

- *hybrid, as printed*: 50 networks of Table 2 by its authors' laws, all controllers padded, as in the paper.
- *hybrid, FAMILY*: the recorded links of each shipped family, padded only by controllers that pad themselves.

Three clips that no training has seen. The policy `nvc-cc-hybrid` was trained on the hybrid codec, on a clip and on
networks of its own; `nvc-cc` was trained on the stand-in. Quality and delay are as viewed: frames that are never shown
are charged with their wait. ``python -m legato.published.nvc_cc_hybrid --out DIR`` runs this part alone.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from legato import plan as plans
from legato.errors import Error
from legato.eval.stats import Estimate
from legato.published.nvc_cc_sessions import Sessions
from legato.published.nvc_cc_sweeps import FAMILIES, Size, Sweep, one_link, recorded_links
from legato.published.reproduction import Row, play
from legato.published.verdict import Lead, judged

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
    "Hybrid, Table 3": "The hybrid codec: at the network",
    "Hybrid, families": "The hybrid codec: recorded links of each family",
}


def setting_of(family: str) -> str:
    """The setting of a family's links."""
    return f"hybrid, {family}"


SETTINGS = (PRINTED, UNIFORM, *map(setting_of, FAMILIES))


def sweeps(size: Size) -> Iterator[Sweep]:
    """Everything that is run."""
    seeds = list(range(1, size.networks + 1))
    padded = {"forward.capacity": {"generator": "nvc-cc-authors"}, "sender.pad_to_target": True}
    yield _sweep(PRINTED, "hybrid-printed", size, SPECS, seeds, **padded)
    yield _sweep(UNIFORM, "hybrid-uniform", size, SPECS, seeds)
    for setting, (family, scale) in FAMILIES.items():
        links = recorded_links(family, size.links)
        if links:
            traces = [f"{path}@scale={scale}" for path in links]
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
    made = plans.make(
        SCENARIO,
        options=options,
        controller_specs=controllers,
        trace_specs=traces,
        clip_specs=CLIPS if len(size.clips) > 1 else CLIPS[:1],
        seed_spec=seeds,
        log="summary",
    )
    return Sweep(setting, name, made)


def judge(sessions: Sessions) -> list[Row]:
    """Every row for which there are figures."""
    rows = [
        *_leads(sessions, PRINTED, "Hybrid, Fig. 11", ""),
        *_leads(sessions, UNIFORM, "Hybrid, Fig. 11", "uniform laws: "),
    ]
    rows += _at_the_network(sessions)
    for setting in FAMILIES:
        rows += _leads(sessions, setting_of(setting), "Hybrid, families", f"{setting}: ")
    return [*rows, *_fig_8(sessions), *_fig_9(sessions)]


def _leads(sessions: Sessions, setting: str, table: str, prefix: str) -> Iterator[Row]:
    ran = sessions.controllers(setting)
    for rival in RIVALS if OURS in ran else ():
        if rival in ran:
            more = sessions.difference(setting, OURS, rival, QUALITY)
            yield _lead(table, f"{prefix}viewed SSIM above {rival}'s", more, "dB")
            sooner = sessions.difference(setting, rival, OURS, DELAY)
            yield _lead(table, f"{prefix}p98 frame delay below {rival}'s", sooner, "ms")


def _lead(table: str, name: str, ours: Estimate, unit: str) -> Row:
    return Row.of(table, name, "above 0", ours, *judged(Lead(), ours), unit=unit)


def _at_the_network(sessions: Sessions) -> Iterator[Row]:
    why = "another codec than the paper's"
    for controller in CONTROLLERS:
        if controller not in sessions.controllers(PRINTED):
            continue
        for figure, what, unit, scale in (
            ("receiver_rate_bps", "throughput", "Mbit/s", 1e-6),
            ("frame_delay_p98_ms", "p98 delay", "ms", 1.0),
            ("loss_ratio", "loss", "%", 100.0),
        ):
            ours = _scaled(sessions.mean(PRINTED, controller, figure), scale)
            yield Row.of("Hybrid, Table 3", f"{what} of {controller}", "–", ours, "not comparable", why, unit=unit)


def _scaled(ours: Estimate, scale: float) -> Estimate:
    mean, low, high = (None if x is None else x * scale for x in (ours.mean, ours.low, ours.high))
    return replace(ours, mean=mean, low=low, high=high)


def _fig_8(sessions: Sessions) -> Iterator[Row]:
    (high, _), (low, _) = ((f"hybrid-fig-8-{rate // 1000}", loss) for rate, loss in FIG_8)
    lossy, clean = (
        sessions.mean(name, "fixed", QUALITY) if sessions.controllers(name) else None for name in (high, low)
    )
    if lossy is None or clean is None or lossy.mean is None or clean.mean is None:
        return
    gain = Estimate(lossy.mean - clean.mean, None, None, 1)
    yield _lead("Hybrid, Fig. 8", "SSIM at 1810 kbit/s and 10 % loss above 1068 kbit/s without", gain, "dB")


def _fig_9(sessions: Sessions) -> Iterator[Row]:
    setting = "hybrid-fig-9"
    for rival in RIVALS:
        if {rival, OURS} <= set(sessions.controllers(setting)):
            more = sessions.difference(setting, OURS, rival, QUALITY)
            yield _lead("Hybrid, Fig. 9", f"SSIM above {rival}'s, 1 Mbit/s and a queue of 1.5 KB", more, "dB")


def tables(sessions: Sessions) -> str:
    """Means of each setting, and our leads, as Markdown."""
    columns = (
        (QUALITY, "viewed SSIM dB", 1.0, 2),
        (DELAY, "p98 frame delay as viewed ms", 1.0, 0),
        ("receiver_rate_bps", "throughput Mbit/s", 1e-6, 2),
        ("loss_ratio", "loss %", 100.0, 1),
        ("stall_ratio", "time stalled %", 100.0, 1),
    )
    lines: list[str] = []
    for setting in SETTINGS:
        ran = sessions.controllers(setting)
        if not ran:
            continue
        lines += [f"**{setting}** ({sessions.networks(setting)} networks, {sessions.count(setting)} sessions each)", ""]
        lines.append("| controller | " + " | ".join(title for _, title, _, _ in columns) + " |")
        lines.append("|" + "---|" * (len(columns) + 1))
        for controller in (name for name in CONTROLLERS if name in ran):
            cells = [
                _cell(_scaled(sessions.mean(setting, controller, figure), scale), digits)
                for figure, _, scale, digits in columns
            ]
            lines.append(f"| {controller} | " + " | ".join(cells) + " |")
        lines.append("")
    lines += ["| figure | ours | verdict |", "|---|---|---|"]
    for row in judge(sessions):
        if row.table != "Hybrid, Table 3":
            ours = _cell(Estimate(row.mean, row.low, row.high, row.groups or 0), 2)
            lines.append(f"| {row.name} ({row.unit}) | {ours} | {row.verdict} |")
    return "\n".join(lines) + "\n"


def _cell(ours: Estimate, digits: int) -> str:
    if ours.mean is None:
        return "–"
    if ours.low is None or ours.high is None:
        return f"{ours.mean:.{digits}f}"
    return f"{ours.mean:.{digits}f} ({ours.low:.{digits}f} to {ours.high:.{digits}f})"


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m legato.published.nvc_cc_hybrid", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--networks", type=int, default=Size().networks)
    parser.add_argument("--links", type=int, default=Size().links)
    parser.add_argument("--threads", type=int, default=0)
    chosen = parser.parse_args(arguments)
    try:
        todo = list(sweeps(Size(networks=chosen.networks, links=chosen.links)))
        runs = play({each.name: each.plan for each in todo}, chosen.out / "run", threads=chosen.threads)
        sessions = Sessions.read([(each.setting, runs[each.name]) for each in todo])
    except Error as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    text = tables(sessions)
    (chosen.out / "tables.md").write_text(text, encoding="utf-8")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
