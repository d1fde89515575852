//! The link against theory: the eager bottleneck against the step-by-step one, and the mean wait of
//! an M/D/1 queue.

use crate::arrivals::{Arrival, arrivals, capacity, config, packet, rng};
use legato_path::capacity::LinkCapacity;
use legato_path::queue::{DropTail, QueueLimit};
use legato_path::stage::{Bottleneck, QueuedBottleneck};
use legato_path::{DropReason, Path};
use legato_units::{DataRate, DataSize, TimeDelta, Timestamp};
use proptest::prelude::*;
use rand_core::RngCore;

fn limit() -> impl Strategy<Value = QueueLimit> {
    let time = (1i64..400, any::<bool>()).prop_map(|(ms, rescale)| QueueLimit::Time {
        span: TimeDelta::from_millis(ms),
        reference: DataRate::from_mbps(1),
        rescale,
    });
    let bytes = (100u64..30_000).prop_map(|b| QueueLimit::Bytes(DataSize::from_bytes(b)));
    prop_oneof![time, bytes, (1u32..20).prop_map(QueueLimit::Packets), Just(QueueLimit::Unlimited)]
}

/// Every packet's fate, and the backlog seen by every arrival.
type Fates = (Vec<Option<(Timestamp, Option<DropReason>)>>, Vec<DataSize>);

fn fates(mut path: Path<u64>, arrivals: &[Arrival]) -> Fates {
    let mut fates = vec![None; arrivals.len()];
    let mut backlogs = Vec::new();
    for (n, &Arrival { at, bytes, ecn }) in arrivals.iter().enumerate() {
        backlogs.push(path.backlog(at).size);
        path.push(at, packet(n as u64, bytes, ecn));
    }
    let end = Timestamp::from_secs(300_000_000);
    while path.next_arrival().is_some_and(|at| at <= end) {
        if let Some(out) = path.pop(end) {
            fates[out.packet.payload as usize] = Some((out.at, None));
        }
    }
    while let Some(notice) = path.pop_drop() {
        fates[notice.packet.payload as usize] = Some((notice.at, Some(notice.reason)));
    }
    (fates, backlogs)
}

proptest! {
    #![proptest_config(config(600))]

    #[test]
    fn the_eager_bottleneck_equals_the_step_by_step_one(link in capacity(), limit in limit(), arrivals in arrivals(300)) {
        let eager = Path::new([Bottleneck::new(link.clone(), limit).into()]).with_drop_notices();
        let queue = Box::new(DropTail::new(limit));
        let lazy = Path::new([QueuedBottleneck::new(link, queue).into()]).with_drop_notices();
        prop_assert_eq!(fates(eager, &arrivals), fates(lazy, &arrivals));
    }
}

/// Pollaczek-Khinchine for constant service: mean wait = ρ·service / (2·(1 − ρ)).
#[test]
fn the_mean_wait_of_poisson_arrivals_is_that_of_an_m_d_1_queue() {
    // 1,250 bytes at 10 Mbit/s: 1 ms each.
    let service_ns = 1e6;
    for (load, packets) in [(0.5, 4_000_000), (0.8, 16_000_000)] {
        let link = LinkCapacity::constant(DataRate::from_mbps(10));
        let mut path = Path::new([Bottleneck::new(link, QueueLimit::Unlimited).into()]);
        let mut random = rng(11);
        let (mut clock, mut waited) = (0.0, 0.0);
        let mut fetch = |path: &mut Path<u64>, now| {
            while let Some(out) = path.pop(now) {
                waited += out.at.as_nanos() as f64 - out.packet.payload as f64 - service_ns;
            }
        };
        for _ in 0..packets {
            let uniform = ((random.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64;
            clock -= libm::log(uniform) * service_ns / load;
            let now = Timestamp::from_nanos(clock as i64);
            fetch(&mut path, now);
            path.push(now, packet(clock as u64, 1_250, legato_path::Ecn::NotEct));
        }
        fetch(&mut path, Timestamp::from_nanos(i64::MAX - 1));
        let mean = waited / packets as f64;
        let expected = load * service_ns / (2.0 * (1.0 - load));
        assert!((mean / expected - 1.0).abs() < 0.01, "load {load}: {mean} ns instead of {expected}");
        println!("load {load}: mean wait {mean:.0} ns, expected {expected:.0} ns");
    }
}
