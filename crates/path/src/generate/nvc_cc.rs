//! NVC-CC's training and test networks: its Table 2, 30 s each.
//!
//! The table gives ranges but no laws. [`draw`] draws uniformly. [`draw_as_its_authors`] has the laws of the generator
//! that its authors published with another simulator (github.com/zxxia/net-rl), whose 50 test networks lie in exactly
//! these ranges. Loss is log-uniform and absent at its low end, the delay is that of one direction, capacities change
//! on a grid of 0.1 s.

use super::{Network, jumping};
use crate::random::{between, whole};
use legato_units::TimeDelta;
use rand_chacha::ChaCha8Rng;

const DURATION: TimeDelta = TimeDelta::from_secs(30);
const MBPS: [f64; 2] = [0.6, 6.0];

/// Everything uniform, the delay that of the round trip: more loss, and shorter ways.
pub(super) fn draw(rng: &mut ChaCha8Rng) -> Network {
    // [nvc-cc] Table 2: interval (0, 15] s. Never below 0.1 s: shorter is noise within a frame.
    let interval = TimeDelta::from_secs_f64(15.0 - between(rng, 0.0, 14.9));
    let min_rtt = TimeDelta::from_millis_f64(between(rng, 2.0, 200.0));
    let loss_ratio = between(rng, 0.0, 0.05);
    let queue_packets = whole(rng, 1, 100);
    let capacity = jumping(rng, MBPS, interval, DURATION);
    Network { capacity, min_rtt, loss_ratio, queue_packets }
}

/// `round_trip`: the other reading of the table's delay, of both directions together.
pub(super) fn draw_as_its_authors(rng: &mut ChaCha8Rng, round_trip: bool) -> Network {
    // [nvc-cc] Table 2: interval (0, 15] s, on the grid.
    let interval = TimeDelta::from_millis(100) * ((15.0 - between(rng, 0.0, 15.0)) / 0.1).ceil().max(1.0) as i64;
    let delay = TimeDelta::from_millis_f64(between(rng, 2.0, 200.0));
    let loss = libm::pow(10.0, between(rng, LOSS_POWERS[0], LOSS_POWERS[1]));
    let loss_ratio = if loss < MIN_LOSS_RATIO { 0.0 } else { loss };
    let queue_packets = whole(rng, 1, 100);
    let capacity = jumping(rng, MBPS, interval, DURATION);
    Network { capacity, min_rtt: if round_trip { delay } else { delay * 2 }, loss_ratio, queue_packets }
}

/// Powers of ten of the loss ratio, 0 to 5 %.
const LOSS_POWERS: [f64; 2] = [-5.0, -1.3];
/// Below it nothing is lost.
const MIN_LOSS_RATIO: f64 = 1e-4;
