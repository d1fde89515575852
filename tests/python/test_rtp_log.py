"""The RTP log of RFC 8868 against a call of a few packets, worked by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import legato
from fixtures import Legato
from run_folders import write_run, write_table

MS = 1_000_000
VIDEO, RTX, AUDIO = 0x1E6A0001, 0x1E6A0002, 0x1E6A0004


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One call: two frames, audio, padding, and the lost packet of the first frame repeated."""
    folder = write_run(
        tmp_path / "run", ("gcc",), ("lte/a",), ("anna",), duration_s=2.0, log="packets", calls_per_part=1
    )
    sent_ms = [0, 0, 1, 34, 50, 51]
    arrived_ms = [25, np.nan, 26, 60, 75, 77]
    write_table(folder / "packets/00000.parquet", {
        "call": np.zeros(6, np.uint64), "sent_ns": np.array(sent_ms, np.int64) * MS,
        "transport_seq": np.arange(6, dtype=np.uint64),
        "ssrc": np.array([VIDEO, VIDEO, AUDIO, VIDEO, RTX, RTX], np.uint32),
        "kind": np.array(["video", "video", "audio", "video", "retransmission", "padding"], object),
        "size_bytes": np.array([1066, 1066, 116, 566, 1068, 1228], np.uint32),
        "sequence": np.array([0, 0, None, 1, 0, None], object),
        "arrived_ns": np.array([None if np.isnan(ms) else int(ms) * MS for ms in arrived_ms], object),
        "drop": np.array([None, "random", None, None, None, None], object), "ce": np.zeros(6, bool),
    })  # fmt: skip
    write_table(folder / "frames/00000.parquet", {
        "call": np.zeros(3, np.uint64), "captured_ms": np.array([0.0, 100 / 3, 200 / 3]),
        "encoded": np.array([True, True, False]), "sequence": np.array([0, 1, None], object),
    })  # fmt: skip
    return folder


def test_each_departure_is_a_line_with_the_last_packet_of_a_frame_marked(folder: Path):
    assert list(legato.rtp_log(folder, 0)) == [
        "0.000000 96 1e6a0001 0 0 0 1000",
        "0.000000 96 1e6a0001 1 0 1 1000",
        "0.001000 111 1e6a0004 0 48 0 50",
        "0.034000 96 1e6a0001 2 3000 1 500",
        "0.050000 97 1e6a0002 0 0 0 1002",
        "0.051000 97 1e6a0002 1 4590 0 0",
    ]


def test_the_receiver_logs_what_came_when_it_came(folder: Path):
    received = [line.split() for line in legato.rtp_log(folder, 0, side="receiver")]
    assert [line[0] for line in received] == ["0.025000", "0.026000", "0.060000", "0.075000", "0.077000"]
    assert [line[3] for line in received] == ["0", "0", "2", "0", "1"]


def test_rtcp_stands_where_it_left_or_came_with_a_line_for_each_packet_of_a_compound(folder: Path):
    # [rfc3550] §6.4.1: a receiver report of one block has 8 words, a PLI of RFC 4585 three, a sender report seven.
    report = bytes([0x81, 201, 0, 7]) + (0x2E6A0001).to_bytes(4, "big") + bytes(24)
    pli = bytes([0x81, 206, 0, 2]) + (0x2E6A0001).to_bytes(4, "big") + VIDEO.to_bytes(4, "big")
    sender_report = bytes([0x80, 200, 0, 6]) + VIDEO.to_bytes(4, "big") + bytes(20)
    write_table(folder / "rtcp/00000.parquet", {
        "call": np.zeros(3, np.uint64), "sent_ns": np.array([20, 40, 30], np.int64) * MS,
        "by": np.array(["receiver", "receiver", "sender"], object),
        "bytes": np.array([report + pli, report, sender_report], object),
        "arrived_ns": np.array([45 * MS, None, 55 * MS], object),
    })  # fmt: skip
    sender = list(legato.rtp_log(folder, 0))
    assert [line for line in sender if int(line.split()[1]) >= 200] == [
        "0.030000 200 1e6a0001 0 0 0 28",
        "0.045000 201 2e6a0001 0 0 0 32",
        "0.045000 206 2e6a0001 0 0 0 12",
    ]
    times = [float(line.split()[0]) for line in sender]
    assert times == sorted(times)
    receiver = [line.split()[:2] for line in legato.rtp_log(folder, 0, side="receiver")]
    assert [line for line in receiver if int(line[1]) >= 200] == [
        ["0.020000", "201"], ["0.020000", "206"], ["0.040000", "201"], ["0.055000", "200"],
    ]  # fmt: skip
    assert len(list(legato.rtp_log(folder, 0, rtcp=False))) == 6


def test_the_verb_writes_the_file_and_says_what_is_missing(folder: Path, legato: Legato, tmp_path: Path):
    written = legato("rtp-log", folder, "--out", tmp_path / "a.log")
    assert (written.returncode, written.stdout) == (0, "")
    assert (tmp_path / "a.log").read_text().count("\n") == 6
    assert legato("rtp-log", folder, "0", "--side", "both").stderr.startswith("error: side = 'both'")
    assert "has no call 7" in legato("rtp-log", folder, "7").stderr
    (folder / "packets/00000.parquet").unlink()
    missing = legato("rtp-log", folder)
    assert missing.returncode == 2 and "legato replay" in missing.stderr
