use super::*;
use crate::learned::Config;
use legato_control::steering::Pipeline;
use legato_control::{Construct, NoAssets, PacketKind, RateController, RateLimits, ReceivedPacket};
use legato_units::{DataSize, PeerTimestamp};

const LIMITS: RateLimits =
    RateLimits { min: DataRate::from_kbps(50), start: DataRate::from_kbps(300), max: DataRate::from_mbps(6) };
const MS: fn(i64) -> Timestamp = Timestamp::from_millis;

fn by_hand() -> Hrcc {
    let context = Context { limits: LIMITS, start: Timestamp::ZERO, seed: 1, assets: &NoAssets };
    Hrcc::new(Config { policy: "hand".to_owned(), ..Config::default() }, context).unwrap()
}

/// A packet every 10 ms, 20 ms on the way: at most `kbps` arrive.
fn feed(controller: &mut Hrcc, from_ms: i64, to_ms: i64, bytes: u64) {
    for ms in (from_ms..to_ms).step_by(10) {
        while controller.next_deadline().unwrap() <= MS(ms) {
            let due = controller.next_deadline().unwrap();
            controller.on_event(due, &Event::Deadline);
        }
        let packet = ReceivedPacket {
            transport_seq: (ms / 10) as u64,
            ssrc: 1,
            size: DataSize::from_bytes(bytes),
            kind: PacketKind::Video,
            departure: Some(PeerTimestamp::from_nanos((ms - 20) * 1_000_000)),
            ce: false,
        };
        controller.on_event(MS(ms), &Event::PacketReceived(packet));
    }
}

fn target(controller: &Hrcc) -> DataRate {
    controller.decision().target_bitrate
}

#[test]
fn between_two_actions_the_rules_decide_alone() {
    let mut controller = by_hand();
    feed(&mut controller, 0, 800, 375);
    let target = target(&controller);
    assert!(target > LIMITS.start && target < DataRate::from_kbps(330), "8 % a second: {target}");
}

#[test]
fn an_action_scales_the_estimate_from_which_the_rules_continue() {
    let mut controller = by_hand();
    feed(&mut controller, 0, 800, 375);
    let before = target(&controller);
    controller.steer(1.0);
    controller.on_event(MS(800), &Event::Deadline);
    assert_eq!(target(&controller), before.scale(2.0));
    controller.steer(0.5);
    feed(&mut controller, 810, 1_600, 750);
    assert!((before.scale(2.0)..before.scale(2.2)).contains(&target(&controller)), "{}", target(&controller));
    controller.steer(0.0);
    let before = target(&controller);
    controller.on_event(MS(1_600), &Event::Deadline);
    assert_eq!(target(&controller), before.scale(0.5));
}

/// The rules continue from the bounds: nothing beyond them needs to be undone first.
#[test]
fn the_estimate_does_not_run_beyond_the_bounds() {
    let mut controller = by_hand();
    controller.steer(1.0);
    feed(&mut controller, 0, 8_000, 7_500);
    assert_eq!(target(&controller), LIMITS.max);
    controller.steer(0.0);
    let due = controller.next_decision();
    feed(&mut controller, 8_000, due.as_nanos() / 1_000_000, 7_500);
    controller.on_event(due, &Event::Deadline);
    assert_eq!(target(&controller), DataRate::from_mbps(3));
}

/// [hrcc] guides every fourth of the intervals it observes; the network gets the numbers an environment was shown.
#[test]
fn the_network_gets_what_was_shown_before_the_decision() {
    let mut controller = by_hand();
    assert_eq!(controller.interval(), TimeDelta::from_millis(800));
    assert_eq!(controller.layout().len(), 60);
    feed(&mut controller, 0, 1_600, 375);
    let mut shown = vec![0.0; 60];
    controller.observe_into(&controller.stats(MS(1_600)), &mut shown);
    controller.on_event(MS(1_600), &Event::Deadline);
    assert_eq!(controller.history.as_slice(), shown);
    // Eight rows of ten: 300 kbit/s in each but the first, and none before.
    assert_eq!(shown[..2], [0.0, 0.0]);
    assert_eq!(shown[3..10], [0.05; 7]);
}
