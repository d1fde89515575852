use super::*;

/// The formula in the paper's notation, one observation at a time.
struct Plain {
    observations: Vec<(Observation, f64)>,
}

impl Plain {
    fn loss_probability(channel: Channel, sent: DataRate) -> f64 {
        let mut p = channel.inherent_loss.clamp(0.0, 1.0);
        if sent > channel.bandwidth {
            p += (1.0 - p) * (sent.as_bps_f64() - channel.bandwidth.as_bps_f64()) / sent.as_bps_f64();
        }
        p.clamp(1e-6, 1.0 - 1e-6)
    }

    fn objective(&self, channel: Channel, bias: f64) -> f64 {
        let score = |(observation, weight): &(Observation, f64)| {
            let p = Self::loss_probability(channel, observation.sending_rate);
            let lost = observation.lost_bytes as f64 / 1e3;
            let got = (observation.bytes - observation.lost_bytes) as f64 / 1e3;
            weight * (lost * libm::log(p) + got * libm::log(1.0 - p) + bias * (lost + got))
        };
        self.observations.iter().map(score).sum()
    }

    fn newton_step(&self, channel: Channel) -> f64 {
        let (mut first, mut second) = (0.0, 0.0);
        for (observation, weight) in &self.observations {
            let p = Self::loss_probability(channel, observation.sending_rate);
            let lost = observation.lost_bytes as f64 / 1e3;
            let got = (observation.bytes - observation.lost_bytes) as f64 / 1e3;
            first += weight * (lost / p - got / (1.0 - p));
            second -= weight * (lost / (p * p) + got / ((1.0 - p) * (1.0 - p)));
        }
        first / second
    }
}

fn observation(kbps: u64, bytes: u64, lost_bytes: u64) -> Observation {
    Observation { sending_rate: DataRate::from_kbps(kbps), bytes, lost_bytes }
}

fn channel(inherent_loss: f64, kbps: u64) -> Channel {
    Channel { inherent_loss, bandwidth: DataRate::from_kbps(kbps) }
}

/// [libwebrtc-m150] P(loss) at 1,000 kbit/s sent and 1 % inherent loss, worked by hand.
#[test]
fn the_loss_probability_is_the_inherent_one_below_and_the_excess_above_the_bandwidth() {
    let p = |kbps| Plain::loss_probability(channel(0.01, kbps), DataRate::from_kbps(1_000));
    let near = |p: f64, expected: f64| assert!((p - expected).abs() < 1e-12, "{p} is not {expected}");
    near(p(1_000), 0.01);
    near(p(800), 0.208);
    near(p(500), 0.505);
    // One lossless kilobyte scores ln(1 − P), one lost kilobyte ln P.
    let mut model = LossModel::new(15, 0.9);
    model.push(observation(1_000, 1_000, 0));
    near(model.objective(channel(0.01, 800), 0.0), libm::log(1.0 - 0.208));
    model.clear();
    model.push(observation(1_000, 1_000, 1_000));
    near(model.objective(channel(0.01, 500), 0.0), libm::log(0.505));
}

#[test]
fn shared_logarithms_give_the_plain_formula() {
    let mut state = 42_u64;
    let mut draw = |below: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % below
    };
    for round in 0..400 {
        let mut model = LossModel::new(15, 0.9);
        let mut plain = Plain { observations: Vec::new() };
        for _ in 0..1 + draw(30) {
            let bytes = draw(200_000);
            let lost_bytes = if draw(3) == 0 && bytes > 0 { draw(bytes) } else { 0 };
            let new = observation(1 + draw(4_000), bytes, lost_bytes);
            model.push(new);
            plain.observations.iter_mut().for_each(|(_, weight)| *weight *= 0.9);
            plain.observations.insert(0, (new, 1.0));
            plain.observations.truncate(15);
        }
        for _ in 0..10 {
            let guess = channel(draw(1_000) as f64 / 1e3, 1 + draw(4_000));
            let bias = draw(1_000) as f64 / 1e4 - 0.05;
            let (fast, slow) = (model.objective(guess, bias), plain.objective(guess, bias));
            assert!((fast - slow).abs() <= 1e-9 * slow.abs().max(1.0), "round {round}: {fast} is not {slow}");
            let (fast, slow) = (model.newton_step(guess), plain.newton_step(guess));
            if slow.is_finite() {
                assert!((fast - slow).abs() <= 1e-9 * slow.abs().max(1e-3), "round {round}: {fast} is not {slow}");
            }
        }
    }
}

#[test]
fn a_rate_a_million_times_the_bandwidth_is_clamped() {
    let mut model = LossModel::new(15, 0.9);
    model.push(observation(4_000_000, 1_000, 500));
    let plain = Plain { observations: vec![(observation(4_000_000, 1_000, 500), 1.0)] };
    let guess = Channel { inherent_loss: 0.5, bandwidth: DataRate::from_bps(1_000) };
    assert!((model.objective(guess, 0.0) - plain.objective(guess, 0.0)).abs() < 1e-6);
}

#[test]
fn an_empty_channel_or_window_gives_finite_numbers() {
    let mut model = LossModel::new(15, 0.9);
    assert_eq!(model.newton_step(channel(0.5, 100)), 0.0);
    model.push(observation(0, 0, 0));
    model.push(observation(500, 1_000, 1_000));
    for guess in [channel(1.0, 0), channel(0.0, 0), channel(1.0, 100), channel(0.0, 1_000_000)] {
        assert!(model.objective(guess, 0.1).is_finite(), "{guess:?}");
        assert!(model.newton_step(guess).is_finite(), "{guess:?}");
    }
}

#[test]
fn the_average_loss_leaves_out_the_best_and_the_worst_observation() {
    let mut model = LossModel::new(15, 1.0);
    for lost in [0, 100, 200] {
        model.push(observation(100, 1_000, lost));
    }
    assert!((model.average_loss(false, 2.0) - 0.1).abs() < 1e-12);
    model.push(observation(100, 1_000, 900));
    // Without 0 and 900: 300 of 2,000.
    assert!((model.average_loss(true, 2.0) - 0.15).abs() < 1e-12);
}

#[test]
fn a_worst_observation_sent_at_twice_the_median_is_not_a_spike() {
    let mut model = LossModel::new(15, 1.0);
    for lost in [0, 100, 200] {
        model.push(observation(100, 1_000, lost));
    }
    model.push(observation(200, 1_000, 900));
    assert!((model.average_loss(true, 2.0) - 0.3).abs() < 1e-12);
}

#[test]
fn the_window_forgets_the_oldest() {
    let mut model = LossModel::new(3, 1.0);
    for lost in [1_000, 0, 0, 0] {
        model.push(observation(100, 1_000, lost));
    }
    assert_eq!((model.len, model.average_loss(false, 2.0)), (3, 0.0));
}
