use super::nvc_cc::NvcCc;
use super::*;
use crate::entry;
use legato_control::{Fate, PacketKind, PacketReport, SentPacket, TransportFeedback};
use legato_units::{Burst, DataSize, PeerTimestamp};

const LIMITS: RateLimits =
    RateLimits { min: DataRate::from_kbps(100), start: DataRate::from_kbps(1_000), max: DataRate::from_mbps(6) };
const MS: fn(i64) -> Timestamp = Timestamp::from_millis;

fn context() -> Context<'static> {
    Context { limits: LIMITS, start: Timestamp::ZERO, seed: 1, assets: &NoAssets }
}

fn by_hand() -> NvcCc {
    NvcCc::new(Config { policy: "hand".to_owned(), ..Config::default() }, context()).unwrap()
}

fn feedback() -> Event {
    let report = PacketReport {
        transport_seq: 0,
        ssrc: 1,
        size: DataSize::from_bytes(1_200),
        departure: Timestamp::ZERO,
        fate: Fate::Arrived(Some(PeerTimestamp::from_nanos(5_000_000))),
        ce: false,
        kind: PacketKind::Video,
        probe_cluster: None,
        place: None,
    };
    Event::TransportFeedback(TransportFeedback {
        reports: vec![report].into(),
        in_flight: DataSize::ZERO,
        ..Default::default()
    })
}

fn sent() -> Event {
    Event::PacketsSent(Burst::single(SentPacket {
        transport_seq: 0,
        ssrc: 1,
        size: DataSize::from_bytes(1_200),
        kind: PacketKind::Video,
        probe_cluster: None,
        in_flight: DataSize::from_bytes(1_200),
        place: None,
    }))
}

#[test]
fn an_action_takes_effect_at_its_deadline_and_not_before() {
    let mut controller = by_hand();
    controller.steer(0.5);
    controller.on_event(MS(20), &feedback());
    assert_eq!(controller.decision().target_bitrate, LIMITS.start);
    assert_eq!(controller.next_deadline(), Some(MS(50)));
    controller.on_event(MS(50), &Event::Deadline);
    assert_eq!(controller.decision().target_bitrate, DataRate::from_kbps(1_500));
    assert_eq!(controller.decision().pacing.padding_rate, DataRate::from_kbps(1_500));
    assert_eq!(controller.next_decision(), MS(100));
}

/// What the environment observes is what the policy is given.
#[test]
fn the_observation_is_what_the_policy_gets_at_the_deadline() {
    #[derive(Clone)]
    struct Spy(std::sync::Arc<std::sync::Mutex<Vec<f32>>>);
    impl Policy for Spy {
        fn act(&mut self, observation: &[f32]) -> f32 {
            *self.0.lock().unwrap() = observation.to_vec();
            0.0
        }
    }
    let seen = std::sync::Arc::default();
    let mut controller = NvcCc { policy: Box::new(Spy(std::sync::Arc::clone(&seen))), ..by_hand() };
    for turn in 1..=15 {
        controller.on_event(MS(50 * turn - 40), &sent());
        controller.on_event(MS(50 * turn - 10 + turn % 3), &feedback());
        let mut observed = vec![0.0; controller.layout().len()];
        controller.observe_into(&controller.stats(MS(50 * turn)), &mut observed);
        controller.on_event(MS(50 * turn), &Event::Deadline);
        assert_eq!(*seen.lock().unwrap(), observed);
    }
}

#[test]
fn a_nan_action_is_replaced_by_another_controllers_decision() {
    let mut controller = by_hand();
    controller.steer(f32::NAN);
    controller.on_event(MS(50), &Event::Deadline);
    let mut fallbacks = 0.0;
    controller.observe(&mut |name, value| {
        if name == "fallbacks" {
            fallbacks = value;
        }
    });
    assert_eq!(fallbacks, 1.0);
    // GCC, just started: it holds the start rate it was given.
    assert_eq!(controller.decision().target_bitrate, LIMITS.start);
}

#[test]
fn silence_halves_the_target_each_second_whatever_the_policy_says() {
    let mut controller = by_hand();
    controller.steer(1.0);
    controller.on_event(MS(10), &sent());
    let mut now = MS(10);
    while now < MS(3_100) {
        now = controller.next_deadline().unwrap();
        controller.on_event(now, &Event::Deadline);
    }
    let silent = controller.decision().target_bitrate;
    // No feedback ever came, so the rate was never raised.
    assert_eq!(silent, DataRate::from_kbps(125));
    controller.on_event(now, &feedback());
    controller.on_event(controller.next, &Event::Deadline);
    assert!(controller.decision().target_bitrate > silent);
}

#[test]
fn a_missing_policy_is_named() {
    let error = entry("nvc-cc").unwrap().build(&toml::toml! { policy = "no-such" }, context()).err().unwrap();
    assert!(error.to_string().contains("no-such"), "{error}");
}

/// [jay2019] decides once a round trip: feedback 120 ms after a departure makes the next interval two of those.
#[test]
fn an_interval_in_round_trips_follows_the_round_trip() {
    let config = |interval_rtt_factor| Config { policy: "hand".to_owned(), interval_rtt_factor, ..Config::default() };
    let mut controller = NvcCc::new(config(2.0), context()).unwrap();
    controller.on_event(MS(50), &Event::Deadline);
    assert_eq!(controller.next_decision(), MS(100), "nothing is known yet");
    controller.on_event(MS(100), &Event::Deadline);
    controller.on_event(MS(120), &feedback());
    controller.on_event(MS(150), &Event::Deadline);
    assert_eq!(controller.next_decision(), MS(150 + 2 * 120));
}
