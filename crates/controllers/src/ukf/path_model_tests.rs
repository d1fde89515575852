//! The model's functions by hand, and the filter on bursts over a known link.

use super::*;

fn config() -> FilterConfig {
    FilterConfig::default()
}

/// ln of 1 Mbit/s, a queue, a base delay.
fn state(queue_s: f64, base_s: f64) -> [f64; 3] {
    [libm::log(1e6), queue_s, base_s]
}

#[test]
fn the_queue_gains_what_was_sent_and_loses_what_the_link_passes() {
    // 20 kbit of 1 Mbit/s are 20 ms; 15 were there, 33 drained: 2 ms stay.
    let next = after(&state(0.015, 0.5), 20_000.0, 0.033);
    assert!((next[QUEUE] - 0.002).abs() < 1e-12);
    assert_eq!((next[CAPACITY], next[BASE]), (libm::log(1e6), 0.5));
    assert_eq!(after(&state(0.005, 0.5), 20_000.0, 0.033)[QUEUE], 0.0, "an empty queue stays empty");
}

#[test]
fn a_burst_arrives_at_the_links_pace_but_no_faster_than_it_left() {
    let per_bit = 1e-6;
    // 5 ms base, 10 ms queue, 8 ms for 8 kbit.
    assert!((delay(&state(0.010, 0.005), 8_000.0, per_bit) - 0.023).abs() < 1e-12);
    assert!((span(&state(0.0, 0.0), 16_000.0, 0.0, per_bit) - 0.016).abs() < 1e-12);
    // Sent over 30 ms, of which the first packet waited 10.
    assert!((span(&state(0.010, 0.0), 16_000.0, 0.030, per_bit) - 0.020).abs() < 1e-12);
}

/// A drop-less link, bursts of 8-kbit packets every 33 ms, the bits of each by `load` from capacity and number.
struct Link {
    free_at: f64,
    now: f64,
    model: PathModel,
    gap: Option<f64>,
}

impl Link {
    fn new() -> Self {
        Self { free_at: 0.0, now: 0.0, model: PathModel::new(config(), DataRate::from_kbps(300)), gap: None }
    }

    /// One burst of `packets`; `drift` is added to each delay.
    fn burst(&mut self, capacity_bps: f64, packets: u32, extra_s: f64) {
        let per_packet = 8_000.0 / capacity_bps;
        let wait = (self.free_at - self.now).max(0.0);
        let burst = Burst {
            gap_s: self.gap,
            delay_s: wait + per_packet + extra_s,
            departed_s: 0.0,
            arrived_s: f64::from(packets - 1) * per_packet,
            first_bits: 8_000.0,
            total_bits: 8_000.0 * f64::from(packets),
        };
        self.model.learn(&burst);
        self.free_at = self.free_at.max(self.now) + f64::from(packets) * per_packet;
        self.now += 0.033;
        self.gap = Some(0.033);
    }

    fn capacity_kbps(&self) -> f64 {
        self.model.capacity().unwrap().as_kbps_f64()
    }
}

#[test]
fn the_capacity_is_found_while_half_of_it_is_used() {
    let mut link = Link::new();
    for _ in 0..60 {
        link.burst(2e6, 4, 0.0);
    }
    let capacity = link.capacity_kbps();
    assert!((1_900.0..2_100.0).contains(&capacity), "{capacity} kbit/s");
    assert!(link.model.queue_s() < 0.002, "{} s", link.model.queue_s());
    assert!(link.model.doubt_ratio() < 0.1);
}

#[test]
fn a_capacity_drop_and_its_queue_are_known_within_ten_frames() {
    let mut link = Link::new();
    for _ in 0..60 {
        link.burst(2e6, 6, 0.0);
    }
    for _ in 0..10 {
        link.burst(6e5, 6, 0.0);
    }
    let capacity = link.capacity_kbps();
    assert!((540.0..660.0).contains(&capacity), "{capacity} kbit/s");
    // How long the coming burst will wait.
    let wait = link.free_at - link.now;
    let known = link.model.queue_s() + 6.0 * 8e3 / 6e5 - 0.033;
    assert!((known - wait).abs() < 0.02, "{known} s, in truth {wait} s");
    for _ in 0..60 {
        link.burst(3e6, 6, 0.0);
    }
    let capacity = link.capacity_kbps();
    assert!((2_700.0..3_300.0).contains(&capacity), "{capacity} kbit/s");
}

#[test]
fn clock_drift_is_not_a_queue() {
    for drift in [1e-4, -1e-4] {
        let mut link = Link::new();
        let mut worst = 0.0_f64;
        for _ in 0..3_000 {
            let extra_s = drift * link.now;
            link.burst(2e6, 4, extra_s);
            worst = worst.max(link.model.queue_s());
        }
        assert!(worst < 0.005, "{worst} s of queue at a drift of {drift}");
    }
}

#[test]
fn a_longer_path_is_a_queue_at_first_and_the_base_after_two_windows() {
    let mut link = Link::new();
    for _ in 0..60 {
        link.burst(2e6, 4, 0.0);
    }
    for _ in 0..10 {
        link.burst(2e6, 4, 0.080);
    }
    assert!(link.model.queue_s() > 0.0 || link.model.base_s() > 0.04);
    for _ in 0..400 {
        link.burst(2e6, 4, 0.080);
    }
    assert!(link.model.queue_s() < 0.010, "{} s", link.model.queue_s());
}

#[test]
fn impossible_values_leave_a_usable_model() {
    let mut link = Link::new();
    for delay_s in [0.0, 1e9, -1e9, 3.0, 0.0, -0.2] {
        for arrived_s in [0.0, 40.0] {
            let total_bits = 65_535.0 * 8.0 * arrived_s;
            let burst = Burst { gap_s: Some(0.01), delay_s, departed_s: 0.01, arrived_s, first_bits: 0.0, total_bits };
            link.model.learn(&burst);
            let figures = [link.model.queue_s(), link.model.base_s(), link.model.doubt_ratio(), link.model.jitter_s()];
            assert!(figures.iter().all(|figure| figure.is_finite()), "{figures:?} after {burst:?}");
        }
    }
}
