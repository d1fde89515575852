//! The share of packets that come back marked: up by an eighth at once, down slowly.
//! [draft-johansson-ccwg-rfc8298bis-screamv2] §4.2.1.3.

use super::L4S_GAINS;
use legato_units::{TimeDelta, Timestamp};

/// l4s_alpha.
#[derive(Clone, Copy, Debug, Default)]
pub struct L4sAlpha {
    alpha: f64,
    delivered: u32,
    marked: u32,
    updated: Option<Timestamp>,
}

impl L4sAlpha {
    /// Packets arrived, `marked` of them marked; applied after `interval`.
    pub fn update(&mut self, now: Timestamp, delivered: u32, marked: u32, interval: TimeDelta) {
        self.delivered += delivered;
        self.marked += marked;
        if self.delivered == 0 || self.updated.is_some_and(|updated| now - updated < interval) {
            return;
        }
        // [draft-johansson-ccwg-rfc8298bis-screamv2] §4.2.1.3: alpha = G_UP × fraction + (1 - G_UP) alpha
        // if the fraction is not below it, else (1 - G_DOWN) alpha.
        let [up, down] = L4S_GAINS;
        let fraction = f64::from(self.marked) / f64::from(self.delivered);
        self.alpha =
            if fraction >= self.alpha { up * fraction + (1.0 - up) * self.alpha } else { (1.0 - down) * self.alpha };
        (self.delivered, self.marked, self.updated) = (0, 0, Some(now));
    }

    /// 0 to 1.
    #[inline]
    pub fn get(&self) -> f64 {
        self.alpha
    }

    /// Set it.
    pub fn set(&mut self, alpha: f64) {
        self.alpha = alpha;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// [draft-johansson-ccwg-rfc8298bis-screamv2] §4.2.1.3, worked by hand: half marked: 1/8 × 1/2; then
    /// none: × 127/128.
    #[test]
    fn marks_count_at_once_and_are_forgotten_slowly() {
        let mut alpha = L4sAlpha::default();
        let interval = TimeDelta::from_millis(10);
        let mut update = |ms, delivered, marked| {
            alpha.update(Timestamp::from_millis(ms), delivered, marked, interval);
            alpha.get()
        };
        assert_eq!(update(0, 4, 2), 0.0625);
        assert_eq!(update(5, 2, 0), 0.0625, "too soon");
        assert_eq!(update(10, 2, 0), 0.0625 * 127.0 / 128.0);
    }
}
