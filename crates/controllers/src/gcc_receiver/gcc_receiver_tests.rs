use super::*;
use legato_control::{NoAssets, PacketKind};

const LIMITS: RateLimits =
    RateLimits { min: DataRate::from_kbps(50), start: DataRate::from_kbps(300), max: DataRate::from_mbps(6) };

/// Packets of 1,250 bytes sent at a rate into a link; the sender's clock is an hour ahead.
struct Link {
    controller: GccReceiver,
    seq: u64,
    sent_us: i64,
    free_us: i64,
}

impl Link {
    fn new() -> Self {
        let context = Context { limits: LIMITS, start: Timestamp::ZERO, seed: 0, assets: &NoAssets };
        let controller = GccReceiver::new(Config::default(), context).unwrap();
        Self { controller, seq: 0, sent_us: 0, free_us: 0 }
    }

    /// Send for `seconds` at `rate_kbps`, or at what the receiver wants.
    fn run(&mut self, seconds: i64, capacity_kbps: i64, rate_kbps: Option<i64>) {
        let end_us = self.sent_us + 1_000_000 * seconds;
        while self.sent_us < end_us {
            let rate_kbps = rate_kbps.unwrap_or(self.kbps() as i64);
            self.sent_us += 10_000_000 / rate_kbps;
            self.seq += 1;
            self.free_us = self.free_us.max(self.sent_us) + 10_000_000 / capacity_kbps;
            let packet = ReceivedPacket {
                transport_seq: self.seq,
                ssrc: 1,
                size: DataSize::from_bytes(1_250),
                kind: PacketKind::Video,
                departure: Some(PeerTimestamp::from_nanos((3_600_000_000 + self.sent_us) * 1_000)),
                ce: false,
            };
            let now = Timestamp::from_nanos(1_000 * (self.free_us + 20_000));
            self.controller.on_event(now, &Event::PacketReceived(packet));
        }
    }

    fn kbps(&self) -> u64 {
        self.controller.decision().target_bitrate.as_bps() / 1_000
    }
}

#[test]
fn there_is_no_estimate_before_five_seconds_or_the_first_over_use() {
    let mut link = Link::new();
    link.run(4, 2_000, Some(400));
    assert!(!link.controller.has_estimate());
    assert_eq!(link.kbps(), 6_000, "nothing is capped");
    link.run(3, 2_000, Some(400));
    assert!(link.controller.has_estimate());
    assert!((380..470).contains(&link.kbps()), "what arrived, and 8 % a second: {}", link.kbps());
    let mut narrow = Link::new();
    narrow.run(3, 300, Some(600));
    assert!(narrow.controller.has_estimate(), "a queue that grows is acted on at once");
    assert!((200..300).contains(&narrow.kbps()), "{}", narrow.kbps());
}

#[test]
fn the_estimate_climbs_to_a_free_links_capacity_and_stays_near_it() {
    let mut link = Link::new();
    link.run(6, 2_000, Some(500));
    link.run(60, 2_000, None);
    assert!((1_400..2_300).contains(&link.kbps()), "{}", link.kbps());
}

#[test]
fn a_growing_queue_takes_the_estimate_below_the_receiver_rate() {
    let mut link = Link::new();
    link.run(6, 2_000, Some(1_500));
    assert!(link.kbps() > 1_400);
    link.run(3, 500, None);
    assert!(link.kbps() < 500, "{}", link.kbps());
}

/// 80 bytes in a twentieth of the estimate: 640 bits at 3.2 kbit/s of 64 take 200 ms, which is the minimum.
#[test]
fn the_estimate_changes_as_often_as_a_remb_may_be_sent() {
    let mut link = Link::new();
    link.controller.aimd.set_min(DataRate::from_kbps(5));
    let mut interval_ms = |kbps| {
        link.controller.aimd.set_estimate(DataRate::from_kbps(kbps), Timestamp::ZERO);
        link.controller.update_interval().as_millis_f64().round()
    };
    assert_eq!([1_000, 64, 32, 10].map(&mut interval_ms), [200.0, 200.0, 400.0, 1_000.0]);
}

#[test]
fn another_route_has_no_estimate() {
    let mut link = Link::new();
    link.run(7, 2_000, Some(400));
    link.controller.on_event(Timestamp::from_secs(8), &Event::RouteChange);
    assert!(!link.controller.has_estimate());
}
