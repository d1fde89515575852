//! A receiver report has a block for each stream that has arrived ([rfc3550] section 6.4), audio too, which RFC 8083's
//! circuit breakers judge by itself.

use legato_call::{FeedbackFormat, Receiver, ReceiverConfig, ReceiverInput, ReceiverOutput};
use legato_control::{FeedbackRule, PacketKind};
use legato_media::decoder::strict::Strict;
use legato_media::packet::{AUDIO_SSRC, MediaPacket, VIDEO_SSRC};
use legato_media::playout::PlayoutConfig;
use legato_units::{Ecn, TimeDelta, Timestamp};
use legato_wire::rtcp::{Compound, Message};
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

fn audio(seq: u32) -> MediaPacket {
    MediaPacket {
        transport_seq: u64::from(seq),
        enqueued: Timestamp::ZERO,
        departure: Timestamp::ZERO,
        rtp_seq: seq,
        rtx_seq: 0,
        ssrc: AUDIO_SSRC,
        frame: 0,
        index: 0,
        count: 0,
        size_bytes: 110,
        payload_bytes: 50,
        kind: PacketKind::Audio,
        ecn: Ecn::NotEct,
        probe_cluster: None,
    }
}

/// Of each report its blocks: stream, fraction lost, highest sequence number.
fn blocks(until_ms: i64, lost: impl Fn(u32) -> bool) -> Vec<Vec<(u32, u8, u32)>> {
    let config = ReceiverConfig {
        start: Timestamp::ZERO,
        feedback_interval: (TimeDelta::from_millis(50), TimeDelta::from_millis(250)),
        feedback_rule: FeedbackRule::BitrateShare,
        report_interval: (TimeDelta::from_secs(1), TimeDelta::from_secs(1)),
        nack: false,
        nack_interval: None,
        partial_wait: TimeDelta::ZERO,
        playout: PlayoutConfig::default(),
        feedback: FeedbackFormat::default(),
    };
    let mut receiver = Receiver::new(config, None, Box::new(Strict::new()), ChaCha8Rng::seed_from_u64(1));
    let mut told = Vec::new();
    for ms in 0..=until_ms {
        let now = Timestamp::from_millis(ms);
        let seq = (ms / 20) as u32;
        let packet = audio(seq);
        let arrives = ms % 20 == 10 && !lost(seq);
        let input = if arrives { ReceiverInput::Media(&packet) } else { ReceiverInput::Deadline };
        receiver.handle(now, input, &mut ());
        while let ReceiverOutput::Send(bytes) = receiver.poll(&mut ()) {
            for packet in Compound::parse(&bytes).expect("as written") {
                if let Ok(Message::ReceiverReport(report)) = packet.and_then(|packet| packet.message()) {
                    told.push(report.blocks().map(|b| (b.ssrc, b.fraction_lost, b.highest_seq)).collect());
                }
            }
        }
    }
    told
}

/// Worked by hand: fifty packets a second, of which every tenth is lost in the second one: five, 25/256.
#[test]
fn audio_is_reported_on_beside_the_video() {
    let told = blocks(2_000, |seq| seq >= 50 && seq % 10 == 0);
    assert_eq!(told, [[(VIDEO_SSRC, 0, 0), (AUDIO_SSRC, 0, 49)], [(VIDEO_SSRC, 0, 0), (AUDIO_SSRC, 25, 99)],]);
    let told = blocks(1_000, |_| true);
    assert_eq!(told, [[(VIDEO_SSRC, 0, 0)]], "nothing is reported on a stream that never arrived");
}
