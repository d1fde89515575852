//! `legato` on a link that passes so many bytes a millisecond, feedback 60 ms after each frame.

use super::capacity::Capacity;
use super::*;
use legato_control::{EncodedFrameInfo, Fate, NoAssets, PacketKind, PacketReport, SourceFrameInfo};
use legato_units::{PeerTimestamp, TimeDelta};

const LIMITS: RateLimits =
    RateLimits { min: DataRate::from_kbps(50), start: DataRate::from_kbps(300), max: DataRate::from_mbps(6) };
const PACKET: u64 = 1_000;

fn legato(config: Config) -> Legato {
    Legato::new(config, Context { limits: LIMITS, start: Timestamp::ZERO, seed: 0, assets: &NoAssets }).unwrap()
}

struct Link {
    controller: Legato,
    seq: u64,
    /// When the link is free, in ms.
    free_ms: f64,
    in_flight: u64,
    /// Reports on their way back: when they come, and the packets.
    coming: Vec<(i64, Vec<PacketReport>)>,
    /// What happens to a packet behind the link.
    behind: fn(&mut PacketReport),
}

impl Link {
    fn new() -> Self {
        Self {
            controller: legato(Config::default()),
            seq: 0,
            free_ms: 0.0,
            in_flight: 0,
            coming: Vec::new(),
            behind: |_| {},
        }
    }

    /// Sends a picture at `at_ms` as the controller wants it, over a link of `bytes_per_ms`; returns its decision.
    fn picture(&mut self, at_ms: i64, bytes_per_ms: f64) -> Decision {
        let due: Vec<_> = self.coming.extract_if(.., |(due_ms, _)| *due_ms <= at_ms).collect();
        for (due_ms, reports) in due {
            self.in_flight -= reports.iter().map(|report| report.size.as_bytes()).sum::<u64>();
            let in_flight = DataSize::from_bytes(self.in_flight);
            let reports = reports.into_iter().collect();
            let feedback = Event::TransportFeedback(TransportFeedback { reports, in_flight, written: None });
            self.controller.on_event(Timestamp::from_millis(due_ms), &feedback);
        }
        let now = Timestamp::from_millis(at_ms);
        let captured = Event::FrameCaptured(SourceFrameInfo { frame: self.seq, complexity: None });
        self.controller.on_event(now, &captured);
        let decision = self.controller.decision();
        if decision.encoder.drop_one_frame_in.is_none() {
            let share = decision.target_bitrate.as_bps() / 8 * 33 / 1_000;
            self.send(at_ms, share.min(decision.encoder.max_frame_size.unwrap().as_bytes()), bytes_per_ms);
        }
        decision
    }

    fn send(&mut self, at_ms: i64, bytes: u64, bytes_per_ms: f64) {
        let mut reports = Vec::new();
        self.free_ms = self.free_ms.max(at_ms as f64);
        for _ in 0..bytes.div_ceil(PACKET) {
            self.free_ms += PACKET as f64 / bytes_per_ms;
            self.seq += 1;
            self.in_flight += PACKET;
            let mut report = PacketReport {
                transport_seq: self.seq,
                ssrc: 1,
                size: DataSize::from_bytes(PACKET),
                departure: Timestamp::from_millis(at_ms),
                fate: Fate::Arrived(Some(PeerTimestamp::from_nanos((self.free_ms * 1e6) as i64 + 30_000_000))),
                ce: false,
                kind: PacketKind::Video,
                probe_cluster: None,
                place: None,
            };
            (self.behind)(&mut report);
            reports.push(report);
        }
        self.controller.path.backlog.set_in_flight(DataSize::from_bytes(self.in_flight));
        self.coming.push((self.free_ms as i64 + 60, reports));
    }

    fn pictures(&mut self, pictures: std::ops::Range<i64>, bytes_per_ms: f64) -> Vec<Decision> {
        pictures.map(|n| self.picture(n * 33, bytes_per_ms)).collect()
    }
}

/// Without waits: the start rate.
fn of_a_megabit() -> Capacity {
    let limits = RateLimits { start: DataRate::from_mbps(1), ..LIMITS };
    Capacity::new(Seconds::from_millis(150.0), Seconds::from_millis(1_000.0), limits)
}

/// In bytes a second.
fn believed(link: &mut Link) -> [f64; 3] {
    link.controller.path.believed().map(ByteRate::get)
}

/// Its place in the list of causes.
fn why(link: &mut Link) -> f64 {
    let mut why = f64::NAN;
    link.controller.observe(&mut |name, value| {
        if name == "legato_why" {
            why = value;
        }
    });
    why
}

fn kbps(decision: &Decision) -> f64 {
    decision.target_bitrate.as_kbps_f64()
}

/// The most bytes that leave, at a picture every 33 ms.
fn sent_kbps(decision: &Decision) -> f64 {
    let EncoderWishes { max_frame_size, drop_one_frame_in, .. } = &decision.encoder;
    match (drop_one_frame_in, max_frame_size) {
        (Some(_), _) => 0.0,
        (None, Some(most)) => kbps(decision).min(most.as_bytes_f64() * 8.0 / 33.0),
        (None, None) => kbps(decision),
    }
}

/// 125 bytes a ms are 1 Mbit/s: 95 % of it is the target within a second.
#[test]
fn it_takes_nearly_all_of_a_link_within_a_second() {
    let mut link = Link::new();
    let decisions = link.pictures(0..90, 125.0);
    let last = kbps(decisions.last().unwrap());
    assert!((900.0..=1_000.0).contains(&last), "{last}");
    assert!(kbps(&decisions[30]) > 800.0, "{}", kbps(&decisions[30]));
    assert!(decisions[30..].iter().all(|decision| decision.encoder.drop_one_frame_in.is_none()));
}

/// The first news of the fall comes with picture 6. Packets sent before then keep the link for a third of a second
/// more. From the fifth picture on each is left out or fits the lower rate; the target itself has to wait for
/// measurements.
#[test]
fn a_fall_to_a_quarter_is_followed_within_five_pictures_and_a_rise_within_two_seconds() {
    let mut link = Link::new();
    link.pictures(0..90, 125.0);
    let mut fallen = link.pictures(90..96, 31.25);
    let ahead_ms = link.free_ms - 96.0 * 33.0;
    assert!(ahead_ms < 350.0, "{ahead_ms}");
    fallen.extend(link.pictures(96..120, 31.25));
    let risen = link.pictures(120..240, 125.0);
    let sent: Vec<_> = fallen.iter().map(sent_kbps).collect();
    assert!(sent[4..].iter().all(|&kbps| kbps < 300.0), "{sent:?}");
    assert!(kbps(&fallen[9]) < 300.0, "{}", kbps(&fallen[9]));
    assert!(kbps(&risen[60]) > 800.0, "{}", kbps(&risen[60]));
}

/// 4,000 bytes before the picture need 32 ms of a link of 125 a ms: (45 - 32) ms of it are left, over 1.2.
#[test]
fn a_frame_gets_what_the_backlog_leaves_of_its_budget() {
    let mut controller = legato(Config::default());
    controller.path.capacity = of_a_megabit();
    controller.path.backlog.set_in_flight(DataSize::from_bytes(4_000));
    controller.last_frame = DataSize::from_bytes(4_000);
    let FramePlan { limit, skip, wait } = controller.plan_frame(Timestamp::ZERO);
    assert!((wait.get() - 0.032).abs() < 1e-9 && (limit.max_frame.get() - 125e3 * 0.013 / 1.2).abs() < 1e-6);
    // 95 % of the capacity, and of that all but 32 of 300 ms.
    assert!((limit.target.get() - 0.95 * 125e3 * (1.0 - 0.032 / 0.3)).abs() < 1e-6);
    assert!(!skip && limit.why == Why::Backlog);
}

/// The first frame has twice 45 ms of 125 bytes a ms, over 1.2; the second, whose queue the link has passed, 45.
#[test]
fn the_first_frame_is_a_key_frame_and_has_twice_the_budget() {
    let mut controller = legato(Config::default());
    controller.path.capacity = of_a_megabit();
    assert!((controller.plan_frame(Timestamp::ZERO).limit.max_frame.get() - 125.0 * 90.0 / 1.2).abs() < 1e-6);
    let (size, encoder_bitrate) = (DataSize::from_bytes(9_000), DataRate::from_mbps(1));
    let frame =
        EncodedFrameInfo { frame: 0, size, keyframe: true, height: 360, qp: 30.0, psnr_db: None, encoder_bitrate };
    controller.on_event(Timestamp::ZERO, &Event::FrameEncoded(frame));
    assert!((controller.plan_frame(Timestamp::ZERO).limit.max_frame.get() - 125.0 * 45.0 / 1.2).abs() < 1e-6);
}

/// Of 1 Mbit/s, after two seconds.
#[test]
fn a_link_that_is_filled_is_believed_as_it_is() {
    let mut link = Link::new();
    link.controller.observe(&mut |_, _| {});
    link.pictures(0..60, 125.0);
    let [p10, p50, p90] = believed(&mut link);
    assert!((p50 / 125e3 - 1.0).abs() < 0.08 && p10 > 100e3 && p90 < 156e3, "{p10}, {p50}, {p90}");
}

/// The application allows 200 kbit/s: a packet of 1,000 bytes per 33 ms, on links of 2 to 80 Mbit/s. 242 kbit/s get
/// through; the link's limit stays unknown.
#[test]
fn while_the_call_asks_for_little_no_quantile_is_below_what_got_through() {
    for bytes_per_ms in [250.0, 1_000.0, 10_000.0] {
        let mut link = Link::new();
        let limits = RateLimits { max: DataRate::from_kbps(200), start: DataRate::from_kbps(100), ..LIMITS };
        link.controller.on_event(Timestamp::ZERO, &Event::Limits(limits));
        for n in 0..300 {
            link.picture(n * 33, bytes_per_ms);
            let [p10, p50, p90] = believed(&mut link);
            if n > 10 {
                assert!(p10 >= 1_000.0 / 0.0331, "picture {n}: {p10}");
                assert!(p50 >= p10 && p90 > 1.5 * p10, "picture {n}: {p10}, {p50}, {p90}");
            }
        }
    }
}

#[test]
fn news_that_is_overdue_lowers_all_that_is_believed() {
    let mut link = Link::new();
    link.controller.observe(&mut |_, _| {});
    link.pictures(0..60, 125.0);
    let before = believed(&mut link);
    link.coming.clear();
    link.controller.path.backlog.set_in_flight(DataSize::from_bytes(4_000));
    for n in 60..90 {
        let captured = Event::FrameCaptured(SourceFrameInfo { frame: 0, complexity: None });
        link.controller.on_event(Timestamp::from_millis(n * 33), &captured);
    }
    // 4,000 bytes within most of a second.
    let [p10, p50, p90] = believed(&mut link);
    assert!(p90 < 0.2 * before[0] && p50 < 8e3, "{p10}, {p50}, {p90}");
}

#[test]
fn pictures_behind_a_long_queue_are_skipped_but_not_all() {
    let mut controller = legato(Config::default());
    controller.path.capacity = of_a_megabit();
    controller.path.backlog.set_in_flight(DataSize::from_bytes(20_000));
    let skips: Vec<_> = (0..6)
        .map(|n| {
            let frame = SourceFrameInfo { frame: n, complexity: None };
            controller.on_event(Timestamp::from_millis(n as i64 * 33), &Event::FrameCaptured(frame));
            controller.decision().encoder.drop_one_frame_in.is_some()
        })
        .collect();
    assert_eq!(skips, [true, true, false, true, true, false]);
}

/// 500 kB at 1 Mbit/s wait for 4 s: a picture every 0.5 s.
#[test]
fn behind_seconds_of_queue_pictures_are_rare() {
    let mut controller = legato(Config::default());
    controller.path.capacity = of_a_megabit();
    controller.path.backlog.set_in_flight(DataSize::from_bytes(500_000));
    let sent = (0..90).filter(|&n| {
        controller.on_event(
            Timestamp::from_millis(n * 33),
            &Event::FrameCaptured(SourceFrameInfo { frame: n as u64, complexity: None }),
        );
        controller.decision().encoder.drop_one_frame_in.is_none()
    });
    assert!((4..=7).contains(&sent.count()));
}

#[test]
fn nothing_is_believed_until_gauges_are_read_and_then_on_every_route() {
    let mut link = Link::new();
    link.pictures(0..30, 125.0);
    assert!(link.controller.path.belief.is_none());
    link.controller.observe(&mut |_, _| {});
    link.controller.on_event(Timestamp::from_secs(1), &Event::RouteChange);
    assert!(link.controller.path.belief.is_some());
}

/// 800 kbit/s pass; the application then wants no more than 300, then 6,000 again, and feedback stops.
#[test]
fn what_holds_the_rate_is_recorded() {
    let mut link = Link::new();
    link.pictures(0..90, 100.0);
    assert!([Why::Capacity, Why::Backlog].map(|why| f64::from(why as u8)).contains(&why(&mut link)));
    let few = RateLimits { max: DataRate::from_kbps(300), ..LIMITS };
    link.controller.on_event(Timestamp::from_secs(3), &Event::Limits(few));
    assert_eq!(why(&mut link), f64::from(Why::Application as u8));
    link.controller.on_event(Timestamp::from_secs(3), &Event::Limits(LIMITS));
    link.controller.path.silence.on_packet_sent(Timestamp::from_secs(3));
    link.controller.on_event(Timestamp::from_secs(5), &Event::Deadline);
    assert_eq!(why(&mut link), f64::from(Why::Silence as u8));
}

#[test]
fn a_new_route_is_measured_anew() {
    let mut link = Link::new();
    link.pictures(0..90, 125.0);
    link.controller.on_event(Timestamp::from_secs(3), &Event::RouteChange);
    assert_eq!(link.controller.decision().target_bitrate, LIMITS.start);
}

/// Every twentieth packet comes 20 ms late, behind four others: the link's 100 bytes per ms were passed all the same.
#[test]
fn packets_that_are_overtaken_do_not_make_the_link_slow() {
    let mut link = Link::new();
    link.behind = |report| {
        if report.transport_seq.is_multiple_of(20) {
            let Fate::Arrived(Some(arrival)) = report.fate else { return };
            report.fate = Fate::Arrived(Some(arrival + TimeDelta::from_millis(20)));
        }
    };
    link.pictures(0..300, 100.0);
    let capacity = link.controller.path.capacity.rate().get() / 1e3;
    assert!((90.0..105.0).contains(&capacity), "{capacity} bytes per ms");
}

/// A tenth is lost behind the link, whatever is sent: after the trial the lost bytes count as passed.
#[test]
fn bytes_lost_behind_the_link_were_passed_by_it() {
    let mut link = Link::new();
    link.behind = |report| {
        if (report.transport_seq * 7).is_multiple_of(10) {
            report.fate = Fate::Missing;
        }
    };
    link.pictures(0..600, 100.0);
    let capacity = link.controller.path.capacity.rate().get() / 1e3;
    assert!(link.controller.path.losses.trial.own_ratio() > 0.05);
    assert!((95.0..105.0).contains(&capacity), "{capacity} bytes per ms");
}

/// Behind 60 ms of feedback repair comes in time, and a quarter of the losses is sent as parity; none for losses in a row.
#[test]
fn parity_is_for_single_losses_that_repair_would_be_late_for() {
    let mut link = Link::new();
    link.behind = |report| {
        if (report.transport_seq * 7).is_multiple_of(10) {
            report.fate = Fate::Missing;
        }
    };
    link.pictures(0..600, 100.0);
    let expected = link.controller.path.losses.trial.expected_ratio();
    let decision = link.controller.decision();
    assert!(expected > 0.05 && decision.sending.repair_deadline == Some(REPAIR_DEADLINE));
    assert!((link.controller.parity_ratio() - 0.25 * expected).abs() < 1e-9, "{}", link.controller.parity_ratio());
    link.behind = |report| {
        if report.transport_seq % 40 < 4 {
            report.fate = Fate::Missing;
        }
    };
    link.pictures(600..900, 100.0);
    assert_eq!(link.controller.parity_ratio(), 0.0);
}

/// All packets come marked: the rate falls, and leaves at the capacity instead of in bursts.
#[test]
fn marks_lower_the_rate() {
    let mut link = Link::new();
    link.pictures(0..150, 100.0);
    let before = link.picture(150 * 33, 100.0).target_bitrate;
    link.behind = |report| report.ce = true;
    link.pictures(151..181, 100.0);
    let after = link.picture(181 * 33, 100.0);
    assert_eq!(why(&mut link), f64::from(Why::Marks as u8));
    assert!(after.target_bitrate.as_bps_f64() < 0.5 * before.as_bps_f64());
    assert_eq!(after.pacing.burst, Some(DataSize::ZERO));
}
