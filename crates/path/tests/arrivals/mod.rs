//! The packets the tests send, and the links.
#![allow(dead_code, reason = "each test file uses its part")]

use legato_path::capacity::{AfterLast, LinkCapacity, Mahimahi, Opportunities, RateSteps, Steps};
use legato_path::{Ecn, Packet};
use legato_units::{DataRate, DataSize, TimeDelta, Timestamp};
use proptest::prelude::*;
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;
use std::sync::Arc;

#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    pub at: Timestamp,
    pub bytes: u64,
    pub ecn: Ecn,
}

/// Failures are printed, not saved: a case found becomes a named test.
pub fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases) }
}

/// Bursts and pauses, every other time on whole milliseconds so that instants coincide.
pub fn arrivals(most: usize) -> impl Strategy<Value = Vec<Arrival>> {
    let gap = prop_oneof![Just(0i64), (0i64..4).prop_map(|ms| ms * 1_000_000), 1i64..30_000_000];
    let ecn = prop_oneof![Just(Ecn::NotEct), Just(Ecn::Ect0), Just(Ecn::Ect1)];
    let one = (gap, prop_oneof![Just(1_200u64), 1u64..1_500], ecn);
    prop::collection::vec(one, 1..most).prop_map(|list| {
        let mut at = Timestamp::ZERO;
        let arrival = |(gap, bytes, ecn)| {
            at += TimeDelta::from_nanos(gap);
            Arrival { at, bytes, ecn }
        };
        list.into_iter().map(arrival).collect()
    })
}

/// Every kind of capacity, outages included.
pub fn capacity() -> impl Strategy<Value = LinkCapacity> {
    let rate = || prop_oneof![Just(0u64), 10_000u64..20_000_000];
    let steps = (prop::collection::vec((1i64..200, rate()), 1..12), any::<bool>()).prop_filter_map(
        "never sends",
        |(steps, repeat)| {
            let mut at = 0;
            let start = |(ms, bps)| {
                let start = TimeDelta::from_millis(at);
                at += ms;
                (start, DataRate::from_bps(bps))
            };
            let steps: Vec<_> = steps.into_iter().map(start).collect();
            let after = if repeat { AfterLast::Repeat } else { AfterLast::Hold };
            let table = RateSteps::new(steps, TimeDelta::from_millis(at), after).ok()?;
            Some(Steps::new(Arc::new(table)).into())
        },
    );
    let slots = prop::collection::vec(0u64..40, 2..60).prop_filter_map("no period", |gaps| {
        let times = gaps.into_iter().scan(0, |at, gap| {
            *at += gap;
            Some(*at)
        });
        Some(Mahimahi::new(Arc::new(Opportunities::new(times).ok()?)).into())
    });
    prop_oneof![rate().prop_map(|bps| LinkCapacity::constant(DataRate::from_bps(bps))), steps, slots]
}

pub fn packet(n: u64, bytes: u64, ecn: Ecn) -> Packet<u64> {
    Packet { size: DataSize::from_bytes(bytes), flow: 0, ecn, payload: n }
}

pub fn rng(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}
