use super::*;
use legato_control::{EncodedFrameInfo, Fate, NoAssets, PacketReport, SentPacket};
use legato_units::{Burst, DataSize, PeerTimestamp};

const LIMITS: RateLimits =
    RateLimits { min: DataRate::from_kbps(50), start: DataRate::from_kbps(800), max: DataRate::from_mbps(10) };

fn fbra(config: Config) -> Fbra {
    Fbra::new(config, Context { limits: LIMITS, start: Timestamp::ZERO, seed: 0, assets: &NoAssets }).unwrap()
}

/// A path in reports: packets of 1,000 bytes, as the decision has them, every 50 ms.
struct Path {
    fbra: Fbra,
    now: Timestamp,
    seq: u64,
    delay_ms: i64,
    /// One in this many media packets is lost; 0: none.
    lose_one_in: u64,
    /// The encoder uses this much of its rate, in percent.
    used_percent: u64,
}

impl Path {
    fn new(config: Config) -> Self {
        Self { fbra: fbra(config), now: Timestamp::ZERO, seq: 0, delay_ms: 30, lose_one_in: 0, used_percent: 100 }
    }

    fn feedback(&mut self) {
        self.now += TimeDelta::from_millis(50);
        let decision = self.fbra.decision();
        let count = |rate: DataRate| (rate * TimeDelta::from_millis(50)).as_bytes().div_ceil(1_000);
        let media = count(decision.target_bitrate.saturating_sub(decision.sending.fec_rate)) * self.used_percent / 100;
        let parity = count(decision.sending.fec_rate);
        let departure = self.now - TimeDelta::from_millis(60);
        let arrival =
            PeerTimestamp::from_nanos((departure - Timestamp::ZERO).as_nanos() + (self.delay_ms + 9_000) * 1_000_000);
        let mut reports = Vec::new();
        for n in 0..media + parity {
            self.seq += 1;
            let kind = if n < media { PacketKind::Video } else { PacketKind::Fec };
            let lost = self.lose_one_in > 0 && self.seq.is_multiple_of(self.lose_one_in) && kind == PacketKind::Video;
            let fate = if lost { Fate::Missing } else { Fate::Arrived(Some(arrival)) };
            let size = DataSize::from_bytes(1_000);
            let transport_seq = self.seq;
            reports.push(PacketReport {
                transport_seq,
                ssrc: 1,
                size,
                departure,
                fate,
                ce: false,
                kind,
                probe_cluster: None,
                place: None,
            });
        }
        let feedback = TransportFeedback { reports: reports.into(), in_flight: DataSize::ZERO, ..Default::default() };
        self.fbra.on_event(self.now, &Event::TransportFeedback(feedback));
    }

    /// Feedback until the state changes; returns the new state.
    fn until_change(&mut self) -> State {
        let before = self.fbra.state;
        for _ in 0..200 {
            self.feedback();
            if self.fbra.state != before {
                return self.fbra.state;
            }
        }
        panic!("it stayed in {before:?}");
    }
}

/// [nagy2014]: STAY, then PROBE with one parity packet to N = 7 of media (8, and one fewer on a path without queue).
/// Then UP with media in its place: 800 x (1 + 1/7) = 914 kbit/s; then STAY again.
#[test]
fn a_path_that_takes_the_parity_gets_media_in_its_place() {
    let mut path = Path::new(Config::default());
    assert_eq!(path.fbra.decision().sending.fec_rate, DataRate::ZERO);
    assert_eq!(path.until_change(), State::Probe);
    let probing = path.fbra.decision();
    let kbps = |rate: DataRate| rate.as_kbps_f64().round() as u64;
    assert_eq!((kbps(probing.target_bitrate), kbps(probing.sending.fec_rate)), (914, 114));
    assert_eq!(path.until_change(), State::Up);
    let up = path.fbra.decision();
    assert_eq!((kbps(up.target_bitrate), up.sending.fec_rate), (914, DataRate::ZERO));
    assert_eq!(path.until_change(), State::Stay);
}

/// An encoder that uses 80 % of its rate, 64 of 80 packets in 100 ms: the probe adds a tenth, and the path has then
/// shown less than the rate that it has. Climbs never end above the delivered rate.
#[test]
fn a_climb_goes_no_higher_than_what_the_path_has_delivered() {
    let mut path = Path { used_percent: 80, ..Path::new(Config::default()) };
    let mut best = DataRate::ZERO;
    for _ in 0..400 {
        let before = path.fbra.rate;
        path.feedback();
        best = best.max(path.fbra.goodputs[0]);
        assert!(path.fbra.rate <= before.max(best), "{} climbs above {best}", path.fbra.rate);
    }
    assert_eq!(path.fbra.decision().sending.fec_rate, DataRate::ZERO);
    let full = Path { used_percent: 100, ..Path::new(Config::default()) };
    let climbed = (0..400).fold(full, |mut path, _| {
        path.feedback();
        path
    });
    assert!(climbed.fbra.rate > LIMITS.start.scale(4.0), "{}", climbed.fbra.rate);
}

/// The queue that a probe has filled drains while undershooting. It is not the path's delay: a second after, the 80th
/// percentile is unchanged.
#[test]
fn the_delay_of_undershooting_is_left_out_of_the_history() {
    let mut path = Path::new(Config::default());
    (0..60).for_each(|_| path.feedback());
    let before = path.fbra.history.percentiles();
    path.delay_ms = 300;
    while path.fbra.state != State::Down {
        path.feedback();
    }
    (0..40).for_each(|_| path.feedback());
    assert_eq!(path.fbra.state, State::Down);
    path.delay_ms = 30;
    assert_eq!(path.until_change(), State::Stay);
    (0..4).for_each(|_| path.feedback());
    let after = path.fbra.history.percentiles();
    assert_eq!(after.map(|(_, high_ms)| high_ms), before.map(|(_, high_ms)| high_ms));
}

#[test]
fn a_probe_that_fills_a_queue_is_undershot_and_bounced_back_from() {
    let mut path = Path::new(Config::default());
    assert_eq!(path.until_change(), State::Probe);
    path.delay_ms = 60;
    assert_eq!(path.until_change(), State::Down);
    let down = path.fbra.decision().target_bitrate;
    assert!(down <= LIMITS.start.scale(0.851), "{down}");
    path.delay_ms = 30;
    assert_eq!(path.until_change(), State::Stay);
    assert!(path.fbra.decision().target_bitrate >= down);
}

/// 800 to a goodput of 700 kbit/s: 800 - 2 x 100 = 600. To 790: 780 is more than 0.85 of it, 680. To 100: half.
#[test]
fn undershooting_goes_below_the_goodput() {
    let kbps = DataRate::from_kbps;
    for (goodput, rate) in [(700, 600), (790, 680), (100, 400), (900, 680)] {
        assert_eq!(undershoot(kbps(800), kbps(goodput)), kbps(rate), "{goodput}");
    }
}

/// Two packets a frame and losses: one parity packet to two of media, out of the rate, for two seconds.
#[test]
fn after_losses_every_frame_gets_parity() {
    let protected = |protect| {
        let mut path = Path::new(Config { protect, report_interval_ms: 200, ..Config::default() });
        for _ in 0..4 {
            path.feedback();
            for n in 0..4 {
                let size = DataSize::from_bytes(1_000);
                let (kind, in_flight) = (PacketKind::Video, DataSize::ZERO);
                let packet =
                    SentPacket { transport_seq: n, ssrc: 1, size, kind, probe_cluster: None, in_flight, place: None };
                path.fbra.on_event(path.now, &Event::PacketsSent(Burst::single(packet)));
                if n % 2 == 0 {
                    let frame = EncodedFrameInfo {
                        frame: 0,
                        size,
                        keyframe: false,
                        height: 360,
                        qp: 30.0,
                        psnr_db: None,
                        encoder_bitrate: LIMITS.start,
                    };
                    path.fbra.on_event(path.now, &Event::FrameEncoded(frame));
                }
            }
            // Early in the interval, and none since.
            path.lose_one_in = 3 * u64::from(path.seq < 10);
        }
        path.feedback();
        path.fbra
    };
    let (with, without) = (protected(true), protected(false));
    assert_eq!((with.parity(), without.parity()), (Some(2), None));
    let decision = with.decision();
    assert_eq!(decision.target_bitrate, with.rate);
    assert_eq!(decision.sending.fec_rate, with.rate.scale(1.0 / 3.0));
}

#[test]
fn three_seconds_of_silence_leave_an_eighth_of_the_rate() {
    let mut fbra = fbra(Config::default());
    let (size, kind) = (DataSize::from_bytes(1_000), PacketKind::Video);
    let packet =
        SentPacket { transport_seq: 0, ssrc: 1, size, kind, probe_cluster: None, in_flight: size, place: None };
    fbra.on_event(Timestamp::ZERO, &Event::PacketsSent(Burst::single(packet)));
    for _ in 0..3 {
        let due = fbra.next_deadline().unwrap();
        fbra.on_event(due, &Event::Deadline);
    }
    assert_eq!(fbra.decision().target_bitrate, DataRate::from_kbps(100));
}

#[test]
fn down_is_above_stay() {
    let refused = Config { down_above_ratio: 1.0, ..Config::default() }.check().unwrap_err().to_string();
    assert_eq!(refused, "controller fbra: down_above_ratio = 1: below stay_above_ratio = 1.1");
}
