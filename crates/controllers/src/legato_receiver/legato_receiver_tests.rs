//! `legato-receiver` behind a link that passes so many bytes a millisecond; the sender's clock is an hour ahead.

use super::*;
use legato_control::{NoAssets, PacketKind};
use legato_units::DataRate;

const LIMITS: RateLimits =
    RateLimits { min: DataRate::from_kbps(50), start: DataRate::from_kbps(300), max: DataRate::from_mbps(6) };
const PACKET: u64 = 1_000;
const FRAME_MS: i64 = 33;

fn receiver() -> LegatoReceiver {
    receiver_with(Config::default())
}

fn receiver_with(config: Config) -> LegatoReceiver {
    let context = Context { limits: LIMITS, start: Timestamp::ZERO, seed: 0, assets: &NoAssets };
    LegatoReceiver::new(config, context).unwrap()
}

struct Link {
    controller: LegatoReceiver,
    seq: u64,
    sent_ms: i64,
    /// When the link is free, in ms.
    free_ms: f64,
}

impl Link {
    fn new() -> Self {
        Self { controller: receiver(), seq: 0, sent_ms: 0, free_ms: 0.0 }
    }

    /// So many pictures of `bytes`, or of what the estimate allows; of ten packets `lost` stay away.
    fn pictures(&mut self, pictures: i64, bytes_per_ms: f64, bytes: Option<u64>, lost: u64) {
        for _ in 0..pictures {
            let bytes = bytes.unwrap_or(self.kbps() / 8 * FRAME_MS as u64);
            self.free_ms = self.free_ms.max(self.sent_ms as f64);
            for sent in (0..bytes).step_by(PACKET as usize) {
                let size = PACKET.min(bytes - sent);
                self.free_ms += size as f64 / bytes_per_ms;
                self.seq += 1;
                let now = Timestamp::from_nanos(((self.free_ms + 20.0) * 1e6) as i64);
                self.wait_until(now);
                if self.seq % 10 >= lost {
                    self.controller.on_event(now, &Event::PacketReceived(self.packet(size)));
                }
            }
            self.sent_ms += FRAME_MS;
        }
    }

    fn packet(&self, size_bytes: u64) -> ReceivedPacket {
        ReceivedPacket {
            transport_seq: self.seq,
            ssrc: 1,
            size: DataSize::from_bytes(size_bytes),
            kind: PacketKind::Video,
            departure: Some(PeerTimestamp::from_nanos((3_600_000 + self.sent_ms) * 1_000_000)),
            ce: false,
        }
    }

    fn wait_until(&mut self, now: Timestamp) {
        while let Some(due) = self.controller.next_deadline().filter(|due| *due <= now) {
            self.controller.on_event(due, &Event::Deadline);
        }
    }

    fn kbps(&self) -> u64 {
        self.controller.decision().target_bitrate.as_bps() / 1_000
    }
}

/// 250 bytes a ms are 2 Mbit/s, of which 0.9 are allowed, whatever is sent: 4,000 bytes per picture are 1 Mbit/s.
#[test]
fn a_second_of_frames_measures_the_link() {
    let mut link = Link::new();
    assert!(!link.controller.has_estimate(), "nothing has come");
    link.pictures(20, 250.0, Some(4_000), 0);
    assert!(!link.controller.has_estimate(), "two thirds of a second, of which a key frame was the first");
    link.pictures(10, 250.0, Some(4_000), 0);
    assert!(link.controller.has_estimate());
    assert!((1_790..=1_810).contains(&link.kbps()), "{}", link.kbps());
}

#[test]
fn a_fall_is_followed_within_three_frames_and_the_queue_drains() {
    let mut link = Link::new();
    link.pictures(60, 250.0, None, 0);
    assert!((1_700..=1_810).contains(&link.kbps()), "{}", link.kbps());
    link.pictures(3, 62.5, None, 0);
    assert!(link.kbps() < 600, "of 500 kbit/s: {}", link.kbps());
    link.pictures(60, 62.5, None, 0);
    assert!(link.free_ms - link.sent_ms as f64 <= 35.0, "a frame's own time, no queue");
    // Waits of the fall may still look like company, whose share is not 0.9 of the capacity.
    assert!((380..500).contains(&link.kbps()), "below what the link passes: {}", link.kbps());
}

/// Nothing comes for 380 ms after the last packet. A packet of 4 ms is overdue after 2.5 x 33 ms; 382 - 82.5 ms late is
/// all of `drain_ms`, and a fifth is left where no more is asked for.
#[test]
fn it_falls_while_nothing_arrives_and_is_back_with_the_next_frame() {
    let mut link = Link::new();
    link.controller = receiver_with(Config { min_drained_ratio: 0.2, ..Config::default() });
    link.pictures(60, 250.0, Some(1_000), 0);
    let before = link.kbps();
    let last = link.controller.path.last_packet.unwrap();
    link.wait_until(last + TimeDelta::from_millis(80));
    assert_eq!(link.kbps(), before);
    link.wait_until(last + TimeDelta::from_millis(400));
    assert!(link.kbps() * 4 < before, "{} of {before}", link.kbps());
    link.wait_until(Timestamp::from_secs(60));
    assert_eq!(link.controller.next_deadline(), None, "the stream has paused");
    link.sent_ms = 60_000;
    link.pictures(2, 250.0, Some(1_000), 0);
    assert!(link.kbps() * 10 >= before * 9, "{} of {before}", link.kbps());
}

#[test]
fn half_of_the_estimate_is_left_however_much_waits() {
    let mut link = Link::new();
    link.pictures(60, 250.0, Some(1_000), 0);
    let before = link.kbps();
    let last = link.controller.path.last_packet.unwrap();
    link.wait_until(last + TimeDelta::from_millis(400));
    assert!((before * 49 / 100..=before * 51 / 100).contains(&link.kbps()), "{} of {before}", link.kbps());
}

/// One packet in ten stays away however little is sent: after the trial it is the link's own loss.
#[test]
fn losses_that_no_rate_avoids_do_not_lower_it_for_long() {
    let mut link = Link::new();
    link.pictures(30 * 20, 250.0, None, 1);
    assert!(link.kbps() > 1_500, "{}", link.kbps());
}

#[test]
fn packets_without_a_departure_time_give_no_estimate() {
    let mut controller = receiver();
    for n in 0..100 {
        let packet = ReceivedPacket { departure: None, transport_seq: n as u64, ..Link::new().packet(PACKET) };
        controller.on_event(Timestamp::from_millis(10 * n), &Event::PacketReceived(packet));
    }
    assert!(!controller.has_estimate());
}

#[test]
fn another_route_has_no_estimate() {
    let mut link = Link::new();
    link.pictures(30, 250.0, None, 0);
    link.controller.on_event(Timestamp::from_secs(2), &Event::RouteChange);
    assert!(!link.controller.has_estimate() && link.kbps() == 300);
}
