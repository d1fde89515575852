//! Properties that hold for every byte string given to the parsers of `legato-wire`: no parser panics, and no loop runs
//! longer than the input has bytes. A parsed value parses the same once it is written.

use legato_units::{TimeDelta, Timestamp};
use legato_wire::rtcp::{Compound, MAX_COMPOUND_PACKETS, Message};
use legato_wire::rtp::{self, ExtensionIds};
use legato_wire::{ccfb, h264, hybrid, ip, parity, remb, twcc, vp8, vp9};

/// One fuzz target: its name and its check of one input.
pub type Target = (&'static str, fn(&[u8]));

/// All of them, by the names of their corpus folders.
pub const TARGETS: [Target; 11] = [
    ("ccfb_decode", ccfb_decode),
    ("h264_payload", h264_payload),
    ("hybrid_payload", hybrid_payload),
    ("ip", ip),
    ("parity_payload", parity_payload),
    ("remb", remb),
    ("rtcp_compound", rtcp_compound),
    ("rtp", rtp),
    ("twcc_decode", twcc_decode),
    ("vp8_payload", vp8_payload),
    ("vp9_payload", vp9_payload),
];

pub fn h264_payload(bytes: &[u8]) {
    let Ok(payload) = h264::Payload::parse(bytes) else { return };
    let told = match payload {
        h264::Payload::Aggregate(units) => 1 + units.map(|unit| 2 + unit.len()).sum::<usize>(),
        h264::Payload::Fragment(fragment) => 2 + fragment.bytes.len(),
        h264::Payload::Single(unit) => unit.len(),
    };
    assert_eq!(told, bytes.len(), "every byte is somewhere");
}

pub fn hybrid_payload(bytes: &[u8]) {
    let Ok(payload) = hybrid::Payload::parse(bytes) else { return };
    assert!(bytes.ends_with(payload.bytes) && payload.packet < payload.packets && payload.packets <= 64);
    let head = hybrid::head(payload.keyframe, payload.stream, payload.confirmed);
    let sums = payload.confirmed.is_some();
    let again = [&head[..], payload.bytes].concat();
    assert_eq!(hybrid::Payload::parse(&again), Ok(payload));
    assert!(!sums || again == bytes, "every byte has a meaning, but for the sum of no frame");
}

pub fn parity_payload(bytes: &[u8]) {
    if let Ok((marker, payload)) = parity::read_symbol(bytes) {
        let again = parity::symbol(marker, payload).expect("a payload that was read can be written");
        assert!(bytes.starts_with(&again) && bytes[again.len()..].iter().all(|&byte| byte == 0));
    }
    let Ok(payload) = parity::Payload::parse(bytes) else { return };
    assert!(payload.place < parity::MAX_PARITY && payload.packets > 0);
    assert_eq!([&payload.head()[..], payload.symbol].concat(), bytes, "every byte has a meaning");
}

pub fn vp8_payload(bytes: &[u8]) {
    let Ok(payload) = vp8::Payload::parse(bytes) else { return };
    assert!(bytes.ends_with(payload.bytes) && !payload.bytes.is_empty());
    assert!(payload.partition < 8 && payload.picture_id.is_none_or(|id| id < 1 << 15));
    assert!(!payload.begins_keyframe() || payload.begins_frame());
}

pub fn vp9_payload(bytes: &[u8]) {
    let Ok(payload) = vp9::Payload::parse(bytes) else { return };
    assert!(bytes.ends_with(payload.bytes) && !payload.bytes.is_empty());
    assert!(payload.spatial_layer < 8 && payload.picture_id.is_none_or(|id| id < 1 << 15));
    assert!(!payload.begins_keyframe() || payload.begins_frame);
}

pub fn ip(bytes: &[u8]) {
    let Ok(packet) = ip::Packet::parse(bytes) else { return };
    let header = if packet.version == 4 { 20 } else { 40 };
    assert!(packet.udp.is_none_or(|udp| header + 8 + udp.payload.len() <= bytes.len()));
    let mut marked = bytes.to_vec();
    ip::mark_ce(&mut marked);
    let again = ip::Packet::parse(&marked).expect("a mark changes no length");
    assert!(again.ecn.is_ce() && again.version == packet.version && again.udp == packet.udp);
}

pub fn rtp(bytes: &[u8]) {
    let ids = ExtensionIds { transport_seq: Some(5), absolute_send_time: Some(3) };
    if let Ok(packet) = rtp::Packet::parse(bytes, &ids) {
        assert!(packet.payload.len() + usize::from(packet.padding) + 12 <= bytes.len());
    }
}

pub fn rtcp_compound(bytes: &[u8]) {
    let Ok(packets) = Compound::parse_recorded(bytes) else { return };
    let mut count = 0;
    for packet in packets {
        count += 1;
        let Ok(message) = packet.and_then(|packet| packet.message()) else { continue };
        match message {
            Message::Bye(bye) => assert!(bye.ssrcs().count() <= 31 && bye.reason().len() <= 255),
            Message::ExtendedReport(report) => assert!(report.blocks().count() * 8 <= bytes.len()),
            Message::Fir(fir) => assert!(fir.requests().count() * 8 <= bytes.len()),
            Message::Nack(nack) => assert!(nack.seqs().count() <= 17 * (bytes.len() / 4)),
            Message::ReceiverReport(report) => assert!(report.blocks().count() <= 31),
            Message::SenderReport(report) => assert!(report.blocks().count() <= 31),
            _ => {}
        }
    }
    assert!(count <= MAX_COMPOUND_PACKETS + 1);
}

pub fn twcc_decode(bytes: &[u8]) {
    if let Ok(feedback) = twcc::Feedback::parse_interop(bytes) {
        assert_eq!(feedback.statuses().count(), usize::from(feedback.status_count()));
    }
    let Ok(feedback) = twcc::Feedback::parse(bytes) else { return };
    assert!(feedback.has_timestamps());
    assert_eq!(feedback.statuses().count(), usize::from(feedback.status_count()));
    let header = twcc::Header {
        sender_ssrc: feedback.sender_ssrc(),
        media_ssrc: feedback.media_ssrc(),
        base_seq: feedback.base_seq(),
        feedback_count: feedback.feedback_count(),
    };
    let arrivals = |feedback: &twcc::Feedback<'_>| -> Vec<Option<TimeDelta>> {
        let base = twcc::REFERENCE_UNIT * i64::from(feedback.reference());
        let arrival = |(_, status)| match status {
            twcc::Status::Arrived(offset) => offset.map(|offset| base + offset),
            twcc::Status::Missing => None,
        };
        feedback.statuses().map(arrival).collect()
    };
    let told = arrivals(&feedback);
    let mut again = Vec::new();
    let clock = told.iter().map(|arrival| arrival.map(|at| Timestamp::ZERO + at));
    let count = usize::from(twcc::Encoder::default().encode(&mut again, &header, clock));
    if count > 0 {
        let again = twcc::Feedback::parse(&again).expect("the encoder's bytes parse");
        let period = TimeDelta::as_nanos(twcc::REFERENCE_UNIT * (1 << 24));
        let same = |(a, b): (&Option<TimeDelta>, &Option<TimeDelta>)| match (a, b) {
            (Some(a), Some(b)) => (*a - *b).as_nanos().rem_euclid(period) == 0,
            (a, b) => a == b,
        };
        assert!(told[..count].iter().zip(&arrivals(&again)).all(same));
    }
}

pub fn ccfb_decode(bytes: &[u8]) {
    let Ok(feedback) = ccfb::Feedback::parse(bytes) else { return };
    let blocks: Vec<_> =
        feedback.blocks().map(|block| (block, block.metrics().map(|(_, metric)| metric).collect::<Vec<_>>())).collect();
    assert!(blocks.iter().map(|(_, metrics)| 2 * metrics.len()).sum::<usize>() <= bytes.len());
    let streams: Vec<_> = blocks
        .iter()
        .map(|(block, metrics)| ccfb::StreamReport { ssrc: block.ssrc, begin_seq: block.begin_seq, metrics })
        .collect();
    let mut again = Vec::new();
    ccfb::write(&mut again, feedback.sender_ssrc, feedback.report_timestamp, &streams);
    let again = ccfb::Feedback::parse(&again).expect("the writer's bytes parse");
    for (read, (block, metrics)) in again.blocks().zip(&blocks) {
        assert_eq!((read.ssrc, read.begin_seq), (block.ssrc, block.begin_seq));
        assert!(read.metrics().map(|(_, metric)| metric).eq(metrics.iter().copied()));
    }
}

pub fn remb(bytes: &[u8]) {
    let Ok(remb) = remb::Remb::parse(bytes) else { return };
    let ssrcs: Vec<u32> = remb.ssrcs().collect();
    assert!(4 * ssrcs.len() <= bytes.len());
    let mut again = Vec::new();
    remb::write(&mut again, remb.sender_ssrc, remb.bitrate, &ssrcs);
    let again = remb::Remb::parse(&again).expect("the writer's bytes parse");
    assert_eq!((again.bitrate, again.ssrcs().collect::<Vec<_>>()), (remb.bitrate, ssrcs));
}
