//! The media rate control of [rfc8298] §4.1.3: every 200 ms the target goes up by the ramp-up speed, more slowly near
//! the rate at which congestion was last seen. It goes down if the media queue grows; loss and marks cut it at once.

use super::rates::Rates;

/// target_bitrate.
#[derive(Clone, Debug)]
pub struct MediaRate {
    target_bps: f64,
    /// The target at the last congestion.
    last_max_bps: f64,
    /// The last move was upwards.
    rising: bool,
}

/// The inputs of an adjustment.
#[derive(Clone, Copy, Debug)]
pub struct RateInput<'a> {
    /// Rates of the last interval.
    pub rates: &'a Rates,
    /// Bytes in the media queue.
    pub queued_bytes: u64,
    /// Whether the window is in fast increase.
    pub in_fast_increase: bool,
    /// qdelay_trend …
    pub trend: f64,
    /// … and its peak hold.
    pub trend_peak: f64,
    /// Feedback came since the last adjustment; without it, nothing goes up.
    pub heard: bool,
    /// RATE_ADJUST_INTERVAL in seconds.
    pub interval_s: f64,
}

impl MediaRate {
    /// Starts at `start_bps`, with no congestion seen.
    pub fn new(start_bps: f64) -> Self {
        Self { target_bps: start_bps, last_max_bps: 1.0, rising: true }
    }

    /// The target in bit/s, not bounded.
    #[inline]
    pub fn target_bps(&self) -> f64 {
        self.target_bps
    }

    /// Force the target into bounds.
    pub fn bound(&mut self, min_bps: f64, max_bps: f64) {
        self.target_bps = self.target_bps.max(min_bps).min(max_bps);
    }

    /// A loss or ECN event, or silence: cut by `beta`.
    pub fn cut(&mut self, beta: f64) {
        self.congested();
        // [rfc8298] §4.1.3: target = max(BETA_R × target, TARGET_BITRATE_MIN); the bound follows.
        self.target_bps *= beta;
        self.rising = false;
    }

    /// Congestion was detected: record the rate. [rfc8298] §4.1.3 says no more than "is updated when
    /// congestion is detected"; we take this to mean loss, marks, the end of fast increase and the first cut
    /// after a rise.
    pub fn congested(&mut self) {
        if self.rising {
            self.last_max_bps = self.target_bps.max(1.0);
        }
    }

    /// An interval is over; the target rises by at most `ramp_up_speed_bps` per second.
    pub fn adjust(&mut self, input: &RateInput<'_>, ramp_up_speed_bps: f64) {
        let before = self.target_bps;
        // [rfc8298] §4.1.3: ramp = min(RAMP_UP_SPEED, target / 2);
        // scale = max(0.2, min(1, (4 (target - last_max) / last_max)^2)).
        let ramp_bps = ramp_up_speed_bps.min(before / 2.0) * input.interval_s;
        let distance = 4.0 * (before - self.last_max_bps) / self.last_max_bps;
        let scale = (distance * distance).clamp(0.2, 1.0);
        let current_bps = input.rates.current_bps();
        let queued_bits = input.queued_bytes as f64 * 8.0;
        if input.in_fast_increase {
            self.target_bps += if input.heard { ramp_bps * scale } else { 0.0 };
        } else {
            // [rfc8298] §4.1.3: delta = current_rate × (1 - PRE_CONGESTION_GUARD × trend)
            // - TX_QUEUE_SIZE_FACTOR × rtp_queue_size; if positive: min(delta × scale, ramp). Deviates from [rfc8298] §4.1.3:
            // minus the target, and never downwards while no media waits. As printed a rate is added to a rate, the ramp always
            // bounds it, and the target cannot fall below the rate at which the ramp makes up for the twentieth (800 kbit/s).
            // The authors' code subtracts the target, and holds back if the encoder produced less than requested: then the
            // encoder is the limit. The queued bits are spread over one second.
            let mut delta_bps =
                current_bps * (1.0 - PRE_CONGESTION_GUARD * input.trend) - TX_QUEUE_SIZE_FACTOR * queued_bits - before;
            if input.queued_bytes == 0 {
                delta_bps = delta_bps.max(0.0);
            }
            if delta_bps > 0.0 {
                delta_bps = if input.heard { (delta_bps * scale).min(ramp_bps) } else { 0.0 };
            }
            self.target_bps += delta_bps;
            // A media queue longer than RTP_QDELAY_TH: × TARGET_RATE_SCALE_RTP_QDELAY.
            if queued_bits > current_bps * RTP_QDELAY_TH_MS / 1e3 {
                self.target_bps *= TARGET_RATE_SCALE_RTP_QDELAY;
            }
        }
        // [rfc8298] §4.1.3: target <= max(current, media, median media) × (2 - trend_mem).
        let limit_bps = input.rates.media_limit_bps();
        if limit_bps > 0.0 {
            self.target_bps = self.target_bps.min(limit_bps * (2.0 - input.trend_peak));
        }
        if self.target_bps < before {
            if self.rising {
                self.last_max_bps = before.max(1.0);
            }
            self.rising = false;
        } else if self.target_bps > before {
            self.rising = true;
        }
    }
}

// [rfc8298] §4.1.1.1.
/// How much a trend slows the rise.
const PRE_CONGESTION_GUARD: f64 = 0.1;
/// How much of the media queue is subtracted from the target.
const TX_QUEUE_SIZE_FACTOR: f64 = 1.0;
/// A media queue longer than this lowers the target.
const RTP_QDELAY_TH_MS: f64 = 20.0;
/// What the target is multiplied by while the media queue is longer than RTP_QDELAY_TH.
const TARGET_RATE_SCALE_RTP_QDELAY: f64 = 0.95;

#[cfg(test)]
mod tests {
    use super::*;
    use legato_units::Timestamp;

    /// 1 Mbit/s left and arrived in the last 200 ms.
    fn rates() -> Rates {
        let mut rates = Rates::new(Timestamp::ZERO);
        rates.sent(25_000);
        rates.update(Timestamp::from_millis(200));
        rates
    }

    fn input(rates: &Rates) -> RateInput<'_> {
        RateInput {
            rates,
            queued_bytes: 0,
            in_fast_increase: false,
            trend: 0.0,
            trend_peak: 0.0,
            heard: true,
            interval_s: 0.2,
        }
    }

    fn adjusted(start_bps: f64, last_max_bps: f64, input: &RateInput<'_>) -> f64 {
        let mut rate = MediaRate::new(start_bps);
        rate.last_max_bps = last_max_bps;
        rate.adjust(input, 200_000.0);
        rate.target_bps()
    }

    /// [rfc8298] §4.1.3, fast increase worked by hand: 200 kbit/s per s × 0.2 s = 40 kbit/s; at 300 kbit/s
    /// half the target, 150 kbit/s per s, is less: 30 kbit/s.
    #[test]
    fn fast_increase_ramps_up() {
        let rates = rates();
        let fast = RateInput { in_fast_increase: true, ..input(&rates) };
        assert_eq!(adjusted(1e6, 1.0, &fast), 1.04e6);
        assert_eq!(adjusted(3e5, 1.0, &fast), 3.3e5);
        assert_eq!(adjusted(1e6, 1.0, &RateInput { heard: false, ..fast }), 1e6);
    }

    /// [rfc8298] §4.1.3, worked by hand: 4 × (1.0 - 1.25) / 1.25 = -0.8, squared 0.64; at the last
    /// maximum itself the scale is 0.2.
    #[test]
    fn near_the_last_maximum_it_rises_slowly() {
        let rates = rates();
        let fast = RateInput { in_fast_increase: true, ..input(&rates) };
        assert!((adjusted(1e6, 1.25e6, &fast) - (1e6 + 0.64 * 4e4)).abs() < 1e-6);
        assert!((adjusted(1e6, 1e6, &fast) - (1e6 + 0.2 * 4e4)).abs() < 1e-6);
    }

    /// [rfc8298] §4.1.3, worked by hand: delta = 1 Mbit/s × (1 - 0.1 × 0.5) - 100 bytes × 8 - 1 Mbit/s = -50.8 kbit/s, and
    /// zero if no media waits. From 980 kbit/s without a trend it is 20 kbit/s, from 900 it is 100 and the ramp's 40 bound
    /// it; of the 20, near the last maximum, a fifth.
    #[test]
    fn beyond_fast_increase_the_target_goes_to_the_delivered_rate() {
        let rates = rates();
        let calm = input(&rates);
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-6, "{a} {b}");
        close(adjusted(1e6, 1.0, &RateInput { trend: 0.5, ..calm }), 1e6);
        close(adjusted(1e6, 1.0, &RateInput { trend: 0.5, queued_bytes: 100, ..calm }), 949_200.0);
        close(adjusted(0.98e6, 1.0, &calm), 1e6);
        close(adjusted(0.9e6, 1.0, &calm), 0.94e6);
        close(adjusted(0.98e6, 0.98e6, &calm), 0.984e6);
        close(adjusted(0.9e6, 1.0, &RateInput { heard: false, ..calm }), 0.9e6);
    }

    /// [rfc8298] §4.1.3, worked by hand: 2,500 bytes (20 ms at 1 Mbit/s) are 20 kbit, subtracted over one second, and
    /// not above the threshold; 2,501 are: × 0.95.
    #[test]
    fn beyond_fast_increase_a_media_queue_costs_a_twentieth() {
        let rates = rates();
        let queue = |queued_bytes| RateInput { queued_bytes, ..input(&rates) };
        assert!((adjusted(1e6, 1.0, &queue(2_500)) - 0.98e6).abs() < 1e-6);
        assert!((adjusted(1e6, 1.0, &queue(2_501)) - 979_992.0 * 0.95).abs() < 1e-6);
    }

    /// [rfc8298] §4.1.3, worked by hand: 1 Mbit/s × (2 - 0.5) = 1.5 Mbit/s.
    #[test]
    fn the_target_stays_near_the_sending_rate() {
        let rates = rates();
        let fast = RateInput { in_fast_increase: true, trend_peak: 0.5, ..input(&rates) };
        assert_eq!(adjusted(3e6, 1.0, &fast), 1.5e6);
    }

    #[test]
    fn a_cut_records_its_rate() {
        let mut rate = MediaRate::new(1e6);
        rate.cut(0.9);
        assert_eq!((rate.target_bps(), rate.last_max_bps), (0.9e6, 1e6));
        rate.cut(0.9);
        assert_eq!(rate.last_max_bps, 1e6, "one congestion, one maximum");
    }
}
