//! Over every stage, queue and random lists of them: in = out + dropped + held, in order except for
//! reordering, never early, never above capacity.

use crate::arrivals::{Arrival, arrivals, capacity, config, packet, rng};
use legato_path::capacity::{Capacity, LinkCapacity};
use legato_path::queue::{CoDel, CoDelConfig, DropTail, Pie, PieConfig, Queue, QueueLimit};
use legato_path::stage::{
    Aggregation, Bottleneck, GilbertElliott, Jitter, JitterConfig, Loss, Policer, Propagation, QueuedBottleneck,
    Reorder, TokenBucket, VaryingLoss,
};
use legato_path::{OverTime, Path, PathStage};
use legato_units::{DataRate, DataSize, TimeDelta, Timestamp};
use proptest::prelude::*;

/// A stage in a printable form.
#[derive(Clone, Debug)]
enum Kind {
    Loss(f64),
    Bursts(f64, f64),
    DropTail(LinkCapacity, QueueLimit),
    Queued(LinkCapacity, QueueLimit, u8, bool),
    Fixed(i64),
    /// Delays in ms, each for that many ms, again and again.
    Delays(Vec<i64>, i64),
    /// The same of loss ratios.
    Losses(Vec<f64>, i64),
    Jitter(i64, bool),
    Reorder(f64, i64),
    /// Mean wait in ms, packets in a clump.
    Aggregation(i64, u32),
    /// Rate in kbit/s, burst in bytes.
    Policer(u64, u64),
    /// The same, and the queue's limit in bytes.
    TokenBucket(u64, u64, u64),
}

impl Kind {
    fn build(&self, seed: u64) -> PathStage<u64> {
        let ms = TimeDelta::from_millis;
        match self.clone() {
            Self::Loss(ratio) => Loss::new(ratio, rng(seed)).expect("a ratio").into(),
            Self::Bursts(p, r) => GilbertElliott::new(p, r, 0.01, 0.7, rng(seed)).expect("ratios").into(),
            Self::DropTail(link, limit) => Bottleneck::new(link, limit).into(),
            Self::Queued(link, limit, which, ecn) => {
                let queue: Box<dyn Queue<u64>> = match which {
                    0 => Box::new(DropTail::new(limit)),
                    1 => Box::new(CoDel::new(CoDelConfig { limit, ecn, ..CoDelConfig::default() })),
                    _ => Box::new(Pie::new(PieConfig { limit, ecn, ..PieConfig::default() }, rng(seed))),
                };
                QueuedBottleneck::new(link, queue).into()
            }
            Self::Fixed(delay) => Propagation::fixed(ms(delay)).into(),
            Self::Delays(delays, every) => {
                Propagation::over_time(over_time(delays, every).map(ms)).expect("not negative").into()
            }
            Self::Losses(ratios, every) => {
                VaryingLoss::new(over_time(ratios, every), rng(seed)).expect("ratios").into()
            }
            Self::Jitter(std, serial) => {
                let serial = serial.then(|| DataRate::from_mbps(2));
                Jitter::new(JitterConfig { std: ms(std), serial, ..JitterConfig::default() }, rng(seed)).into()
            }
            Self::Reorder(ratio, extra) => Reorder::new(ratio, ms(extra), rng(seed)).expect("a ratio").into(),
            Self::Aggregation(wait, packets) => Aggregation::new(ms(wait), packets, rng(seed)).into(),
            Self::Policer(kbps, burst) => {
                let burst = DataSize::from_bytes(burst);
                Policer::new(DataRate::from_kbps(kbps), burst).expect("above 0").into()
            }
            Self::TokenBucket(kbps, burst, limit) => {
                let (burst, limit) = (DataSize::from_bytes(burst), DataSize::from_bytes(limit));
                TokenBucket::new(DataRate::from_kbps(kbps), burst, limit).expect("above 0").into()
            }
        }
    }
}

fn over_time<T: Copy + PartialEq>(values: Vec<T>, every_ms: i64) -> OverTime<T> {
    let at = |n: usize| TimeDelta::from_millis(n as i64 * every_ms);
    let period = at(values.len());
    OverTime::new(values.into_iter().enumerate().map(|(n, value)| (at(n), value)), Some(period)).expect("valid")
}

fn limit() -> impl Strategy<Value = QueueLimit> {
    prop_oneof![
        (1u32..60).prop_map(QueueLimit::Packets),
        (1_500u64..80_000).prop_map(|b| QueueLimit::Bytes(DataSize::from_bytes(b))),
        (10i64..600, any::<bool>()).prop_map(|(ms, rescale)| QueueLimit::Time {
            span: TimeDelta::from_millis(ms),
            reference: DataRate::from_mbps(1),
            rescale,
        }),
        Just(QueueLimit::Unlimited),
    ]
}

fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![
        (0.0..=1.0).prop_map(Kind::Loss),
        (0.0..=1.0, 0.0..=1.0).prop_map(|(p, r)| Kind::Bursts(p, r)),
        (capacity(), limit()).prop_map(|(c, l)| Kind::DropTail(c, l)),
        (capacity(), limit(), 0u8..3, any::<bool>()).prop_map(|(c, l, q, e)| Kind::Queued(c, l, q, e)),
        (0i64..300).prop_map(Kind::Fixed),
        (prop::collection::vec(0i64..300, 1..9), 1i64..400).prop_map(|(delays, every)| Kind::Delays(delays, every)),
        (prop::collection::vec(0.0..=1.0, 1..9), 1i64..400).prop_map(|(ratios, every)| Kind::Losses(ratios, every)),
        (0i64..20, any::<bool>()).prop_map(|(s, serial)| Kind::Jitter(s, serial)),
        (0.0..=1.0, 0i64..100).prop_map(|(r, e)| Kind::Reorder(r, e)),
        (0i64..40, 0u32..70).prop_map(|(wait, packets)| Kind::Aggregation(wait, packets)),
        (1u64..20_000, 1u64..200_000).prop_map(|(kbps, burst)| Kind::Policer(kbps, burst)),
        (1u64..20_000, 1u64..200_000, 0u64..200_000).prop_map(|(kbps, b, limit)| Kind::TokenBucket(kbps, b, limit)),
    ]
}

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn every_packet_comes_out_is_dropped_or_is_held(
        kinds in prop::collection::vec(kind(), 0..6),
        arrivals in arrivals(300),
        seed in any::<u64>(),
    ) {
        let stages = kinds.iter().enumerate().map(|(n, kind)| kind.build(seed.wrapping_add(n as u64)));
        let mut path = Path::new(stages).with_drop_notices();
        let reorders = kinds.iter().any(|kind| matches!(kind, Kind::Reorder(..)));
        let least = path.min_one_way_delay();
        let (mut out, mut gone) = (Vec::new(), Vec::new());
        for (n, &Arrival { at, bytes, ecn }) in arrivals.iter().enumerate() {
            fetch(&mut path, at, &mut out);
            path.push(at, packet(n as u64, bytes, ecn));
            prop_assert!(path.next_arrival().is_none_or(|next| next >= at || !out.is_empty() || n > 0));
        }
        // Ten years: whatever can leave has left.
        fetch(&mut path, Timestamp::from_secs(300_000_000), &mut out);
        while let Some(notice) = path.pop_drop() {
            gone.push(notice.packet.payload);
        }
        prop_assert_eq!(path.drops().total(), gone.len() as u64);

        let mut seen = vec![false; arrivals.len()];
        for n in out.iter().map(|(_, packet)| packet.payload).chain(gone.iter().copied()) {
            prop_assert!(!std::mem::replace(&mut seen[n as usize], true), "packet {} twice", n);
        }
        let held = seen.iter().filter(|&&seen| !seen).count();
        prop_assert_eq!(out.len() + gone.len() + held, arrivals.len());
        prop_assert!(held == 0 || kinds.iter().any(may_stall), "{} packets stay forever", held);
        prop_assert!(out.windows(2).all(|pair| pair[0].0 <= pair[1].0), "exits go back in time");
        if !reorders {
            prop_assert!(out.windows(2).all(|pair| pair[0].1.payload < pair[1].1.payload), "reordered");
        }
        for (at, packet) in &out {
            let sent = &arrivals[packet.payload as usize];
            prop_assert!(*at >= sent.at + least, "packet {} early", packet.payload);
            prop_assert_eq!(packet.size.as_bytes(), sent.bytes);
        }
    }

    #[test]
    fn a_bottleneck_never_exceeds_its_capacity(
        link in capacity(), limit in limit(), which in 0u8..4, arrivals in arrivals(300),
    ) {
        let kind = if which == 3 { Kind::DropTail(link.clone(), limit) } else { Kind::Queued(link.clone(), limit, which, false) };
        let mut path = Path::new([kind.build(1)]);
        for (n, &Arrival { at, bytes, ecn }) in arrivals.iter().enumerate() {
            path.push(at, packet(n as u64, bytes, ecn));
        }
        let mut out = Vec::new();
        fetch(&mut path, Timestamp::from_secs(300_000_000), &mut out);
        // From any arrival on: at most the capacity since then has left, and the packet in
        // transmission.
        let since = arrivals[arrivals.len() / 3].at;
        let mut bytes = 0;
        for (at, packet) in out.iter().filter(|(at, _)| *at > since) {
            bytes += packet.size.as_bytes();
            let until = *at + TimeDelta::from_nanos(1);
            let may = (link.mean_rate(since, until) * (until - since)).as_bytes() + 2;
            prop_assert!(bytes <= may + 1_500, "{} of {} bytes by {}", bytes, may, at);
        }
    }
}

fn may_stall(kind: &Kind) -> bool {
    matches!(kind, Kind::DropTail(link, _) | Kind::Queued(link, ..) if link.mean_rate(Timestamp::from_secs(100), Timestamp::from_secs(200)) == DataRate::ZERO)
}

fn fetch(path: &mut Path<u64>, now: Timestamp, out: &mut Vec<(Timestamp, legato_path::Packet<u64>)>) {
    while path.next_arrival().is_some_and(|at| at <= now) {
        if let Some(delivered) = path.pop(now) {
            assert!(delivered.at <= now, "out before its time");
            out.push((delivered.at, delivered.packet));
        }
    }
}
