//! Transport-wide feedback and RFC 8888 feedback report the same about the same call: each packet's fate,
//! and its arrival up to the rounding of each format. Only RFC 8888 carries marks.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use legato_call::{
    AudioConfig, FeedbackFormat, Receiver, ReceiverConfig, ReceiverInput, ReceiverOutput, Sender, SenderConfig,
    SenderInput, SenderOutput,
};
use legato_control::{Decision, Event, FeedbackRule, Pacing, PacketKind, PacketReport, RateController, SendingWishes};
use legato_media::decoder::strict::Strict;
use legato_media::encoder::statistical::{Config, Statistical};
use legato_media::pacer::PacerConfig;
use legato_media::packet::MediaPacket;
use legato_media::playout::PlayoutConfig;
use legato_media::{Content, FrameRate, Source};
use legato_units::{DataRate, Ecn, TimeDelta, Timestamp};
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

/// Sends video, parity and padding at fixed rates and records the reports it gets.
#[derive(Clone)]
struct Listener(Arc<Mutex<Vec<PacketReport>>>);

impl RateController for Listener {
    fn on_event(&mut self, _now: Timestamp, event: &Event) {
        if let Event::TransportFeedback(feedback) = event {
            assert!(feedback.reports.iter().is_sorted_by_key(|report| report.transport_seq));
            self.0.lock().unwrap().extend(feedback.reports.iter());
        }
    }
    fn decision(&self) -> Decision {
        let (fec_rate, padding_rate) = (DataRate::from_kbps(200), DataRate::from_kbps(1_500));
        let target = DataRate::from_mbps(1);
        Decision {
            pacing: Pacing { padding_rate, ..Pacing::of_target(target) },
            sending: SendingWishes { fec_rate, ..SendingWishes::default() },
            ..Decision::of_target(target)
        }
    }
}

/// The receiver's clock is ahead by this.
const OFFSET: TimeDelta = TimeDelta::from_millis(4_321_987);

/// The network's effect on a packet: `None` loses it, else how long it takes, and whether it is marked.
fn path(packet: &MediaPacket) -> Option<(TimeDelta, bool)> {
    let seq = packet.transport_seq;
    if seq > 60 && seq % 29 == 7 {
        return None;
    }
    // Some are overtaken, one by so much that feedback has reported it missing.
    let late = if seq == 400 {
        300
    } else if seq % 41 == 11 {
        12
    } else {
        0
    };
    let micros = 20_000 + (seq * 7_919) % 1_000 + late * 1_000;
    Some((TimeDelta::from_micros(micros as i64), seq % 10 == 3))
}

/// The reports of a call of `duration`, and when each packet arrived by the receiver's clock.
fn call(
    feedback: FeedbackFormat,
    duration: TimeDelta,
) -> (Vec<PacketReport>, BTreeMap<u64, Timestamp>, Vec<PacketKind>) {
    let (start, rate) = (Timestamp::ZERO, FrameRate::THIRTY);
    let reports = Arc::new(Mutex::new(Vec::new()));
    let config = SenderConfig {
        start,
        pacer: PacerConfig::default(),
        pad_to_target: false,
        retransmit: true,
        max_pacer_queue: TimeDelta::from_secs(2),
        encoder_interval: TimeDelta::ZERO,
        audio: Some(AudioConfig { bitrate: DataRate::from_kbps(20), interval: TimeDelta::from_millis(20) }),
        feedback,
        ecn: Ecn::Ect1,
    };
    let encoder = Statistical::new(Config::default(), rate, ChaCha8Rng::seed_from_u64(1));
    let source = Source::new(Content::unmeasured(rate), start, 0);
    let mut sender = Sender::new(config, Box::new(Listener(reports.clone())), Box::new(encoder), source);
    let config = ReceiverConfig {
        start: start + OFFSET,
        feedback_interval: (TimeDelta::from_millis(50), TimeDelta::from_millis(250)),
        feedback_rule: FeedbackRule::BitrateShare,
        report_interval: (TimeDelta::from_secs(1), TimeDelta::from_secs(1)),
        nack: true,
        nack_interval: None,
        partial_wait: TimeDelta::ZERO,
        playout: PlayoutConfig::default(),
        feedback,
    };
    let mut receiver = Receiver::new(config, None, Box::new(Strict::new()), ChaCha8Rng::seed_from_u64(1));
    let mut forward: BTreeMap<(Timestamp, u64), MediaPacket> = BTreeMap::new();
    let mut reverse: BTreeMap<(Timestamp, u64), Vec<u8>> = BTreeMap::new();
    let (mut arrivals, mut kinds, mut pushed) = (BTreeMap::new(), Vec::new(), 0u64);
    let (mut now, mut sender_due, mut receiver_due) = (start, start, start);
    while now < start + duration {
        if sender_due <= now {
            sender.handle(now, SenderInput::Deadline, &mut ());
        }
        if receiver_due <= now {
            receiver.handle(now + OFFSET, ReceiverInput::Deadline, &mut ());
        }
        while let Some(entry) = forward.first_entry().filter(|entry| entry.key().0 <= now) {
            let packet = entry.remove();
            arrivals.insert(packet.transport_seq, now + OFFSET);
            receiver.handle(now + OFFSET, ReceiverInput::Media(&packet), &mut ());
        }
        while let Some(entry) = reverse.first_entry().filter(|entry| entry.key().0 <= now) {
            let bytes = entry.remove();
            sender.handle(now, SenderInput::Rtcp(&bytes), &mut ());
        }
        sender_due = loop {
            pushed += 1;
            match sender.poll(&mut ()) {
                SenderOutput::Coded(frame, captured) => {
                    receiver.handle(now + OFFSET, ReceiverInput::Coded(frame, captured), &mut ());
                }
                SenderOutput::Media(burst) => {
                    for mut packet in burst.iter() {
                        assert_eq!(packet.ecn, Ecn::Ect1);
                        kinds.push(packet.kind);
                        let Some((delay, marked)) = path(&packet) else { continue };
                        packet.ecn = if marked { Ecn::Ce } else { packet.ecn };
                        forward.insert((now + delay, packet.transport_seq), packet);
                    }
                }
                SenderOutput::Rtcp(_) => {}
                SenderOutput::Deadline(due) => break due,
            }
        };
        receiver_due = loop {
            pushed += 1;
            match receiver.poll(&mut ()) {
                ReceiverOutput::Render(_) => {}
                ReceiverOutput::Send(bytes) => drop(reverse.insert((now + TimeDelta::from_millis(20), pushed), bytes)),
                ReceiverOutput::Deadline(due) => break due - OFFSET,
            }
        };
        let arrival = forward.first_key_value().map_or(Timestamp::MAX, |(key, _)| key.0);
        let reply = reverse.first_key_value().map_or(Timestamp::MAX, |(key, _)| key.0);
        now = sender_due.min(receiver_due).min(arrival).min(reply);
    }
    drop(sender);
    (Arc::into_inner(reports).unwrap().into_inner().unwrap(), arrivals, kinds)
}

/// The last report on each packet; asserts that only a corrected loss was reported twice.
fn last_reports(reports: &[PacketReport]) -> BTreeMap<u64, PacketReport> {
    let mut last: BTreeMap<u64, PacketReport> = BTreeMap::new();
    for report in reports {
        if let Some(before) = last.insert(report.transport_seq, *report) {
            assert!(!before.arrived() && report.arrived(), "{before:?} then {report:?}");
        }
    }
    last
}

/// [rfc8888] §3.1: 1/1024 s rounded to the nearest, from a timestamp of 1/65536 s; transport-wide 1/4 ms.
#[test]
fn both_formats_report_the_same_fates_and_arrivals_within_their_rounding() {
    let duration = TimeDelta::from_secs(10);
    let (twcc, arrivals, kinds) = call(FeedbackFormat::Twcc, duration);
    let (ccfb, same, _) = call(FeedbackFormat::Ccfb, duration);
    assert_eq!(arrivals, same, "no decision depends on the reports, so the packets are the same");
    for kind in [PacketKind::Audio, PacketKind::Fec, PacketKind::Padding, PacketKind::Retransmission, PacketKind::Video]
    {
        assert!(kinds.iter().filter(|other| **other == kind).count() > 20, "{kind:?}");
    }
    let (twcc, ccfb) = (last_reports(&twcc), last_reports(&ccfb));
    // The last departures may not have been reported yet.
    let until = kinds.len() as u64 - 400;
    assert_eq!(twcc.range(..until).count(), until as usize);
    let first = twcc[&0].arrival().unwrap() - ccfb[&0].arrival().unwrap();
    let mut begun = BTreeSet::new();
    for (seq, by_number) in twcc.range(..until) {
        // The loss of a stream's first packets shows only in transport-wide numbers.
        let Some(by_stream) = ccfb.get(seq) else {
            assert!(!by_number.arrived() && !begun.contains(&by_number.ssrc), "{by_number:?}");
            continue;
        };
        begun.insert(by_number.ssrc);
        let expected = PacketReport { fate: by_stream.fate, ce: by_stream.ce, ..*by_number };
        assert_eq!((by_stream, by_number.arrived()), (&expected, by_stream.arrived()));
        assert_eq!((by_number.ce, by_stream.ce), (false, by_stream.arrived() && seq % 10 == 3), "{seq}");
        assert_eq!(by_stream.arrived(), arrivals.contains_key(seq), "{seq}");
        let (Some(by_number), Some(by_stream)) = (by_number.arrival(), by_stream.arrival()) else { continue };
        let truth = arrivals[seq].as_nanos();
        let error_us = (by_stream.as_nanos() - truth).abs() / 1_000;
        assert!(error_us <= 489 + 16, "{seq}: {error_us} us off");
        let apart_us = (by_number - by_stream - first).as_micros().abs();
        assert!(apart_us <= 2 * (489 + 16 + 250), "{seq}: {apart_us} us apart");
    }
    // The packet that came 300 ms late was missing first.
    assert!(twcc[&400].arrived() && ccfb[&400].arrived());
}
