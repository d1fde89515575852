//! How packets leave the pacer: bursts, windows, padding and probes.

use super::*;
use crate::packet::VIDEO_SSRC;
use legato_control::Pacing;

fn packet(at_ms: i64, kind: PacketKind) -> MediaPacket {
    MediaPacket {
        transport_seq: 0,
        enqueued: Timestamp::from_millis(at_ms),
        departure: Timestamp::ZERO,
        rtp_seq: 0,
        rtx_seq: 0,
        ssrc: VIDEO_SSRC,
        frame: 0,
        index: 0,
        count: 1,
        size_bytes: 1_250,
        payload_bytes: 1_184,
        kind,
        ecn: Ecn::NotEct,
        probe_cluster: None,
    }
}

/// A pacer of 1 Mbit/s: a packet of 1,250 bytes takes 10 ms.
fn pacer(burst_ms: i64) -> Pacer {
    let config = PacerConfig { burst_interval: TimeDelta::from_millis(burst_ms), ..PacerConfig::default() };
    let mut pacer = Pacer::new(config, Timestamp::ZERO);
    let decision =
        Decision { pacing: Pacing::at(DataRate::from_mbps(1)), ..Decision::of_target(DataRate::from_mbps(1)) };
    pacer.obey(Timestamp::ZERO, &decision, DataSize::ZERO);
    pacer
}

/// Departures in ms as the pacer's own deadlines drive it.
fn departures_ms(pacer: &mut Pacer, until_ms: i64) -> Vec<i64> {
    let (mut now, mut out) = (Timestamp::ZERO, Vec::new());
    while now <= Timestamp::from_millis(until_ms) {
        while let Some(packet) = pacer.pop(now) {
            out.push((packet.departure - Timestamp::ZERO).as_millis());
        }
        match pacer.next_deadline(now) {
            Some(next) => now = next,
            None => break,
        }
    }
    out
}

#[test]
fn without_bursts_packets_leave_one_serialisation_time_apart() {
    let mut pacer = pacer(1);
    (0..4).for_each(|_| pacer.push(packet(0, PacketKind::Video)));
    assert_eq!(pacer.drain_time().as_millis(), 40);
    assert_eq!(departures_ms(&mut pacer, 1_000), [0, 10, 20, 30]);
    assert_eq!(pacer.queued(), DataSize::ZERO);
}

#[test]
fn a_frame_leaves_as_the_packets_it_was_cut_into() {
    let mut pacer = pacer(1_000);
    let pieces = crate::packetizer::pieces(3_000);
    let first = MediaPacket { payload_bytes: 1_000, size_bytes: 1_066, count: 3, ..packet(0, PacketKind::Video) };
    pacer.push_frame(first, &pieces);
    let uneven = crate::packetizer::pieces(2_501);
    let first = MediaPacket { payload_bytes: 834, size_bytes: 900, rtp_seq: 3, ..first };
    pacer.push_frame(first, &uneven);
    assert_eq!(pacer.queued().as_bytes(), 3_000 + 2_501 + 6 * 66);
    let left: Vec<_> = std::iter::from_fn(|| pacer.pop(Timestamp::ZERO))
        .map(|packet| (packet.rtp_seq, packet.index, packet.payload_bytes, packet.size_bytes))
        .collect();
    let even = [(0, 0, 1_000, 1_066), (1, 1, 1_000, 1_066), (2, 2, 1_000, 1_066)];
    assert_eq!(left[..3], even);
    assert_eq!(left[3..], [(3, 0, 834, 900), (4, 1, 834, 900), (5, 2, 833, 899)]);
    assert_eq!(pacer.queued(), DataSize::ZERO);
}

#[test]
fn a_burst_owes_what_its_packets_would_by_themselves() {
    for (burst_ms, smaller) in [(0, 0), (5, 77), (40, 76), (200, 71), (900, 10)] {
        let mut bursts = pacer(burst_ms);
        let padded = Decision {
            pacing: Pacing { padding_rate: DataRate::from_kbps(700), ..Pacing::of_target(DataRate::from_mbps(1)) },
            ..Decision::of_target(DataRate::from_mbps(1))
        };
        bursts.obey(Timestamp::ZERO, &padded, DataSize::ZERO);
        let first = packet(0, PacketKind::Video);
        bursts.media.push_back(Burst { first, packets: 80, smaller });
        bursts.count_in(&first, 80, bursts.media[0].bytes());
        let mut singles = bursts.clone();
        for ms in [0, 3, 31, 32, 700, 2_000, 2_001] {
            let now = Timestamp::from_millis(ms);
            while bursts.packets > 0 && bursts.pop_burst(now).is_some() {}
            while singles.packets > 0 && singles.pop(now).is_some() {}
            let owes = |pacer: &Pacer| (pacer.packets, pacer.media_drained, pacer.padding_drained, pacer.queued);
            assert_eq!(owes(&bursts), owes(&singles), "{burst_ms} {smaller} {ms}");
        }
    }
}

#[test]
fn a_burst_is_followed_by_the_pause_that_pays_for_it() {
    let mut pacer = pacer(40);
    (0..6).for_each(|_| pacer.push(packet(0, PacketKind::Video)));
    assert_eq!(departures_ms(&mut pacer, 1_000), [0, 0, 0, 0, 40, 40]);
}

/// 1,250 bytes at 1 Mbit/s are 10 ms: with a limit of 2,000 bytes two packets leave at once, with none one.
#[test]
fn a_controller_may_limit_bursts_in_bytes_at_any_pacing_rate() {
    for (limit, expected) in [
        (None, [0, 0, 0, 0, 40, 40]),
        (Some(2_000), [0, 0, 20, 20, 40, 40]),
        (Some(0), [0, 10, 20, 30, 40, 50]),
        (Some(6_000), [0, 0, 0, 0, 0, 50]),
    ] {
        let mut pacer = pacer(40);
        let burst = limit.map(DataSize::from_bytes);
        let decision = Decision {
            pacing: Pacing { burst, ..Pacing::at(DataRate::from_mbps(1)) },
            ..Decision::of_target(DataRate::ZERO)
        };
        pacer.obey(Timestamp::ZERO, &decision, DataSize::ZERO);
        (0..6).for_each(|_| pacer.push(packet(0, PacketKind::Video)));
        assert_eq!(departures_ms(&mut pacer, 1_000), expected, "{limit:?}");
    }
}

#[test]
fn retransmissions_overtake_media_and_audio_is_never_held() {
    let mut pacer = pacer(1);
    pacer.push(packet(0, PacketKind::Video));
    pacer.push(packet(0, PacketKind::Video));
    pacer.push(packet(0, PacketKind::Retransmission));
    pacer.push(packet(0, PacketKind::Audio));
    let kinds: Vec<_> = std::iter::from_fn(|| {
        let at = pacer.next_deadline(Timestamp::ZERO)?;
        pacer.pop(at).map(|packet| packet.kind)
    })
    .collect();
    assert_eq!(kinds, [PacketKind::Audio, PacketKind::Retransmission, PacketKind::Video, PacketKind::Video]);
}

#[test]
fn a_retransmission_may_be_put_behind_media() {
    let mut pacer = pacer(1_000);
    pacer.push_behind(packet(0, PacketKind::Retransmission));
    pacer.push(packet(0, PacketKind::Video));
    pacer.push_behind(packet(0, PacketKind::Retransmission));
    assert_eq!(pacer.queued().as_bytes(), 3 * 1_250);
    let kinds: Vec<_> = std::iter::from_fn(|| pacer.pop(Timestamp::ZERO)).map(|packet| packet.kind).collect();
    assert_eq!(kinds, [PacketKind::Retransmission, PacketKind::Video, PacketKind::Retransmission]);
    assert_eq!(pacer.queued(), DataSize::ZERO);
}

#[test]
fn a_full_window_holds_media_except_for_the_keep_alive() {
    let mut pacer = pacer(40);
    pacer.push(packet(0, PacketKind::Video));
    let window = Some(DataSize::from_bytes(1_000));
    let decision = Decision { congestion_window: window, ..Decision::of_target(DataRate::from_mbps(1)) };
    pacer.obey(Timestamp::ZERO, &decision, DataSize::from_bytes(1_000));
    assert_eq!(pacer.pop(Timestamp::ZERO), None);
    assert_eq!(pacer.next_deadline(Timestamp::ZERO), Some(Timestamp::from_millis(500)));
    assert_eq!(pacer.pop(Timestamp::from_millis(500)).unwrap().kind, PacketKind::Padding);
    pacer.set_in_flight(&decision, DataSize::from_bytes(999));
    assert_eq!(pacer.pop(Timestamp::from_millis(600)).unwrap().kind, PacketKind::Video);
}

#[test]
fn padding_fills_the_padding_rate_when_no_media_waits() {
    let mut pacer = pacer(5);
    let decision = Decision {
        pacing: Pacing { padding_rate: DataRate::from_bps(1_228 * 8 * 10), ..Pacing::at(DataRate::from_mbps(2)) },
        ..Decision::of_target(DataRate::from_mbps(1))
    };
    pacer.obey(Timestamp::ZERO, &decision, DataSize::ZERO);
    assert_eq!(departures_ms(&mut pacer, 350), [0, 100, 200, 300]);
}

#[test]
fn a_probe_cluster_runs_at_its_own_rate_and_ends_when_it_has_both_minima() {
    let mut pacer = pacer(5);
    let cluster = ProbeCluster {
        id: 7,
        target_rate: DataRate::from_bps(1_228 * 8 * 500),
        min_duration: TimeDelta::from_millis(15),
        min_packets: 5,
        min_delta: TimeDelta::from_millis(2),
    };
    pacer.add_probe(Timestamp::ZERO, cluster);
    assert_eq!(departures_ms(&mut pacer, 100), [0i64; 0], "no media yet: nothing to probe with");
    pacer.push(MediaPacket { size_bytes: 1_228, ..packet(0, PacketKind::Video) });
    // One packet every 2 ms; 15 ms at that rate are 7.5 packets.
    assert_eq!(departures_ms(&mut pacer, 100), [0, 2, 4, 6, 8, 10, 12, 14]);
}

#[test]
fn a_queue_too_old_is_drained_faster_than_the_controllers_rate() {
    let mut pacer = pacer(5);
    (0..100).for_each(|_| pacer.push(packet(0, PacketKind::Video)));
    let decision = Decision { pacing: Pacing::at(DataRate::from_kbps(100)), ..Decision::of_target(DataRate::ZERO) };
    // 125,000 bytes have 2 s − 1 s left: 1 Mbit/s.
    pacer.obey(Timestamp::from_secs(1), &decision, DataSize::ZERO);
    assert_eq!(pacer.drain_time(), TimeDelta::from_secs(1));
}

#[test]
fn a_rate_change_keeps_the_debt_in_bytes() {
    let mut pacer = pacer(5);
    pacer.push(packet(0, PacketKind::Video));
    pacer.push(packet(0, PacketKind::Video));
    assert!(pacer.pop(Timestamp::ZERO).is_some());
    let decision = Decision { pacing: Pacing::at(DataRate::from_kbps(500)), ..Decision::of_target(DataRate::ZERO) };
    pacer.obey(Timestamp::from_millis(5), &decision, DataSize::ZERO);
    // Half of the 10 ms was paid; the rest takes 10 ms at half the rate.
    assert_eq!(pacer.next_deadline(Timestamp::from_millis(5)), Some(Timestamp::from_millis(15)));
}
