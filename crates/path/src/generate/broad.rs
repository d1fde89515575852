//! Networks drawn more widely than in any paper, for policies meant to generalise beyond their paper: 60 s each.
//!
//! Papers draw rates that jump every few seconds at most, within a factor of ten, over lossy paths. A policy trained
//! there has never had ample capacity for long, nor seen a link that fades, stays constant or stops. All distributions
//! here are ours: domain randomisation, not a model of any kind of access.

use super::Network;
use crate::capacity::{AfterLast, RateSteps};
use crate::random::{between, unit};
use legato_units::{DataRate, TimeDelta};
use rand_chacha::ChaCha8Rng;
use std::sync::Arc;

pub(super) const DURATION: TimeDelta = TimeDelta::from_secs(60);
/// Relative to a capacity's median, log-uniform.
pub(super) const MEDIAN_MBPS: [f64; 2] = [0.3, 10.0];
/// The bounds of every capacity, outages included.
pub(super) const RATES_MBPS: [f64; 2] = [0.02, 20.0];
pub(super) const RTT_MS: [f64; 2] = [10.0, 200.0];
/// Log-uniform, on a third of the networks; the others lose only what the queue drops.
pub(super) const LOSS_RATIO: [f64; 2] = [0.001, 0.05];
/// The queue's length at the capacity's median, log-uniform.
const QUEUE_S: [f64; 2] = [0.04, 1.0];
/// A shorter queue would drop a frame of any bitrate.
pub(super) const MIN_QUEUE_PACKETS: u32 = 6;
const PACKET_BITS: f64 = 1_200.0 * 8.0;
/// Time between two values of a wandering capacity.
const STEP_S: f64 = 0.2;

pub(super) fn draw(rng: &mut ChaCha8Rng) -> Network {
    let median = log_uniform(rng, MEDIAN_MBPS);
    let spread = between(rng, 0.15, 0.8);
    let kind = unit(rng);
    let rates = match kind {
        k if k < 0.2 => vec![(0.0, median)],
        k if k < 0.45 => jumps(rng, median, spread),
        k if k < 0.8 => wandering(rng, median, spread),
        _ => {
            let mut rates = wandering(rng, median, spread);
            interrupt(rng, &mut rates);
            rates
        }
    };
    let steps = rates.into_iter().map(|(from_s, mbps)| {
        let mbps = mbps.clamp(RATES_MBPS[0], RATES_MBPS[1]);
        (TimeDelta::from_secs_f64(from_s), DataRate::from_bps_f64(mbps * 1e6))
    });
    let capacity = RateSteps::new(steps, DURATION, AfterLast::Repeat);
    let min_rtt = TimeDelta::from_millis_f64(between(rng, RTT_MS[0], RTT_MS[1]));
    let loss_ratio = if unit(rng) < 1.0 / 3.0 { log_uniform(rng, LOSS_RATIO) } else { 0.0 };
    let queue_s = log_uniform(rng, QUEUE_S);
    Network {
        capacity: Arc::new(capacity.expect("positive rates at ascending times within the minute")),
        min_rtt,
        loss_ratio,
        queue_packets: ((median * 1e6 * queue_s / PACKET_BITS) as u32).max(MIN_QUEUE_PACKETS),
    }
}

fn log_uniform(rng: &mut ChaCha8Rng, [low, high]: [f64; 2]) -> f64 {
    libm::exp(between(rng, libm::log(low), libm::log(high)))
}

/// Of mean 0 and variance 1, between −3.5 and 3.5: the sum of twelve uniform draws would do no better here.
fn bell(rng: &mut ChaCha8Rng) -> f64 {
    (0..4).map(|_| unit(rng) - 0.5).sum::<f64>() * 3f64.sqrt()
}

/// A fresh rate after each hold; holds of 0.5 to 20 s, of similar length within a network.
fn jumps(rng: &mut ChaCha8Rng, median: f64, spread: f64) -> Vec<(f64, f64)> {
    let hold_s = log_uniform(rng, [0.5, 20.0]);
    let mut rates = Vec::new();
    let mut from_s = 0.0;
    while from_s < DURATION.as_secs_f64() {
        rates.push((from_s, median * libm::exp(spread * bell(rng))));
        from_s += hold_s * between(rng, 0.5, 1.5);
    }
    rates
}

/// A first-order autoregression of the logarithm, which forgets within 1 to 20 s.
fn wandering(rng: &mut ChaCha8Rng, median: f64, spread: f64) -> Vec<(f64, f64)> {
    let keep = libm::exp(-STEP_S / log_uniform(rng, [1.0, 20.0]));
    let fresh = (1.0 - keep * keep).sqrt();
    let steps = (DURATION.as_secs_f64() / STEP_S).ceil() as u32;
    let mut level = bell(rng);
    let mut rates = Vec::with_capacity(steps as usize);
    for step in 0..steps {
        rates.push((f64::from(step) * STEP_S, median * libm::exp(spread * level)));
        level = keep * level + fresh * bell(rng);
    }
    rates
}

/// Intervals of 0.2 to 3 s, every 5 to 30 s, in which almost nothing is delivered.
fn interrupt(rng: &mut ChaCha8Rng, rates: &mut [(f64, f64)]) {
    let every_s = log_uniform(rng, [5.0, 30.0]);
    let mut from_s = every_s * unit(rng);
    while from_s < DURATION.as_secs_f64() {
        let until_s = from_s + log_uniform(rng, [0.2, 3.0]);
        let left = between(rng, 0.02, 0.15);
        for (at_s, mbps) in rates.iter_mut() {
            if (from_s..until_s).contains(at_s) {
                *mbps *= left;
            }
        }
        from_s = until_s + every_s * between(rng, 0.5, 1.5);
    }
}
