//! CLCC's training networks: its Table III, 45 s each.
//!
//! The table gives ranges but no distributions; we draw uniformly, one changing rate per network, and
//! a fresh capacity at each change. Its queue sizes have no unit; we take packets, as Mahimahi counts
//! them.

use super::{Network, jumping};
use crate::random::{between, whole};
use legato_units::TimeDelta;
use rand_chacha::ChaCha8Rng;

pub(super) fn draw(rng: &mut ChaCha8Rng) -> Network {
    // [clcc] Table III: changing rate 1 to 4 Hz.
    let interval = TimeDelta::from_secs_f64(1.0 / between(rng, 1.0, 4.0));
    // Deviates from [clcc] Table III: it states no round-trip time; this is NVC-CC's range.
    let min_rtt = TimeDelta::from_millis_f64(between(rng, 2.0, 200.0));
    let loss_ratio = between(rng, 0.0, 0.05);
    let queue_packets = whole(rng, 6, 350);
    let capacity = jumping(rng, [0.25, 4.0], interval, TimeDelta::from_secs(45));
    Network { capacity, min_rtt, loss_ratio, queue_packets }
}
