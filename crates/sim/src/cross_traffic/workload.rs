//! What a TCP flow has to send: without end, once, or intermittently as [rfc8868] models short transfers. Each fetch is
//! a separate connection: an initial window, slow start, no memory of the last one. The handshake and the request
//! before it are not simulated and take no time; they may be thought of as part of the idle time.

use legato_units::{TimeDelta, Timestamp};
use rand_chacha::ChaCha8Rng;
use rand_core::RngCore;
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// The data to send.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Workload {
    /// Fetches that begin together with those of other flows.
    Bursts(Bursts),
    /// Data without end.
    #[default]
    Long,
    /// Fetches with idle times between.
    OnOff(OnOff),
    /// One transfer.
    Once(Once),
}

/// Fetches of random size, idle times of random length.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OnOff {
    /// Whether it begins with a fetch instead of an idle time.
    pub starts_on: bool,
}

/// Fetches of random size, each of which begins at the same time as one of every other flow of its group; where the last
/// one takes longer than that, after it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Bursts {
    /// Flows with the same number begin together.
    pub group: u32,
}

/// One transfer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Once {
    /// Its size.
    pub bytes: u64,
}

// [rfc8868] §5.1: 30 to 50 KB, 10 s.
/// A fetch; sizes in between are equally likely.
const FETCH_BYTES: RangeInclusive<u32> = 30_000..=50_000;
/// Mean of the exponential time between the end of a fetch and the next, or from one burst to the next.
const IDLE_MEAN_S: f64 = 10.0;

/// When the bursts of a group begin: the same for each of its flows, which draw from equal streams.
#[derive(Clone, Debug)]
pub(super) struct BurstTimes {
    next: Timestamp,
    rng: ChaCha8Rng,
}

impl BurstTimes {
    pub fn new(start: Timestamp, rng: ChaCha8Rng) -> Self {
        let mut times = Self { next: start, rng };
        times.advance();
        times
    }

    /// The next burst.
    pub fn next(&self) -> Timestamp {
        self.next
    }

    /// On to the one behind it.
    pub fn advance(&mut self) {
        self.next = self.next.saturating_add(exponential(IDLE_MEAN_S, &mut self.rng));
    }
}

impl Workload {
    /// See [`super::TcpConfig::check`].
    pub(super) fn check(&self, place: &str) -> Result<(), (String, String)> {
        match self {
            Self::Once(Once { bytes: 0 }) => Err((format!("{place}.once.bytes"), "0 is not at least 1".to_owned())),
            Self::Bursts(_) | Self::Long | Self::OnOff(_) | Self::Once(_) => Ok(()),
        }
    }

    /// The wait before the first connection.
    pub(super) fn first_idle(&self, rng: &mut ChaCha8Rng) -> TimeDelta {
        match self {
            Self::OnOff(on_off) if !on_off.starts_on => idle(rng),
            _ => TimeDelta::ZERO,
        }
    }

    /// Bytes of the next connection.
    pub(super) fn transfer_bytes(&self, rng: &mut ChaCha8Rng) -> u64 {
        match self {
            Self::Long => u64::MAX,
            Self::Bursts(_) | Self::OnOff(_) => {
                let (min, max) = (*FETCH_BYTES.start(), *FETCH_BYTES.end());
                u64::from(min) + (unit(rng) * (f64::from(max - min) + 1.0)) as u64
            }
            Self::Once(once) => once.bytes,
        }
    }

    /// The wait after a connection has ended; `None`: forever, or until [`BurstTimes`] say.
    pub(super) fn next_idle(&self, rng: &mut ChaCha8Rng) -> Option<TimeDelta> {
        match self {
            Self::OnOff(_) => Some(idle(rng)),
            Self::Bursts(_) | Self::Long | Self::Once(_) => None,
        }
    }
}

fn idle(rng: &mut ChaCha8Rng) -> TimeDelta {
    exponential(IDLE_MEAN_S, rng)
}

/// By inversion.
fn exponential(mean_s: f64, rng: &mut ChaCha8Rng) -> TimeDelta {
    TimeDelta::from_secs_f64(-mean_s * libm::log(1.0 - unit(rng)))
}

/// Uniform in `[0, 1)`.
fn unit(rng: &mut ChaCha8Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;

    /// [rfc8868] §5.1: sizes uniform in 30 to 50 KB, idle times exponential with mean 10 s.
    #[test]
    fn fetches_are_uniform_and_idle_times_exponential() {
        let workload = Workload::OnOff(OnOff::default());
        let mut rng = Seed(1).stream("workload");
        let sizes: Vec<u64> = (0..20_000).map(|_| workload.transfer_bytes(&mut rng)).collect();
        let mean = sizes.iter().sum::<u64>() as f64 / 20_000.0;
        assert!((mean - 40_000.0).abs() < 150.0 && sizes.iter().all(|size| (30_000..=50_000).contains(size)), "{mean}");
        let idle: Vec<f64> =
            (0..20_000).map(|_| workload.next_idle(&mut rng).expect("goes on").as_secs_f64()).collect();
        let mean = idle.iter().sum::<f64>() / 20_000.0;
        // Half of them are shorter than 10 ln 2 = 6.93 s.
        let short = idle.iter().filter(|&&s| s < 6.931_47).count() as f64 / 20_000.0;
        assert!((mean - 10.0).abs() < 0.25 && (short - 0.5).abs() < 0.015, "{mean} {short}");
    }

    #[test]
    fn the_first_wait_depends_on_how_it_starts() {
        let mut rng = Seed(1).stream("workload");
        let on = Workload::OnOff(OnOff { starts_on: true });
        assert_eq!(on.first_idle(&mut rng), TimeDelta::ZERO);
        assert!(Workload::OnOff(OnOff::default()).first_idle(&mut rng) > TimeDelta::ZERO);
        assert_eq!((Workload::Long.first_idle(&mut rng), Workload::Long.next_idle(&mut rng)), (TimeDelta::ZERO, None));
    }

    /// [rfc8868] §5.1: the times between bursts are exponential with a mean of 10 s, and equal for all of a group.
    #[test]
    fn bursts_of_a_group_begin_together() {
        let times = |seed| {
            let mut times = BurstTimes::new(Timestamp::ZERO, Seed(seed).stream("bursts"));
            core::iter::from_fn(|| {
                let next = times.next();
                times.advance();
                Some(next)
            })
            .take(20_000)
            .collect::<Vec<_>>()
        };
        let drawn = times(1);
        assert_eq!(drawn, times(1));
        assert_ne!(drawn, times(2));
        let mean_s = (drawn[19_999] - Timestamp::ZERO).as_secs_f64() / 20_000.0;
        assert!((mean_s - 10.0).abs() < 0.25, "{mean_s}");
    }

    #[test]
    fn invalid_workloads_are_refused_by_key() {
        let refused = |workload: Workload| workload.check("tcp.workload").expect_err("refused").0;
        assert_eq!(refused(Workload::Once(Once { bytes: 0 })), "tcp.workload.once.bytes");
    }
}
