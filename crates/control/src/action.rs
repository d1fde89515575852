//! What a network's output means: the map from one number to the next target bitrate, one for each
//! paper. A map gives what the paper says; bounds, silence and NaN are handled by the caller,
//! `legato_controllers::learned`.

use legato_units::DataRate;

/// The actions a network may take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ActionSpace {
    /// A number within `[low, high]`.
    Continuous {
        /// The minimum.
        low: f32,
        /// The maximum.
        high: f32,
    },
    /// One of this many, counted from 0.
    Discrete(u32),
}

impl ActionSpace {
    /// The nearest action in the space.
    pub fn clamp(&self, action: f32) -> f32 {
        match *self {
            Self::Continuous { low, high } => action.clamp(low, high),
            Self::Discrete(choices) => libm::rintf(action).clamp(0.0, (choices - 1) as f32),
        }
    }

    /// Changes the rate as little as any action: what an agent does until it is given another.
    pub fn neutral(&self) -> f32 {
        match *self {
            Self::Continuous { low, high } => low + (high - low) / 2.0,
            Self::Discrete(choices) => (choices / 2) as f32,
        }
    }
}

/// NVC-CC: raises the target itself; lowers from the receiver rate.
///
/// Deviates from [nvc-cc] eq. (1), which multiplies by `a` above zero and divides by `a` below it, so that every action
/// would lower the rate or turn it negative. Here it is read as in the authors' public code, with `1 + a` and `1 − a`.
/// A decrease begins from the receiver rate of the last 200 ms, as in the paper.
// [nvc-cc] eq. (1): x_t = x_{t−1} (1 + a_t), a_t ≥ 0; γ / (1 − a_t), a_t < 0
pub fn nvc_cc(action: f32, target: DataRate, receiver_rate_200ms: DataRate) -> DataRate {
    let action = f64::from(action);
    if action >= 0.0 {
        return target.scale(1.0 + action);
    }
    // A draining queue delivers more than is being sent: a decrease must never raise the rate.
    let from = if receiver_rate_200ms == DataRate::ZERO { target } else { receiver_rate_200ms.min(target) };
    from.scale(1.0 / (1.0 - action))
}

/// Aurora: symmetric, in small steps.
// [jay2019] eq. (1): x_t = x_{t−1} (1 + α a_t), a_t ≥ 0; x_{t−1} / (1 − α a_t), a_t < 0; α = 0.025
pub fn aurora(action: f32, target: DataRate) -> DataRate {
    const ALPHA: f64 = 0.025;
    let action = f64::from(action);
    target.scale(if action >= 0.0 { 1.0 + ALPHA * action } else { 1.0 / (1.0 - ALPHA * action) })
}

/// OnRL: the action is the bitrate, 0.1 to 6 Mbit/s in steps of 0.1.
// [zhang2020] picks a bitrate outright; the steps are those of [nvc-cc]'s authors, whose networks carry up to 6 Mbit/s.
pub fn onrl(action: f32) -> DataRate {
    DataRate::from_bps_f64(1e5 * f64::from((action + 1.0).clamp(1.0, ONRL_BITRATES as f32)))
}

/// The number of bitrates OnRL picks from.
pub const ONRL_BITRATES: u32 = 60;

/// R3Net: the action is the bitrate as a share of 8 Mbit/s.
// [r3net] §2.2: sigmoid output in (0, 1) mapped to (0, 8) Mbit/s
pub fn r3net(action: f32) -> DataRate {
    DataRate::from_bps_f64(8e6 * f64::from(action))
}

/// HRCC: a factor between a half and two on its heuristic's estimate; 1 at the middle.
// [hrcc] guides its heuristic by a gain coefficient; the law, 2^(2a − 1), is that of the authors' public code.
pub fn hrcc(action: f32, heuristic: DataRate) -> DataRate {
    heuristic.scale(libm::exp2(2.0 * f64::from(action) - 1.0))
}

/// CLCC: a gain between 0.7 and 1.1; 1 at 0.4.
// [clcc] eq. (5), (6): g = a / mid (1 − dec) + dec, a < mid; (a − mid) / (1 − mid) (inc − 1) + 1, else
pub fn clcc(action: f32, target: DataRate) -> DataRate {
    const INC_MAX: f64 = 1.1;
    const DEC_MAX: f64 = 0.7;
    const MID: f64 = 0.4;
    let action = f64::from(action);
    let gain = if action < MID {
        action / MID * (1.0 - DEC_MAX) + DEC_MAX
    } else {
        (action - MID) / (1.0 - MID) * (INC_MAX - 1.0) + 1.0
    };
    target.scale(gain)
}

/// Concerto and RL-V: one of 26 bitrates, 0 to 2.5 Mbit/s.
// [concerto] §3.3: x ranges from 0 to 2.5 Mbit/s in steps of 0.1 Mbit/s
pub fn concerto(action: f32) -> DataRate {
    DataRate::from_bps(100_000 * (action.max(0.0) as u64).min(25))
}

/// The baseline of the MMSys 2024 challenge: 10 kbit/s to 8 Mbit/s, evenly on a logarithmic scale.
// [mmsys24-models], its last nodes: exp((a + 1) 3.342306 + ln 0.01) Mbit/s
pub fn mmsys24_baseline(action: f32) -> DataRate {
    DataRate::from_bps_f64(1e6 * libm::exp((f64::from(action.clamp(-1.0, 1.0)) + 1.0) * 3.342_306 - 4.605_170_2))
}

/// TEN-TMS: 5 kbit/s to 8 Mbit/s, evenly.
// [mmsys24-models], its last nodes: (a + 1) 7,995,000 / 2 + 5,000 bit/s
pub fn ten_tms(action: f32) -> DataRate {
    DataRate::from_bps_f64((f64::from(action) + 1.0) * 7.995e6 / 2.0 + 5e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// [mmsys24-models], worked by hand: e^(-4.60517) = 0.01, e^(3.342306 - 4.60517) = 0.282843 and
    /// e^(6.684612 - 4.60517) = 8.0 Mbit/s; 5 kbit/s, 5 + 3,997.5 and 8,000 kbit/s.
    #[test]
    fn the_challenges_models_span_kilobits_to_8_mbps() {
        for (action, baseline_kbps, tms_kbps) in [(-1.0, 10.0, 5.0), (0.0, 282.843, 4_002.5), (1.0, 8_000.0, 8_000.0)] {
            let near = |rate: DataRate, kbps: f64| (rate.as_bps_f64() / 1e3 / kbps - 1.0).abs() < 1e-5;
            assert!(near(mmsys24_baseline(action), baseline_kbps), "{:?}", mmsys24_baseline(action));
            assert!(near(ten_tms(action), tms_kbps), "{:?}", ten_tms(action));
        }
    }

    const fn kbps(kbps: u64) -> DataRate {
        DataRate::from_kbps(kbps)
    }

    /// [nvc-cc] eq. (1), worked by hand.
    #[test]
    fn nvc_cc_raises_its_target_and_lowers_from_the_receiver_rate() {
        assert_eq!(nvc_cc(0.5, kbps(1_000), kbps(300)), kbps(1_500));
        assert_eq!(nvc_cc(-1.0, kbps(1_000), kbps(300)), kbps(150));
        assert_eq!(nvc_cc(-0.25, kbps(1_000), kbps(4_000)), kbps(800));
        assert_eq!(nvc_cc(-1.0, kbps(1_000), DataRate::ZERO), kbps(500));
    }

    /// [jay2019] eq. (1), worked by hand.
    #[test]
    fn aurora_takes_small_steps_that_undo_each_other() {
        assert_eq!(aurora(1.0, kbps(1_000)), kbps(1_025));
        assert_eq!(aurora(-1.0, kbps(1_025)), kbps(1_000));
    }

    #[test]
    fn onrl_picks_one_of_sixty_bitrates() {
        assert_eq!(onrl(0.0), kbps(100));
        assert_eq!(onrl(11.0), kbps(1_200));
        assert_eq!(onrl(99.0), kbps(6_000));
    }

    /// [r3net] §2.2.
    #[test]
    fn r3net_picks_a_share_of_eight_megabits() {
        assert_eq!(r3net(0.25), DataRate::from_mbps(2));
    }

    /// [hrcc], worked by hand.
    #[test]
    fn hrcc_halves_holds_or_doubles() {
        assert_eq!(hrcc(0.0, kbps(1_000)), kbps(500));
        assert_eq!(hrcc(0.5, kbps(1_000)), kbps(1_000));
        assert_eq!(hrcc(1.0, kbps(1_000)), kbps(2_000));
    }

    /// [clcc] eq. (5) and eq. (6), worked by hand.
    #[test]
    fn clcc_keeps_the_rate_at_four_tenths() {
        assert_eq!(clcc(0.4, kbps(1_000)), kbps(1_000));
        assert_eq!(clcc(0.0, kbps(1_000)), kbps(700));
        assert_eq!(clcc(0.2, kbps(1_000)), kbps(850));
        assert_eq!(clcc(1.0, kbps(1_000)), kbps(1_100));
        assert_eq!(clcc(0.7, kbps(1_000)), kbps(1_050));
    }

    /// [concerto] §3.3.
    #[test]
    fn concerto_has_steps_of_a_hundred_kilobits() {
        assert_eq!(concerto(0.0), DataRate::ZERO);
        assert_eq!(concerto(25.0), kbps(2_500));
        assert_eq!(concerto(300.0), kbps(2_500));
    }

    #[test]
    fn actions_outside_the_space_become_the_nearest() {
        assert_eq!(ActionSpace::Discrete(10).clamp(42.0), 9.0);
        assert_eq!(ActionSpace::Discrete(10).clamp(3.6), 4.0);
        assert_eq!(ActionSpace::Continuous { low: -1.0, high: 1.0 }.clamp(-7.0), -1.0);
    }
}
