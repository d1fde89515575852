//! The controller in a closed loop: frames in bursts, one bottleneck, the estimate back after 50 ms.

use super::*;
use legato_control::{NoAssets, PacketKind};
use legato_units::{DataRate, DataSize, PeerTimestamp};
use std::collections::VecDeque;

const LIMITS: RateLimits =
    RateLimits { min: DataRate::from_kbps(50), start: DataRate::from_kbps(300), max: DataRate::from_mbps(8) };

fn ukf() -> Ukf {
    let context = Context { limits: LIMITS, start: Timestamp::ZERO, seed: 0, assets: &NoAssets };
    Ukf::new(Config::default(), context).unwrap()
}

/// Times in ms of a call, with the target and the queue at each.
struct Seen {
    target_kbps: Vec<f64>,
    queue_ms: Vec<f64>,
}

impl Seen {
    fn target_kbps(&self, from_s: f64, to_s: f64) -> f64 {
        mean(&self.target_kbps[(from_s * 1e3) as usize..(to_s * 1e3) as usize])
    }
    fn queue_ms(&self, from_s: f64, to_s: f64) -> f64 {
        mean(&self.queue_ms[(from_s * 1e3) as usize..(to_s * 1e3) as usize])
    }
}

fn mean(figures: &[f64]) -> f64 {
    figures.iter().sum::<f64>() / figures.len() as f64
}

/// Run for `seconds`, in steps of a millisecond. The queue holds 300 ms.
fn call(capacity_kbps: impl Fn(f64) -> f64, seconds: usize, clock: impl Fn(i64) -> i64) -> Seen {
    let mut controller = ukf();
    let mut seen = Seen { target_kbps: Vec::new(), queue_ms: Vec::new() };
    // Packets in the queue with their departure; the link's progress on the first.
    let mut queue: VecDeque<(u64, i64)> = VecDeque::new();
    let mut on_the_way: VecDeque<(i64, u64, i64)> = VecDeque::new();
    let mut targets: VecDeque<DataRate> = vec![LIMITS.start; 50].into();
    let (mut credit_bits, mut unsent_bits, mut seq) = (0.0, 0.0, 0);
    for ms in 0..seconds as i64 * 1_000 {
        let now_s = ms as f64 / 1e3;
        targets.push_back(controller.decision().target_bitrate);
        let target = targets.pop_front().unwrap();
        if ms % 33 == 0 {
            unsent_bits += target.as_bps_f64() * 0.033;
            while unsent_bits >= PACKET_BITS {
                unsent_bits -= PACKET_BITS;
                if queue.len() as f64 * PACKET_BITS < capacity_kbps(now_s) * 300.0 {
                    queue.push_back((seq, ms));
                }
                seq += 1;
            }
        }
        credit_bits += capacity_kbps(now_s);
        while credit_bits >= PACKET_BITS && !queue.is_empty() {
            credit_bits -= PACKET_BITS;
            let (seq, departure) = queue.pop_front().unwrap();
            on_the_way.push_back((ms + 40, seq, departure));
        }
        if queue.is_empty() {
            credit_bits = 0.0;
        }
        let now = Timestamp::from_millis(ms);
        while let Some((_, transport_seq, departure)) = on_the_way.pop_front_if(|(at, ..)| *at <= ms) {
            controller.on_event(
                now,
                &Event::PacketReceived(ReceivedPacket {
                    transport_seq,
                    ssrc: 1,
                    size: DataSize::from_bytes(PACKET_BITS as u64 / 8),
                    kind: PacketKind::Video,
                    departure: Some(PeerTimestamp::from_nanos(clock(departure * 1_000_000))),
                    ce: false,
                }),
            );
        }
        if controller.next_deadline().is_some_and(|due| due <= now) {
            controller.on_event(now, &Event::Deadline);
        }
        seen.target_kbps.push(controller.decision().target_bitrate.as_kbps_f64());
        seen.queue_ms.push(queue.len() as f64 * PACKET_BITS / capacity_kbps(now_s).max(1.0));
    }
    seen
}

const PACKET_BITS: f64 = 9_600.0;

#[test]
fn a_constant_capacity_is_reached_and_kept_without_a_standing_queue() {
    for kbps in [400.0, 1_000.0, 3_000.0] {
        let seen = call(|_| kbps, 20, |ns| ns);
        let target = seen.target_kbps(5.0, 20.0) / kbps;
        assert!((0.8..=1.0).contains(&target), "{target} of {kbps} kbit/s");
        // A packet is 24 ms at the lowest rate, a burst two packets.
        let queue = seen.queue_ms(5.0, 20.0);
        assert!(queue < 50.0, "{queue} ms at {kbps} kbit/s");
    }
}

#[test]
fn a_step_of_the_capacity_is_followed_within_two_seconds_and_not_overshot() {
    let steps = |s: f64| if (10.0..20.0).contains(&s) { 800.0 } else { 2_400.0 };
    let seen = call(steps, 30, |ns| ns);
    let down = seen.target_kbps(12.0, 19.9);
    assert!((0.75 * 800.0..=800.0).contains(&down), "{down} kbit/s after the fall");
    assert!(seen.queue_ms(12.0, 20.0) < 60.0, "{} ms", seen.queue_ms(12.0, 20.0));
    let up = seen.target_kbps(22.0, 30.0);
    assert!((0.8 * 2_400.0..=2_400.0).contains(&up), "{up} kbit/s after the rise");
    let highest = seen.target_kbps[22_000..].iter().fold(0.0, |a: f64, b| a.max(*b));
    assert!(highest < 1.05 * 2_400.0, "{highest} kbit/s");
}

#[test]
fn the_senders_clock_may_be_ahead_and_drift() {
    let steps = |s: f64| if s < 10.0 { 1_500.0 } else { 700.0 };
    let plain = call(steps, 20, |ns| ns);
    let ahead = call(steps, 20, |ns| ns - 3_600_000_000_000);
    assert_eq!(plain.target_kbps, ahead.target_kbps);
    for ppm in [100, -100] {
        let drifting = call(steps, 20, |ns| ns + ns / 1_000_000 * ppm);
        for (from, to) in [(5.0, 10.0), (13.0, 20.0)] {
            let ratio = drifting.target_kbps(from, to) / plain.target_kbps(from, to);
            assert!((0.9..1.1).contains(&ratio), "{ratio} at {ppm} ppm");
        }
    }
}

#[test]
fn an_outage_slows_down_and_is_recovered_from() {
    let outage = |s: f64| if (10.0..13.0).contains(&s) { 0.0 } else { 1_500.0 };
    let seen = call(outage, 25, |ns| ns);
    assert!(seen.target_kbps[12_900] < 400.0, "{}", seen.target_kbps[12_900]);
    let later = seen.target_kbps(18.0, 25.0);
    assert!(later > 0.75 * 1_500.0, "{later} kbit/s");
}

#[test]
fn packets_without_a_send_time_change_nothing() {
    let mut controller = ukf();
    for ms in (0..5_000).step_by(10) {
        let packet = ReceivedPacket {
            transport_seq: ms as u64 / 10,
            ssrc: 1,
            size: DataSize::from_bytes(1_200),
            kind: PacketKind::Video,
            departure: None,
            ce: false,
        };
        controller.on_event(Timestamp::from_millis(ms), &Event::PacketReceived(packet));
    }
    assert_eq!(controller.decision().target_bitrate, LIMITS.start);
}

#[test]
fn another_route_begins_at_the_start_rate() {
    let mut controller = ukf();
    controller.rules.set_target(DataRate::from_mbps(3));
    controller.on_event(Timestamp::from_secs(5), &Event::RouteChange);
    assert_eq!(controller.decision().target_bitrate, LIMITS.start);
    assert_eq!(controller.path.capacity(), None);
}
