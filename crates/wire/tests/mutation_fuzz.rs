//! Runs the checks of `fuzz/checks/wire.rs` on mutations of the corpus: a few thousand in every test
//! run, a minute each with `make fuzz`.

use legato_wire::{ccfb, h264, hybrid, ip, parity, remb, rtcp, rtp, twcc, vp8, vp9};

#[path = "../../../fuzz/checks/wire.rs"]
#[allow(dead_code, reason = "the list of targets is for another test")]
mod checks;
#[path = "../../../fuzz/mutation.rs"]
mod mutation;

use mutation::{Target, run, without_numbers};

/// How large, in powers of two.
fn scale(count: usize) -> u32 {
    usize::BITS - count.leading_zeros()
}

fn of<T>(parsed: Result<T, legato_wire::Error>, shape: impl FnOnce(T) -> String) -> String {
    parsed.map_or_else(|error| without_numbers(&format!("{error:?}")), shape)
}

fn twcc_shape(feedback: twcc::Feedback<'_>) -> String {
    let arrived = feedback.statuses().filter(|(_, status)| *status != twcc::Status::Missing).count();
    let scales = (scale(feedback.statuses().count()), scale(arrived));
    format!("{scales:?} {} {}", feedback.has_timestamps(), feedback.reference() < 0)
}

fn ccfb_shape(feedback: ccfb::Feedback<'_>) -> String {
    let metrics = || feedback.blocks().flat_map(|block| block.metrics().map(|(_, metric)| metric));
    let reported = metrics().flatten().fold([false; 6], |mut reported, metric| {
        reported[match metric.offset {
            ccfb::ArrivalOffset::Units(_) => 0,
            ccfb::ArrivalOffset::OverRange => 1,
            ccfb::ArrivalOffset::Unavailable => 2,
        }] = true;
        reported[3 + usize::from(metric.ecn.is_capable()) + usize::from(metric.ecn.is_ce())] = true;
        reported
    });
    format!("{:?} {reported:?}", (scale(feedback.blocks().count()), scale(metrics().count())))
}

fn name(message: &rtcp::Message<'_>) -> String {
    format!("{message:?}").chars().take_while(|letter| letter.is_alphanumeric()).collect()
}

#[test]
fn ccfb_decode() {
    let outline = |bytes: &[u8]| of(ccfb::Feedback::parse(bytes), ccfb_shape);
    run(&Target { name: "ccfb_decode", check: checks::ccfb_decode, outline });
}

#[test]
fn h264_payload() {
    let outline = |bytes: &[u8]| {
        of(h264::Payload::parse(bytes), |payload| match payload {
            h264::Payload::Aggregate(units) => format!("{} {}", scale(units.count()), payload.begins(h264::IDR_SLICE)),
            h264::Payload::Fragment(h264::Fragment { first, last, bytes, .. }) => {
                format!("{first} {last} {}", scale(bytes.len()))
            }
            h264::Payload::Single(unit) => format!("{} {}", h264::unit_type(unit[0]), scale(unit.len())),
        })
    };
    run(&Target { name: "h264_payload", check: checks::h264_payload, outline });
}

#[test]
fn hybrid_payload() {
    let outline = |bytes: &[u8]| {
        of(hybrid::Payload::parse(bytes), |payload| {
            let first = (payload.packet == 0, payload.packet + 1 == payload.packets);
            format!("{} {:?} {first:?}", payload.keyframe, payload.confirmed.map(|frame| frame.behind))
        })
    };
    run(&Target { name: "hybrid_payload", check: checks::hybrid_payload, outline });
}

#[test]
fn ip() {
    let outline = |bytes: &[u8]| {
        let shape =
            |packet: ip::Packet<'_>| (packet.version, packet.ecn, packet.udp.map(|udp| scale(udp.payload.len())));
        of(ip::Packet::parse(bytes), |packet| format!("{:?}", shape(packet)))
    };
    run(&Target { name: "ip", check: checks::ip, outline });
}

#[test]
fn parity_payload() {
    let outline = |bytes: &[u8]| {
        let symbol = of(parity::read_symbol(bytes), |(marker, payload)| format!("{marker} {}", scale(payload.len())));
        let payload = of(parity::Payload::parse(bytes), |payload| {
            format!("{} {} {}", payload.packets > 128, payload.place, scale(payload.symbol.len()))
        });
        format!("{symbol} {payload}")
    };
    run(&Target { name: "parity_payload", check: checks::parity_payload, outline });
}

#[test]
fn remb() {
    let outline = |bytes: &[u8]| {
        let shape = |remb: remb::Remb<'_>| (scale(remb.ssrcs().count()), remb.bitrate.as_bps().leading_zeros());
        of(remb::Remb::parse(bytes), |remb| format!("{:?}", shape(remb)))
    };
    run(&Target { name: "remb", check: checks::remb, outline });
}

#[test]
fn rtcp_compound() {
    let outline = |bytes: &[u8]| {
        of(rtcp::Compound::parse_recorded(bytes), |packets| {
            let messages = packets.take(4).map(|packet| packet.and_then(|packet| packet.message()));
            messages.map(|message| of(message, |message| name(&message))).collect()
        })
    };
    run(&Target { name: "rtcp_compound", check: checks::rtcp_compound, outline });
}

#[test]
fn rtp() {
    const IDS: rtp::ExtensionIds = rtp::ExtensionIds { transport_seq: Some(5), absolute_send_time: Some(3) };
    let outline = |bytes: &[u8]| {
        of(rtp::Packet::parse(bytes, &IDS), |packet| {
            let extensions = (packet.header.transport_seq.is_some(), packet.header.absolute_send_time.is_some());
            format!("{extensions:?} {} {}", packet.padding > 0, scale(packet.payload.len()))
        })
    };
    run(&Target { name: "rtp", check: checks::rtp, outline });
}

#[test]
fn twcc_decode() {
    let outline = |bytes: &[u8]| {
        let strict = of(twcc::Feedback::parse(bytes), twcc_shape);
        format!("{strict} {}", of(twcc::Feedback::parse_interop(bytes), twcc_shape))
    };
    run(&Target { name: "twcc_decode", check: checks::twcc_decode, outline });
}

#[test]
fn vp8_payload() {
    let outline = |bytes: &[u8]| {
        of(vp8::Payload::parse(bytes), |payload| {
            let id = payload.picture_id.map(|id| id > 127);
            let head = bytes.len() - payload.bytes.len();
            format!("{} {} {id:?} {head}", payload.begins_frame(), payload.begins_keyframe())
        })
    };
    run(&Target { name: "vp8_payload", check: checks::vp8_payload, outline });
}

#[test]
fn vp9_payload() {
    let outline = |bytes: &[u8]| {
        of(vp9::Payload::parse(bytes), |payload| {
            let id = payload.picture_id.map(|id| id > 127);
            let (head, key) = (scale(bytes.len() - payload.bytes.len()), payload.begins_keyframe());
            format!("{} {key} {id:?} {head} {}", payload.has_structure, payload.spatial_layer > 0)
        })
    };
    run(&Target { name: "vp9_payload", check: checks::vp9_payload, outline });
}
