//! NVC-CC's training and test networks: its Table 2, 30 s each.
//!
//! The table gives ranges but no distributions; we draw uniformly, one interval per network, and a
//! fresh capacity at each change.

use super::{Network, jumping};
use crate::random::{between, whole};
use legato_units::TimeDelta;
use rand_chacha::ChaCha8Rng;

pub(super) fn draw(rng: &mut ChaCha8Rng) -> Network {
    // [nvc-cc] Table 2: interval (0, 15] s. Never below 0.1 s: shorter is noise within a frame.
    let interval = TimeDelta::from_secs_f64(15.0 - between(rng, 0.0, 14.9));
    let min_rtt = TimeDelta::from_millis_f64(between(rng, 2.0, 200.0));
    let loss_ratio = between(rng, 0.0, 0.05);
    let queue_packets = whole(rng, 1, 100);
    let capacity = jumping(rng, [0.6, 6.0], interval, TimeDelta::from_secs(30));
    Network { capacity, min_rtt, loss_ratio, queue_packets }
}
