//! A receiver-side controller's target travels back as REMB: at once if it falls by 3 % or more, else
//! every 200 ms, as in libwebrtc.

use legato_call::{FeedbackFormat, Receiver, ReceiverConfig, ReceiverInput, ReceiverOutput};
use legato_control::{Decision, Event, FeedbackRule, RateController};
use legato_media::decoder::strict::Strict;
use legato_media::playout::PlayoutConfig;
use legato_units::{DataRate, TimeDelta, Timestamp};
use legato_wire::rtcp::{Compound, Message};
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

/// Decides by a table of times; wakes every 10 ms.
#[derive(Clone)]
struct Scripted {
    now_ms: i64,
    table: &'static [(i64, u64)],
}

impl RateController for Scripted {
    fn on_event(&mut self, now: Timestamp, _event: &Event) {
        self.now_ms = now.as_nanos() / 1_000_000;
    }
    fn decision(&self) -> Decision {
        let kbps = self.table.iter().rfind(|(from_ms, _)| *from_ms <= self.now_ms).map_or(0, |(_, kbps)| *kbps);
        Decision::of_target(DataRate::from_kbps(kbps))
    }
    fn next_deadline(&self) -> Option<Timestamp> {
        Some(Timestamp::from_millis(self.now_ms + 10))
    }
}

/// When REMBs left and their estimates, ms and kbit/s.
fn estimates(table: &'static [(i64, u64)], until_ms: i64) -> Vec<(i64, u64)> {
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
    let mut receiver = Receiver::new(
        config,
        Some(Box::new(Scripted { now_ms: 0, table }).into()),
        Box::new(Strict::new()),
        ChaCha8Rng::seed_from_u64(1),
    );
    let (mut now, mut told) = (Timestamp::ZERO, Vec::new());
    while now <= Timestamp::from_millis(until_ms) {
        receiver.handle(now, ReceiverInput::Deadline, &mut ());
        now = loop {
            match receiver.poll(&mut ()) {
                ReceiverOutput::Send(bytes) => {
                    for packet in Compound::parse(&bytes).expect("as written") {
                        if let Ok(Message::Remb(remb)) = packet.and_then(|packet| packet.message()) {
                            told.push((now.as_nanos() / 1_000_000, remb.bitrate.as_bps() / 1_000));
                        }
                    }
                }
                ReceiverOutput::Render(_) => {}
                ReceiverOutput::Deadline(due) => break due,
            }
        };
    }
    told
}

#[test]
fn a_fall_of_3_percent_is_sent_at_once_and_all_else_every_200_ms() {
    // 2 % down waits, 4 % below the last one sent does not, a rise waits; then it is repeated.
    let told = estimates(&[(0, 1_000), (50, 980), (100, 960), (120, 2_000)], 750);
    assert_eq!(told, [(10, 1_000), (100, 960), (300, 2_000), (500, 2_000), (700, 2_000)]);
}

#[test]
fn small_falls_add_up() {
    let told = estimates(&[(0, 1_000), (50, 990), (60, 980), (70, 970), (80, 960)], 150);
    assert_eq!(told, [(10, 1_000), (70, 970)]);
}
