//! Random networks to train on: as in the papers, and wider.
//!
//! R3Net and Concerto replay recorded traces and state no ranges, so they have no generator here.
//!
//! ```
//! use legato_path::generate::Generator;
//! use rand_chacha::ChaCha8Rng;
//! use rand_core::SeedableRng;
//! let network = Generator::NvcCc.draw(&mut ChaCha8Rng::seed_from_u64(1));
//! assert_eq!(network.capacity.duration(), legato_units::TimeDelta::from_secs(30));
//! ```

mod broad;
mod clcc;
mod nvc_cc;

use crate::capacity::{AfterLast, RateSteps};
use crate::random::between;
use legato_units::{DataRate, TimeDelta};
use rand_chacha::ChaCha8Rng;
use std::sync::Arc;

/// The source of the distributions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generator {
    /// Ours: wider than all papers.
    Broad,
    /// CLCC, Table III.
    Clcc,
    /// NVC-CC, Table 2, all uniform.
    NvcCc,
    /// The same by its authors' laws.
    NvcCcAuthors,
    /// The same with the table's delay read as the round trip.
    NvcCcAuthorsRoundTrip,
}

impl Generator {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Broad, Self::Clcc, Self::NvcCc, Self::NvcCcAuthors, Self::NvcCcAuthorsRoundTrip];

    /// Its name in scenarios and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Broad => "broad",
            Self::Clcc => "clcc",
            Self::NvcCc => "nvc-cc",
            Self::NvcCcAuthors => "nvc-cc-authors",
            Self::NvcCcAuthorsRoundTrip => "nvc-cc-authors-round-trip",
        }
    }

    /// The generator with that name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|generator| generator.name() == name)
    }

    /// One name or several joined by `+`; each network is then drawn by one of them.
    ///
    /// # Errors
    ///
    /// An unknown name: which one, and the valid ones.
    pub fn by_names(names: &str) -> Result<Arc<[Self]>, String> {
        let by_name = |name: &str| {
            Self::by_name(name).ok_or_else(|| {
                let known: Vec<_> = Self::ALL.iter().map(|generator| generator.name()).collect();
                let whole = if name == names { String::new() } else { format!("{names:?}: ") };
                format!("{whole}{name:?} is not one of {}", known.join(", "))
            })
        };
        names.split('+').map(by_name).collect()
    }

    /// A network; equal streams give equal networks.
    pub fn draw(self, rng: &mut ChaCha8Rng) -> Network {
        match self {
            Self::Broad => broad::draw(rng),
            Self::Clcc => clcc::draw(rng),
            Self::NvcCc => nvc_cc::draw(rng),
            Self::NvcCcAuthors => nvc_cc::draw_as_its_authors(rng, false),
            Self::NvcCcAuthorsRoundTrip => nvc_cc::draw_as_its_authors(rng, true),
        }
    }
}

/// A random network of one bottleneck.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// The bottleneck's capacity; it repeats.
    pub capacity: Arc<RateSteps>,
    /// Round-trip time without queues, both directions together.
    pub min_rtt: TimeDelta,
    /// Independent loss on the forward path, a ratio.
    pub loss_ratio: f64,
    /// The maximum queue of the bottleneck.
    pub queue_packets: u32,
}

/// A capacity that jumps to a fresh uniform draw at each interval.
fn jumping(rng: &mut ChaCha8Rng, mbps: [f64; 2], interval: TimeDelta, duration: TimeDelta) -> Arc<RateSteps> {
    let interval = interval.as_nanos().max(1);
    let jumps = (duration.as_nanos() + interval - 1) / interval;
    let jump = |n| {
        let rate = DataRate::from_bps_f64(between(rng, mbps[0], mbps[1]) * 1e6);
        (TimeDelta::from_nanos(n * interval), rate)
    };
    let table = RateSteps::new((0..jumps).map(jump), duration, AfterLast::Repeat);
    Arc::new(table.expect("ranges above zero, intervals of 100 ms and more, a minute at most"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::SeedableRng;

    /// Every draw is in its paper's ranges, and a thousand of them cover the ranges.
    fn check(generator: Generator, mbps: [f64; 2], rtt_ms: [f64; 2], queue: [u32; 2], seconds: i64) {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let networks: Vec<Network> = (0..1_000).map(|_| generator.draw(&mut rng)).collect();
        let spread = |values: Vec<f64>, [low, high]: [f64; 2]| {
            assert!(values.iter().all(|v| (low..=high).contains(v)), "{values:?}");
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            assert!((mean - (low + high) / 2.0).abs() < 0.05 * (high - low), "{mean}");
        };
        spread(networks.iter().map(|n| n.loss_ratio).collect(), [0.0, 0.05]);
        spread(networks.iter().map(|n| n.min_rtt.as_millis_f64()).collect(), rtt_ms);
        spread(networks.iter().map(|n| n.queue_packets.into()).collect(), queue.map(f64::from));
        let rates = networks.iter().flat_map(|n| n.capacity.steps().map(|(_, rate)| rate.as_bps_f64() / 1e6));
        spread(rates.collect(), mbps);
        assert!(networks.iter().all(|n| n.capacity.duration() == TimeDelta::from_secs(seconds)));
    }

    /// [nvc-cc] Table 2.
    #[test]
    fn nvc_cc_draws_from_its_table() {
        check(Generator::NvcCc, [0.6, 6.0], [2.0, 200.0], [1, 100], 30);
    }

    /// [nvc-cc] Table 2, by its authors' laws: of 50 of their networks the mean loss is 0.65 %, the median 0.09 %, and 11
    /// have none. By hand: a share of (5 - 4) / 3.7 = 27 % has none; the median is 10^-3.15 = 0.07 %; the mean is
    /// (10^-1.3 - 10^-4) / (3.7 ln 10) = 0.59 %.
    #[test]
    fn nvc_cc_draws_by_its_authors_laws() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let networks: Vec<Network> = (0..4_000).map(|_| Generator::NvcCcAuthors.draw(&mut rng)).collect();
        let mean = |of: &dyn Fn(&Network) -> f64| networks.iter().map(of).sum::<f64>() / networks.len() as f64;
        let lossless = mean(&|n| f64::from(u8::from(n.loss_ratio == 0.0)));
        assert!((lossless - 0.27).abs() < 0.03, "{lossless}");
        let mut loss: Vec<f64> = networks.iter().map(|n| n.loss_ratio).collect();
        loss.sort_by(f64::total_cmp);
        assert!((loss[2_000] - 0.000_708).abs() < 0.000_1 && loss[3_999] <= 0.050_2, "{}", loss[2_000]);
        assert!((mean(&|n| n.loss_ratio) - 0.005_87).abs() < 0.000_7, "{}", mean(&|n| n.loss_ratio));
        assert!((mean(&|n| n.min_rtt.as_millis_f64()) - 202.0).abs() < 5.0);
        assert!((mean(&|n| n.queue_packets.into()) - 50.5).abs() < 1.5);
        assert!((mean(&|n| n.capacity.steps().next().unwrap().1.as_bps_f64() / 1e6) - 3.3).abs() < 0.1);
        let interval = |n: &Network| n.capacity.steps().nth(1).unwrap().0.as_secs_f64();
        assert!((mean(&interval) - 7.55).abs() < 0.25, "{}", mean(&interval));
        assert!(networks.iter().all(|n| (0.1..=15.0).contains(&interval(n))));
        assert!(networks.iter().all(|n| n.capacity.duration() == TimeDelta::from_secs(30)));
    }

    #[test]
    fn the_other_reading_of_the_delay_halves_the_round_trip_and_nothing_else() {
        for seed in 0..20 {
            let draw = |generator: Generator| generator.draw(&mut ChaCha8Rng::seed_from_u64(seed));
            let (one_way, round_trip) = (draw(Generator::NvcCcAuthors), draw(Generator::NvcCcAuthorsRoundTrip));
            assert_eq!(one_way.min_rtt, round_trip.min_rtt * 2);
            assert_eq!(one_way, Network { min_rtt: one_way.min_rtt, ..round_trip });
        }
    }

    /// [clcc] Table III; its RTT is ours.
    #[test]
    fn clcc_draws_from_its_table() {
        check(Generator::Clcc, [0.25, 4.0], [2.0, 200.0], [6, 350], 45);
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        for _ in 0..100 {
            let network = Generator::Clcc.draw(&mut rng);
            // 1 to 4 changes per second for 45 s.
            assert!((45..=180).contains(&network.capacity.steps().len()));
        }
    }

    /// A thousand of them stay within their bounds, and include what no paper has: links that stand still and links that
    /// nearly stop.
    #[test]
    fn broad_draws_are_wide() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let networks: Vec<Network> = (0..1_000).map(|_| Generator::Broad.draw(&mut rng)).collect();
        let rates_mbps =
            |network: &Network| network.capacity.steps().map(|(_, rate)| rate.as_bps_f64() / 1e6).collect::<Vec<_>>();
        let [low, high] = broad::RATES_MBPS;
        for network in &networks {
            assert!(rates_mbps(network).iter().all(|mbps| (low * 0.999..=high * 1.001).contains(mbps)));
            assert!((broad::RTT_MS[0]..=broad::RTT_MS[1]).contains(&network.min_rtt.as_millis_f64()));
            assert!(
                network.loss_ratio == 0.0
                    || (broad::LOSS_RATIO[0]..=broad::LOSS_RATIO[1]).contains(&network.loss_ratio)
            );
            assert!(network.queue_packets >= broad::MIN_QUEUE_PACKETS);
            assert_eq!(network.capacity.duration(), broad::DURATION);
        }
        let share = |holds: &dyn Fn(&Network) -> bool| networks.iter().filter(|n| holds(n)).count() as f64 / 1_000.0;
        let still = share(&|network| network.capacity.steps().len() == 1);
        assert!((still - 0.2).abs() < 0.04, "{still}");
        let lossless = share(&|network| network.loss_ratio == 0.0);
        assert!((lossless - 2.0 / 3.0).abs() < 0.05, "{lossless}");
        // Relative to a capacity's mean; one that only wanders or jumps hardly falls so low.
        let stops = share(&|network| {
            let mean = network.capacity.mean_rate().as_bps_f64() / 1e6;
            rates_mbps(network).iter().any(|&mbps| mbps < 0.05 * mean)
        });
        assert!((0.1..0.3).contains(&stops), "{stops}");
        let mean_mbps: Vec<f64> = networks.iter().map(|n| n.capacity.mean_rate().as_bps_f64() / 1e6).collect();
        let below = |mbps: f64| mean_mbps.iter().filter(|&&mean| mean < mbps).count();
        assert!((100..300).contains(&below(0.6)) && (600..800).contains(&below(4.0)), "{} {}", below(0.6), below(4.0));
    }

    #[test]
    fn one_seed_draws_one_network() {
        let draw = |seed| Generator::NvcCc.draw(&mut ChaCha8Rng::seed_from_u64(seed));
        assert_eq!(draw(3), draw(3));
        assert_ne!(draw(3), draw(4));
        assert_eq!(Generator::by_name("clcc"), Some(Generator::Clcc));
        assert_eq!(*Generator::by_names("clcc+broad").unwrap(), [Generator::Clcc, Generator::Broad]);
        let known = "broad, clcc, nvc-cc, nvc-cc-authors, nvc-cc-authors-round-trip";
        assert_eq!(Generator::by_names("wide").unwrap_err(), format!("\"wide\" is not one of {known}"));
        assert_eq!(Generator::by_names("clcc+").unwrap_err(), format!("\"clcc+\": \"\" is not one of {known}"));
    }
}
