//! A call of frames of 16 packets, recorded: the events that a sender's controller gets of each, and feedback on its 16 packets.
//! The sender is an application that does not react, so that all controllers get the same events.

use legato_control::{
    Context, EncodedFrameInfo, Entry, Event, Fate, FramePlace, PacerQueue, PacketKind, PacketReport, PacketReports,
    RateController, RateLimits, ReportedPacket, SentPacket, SourceFrameInfo, TransportFeedback,
};
use legato_controllers::NoFiles;
use legato_units::{Burst, DataRate, DataSize, PeerTimestamp, TimeDelta, Timestamp};
use std::hint::black_box;

/// Packets of a frame, and of a feedback.
pub const PACKETS: u16 = 16;
const SIZE: DataSize = DataSize::from_bytes(1_200);
const LIMITS: RateLimits =
    RateLimits { min: DataRate::from_kbps(50), start: DataRate::from_mbps(4), max: DataRate::from_mbps(6) };

/// A controller by its defaults; a learned one decides on the same action always, since its policy is a file.
pub fn build(entry: &Entry) -> Box<dyn RateController> {
    let config = if entry.learned {
        toml::toml! { policy = "hand" }
    } else {
        toml::Table::new()
    };
    let context = Context { limits: LIMITS, start: Timestamp::ZERO, seed: 1, assets: &NoFiles };
    entry.build(&config, context).expect("the defaults are valid")
}

/// The events of so many frames, every 33 ms: 4.6 Mbit/s over a link of 4 to 8 Mbit/s whose capacity changes with each
/// frame, 25 ms one way; every sixth frame loses a packet.
pub fn events(frames: u64) -> Vec<(Timestamp, Event)> {
    let mut all: Vec<(Timestamp, Event)> = Vec::new();
    let mut free = Timestamp::ZERO;
    for frame in 0..frames {
        let captured = Timestamp::from_millis(33 * frame as i64);
        let encoded = captured + TimeDelta::from_millis(2);
        let size = DataSize::from_bytes(u64::from(PACKETS) * SIZE.as_bytes());
        all.push((captured, Event::FrameCaptured(SourceFrameInfo { frame, complexity: None })));
        let info = EncodedFrameInfo {
            frame,
            size,
            keyframe: frame == 0,
            height: 720,
            qp: 28.0,
            psnr_db: None,
            encoder_bitrate: DataRate::from_kbps(4_600),
        };
        all.push((encoded, Event::FrameEncoded(info)));
        all.push((encoded, Event::PacerQueue(PacerQueue { size, drain: TimeDelta::ZERO })));
        let seq = frame * u64::from(PACKETS);
        let place = Some(FramePlace { frame: frame as u32, index: 0, packets: PACKETS });
        let kind = PacketKind::Video;
        let sent =
            SentPacket { transport_seq: seq, ssrc: 1, size: SIZE, kind, probe_cluster: None, in_flight: SIZE, place };
        all.push((encoded, Event::PacketsSent(Burst { first: sent, packets: PACKETS, smaller: 0 })));
        // A fixed pattern that visits 4 to 8 Mbit/s.
        let capacity = DataRate::from_kbps(4_000 + frame * 1_237 % 4_000);
        let first = ReportedPacket {
            transport_seq: seq,
            ssrc: 1,
            size: SIZE,
            departure: encoded,
            kind,
            probe_cluster: None,
            place,
        };
        let burst = Burst { first, packets: PACKETS, smaller: 0 };
        let mut reports = PacketReports::default();
        for (index, packet) in burst.iter().enumerate() {
            free = free.max(encoded) + SIZE / capacity;
            let arrival = free - Timestamp::ZERO + TimeDelta::from_millis(25) + TimeDelta::from_secs(1_000);
            let lost = frame % 6 == 5 && index == 7;
            let fate = match lost {
                true => Fate::Missing,
                false => Fate::Arrived(Some(PeerTimestamp::from_nanos(arrival.as_nanos()))),
            };
            let ReportedPacket { transport_seq, ssrc, size, departure, kind, probe_cluster, place } = packet;
            let report =
                PacketReport { transport_seq, ssrc, size, departure, fate, ce: false, kind, probe_cluster, place };
            reports.push(report);
        }
        let feedback = TransportFeedback { reports, in_flight: SIZE, ..TransportFeedback::default() };
        all.push((free + TimeDelta::from_millis(50), Event::TransportFeedback(feedback)));
    }
    all.sort_by_key(|(at, _)| *at);
    all
}

/// Give a controller the events, with its deadlines between them, and read after each what a driver reads.
pub fn replay(controller: &mut dyn RateController, events: &[(Timestamp, Event)]) {
    for (now, event) in events {
        while let Some(deadline) = controller.next_deadline().filter(|deadline| deadline < now) {
            controller.on_event(deadline, &Event::Deadline);
            if controller.next_deadline() == Some(deadline) {
                break;
            }
        }
        controller.on_event(*now, event);
        black_box(controller.decision());
        while black_box(controller.poll_probe()).is_some() {}
    }
}
