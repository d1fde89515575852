//! Beliefs worked by hand: 125 kB/s are 1 Mbit/s.

use super::*;
use legato_units::TimeDelta;

const MBIT: ByteRate = ByteRate::new(125e3);
const FRAME_S: f64 = 0.033;

fn at(s: f64) -> Timestamp {
    Timestamp::ZERO + TimeDelta::from_nanos((s * 1e9) as i64)
}

fn unknown() -> Belief {
    Belief { mass: [[1.0 / (CELLS * MODELS) as f32; CELLS]; MODELS], at: at(0.0), got_through: ByteRate::ZERO }
}

fn quantiles(belief: &Belief) -> [f64; 3] {
    belief.quantiles(belief.at, [0.1, 0.5, 0.9]).map(|rate| rate / MBIT)
}

/// A frame every 33 ms from `from_s` on, `count` of them, measured over 20 ms.
fn frames(belief: &mut Belief, from_s: f64, count: usize, rate: ByteRate) -> f64 {
    for n in 0..count {
        belief.advance(at(from_s + n as f64 * FRAME_S));
        belief.measured(rate, Seconds::new(0.02));
    }
    from_s + count as f64 * FRAME_S
}

/// Nothing known: half of the logarithms lie below sqrt(0.03 * 60) Mbit/s, a tenth below 0.03 * 2,000^0.1.
#[test]
fn where_nothing_is_known_all_logarithms_are_as_probable() {
    let [p10, p50, p90] = parts_of(&unknown().mass, [0.1, 0.5, 0.9]).map(|rate| rate / MBIT);
    let worked = [0.03 * libm::pow(2_000.0, 0.1), libm::sqrt(0.03 * 60.0), 0.03 * libm::pow(2_000.0, 0.9)];
    for (found, worked) in [p10, p50, p90].into_iter().zip(worked) {
        assert!((found / worked - 1.0).abs() < 1e-3, "{found} and not {worked}");
    }
}

/// Far / sqrt(1 + far^2) is 0.6 at 0.75: 0.505 +- 0.297.
#[test]
fn a_bound_favours_one_side_and_excludes_none() {
    assert_eq!(above(0.0), 0.505);
    assert!((above(0.75) - 0.802).abs() < 1e-6 && (above(-0.75) - 0.208).abs() < 1e-6);
    assert!((above(1e6) - 1.0).abs() < 1e-5 && (above(-1e6) - 0.01).abs() < 1e-5);
}

/// Below 1 Mbit/s are 46.1 % of the logarithms, ln(1 / 0.03) / ln 2,000. A sharp lower bound leaves a hundredth of each:
/// 0.46 of 54.4, so that the 10 % quantile lies 0.1 * 54.4 - 0.46 = 4.98 points above the bound: 1.46 Mbit/s.
#[test]
fn a_lower_bound_moves_what_was_below() {
    let mut belief = unknown();
    belief.at_least(MBIT);
    let [p10, p50, p90] = quantiles(&belief);
    assert!((p10 / 1.46 - 1.0).abs() < 0.08, "within a cell: {p10}");
    assert!(p50 > 7.0 && p90 > 30.0, "nothing is said of what is above: {p50}, {p90}");
    belief.at_most(MBIT * 2.0);
    let [p10, p50, p90] = quantiles(&belief);
    assert!(p10 > 0.7 && (1.0..2.0).contains(&p50) && p90 < 3.0, "{p10}, {p50}, {p90}");
}

#[test]
fn a_link_that_stands_still_is_known_to_a_tenth_and_the_first_fall_is_believed_by_the_third_frame() {
    let mut belief = Belief::new(at(0.0), ByteRate::new(300e3 / 8.0));
    let now = frames(&mut belief, 0.0, 60, MBIT);
    let [p10, p50, p90] = quantiles(&belief);
    assert!((p50 - 1.0).abs() < 0.04 && p10 > 0.9 && p90 < 1.1, "{p10}, {p50}, {p90}");
    frames(&mut belief, now, 3, MBIT * 0.25);
    let [.., p50, p90] = quantiles(&belief);
    assert!(p50 < 0.3 && p90 < 1.1, "{p50}, {p90}");
}

/// Two links of 1 Mbit/s in the mean; the frames of one see half and twice as much, by turns.
#[test]
fn a_link_that_moves_is_known_less_well() {
    let (mut still, mut moving) = (Belief::new(at(0.0), MBIT), Belief::new(at(0.0), MBIT));
    frames(&mut still, 0.0, 60, MBIT);
    let mut now = 0.0;
    for rate in [0.5, 2.0].into_iter().cycle().take(60) {
        now = frames(&mut moving, now, 1, MBIT * rate);
    }
    let width = |belief: &Belief| {
        let [p10, _, p90] = quantiles(belief);
        p90 / p10
    };
    assert!(width(&still) < 1.2 && width(&moving) > 1.8, "{}, {}", width(&still), width(&moving));
}

#[test]
fn what_is_known_is_forgotten_as_time_passes() {
    let mut belief = Belief::new(at(0.0), MBIT);
    let now = frames(&mut belief, 0.0, 30, MBIT);
    let width = |s: f64| {
        let [p10, p90] = belief.quantiles(at(now + s), [0.1, 0.9]);
        p90 / p10
    };
    assert!(width(0.0) < width(0.1) && width(0.1) < width(0.5), "{}, {}, {}", width(0.0), width(0.1), width(0.5));
}

#[test]
fn no_quantile_is_below_what_got_through_until_other_evidence_comes() {
    let mut belief = Belief::new(at(0.0), MBIT * 0.1);
    belief.got_through(MBIT * 2.0);
    assert!(quantiles(&belief).iter().all(|rate| *rate >= 2.0));
    belief.at_most(MBIT);
    assert!(quantiles(&belief)[0] < 1.0);
}

/// Of each model's probability all is somewhere after 50 ms: 1 / (1 + 0.05 * moves per second) stays.
#[test]
fn motion_keeps_all_probability() {
    let motion = Motion::over(0.05);
    for model in 0..MODELS {
        let sides = 2.0 * (motion.near[model] + motion.mid[model] + motion.far[model]);
        assert!((motion.stay[model] + sides - 1.0).abs() < 1e-6);
    }
    let mut belief = unknown();
    frames(&mut belief, 0.0, 10, MBIT);
    belief.advance(at(1.0));
    let sum: f32 = belief.mass.iter().flatten().sum();
    assert!((sum - 1.0).abs() < 1e-5, "{sum}");
}

/// A hundred thousand pieces of evidence of every kind and size, in any order, with pauses of up to hours.
#[test]
fn quantiles_are_finite_and_ascend_whatever_the_evidence() {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let (mut belief, mut now) = (Belief::new(at(0.0), MBIT), 0.0);
    for step in 0..100_000 {
        now += if step % 1_000 == 0 { 1e4 * random() } else { 0.1 * random() };
        belief.advance(at(now));
        let rate = ByteRate::new(libm::exp(60.0 * random() - 30.0));
        match (random() * 5.0) as u32 {
            0 => belief.at_least(rate),
            1 => belief.at_most(rate),
            2 => belief.got_through(rate),
            _ => belief.measured(rate, Seconds::new(random())),
        }
        if step % 10 == 0 {
            let [p10, p50, p90] = belief.quantiles(at(now + random()), [0.1, 0.5, 0.9]);
            assert!(p10 <= p50 && p50 <= p90 && p90 < ByteRate::INFINITY, "{p10:?}, {p50:?}, {p90:?}");
            assert!(p10 >= LOWEST.max(belief.got_through) && p90 <= HIGHEST.max(belief.got_through));
        }
    }
}

#[test]
fn rates_that_are_none_say_nothing() {
    let mut belief = Belief::new(at(0.0), MBIT);
    belief.measured(ByteRate::new(f64::NAN), Seconds::new(0.02));
    belief.at_least(ByteRate::INFINITY);
    belief.got_through(ByteRate::INFINITY);
    belief.measured(ByteRate::ZERO, Seconds::ZERO);
    let found = quantiles(&belief);
    assert!(found.iter().all(|rate| rate.is_finite()), "{found:?}");
}
