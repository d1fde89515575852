"""Writes run folders of the documented shape without the simulator: every table, every column, nulls included.

The figures come from a fluid model of a bottleneck, coarse but self-consistent: a controller that overfills the queue
has the delay, loss and freezes to show for it. So a report over them looks like a report.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import duckdb
import numpy as np

SCENARIO_TOML = """\
name = "demo"
duration_s = 60.0

[path.up.bottleneck]
queue = "drop_tail"   # <not a tag>
limit_ms = 300
"""

# How much of the capacity each aims at, how slowly it follows (s), and how far it overshoots.
BEHAVIOURS = {
    "gcc": (0.82, 2.5, 0.08),
    "fixed": (0.0, 0.0, 0.0),
    "oracle": (0.97, 0.0, 0.0),
    "nada": (0.9, 1.2, 0.12),
}


def behaviour(controller: str) -> tuple[float, float, float]:
    if controller in BEHAVIOURS:
        return BEHAVIOURS[controller]
    draw = np.random.default_rng(list(controller.encode()))
    return float(draw.uniform(0.5, 1.0)), float(draw.uniform(0.2, 5.0)), float(draw.uniform(0.0, 0.2))


def write_run(
    folder: Path,
    controllers: Sequence[str] = ("fixed", "gcc", "oracle"),
    traces: Sequence[str] = ("lte/a", "lte/b", "wifi/c", "wifi/d", "5g/e", "5g/f"),
    clips: Sequence[str] = ("anna", "bob", "chen"),
    seeds: Sequence[int] = (1,),
    duration_s: float = 60.0,
    log: str = "series",
    calls_per_part: int = 9,
    finished_parts: int | None = None,
    scenario: str = "demo",
    version: str = "0.1.0",
) -> Path:
    """One run folder. `finished_parts` leaves the later parts out, as a stopped sweep does."""
    folder.mkdir(parents=True, exist_ok=True)
    plan = [(c, t, k, s) for c in controllers for t in traces for k in clips for s in seeds]
    lists = {"controllers": list(controllers), "traces": list(traces), "clips": list(clips), "seeds": list(seeds)}
    manifest = {
        "format": 1, "legato": version, "kind": "sweep", "log": log, "calls": len(plan),
        "calls_per_part": calls_per_part, "duration_s": duration_s, "scenario": scenario, **lists,
    }  # fmt: skip
    (folder / "manifest.json").write_text(json.dumps(manifest))
    plan_document = {"scenario": SCENARIO_TOML, "scenario_path": f"scenarios/{scenario}.toml", "log": log, **lists}
    (folder / "plan.json").write_text(json.dumps(plan_document))
    command = ["legato", "compare", "--scenario", scenario, "--controllers", ",".join(controllers)]
    (folder / "repeat.json").write_text(json.dumps({"command": command, "places": {}}))
    parts = range(0, len(plan), calls_per_part)
    for part, first in enumerate(parts):
        if finished_parts is not None and part >= finished_parts:
            break
        tables: dict[str, list[dict]] = {}
        for call in range(first, min(first + calls_per_part, len(plan))):
            for name, columns in simulate(call, *plan[call], duration_s, scenario).items():
                tables.setdefault(name, []).append(columns)
        for name, chunks in tables.items():
            if name != "summary" and log == "summary":
                continue
            merged = {key: np.concatenate([chunk[key] for chunk in chunks]) for key in chunks[0]}
            write_table(folder / name / f"{part:05}.parquet", merged)
    return folder


def write_table(path: Path, columns: dict[str, np.ndarray]) -> None:
    """Columns to Parquet; NaN becomes null."""
    path.parent.mkdir(parents=True, exist_ok=True)
    database = duckdb.connect()
    database.register("columns", columns)
    chosen = ", ".join(
        f'nullif("{name}", \'nan\'::{"FLOAT" if values.dtype == np.float32 else "DOUBLE"}) AS "{name}"'
        if values.dtype.kind == "f"
        else f'"{name}"'
        for name, values in columns.items()
    )
    database.execute(f"COPY (SELECT {chosen} FROM columns) TO '{path}' (FORMAT parquet, COMPRESSION zstd)")


def simulate(
    call: int, controller: str, trace: str, clip: str, seed: int, duration_s: float, scenario: str
) -> dict[str, dict]:
    """One call: the tables' columns."""
    weather = np.random.default_rng([*trace.encode(), seed])
    noise = np.random.default_rng([*trace.encode(), *clip.encode(), *controller.encode(), seed])
    bins = round(duration_s * 10)
    level = 6.2 + 0.8 * weather.standard_normal()
    capacity = np.exp(np.clip(level + np.cumsum(weather.normal(0, 0.06, bins)), 5.3, 8.0))  # kbit/s
    capacity = np.repeat(capacity[::5], 5)[:bins]
    aim, lag, over = behaviour(controller)
    target, estimate = np.empty(bins), float(capacity[0]) * 0.6
    for at in range(bins):
        if controller == "fixed":
            estimate = 500.0
        elif lag == 0:
            estimate = aim * capacity[at]
        else:
            estimate += (aim * capacity[at] * (1 + over) - estimate) / (lag * 10)
        target[at] = min(estimate, 2500.0)
    sending = np.maximum(target * (1 + noise.normal(0, 0.08, bins)), 20)
    queue_kbit, queue_ms, lost = 0.0, np.empty(bins), np.zeros(bins)
    receiver = np.empty(bins)
    for at in range(bins):
        queue_kbit += sending[at] * 0.1
        out = min(queue_kbit, capacity[at] * 0.1)
        queue_kbit -= out
        receiver[at] = out * 10
        limit = capacity[at] * 0.3
        if queue_kbit > limit:
            lost[at] = min((queue_kbit - limit) / (sending[at] * 0.1), 1.0)
            queue_kbit = limit
        queue_ms[at] = queue_kbit / capacity[at] * 1000
    one_way = queue_ms + 25 + np.abs(noise.normal(0, 2, bins))

    frames = round(duration_s * 30)
    captured = np.arange(frames) * (1000 / 30)
    at = np.minimum((captured / 100).astype(int), bins - 1)
    size = (target[at] * 1000 / 8 / 30 * np.exp(noise.normal(0, 0.25, frames))).astype(np.uint32)
    whole = noise.random(frames) >= lost[at] * 2
    delay = one_way[at] + size * 8 / capacity[at] + noise.exponential(4, frames)
    delay[~whole] = np.nan
    ssim_db = 7.5 + 2.6 * np.log2(1 + target[at] / 150) + noise.normal(0, 0.25, frames)
    ssim_db[~whole] = np.nan
    height = np.select([target[at] > 700, target[at] > 300], [720, 540], 360).astype(np.uint16)
    rendered = np.maximum.accumulate(np.where(whole, captured + delay + 10, 0.0))
    shown = rendered[whole]
    gaps = np.diff(shown) if shown.size else np.empty(0)
    stalls = gaps[gaps > 200]
    f32 = np.float32
    per_bin = np.bincount(at[whole], minlength=bins)
    with np.errstate(invalid="ignore"):
        bin_ssim = np.bincount(at[whole], ssim_db[whole], minlength=bins) / per_bin
    column = lambda value: np.full(frames, call, np.uint64) if value == "frames" else np.full(bins, call, np.uint64)  # noqa: E731

    def mean(values: np.ndarray) -> float:
        return float(np.nanmean(values)) if np.isfinite(values).any() else np.nan

    def at_p(values: np.ndarray, p: float) -> float:
        return float(np.nanpercentile(values, p)) if np.isfinite(values).any() else np.nan

    render_delay = np.where(whole, rendered - captured, np.nan)
    something_newer = np.minimum.accumulate(np.where(whole, rendered, duration_s * 1e3)[::-1])[::-1]
    waited = something_newer - captured
    summary: dict[str, object] = {
        "call": np.uint64(call), "scenario": scenario, "controller": controller, "trace": trace,
        "trace_family": trace.split("/")[0], "clip": clip, "encoder": "x264", "decoder": "strict",
        "seed": np.uint64(seed), "duration_s": duration_s, "capacity_mean_bps": mean(capacity) * 1e3,
        "target_bitrate_mean_bps": mean(target) * 1e3, "sending_rate_bps": mean(sending) * 1e3,
        "receiver_rate_bps": mean(receiver) * 1e3, "goodput_bps": float(size[whole].sum()) * 8 / duration_s,
        "utilisation_ratio": mean(receiver) / mean(capacity), "padding_ratio": 0.01, "rtx_ratio": mean(lost) / 2,
        "fec_ratio": 0.0, "feedback_rate_bps": 21e3, "packets_sent": np.uint64(sending.sum()),
        "packets_received": np.uint64(sending.sum() * (1 - mean(lost))), "loss_ratio": mean(lost),
        "residual_loss_ratio": mean(lost) / 3, "ce_ratio": 0.0, "one_way_delay_mean_ms": mean(one_way),
        "one_way_delay_std_ms": float(np.nanstd(one_way)),
        **{f"one_way_delay_p{p}_ms": at_p(one_way, p) for p in (50, 95, 98)},
        "queue_delay_mean_ms": mean(queue_ms), "queue_delay_p95_ms": at_p(queue_ms, 95),
        "rtt_mean_ms": mean(one_way) + 25, **{f"rtt_p{p}_ms": at_p(one_way, p) + 25 for p in (50, 95, 98)},
        "pacer_delay_mean_ms": 3.0, "pacer_delay_p95_ms": 9.0, "frames_captured": np.uint64(frames),
        "frames_encoded": np.uint64(frames), "frames_rendered": np.uint64(whole.sum()),
        "rendered_fps": float(whole.sum()) / duration_s, "frame_drop_ratio": float(1 - whole.mean()),
        "frame_delay_mean_ms": mean(delay), **{f"frame_delay_p{p}_ms": at_p(delay, p) for p in (50, 95, 98)},
        "render_delay_mean_ms": mean(render_delay),
        **{f"render_delay_p{p}_ms": at_p(render_delay, p) for p in (95, 98)},
        "viewed_delay_mean_ms": mean(waited), **{f"viewed_delay_p{p}_ms": at_p(waited, p) for p in (50, 95, 98)},
        "on_time_150ms_ratio": float((render_delay <= 150).mean()),
        "on_time_400ms_ratio": float((render_delay <= 400).mean()),
        "stall_floor_ratio": 0.0, "dead_link_s": 1.5 if trace == "5g/f" else 0.0,
        "ssim_db_mean": mean(ssim_db), "psnr_db_mean": mean(ssim_db) * 1.6 + 14,
        "viewed_ssim_db_mean": mean(ssim_db) - 3 * mean(lost), "qp_mean": 45 - mean(np.nan_to_num(ssim_db)),
        "height_mean": float(height.mean()), "stalls_per_s": stalls.size / duration_s,
        "stall_ratio": float(stalls.sum()) / 1000 / duration_s, "freezes": np.uint64(stalls.size),
        "freeze_ratio": float(stalls.sum()) / 1000 / duration_s, "keyframes": np.uint64(1 + stalls.size),
        "resolution_switches": np.uint64(np.count_nonzero(np.diff(height.astype(int)))),
        "nacks": np.uint64(lost.sum() * 10), "plis": np.uint64(stalls.size), "probe_clusters": np.uint64(4),
        "target_bitrate_change_ratio": float(np.abs(target[10:] - target[:-10]).mean() / target.mean()),
        "mmsys21_score": 100 * mean(receiver) / mean(capacity) * 0.6, "qoe_p": mean(ssim_db) / 10,
        "qoe_d": mean(ssim_db) / 10 - mean(delay) / 1000, "viewed_qoe_p": mean(ssim_db) / 10 - 0.1,
        "viewed_qoe_d": mean(ssim_db) / 10 - mean(waited) / 1000,
    }  # fmt: skip
    series = {
        "call": column("series"), "time_ms": (np.arange(bins) * 100).astype(np.uint32),
        "capacity_bps": (capacity * 1e3).astype(f32), "target_bitrate_bps": (target * 1e3).astype(f32),
        "encoder_bitrate_bps": (target * 990).astype(f32), "pacing_rate_bps": (target * 2500).astype(f32),
        "sending_rate_bps": (sending * 1e3).astype(f32), "receiver_rate_bps": (receiver * 1e3).astype(f32),
        "queue_ms": queue_ms.astype(f32), "one_way_delay_ms": one_way.astype(f32),
        "rtt_ms": np.where(np.arange(bins) < 2, np.nan, one_way + 25).astype(f32), "loss_ratio": lost.astype(f32),
        "pacer_queue_ms": np.full(bins, 3.0, f32), "rendered_frames": per_bin.astype(np.uint16),
        "ssim_db": bin_ssim.astype(f32), "height": height[::3][:bins],
    }  # fmt: skip
    frame_table = {
        "call": column("frames"), "frame": np.arange(frames, dtype=np.uint32), "captured_ms": captured,
        "encoded": np.ones(frames, bool), "size_bytes": size, "packets": (size // 1100 + 1).astype(np.uint16),
        "lost_packets": (~whole).astype(np.uint16), "qp": (45 - np.nan_to_num(ssim_db)).astype(f32),
        "height": height, "keyframe": np.arange(frames) == 0, "decodable_ms": captured + delay,
        "rendered_ms": np.where(whole, rendered, np.nan), "frame_delay_ms": delay.astype(f32),
        "ssim_db": ssim_db.astype(f32), "psnr_db": (ssim_db * 1.6 + 14).astype(f32),
    }  # fmt: skip
    freezes = {
        "call": np.full(stalls.size, call, np.uint64), "start_ms": shown[:-1][gaps > 200] if shown.size else stalls,
        "duration_ms": stalls,
    }  # fmt: skip
    tables = {
        "summary": {key: np.array([value]) for key, value in summary.items()},
        "series": series,
        "frames": frame_table,
        "freezes": freezes,
    }
    if controller == "gcc":
        gradient = np.gradient(one_way)
        tables["gauges"] = {
            "call": np.full(bins * 2, call, np.uint64), "time_ms": np.tile(series["time_ms"], 2),
            "name": np.repeat(np.array(["trendline_ms", "loss_estimate_ratio"]), bins),
            "value": np.concatenate([gradient, lost]),
        }  # fmt: skip
    return tables
