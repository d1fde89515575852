//! The parts of a trace that challenge a call.
//!
//! A minute of a fast link keeps every controller at its cap and compares nothing. A window is
//! useful if the link at some time falls below what a call wants without being a mere outage.

use super::Trace;
use crate::capacity::{Capacity, Cut};
use legato_units::{DataRate, TimeDelta, Timestamp};

/// The requirements on a window, after scaling.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Challenge {
    /// Its length: 60 s.
    pub length: TimeDelta,
    /// Distance between the starts of two windows: 10 s.
    pub stride: TimeDelta,
    /// Rates are multiplied by this: 1.
    pub scale: f64,
    /// Duration of a dip: 2 s.
    pub dip_length: TimeDelta,
    /// The mean rate of the deepest dip is below this: 1.5 Mbit/s.
    pub dip_below: DataRate,
    /// The mean rate of the window is above this: 0.3 Mbit/s.
    pub mean_above: DataRate,
}

impl Default for Challenge {
    fn default() -> Self {
        Self {
            length: TimeDelta::from_secs(60),
            stride: TimeDelta::from_secs(10),
            scale: 1.0,
            dip_length: TimeDelta::from_secs(2),
            dip_below: DataRate::from_kbps(1_500),
            mean_above: DataRate::from_kbps(300),
        }
    }
}

/// A window that meets a challenge.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// The part to cut.
    pub cut: Cut,
    /// Its mean rate, scaled.
    pub mean_rate: DataRate,
    /// The mean rate of its deepest dip, scaled.
    pub dip_rate: DataRate,
}

impl Trace {
    /// Every window that meets the challenge, in order of time; a trace shorter than one counts as
    /// one.
    pub fn windows(&self, challenge: &Challenge) -> Vec<Window> {
        let whole = self.duration().as_nanos();
        let length = challenge.length.as_nanos().clamp(GRAIN, whole.max(GRAIN)).min(whole);
        let dip = (challenge.dip_length.as_nanos() / GRAIN).max(1) as usize;
        let grains: Vec<u64> = self.rates(TimeDelta::from_nanos(GRAIN)).iter().map(|rate| rate.as_bps()).collect();
        let dips = deepest(&grains, dip);
        let link = self.recorded();
        let mut windows = Vec::new();
        let mut start = 0;
        while start + length <= whole {
            let at = Timestamp::from_nanos(start);
            let mean_rate = link.mean_rate(at, at + TimeDelta::from_nanos(length)).scale(challenge.scale);
            let first = (start / GRAIN) as usize;
            let last = (((start + length) / GRAIN) as usize).saturating_sub(dip).max(first);
            let within = dips.get(first..=last.min(dips.len().saturating_sub(1))).unwrap_or(&[]);
            let dip_bps = within.iter().copied().min().unwrap_or(0) / dip as u64;
            let dip_rate = DataRate::from_bps(dip_bps).scale(challenge.scale);
            if dip_rate < challenge.dip_below && mean_rate > challenge.mean_above {
                let (start, duration) = (TimeDelta::from_nanos(start), Some(TimeDelta::from_nanos(length)));
                windows.push(Window { cut: Cut { scale: challenge.scale, start, duration }, mean_rate, dip_rate });
            }
            start += challenge.stride.as_nanos().max(GRAIN);
        }
        windows
    }
}

/// The sum of `dip` consecutive values from each on.
fn deepest(grains: &[u64], dip: usize) -> Vec<u64> {
    if grains.len() < dip {
        return vec![grains.iter().sum()];
    }
    let mut sum: u64 = grains[..dip].iter().sum();
    let mut sums = vec![sum];
    for (leaving, entering) in grains.iter().zip(&grains[dip..]) {
        sum = sum + entering - leaving;
        sums.push(sum);
    }
    sums
}

/// Dips begin at multiples of this.
const GRAIN: i64 = 100_000_000;
