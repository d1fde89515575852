"""VMAF of real calls: by an ffmpeg of this machine, or the one that imageio-ffmpeg brings."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from itertools import pairwise
from pathlib import Path

import duckdb
import numpy as np
import pytest

import legato
from legato import _core
from legato.call import Pictures, check, vmaf
from legato.call.session import CallProgress
from legato.cli import main

pytestmark = pytest.mark.skipif(
    not hasattr(_core, "vmaf"), reason="this build makes no real calls: it lacks the feature `calls`"
)

SCENARIO = """
name = "loopback"
duration_s = 3.0
controller = { name = "fixed", config = { target_bitrate_bps = 600_000 } }
[forward]
propagation_ms = 20.0
capacity = { constant_bps = 4_000_000 }
[reverse]
propagation_ms = 20.0
"""
SMALL = Pictures(width=320, height=180)
WIDTH, HEIGHT, PICTURES = 320, 180, 12


@pytest.fixture
def ffmpeg() -> str:
    pytest.importorskip("imageio_ffmpeg", reason="imageio-ffmpeg is not installed")
    return vmaf.found()


@pytest.fixture(scope="module")
def scenario(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("scenario") / "loopback.toml"
    file.write_text(SCENARIO, encoding="utf-8")
    return file


def program(file: Path, script: str) -> str:
    file.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    file.chmod(0o700)
    return str(file)


def moving_and_blurred() -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Luma of blocks that move, and of the same through a soft lens."""
    blocks = np.random.default_rng(7).integers(30, 220, (HEIGHT // 6, WIDTH // 4))
    still = np.kron(blocks, np.ones((6, 4))).astype(np.uint8)
    moving = [np.roll(still, 2 * n, axis=1) for n in range(PICTURES)]
    blurred = [
        (sum(np.roll(picture.astype(int), by, axis=1) for by in range(-2, 3)) // 5).astype(np.uint8)
        for picture in moving
    ]
    return moving, blurred


def write_y4m(file: Path, pictures: list[np.ndarray]) -> Path:
    colours = np.random.default_rng(8).integers(0, 256, WIDTH * HEIGHT // 2, np.uint8).tobytes()
    head = f"YUV4MPEG2 W{WIDTH} H{HEIGHT} F30:1 Ip A1:1 C420jpeg\n".encode()
    file.write_bytes(head + b"".join(b"FRAME\n" + picture.tobytes() + colours for picture in pictures))
    return file


def by_hand(ffmpeg: str, judged: Path, reference: Path) -> list[float]:
    """As ffmpeg's documentation has it: the first input is judged by the second."""
    log = judged.with_suffix(".json")
    told = f"libvmaf=log_fmt=json:log_path={log}"
    command = [ffmpeg, "-nostdin", "-loglevel", "error", "-i", judged, "-i", reference, "-lavfi", told]
    subprocess.run([*command, "-f", "null", "-"], check=True, timeout=60)
    return [frame["metrics"]["vmaf"] for frame in json.loads(log.read_text(encoding="utf-8"))["frames"]]


def test_scores_are_those_of_two_files_given_to_ffmpeg(ffmpeg: str, tmp_path: Path):
    moving, blurred = moving_and_blurred()
    pairs = [(a.tobytes(), b.tobytes()) for a, b in zip(moving, blurred, strict=True)]
    scores = _core.vmaf(ffmpeg, WIDTH, HEIGHT, pairs)
    files = [write_y4m(tmp_path / f"{name}.y4m", clip) for name, clip in (("moving", moving), ("blurred", blurred))]
    # Colours are no part of it: there are some in the files and none in the pipe.
    assert scores == pytest.approx(by_hand(ffmpeg, files[1], files[0]), abs=0.1)
    # Which one is judged matters, and is not the other.
    swapped = by_hand(ffmpeg, files[0], files[1])
    assert np.mean(swapped) > np.mean(scores) + 5
    assert all(score > 95 for score in _core.vmaf(ffmpeg, WIDTH, HEIGHT, [(a, a) for a, _ in pairs]))


def test_pictures_of_another_size_than_told_are_refused(ffmpeg: str):
    with pytest.raises(legato.CallError, match="64x64"):
        _core.vmaf(ffmpeg, 64, 64, [(bytes(64 * 64), bytes(64))])


def test_a_call_is_worth_more_at_a_higher_rate(ffmpeg: str, scenario: Path, tmp_path: Path):
    means = []
    for kbps in (60, 600):
        folder = tmp_path / f"{kbps}"
        rate = [f"fixed@target_bitrate_bps={kbps}000"]
        legato.real_calls(scenario, out=folder, controllers=rate, pictures=SMALL, peers="legato", vmaf=True)
        told = json.loads((folder / "calls" / "00000.json").read_text(encoding="utf-8"))
        assert (told["vmaf_problem"], told["compared"]) == (None, True)
        [(mean, ssim_db)] = duckdb.sql(
            f"SELECT viewed_vmaf_mean, viewed_ssim_db_mean FROM read_parquet('{folder}/summary/*.parquet')"
        ).fetchall()
        frames = duckdb.sql(
            f"SELECT viewed_vmaf, rendered_ms FROM read_parquet('{folder}/frames/*.parquet') ORDER BY frame"
        ).fetchall()
        scores = [score for score, _ in frames if score is not None]
        assert all(0 <= score <= 100 for score in scores)
        assert mean == pytest.approx(np.mean(scores))
        # From the first picture on each has one, and shown frames always have.
        judged = [score is not None for score, _ in frames]
        first = next(n for n, (_, rendered_ms) in enumerate(frames) if rendered_ms is not None)
        assert judged.index(True) == first
        assert all(score is not None for score, rendered_ms in frames if rendered_ms is not None)
        assert sum(before != after for before, after in pairwise(judged[first:])) <= 1
        assert ssim_db > 3
        means.append(mean)
    assert means[1] > means[0] + 5, means


def test_an_ffmpeg_that_is_missing_is_said_before_the_call(
    scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.delenv("LEGATO_FFMPEG", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(vmaf, "_packaged", lambda: None)
    folder = tmp_path / "run"
    began = []
    with pytest.raises(legato.CallError, match="needs an ffmpeg with libvmaf") as refused:
        legato.real_calls(scenario, out=folder, pictures=SMALL, peers="legato", vmaf=True, on_progress=began.append)
    assert "pip install 'legato-rtc[vmaf]'" in refused.value.hint
    # An ffmpeg without libvmaf does not count.
    program(tmp_path / "ffmpeg", "echo \"[AVFilterGraph @ 0x5570] No such filter: 'libvmaf'\" >&2; exit 8")
    command = ["call", str(scenario), "--peers", "legato", "--vmaf", "--out", str(folder)]
    with pytest.raises(SystemExit) as ended:
        main(command)
    said = capsys.readouterr().err.splitlines()
    assert ended.value.code == 2 and "No such filter: 'libvmaf'" in " ".join(said)
    assert said[0].startswith("error:") and any(line.startswith("hint:") for line in said)
    assert not folder.exists() and not began
    [finding] = [one for one in check.findings(browser_needed=False) if one.name == "VMAF"]
    assert (finding.ok, finding.optional) == (False, True)


def test_the_program_named_in_the_environment_is_taken_or_refused(
    ffmpeg: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    named = program(tmp_path / "mine", f'exec {ffmpeg} "$@"')
    monkeypatch.setenv("LEGATO_FFMPEG", named)
    assert vmaf.found() == named
    monkeypatch.setenv("LEGATO_FFMPEG", "/nowhere/ffmpeg")
    with pytest.raises(legato.CallError, match="LEGATO_FFMPEG does not measure VMAF: /nowhere/ffmpeg: No such file"):
        vmaf.found()
    # One that answers, but whose equal pictures are not equal.
    answer = '{"frames": [{"metrics": {"vmaf": 3}}, {"metrics": {"vmaf": 3}}]}'
    monkeypatch.setenv("LEGATO_FFMPEG", program(tmp_path / "wrong", f"cat > /dev/null; echo '{answer}'"))
    with pytest.raises(legato.CallError, match="equal pictures score 3"):
        vmaf.found()


@pytest.mark.parametrize("how", [{"peers": "chromium-chromium"}, {"direction": "receive"}])
def test_calls_in_which_a_browser_sends_have_none(scenario: Path, tmp_path: Path, how: dict[str, str]):
    with pytest.raises(legato.CallError, match="vmaf: only what we send is compared"):
        legato.real_calls(scenario, out=tmp_path / "run", vmaf=True, **how)
    assert not (tmp_path / "run").exists()


def test_a_call_is_kept_when_ffmpeg_fails_after_it(scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    failing = program(tmp_path / "failing", "head -c 300000 > /dev/null; echo out of order >&2; exit 1")
    monkeypatch.setattr(vmaf, "found", lambda: failing)
    folder = tmp_path / "run"
    with pytest.raises(legato.CallError, match=f"no VMAF of call 0: {failing}: out of order"):
        legato.real_calls(scenario, out=folder, options={"duration_s": 2}, pictures=SMALL, peers="legato", vmaf=True)
    [(mean, ssim_db)] = duckdb.sql(
        f"SELECT viewed_vmaf_mean, viewed_ssim_db_mean FROM read_parquet('{folder}/summary/*.parquet')"
    ).fetchall()
    assert mean is None and ssim_db > 5
    assert "out of order" in json.loads((folder / "calls" / "00000.json").read_text(encoding="utf-8"))["vmaf_problem"]


@pytest.mark.browser
def test_a_call_of_a_browser_is_measured_too(ffmpeg: str, scenario: Path, tmp_path: Path):
    folder = tmp_path / "run"
    legato.real_calls(scenario, out=folder, pictures=SMALL, vmaf=True)
    [(mean,)] = duckdb.sql(f"SELECT viewed_vmaf_mean FROM read_parquet('{folder}/summary/*.parquet')").fetchall()
    assert 30 < mean <= 100


def test_ctrl_c_while_pictures_are_judged_leaves_the_call_to_be_made_again(
    scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    asleep = program(tmp_path / "asleep", f"echo $$ > {tmp_path}/process; exec sleep 60")
    monkeypatch.setattr(vmaf, "found", lambda: asleep)
    over: list[float] = []

    def stop(progress: CallProgress) -> None:
        if progress.over:
            over.append(time.monotonic())
            threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()

    folder = tmp_path / "run"
    short = {"duration_s": 2}
    with pytest.raises(KeyboardInterrupt):
        legato.real_calls(
            scenario, out=folder, options=short, pictures=SMALL, peers="legato", vmaf=True, on_progress=stop
        )
    assert time.monotonic() - over[0] < 20
    assert not list(folder.glob("summary/*.parquet"))
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "process").read_text(encoding="utf-8")), 0)


@pytest.mark.parametrize("pictures", [1, 40], ids=["answers late", "does not read"])
def test_ctrl_c_ends_the_program(tmp_path: Path, pictures: int):
    asleep = program(tmp_path / "asleep", f"echo $$ > {tmp_path}/process; exec sleep 60")
    grey = bytes(64 * 64)
    begun = time.monotonic()
    timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        _core.vmaf(asleep, 64, 64, [(grey, grey)] * pictures)
    assert time.monotonic() - begun < 20
    process = int((tmp_path / "process").read_text(encoding="utf-8"))
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
