//! Properties of every controller in the registry after any list of events, odd ones as well as likely ones. Odd are
//! packets never sent, duplicates, feedback out of order by a thousand, sizes of zero, equal times, all lost.

use legato_control::steering::Steered;
use legato_control::{
    Assets, CapacityStep, Context, Decision, EncodedFrameInfo, Entry, Event, Fate, FramePlace, FrameReport, FutureLink,
    KnownFuture, PacerQueue, PacketKind, PacketReport, RateController, RateLimits, ReceivedPacket, ReceptionReport,
    SentPacket, SourceFrameInfo, TransportFeedback,
};
use legato_controllers::REGISTRY;
use legato_controllers::circuit_breaker::{CircuitBreakerConfig, CircuitBreakers};
use legato_units::{Burst, DataRate, DataSize, PeerTimestamp, TimeDelta, Timestamp};
use proptest::collection::vec;
use proptest::prelude::*;
use std::borrow::Cow;
use std::sync::Arc;

const LIMITS: RateLimits =
    RateLimits { min: DataRate::from_kbps(50), start: DataRate::from_kbps(300), max: DataRate::from_mbps(4) };

/// A capacity that steps, for controllers that know the future.
struct Future;

impl Assets for Future {
    fn file(&self, _name: &str) -> Option<Cow<'_, [u8]>> {
        None
    }
    fn controller(&self, name: &str) -> Option<&'static Entry> {
        legato_controllers::entry(name)
    }
    fn future(&self) -> Option<&dyn KnownFuture> {
        Some(self)
    }
}

impl KnownFuture for Future {
    fn capacity(&self) -> Option<Arc<[CapacityStep]>> {
        let step = |s, kbps| CapacityStep { start: Timestamp::from_secs(s), capacity: DataRate::from_kbps(kbps) };
        Some([step(0, 1_000), step(10, 300), step(20, 2_000)].into())
    }
    fn link(&self) -> Option<Box<dyn FutureLink>> {
        Some(Box::new(Megabit(Timestamp::ZERO)))
    }
}

/// 1 Mbit/s, forever.
#[derive(Clone, Copy)]
struct Megabit(Timestamp);

impl FutureLink for Megabit {
    fn take(&mut self, now: Timestamp, size: DataSize) -> Timestamp {
        self.0 = self.exit(self.idle_at(now), size);
        self.0
    }
    fn idle_at(&self, now: Timestamp) -> Timestamp {
        self.0.max(now)
    }
    fn exit(&self, from: Timestamp, size: DataSize) -> Timestamp {
        from + size / DataRate::from_mbps(1)
    }
    fn passes(&self, from: Timestamp, to: Timestamp) -> DataSize {
        DataRate::from_mbps(1) * (to - from).max(TimeDelta::ZERO)
    }
    fn queue_limit(&self) -> Option<DataSize> {
        None
    }
}

const CONTEXT: Context<'static> = Context { limits: LIMITS, start: Timestamp::ZERO, seed: 1, assets: &Future };

fn build(entry: &Entry) -> Box<dyn RateController> {
    // A trained policy is a file; the pipeline's guarantees hold for any action.
    let config = if entry.learned {
        toml::toml! { policy = "hand" }
    } else {
        toml::Table::new()
    };
    entry.build(&config, CONTEXT).expect("the defaults are valid")
}

/// One event and the time since the previous one.
#[derive(Clone, Debug)]
struct Step {
    wait: TimeDelta,
    event: Event,
}

/// Send all events to the controller; due deadlines come in between as a driver sends them. Returns
/// every decision.
fn play(controller: &mut dyn RateController, from: Timestamp, steps: &[Step]) -> (Timestamp, Vec<Decision>) {
    let mut now = from;
    let mut decisions = Vec::new();
    for step in steps {
        let next = now + step.wait;
        let mut due = 0;
        while let Some(deadline) = controller.next_deadline().filter(|deadline| *deadline <= next) {
            now = now.max(deadline);
            controller.on_event(now, &Event::Deadline);
            decisions.push(controller.decision());
            due += 1;
            assert!(due <= 1 + step.wait.as_nanos() / 100_000, "deadlines must move on");
        }
        now = next;
        controller.on_event(now, &step.event);
        while controller.poll_probe().is_some() {}
        decisions.push(controller.decision());
    }
    (now, decisions)
}

fn size() -> impl Strategy<Value = DataSize> {
    prop_oneof![Just(0), 1_u64..1_500, Just(65_535)].prop_map(DataSize::from_bytes)
}

fn kind() -> impl Strategy<Value = PacketKind> {
    use PacketKind::{Audio, Fec, Padding, Retransmission, Video};
    prop_oneof![Just(Audio), Just(Fec), Just(Padding), Just(Retransmission), Just(Video)]
}

/// Microseconds before or after now.
fn around() -> impl Strategy<Value = i64> {
    prop_oneof![8 => -200_000_i64..0, 2 => Just(0), 1 => -10_000_000_i64..1_000_000]
}

/// Departure and arrival in microseconds relative to now, size, kind, probe cluster, CE; made
/// absolute by `steps`.
type RawReport = (i64, Option<Option<i64>>, DataSize, PacketKind, Option<u32>, bool);

fn report() -> impl Strategy<Value = RawReport> {
    let arrival = prop_oneof![8 => around().prop_map(|us| Some(Some(us))), 1 => Just(Some(None)), 2 => Just(None)];
    let probe = prop_oneof![5 => Just(None), 1 => (0_u32..6).prop_map(Some)];
    (around(), arrival, size(), kind(), probe, any::<bool>())
}

#[derive(Clone, Debug)]
enum Kind {
    Plain(Event),
    Feedback(i64, Vec<RawReport>, DataSize),
    Sent(i64, DataSize, PacketKind, DataSize),
    Received(i64, DataSize, PacketKind, i64),
}

fn rate() -> impl Strategy<Value = DataRate> {
    prop_oneof![Just(0), 1_u64..10_000_000, Just(u64::MAX)].prop_map(DataRate::from_bps)
}

fn event() -> impl Strategy<Value = Kind> {
    let frame = any::<(u8, bool)>().prop_map(|(frame, keyframe)| {
        Event::FrameEncoded(EncodedFrameInfo {
            frame: u64::from(frame),
            size: DataSize::from_bytes(u64::from(frame) * 100),
            keyframe,
            height: 360,
            qp: 30.0,
            psnr_db: None,
            encoder_bitrate: DataRate::from_kbps(500),
        })
    });
    let frame_report = any::<(u8, bool)>().prop_map(|(frame, rendered)| {
        Event::FrameReport(FrameReport {
            frame: u64::from(frame),
            rendered,
            keyframe: false,
            size: DataSize::from_bytes(2_000),
            height: 360,
            psnr_db: Some(38.0),
            queued: None,
            assembly: TimeDelta::from_millis(i64::from(frame)),
            interval: TimeDelta::from_millis(33),
        })
    });
    let plain = prop_oneof![
        Just(Event::Deadline),
        Just(Event::RouteChange),
        Just(Event::RtcpArrived),
        Just(Event::FrameCaptured(SourceFrameInfo { frame: 1, complexity: Some(3.0) })),
        frame,
        frame_report,
        rate().prop_map(Event::RemoteEstimate),
        any::<(u8, u32)>().prop_map(|(fraction_lost, highest_seq)| {
            Event::ReceiverReport(ReceptionReport { ssrc: 1, fraction_lost, highest_seq })
        }),
        (0_i64..5_000).prop_map(|ms| Event::RoundTripTime(TimeDelta::from_millis(ms))),
        size().prop_map(|size| Event::PacerQueue(PacerQueue { size, drain: TimeDelta::from_millis(5) })),
    ];
    prop_oneof![
        2 => plain.prop_map(Kind::Plain),
        4 => (-1_000_i64..1_000, vec(report(), 0..30), size()).prop_map(|(seq, reports, size)| Kind::Feedback(seq, reports, size)),
        6 => (-1_000_i64..1_000, size(), kind(), 0_u64..2_000_000)
            .prop_map(|(seq, size, kind, bytes)| Kind::Sent(seq, size, kind, DataSize::from_bytes(bytes))),
        2 => (-1_000_i64..1_000, size(), kind(), around()).prop_map(|(seq, size, kind, at)| Kind::Received(seq, size, kind, at)),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let wait = prop_oneof![2 => Just(0_i64), 8 => 0_i64..60_000, 1 => 0_i64..4_000_000];
    vec((wait, event()), 0..120).prop_map(|raw| {
        let mut now_us = 0;
        let mut seq = 5_000_i64;
        raw.into_iter()
            .map(|(wait_us, kind)| {
                now_us += wait_us;
                seq += 1;
                Step { wait: TimeDelta::from_micros(wait_us), event: absolute(kind, now_us, seq) }
            })
            .collect()
    })
}

/// The peer's clock is a thousand seconds ahead.
fn peer(us: i64) -> PeerTimestamp {
    PeerTimestamp::from_nanos((us + 1_000_000_000) * 1_000)
}

/// Frames of four packets.
fn place(transport_seq: u64, kind: PacketKind) -> Option<FramePlace> {
    let (frame, index) = ((transport_seq / 4) as u32, (transport_seq % 4) as u16);
    (kind == PacketKind::Video).then_some(FramePlace { frame, index, packets: 4 })
}

fn absolute(kind: Kind, now_us: i64, seq: i64) -> Event {
    let at = |us: i64| Timestamp::from_nanos(us * 1_000);
    match kind {
        Kind::Plain(event) => event,
        Kind::Feedback(offset, reports, in_flight) => {
            let first = (seq + offset) as u64;
            let report =
                |(index, (departure, arrival, size, kind, probe_cluster, ce)): (u64, RawReport)| PacketReport {
                    transport_seq: first + index,
                    ssrc: 1,
                    size,
                    departure: at(now_us + departure),
                    fate: arrival.map_or(Fate::Missing, |arrival: Option<i64>| {
                        Fate::Arrived(arrival.map(|us| peer(now_us + us)))
                    }),
                    ce,
                    kind,
                    probe_cluster,
                    place: place(first + index, kind),
                };
            let reports = (0..).zip(reports).map(report).collect();
            Event::TransportFeedback(TransportFeedback { reports, in_flight, ..Default::default() })
        }
        Kind::Sent(offset, size, kind, in_flight) => {
            let transport_seq = (seq + offset) as u64;
            Event::PacketsSent(Burst::single(SentPacket {
                transport_seq,
                ssrc: 1,
                size,
                kind,
                probe_cluster: None,
                in_flight,
                place: place(transport_seq, kind),
            }))
        }
        Kind::Received(offset, size, kind, departure) => Event::PacketReceived(ReceivedPacket {
            transport_seq: (seq + offset) as u64,
            ssrc: 1,
            size,
            kind,
            departure: Some(peer(now_us + departure)),
            ce: false,
        }),
    }
}

/// The same events from a peer whose clock differs by `offset`.
fn shift(steps: &[Step], offset: TimeDelta) -> Vec<Step> {
    let mut shifted = steps.to_vec();
    for step in &mut shifted {
        match &mut step.event {
            Event::TransportFeedback(feedback) => {
                let shift = |mut report: PacketReport| {
                    if let Fate::Arrived(Some(arrival)) = &mut report.fate {
                        *arrival += offset;
                    }
                    report
                };
                feedback.reports = feedback.reports.iter().map(shift).collect();
            }
            Event::PacketReceived(ReceivedPacket { departure: Some(departure), .. }) => *departure += offset,
            _ => {}
        }
    }
    shifted
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn decisions_are_within_the_limits(steps in steps()) {
        for entry in REGISTRY {
            let (_, decisions) = play(build(entry).as_mut(), Timestamp::ZERO, &steps);
            for decision in decisions {
                let name = entry.name;
                prop_assert!(decision.target_bitrate >= LIMITS.min, "{name}: {decision:?}");
                prop_assert!(decision.target_bitrate <= LIMITS.max, "{name}: {decision:?}");
                prop_assert!(decision.pacing.rate >= decision.target_bitrate, "{name}: {decision:?}");
                prop_assert!(decision.pacing.padding_rate <= decision.pacing.rate, "{name}: {decision:?}");
                prop_assert!(decision.sending.fec_rate <= decision.target_bitrate, "{name}: {decision:?}");
            }
        }
    }

    #[test]
    fn limits_that_change_are_obeyed_at_once(steps in steps(), min in 0_u64..1_000_000, range in 0_u64..5_000_000) {
        let [min, max] = [min, min + range].map(DataRate::from_bps);
        let limits = RateLimits { min, start: DataRate::from_bps(min.as_bps() + range / 2), max };
        for entry in REGISTRY {
            let mut controller = build(entry);
            let (now, _) = play(controller.as_mut(), Timestamp::ZERO, &steps);
            controller.on_event(now, &Event::Limits(limits));
            let first = controller.decision();
            let (_, rest) = play(controller.as_mut(), now, &steps[steps.len() / 2..]);
            for decision in std::iter::once(first).chain(rest) {
                prop_assert!((min..=max).contains(&decision.target_bitrate), "{}: {decision:?}", entry.name);
            }
        }
    }

    #[test]
    fn the_offset_of_the_peers_clock_does_not_matter(steps in steps(), offset_ns in -4_000_000_000_000_i64..4_000_000_000_000) {
        let shifted = shift(&steps, TimeDelta::from_nanos(offset_ns));
        for entry in REGISTRY {
            let here = play(build(entry).as_mut(), Timestamp::ZERO, &steps);
            let there = play(build(entry).as_mut(), Timestamp::ZERO, &shifted);
            prop_assert_eq!(here, there, "{}", entry.name);
        }
    }

    #[test]
    fn a_clone_goes_on_the_same(steps in steps(), cut in 0.0_f64..1.0) {
        let (before, after) = steps.split_at((steps.len() as f64 * cut) as usize);
        for entry in REGISTRY {
            let mut controller = build(entry);
            let (now, _) = play(controller.as_mut(), Timestamp::ZERO, before);
            let mut clone = controller.clone();
            prop_assert_eq!(play(controller.as_mut(), now, after), play(clone.as_mut(), now, after), "{}", entry.name);
        }
    }

    #[test]
    fn a_recorded_log_decides_the_same(steps in steps()) {
        let events: Vec<_> = steps.iter().map(|step| serde_json::to_string(&step.event).expect("serialisable")).collect();
        let replayed: Vec<_> = steps
            .iter()
            .zip(&events)
            .map(|(step, json)| Step { wait: step.wait, event: serde_json::from_str(json).expect("as written") })
            .collect();
        for entry in REGISTRY {
            let live = play(build(entry).as_mut(), Timestamp::ZERO, &steps);
            prop_assert_eq!(live, play(build(entry).as_mut(), Timestamp::ZERO, &replayed), "{}", entry.name);
        }
    }

    /// A driver reads the decision of a steered controller only where its revision has changed.
    #[test]
    fn the_revision_of_a_steered_controller_counts_every_change(steps in steps()) {
        for entry in REGISTRY.iter().filter(|entry| entry.learned) {
            let steered = entry.steered(&toml::toml! { policy = "hand" }, CONTEXT).expect("learned");
            let mut controller = CircuitBreakers::around(steered, CircuitBreakerConfig::default());
            let mut now = Timestamp::ZERO;
            for step in &steps {
                now += step.wait;
                let due = controller.next_deadline().is_some_and(|due| due <= now);
                for event in [due.then_some(&Event::Deadline), Some(&step.event)].into_iter().flatten() {
                    let (revision, decision) = (controller.revision(), controller.decision());
                    controller.on_event(now, event);
                    if controller.revision() == revision {
                        prop_assert_eq!(controller.decision(), decision, "{}", entry.name);
                    }
                }
            }
        }
    }

    /// Packets leave and deadlines pass, but no feedback comes back. `oracle` and `clairvoyant` learn the future from
    /// no feedback and may rise.
    #[test]
    fn silence_never_raises_the_rate(steps in steps(), packets in 0_usize..600) {
        for entry in REGISTRY.iter().filter(|entry| !["clairvoyant", "oracle"].contains(&entry.name)) {
            let mut controller = build(entry);
            let (now, _) = play(controller.as_mut(), Timestamp::ZERO, &steps);
            let sent = |n| {
                let (size, kind) = (DataSize::from_bytes(1_200), PacketKind::Video);
                let in_flight = DataSize::from_bytes(1_200 * n);
                Event::PacketsSent(Burst::single(SentPacket { transport_seq: 90_000 + n, ssrc: 1, size, kind, probe_cluster: None, in_flight, place: None }))
            };
            let silence: Vec<_> =
                (0..packets as u64).map(|n| Step { wait: TimeDelta::from_millis(20), event: sent(n) }).collect();
            // One that decides by intervals may still act on recent feedback: for half a second.
            let lately = if entry.learned { silence.len().min(26) } else { 0 };
            let (now, _) = play(controller.as_mut(), now, &silence[..lately]);
            let mut last = controller.decision().target_bitrate;
            for decision in play(controller.as_mut(), now, &silence[lately..]).1 {
                prop_assert!(decision.target_bitrate <= last, "{}: {} after {last}", entry.name, decision.target_bitrate);
                last = decision.target_bitrate;
            }
        }
    }

    #[test]
    fn gauges_are_finite_and_reading_them_changes_no_decision(steps in steps()) {
        for entry in REGISTRY {
            let mut controller = build(entry);
            controller.observe(&mut |_, _| {});
            let decisions = play(controller.as_mut(), Timestamp::ZERO, &steps).1;
            prop_assert_eq!(decisions, play(build(entry).as_mut(), Timestamp::ZERO, &steps).1, "{}", entry.name);
            let mut odd = None;
            controller.observe(&mut |name, value| if !value.is_finite() { odd = Some((name, value)) });
            prop_assert_eq!(odd, None, "{}", entry.name);
        }
    }
}
