//! The equation's segment size s: fixed, or the mean over the packets of the last four loss
//! intervals [rfc5348].

/// Mean size of reported packets.
#[derive(Clone, Debug)]
pub struct PacketSize {
    fixed: Option<f64>,
    /// Bytes and packets by loss interval, the open one first.
    intervals: [(f64, f64); INTERVALS],
}

impl PacketSize {
    /// `fixed` bytes, or the mean.
    pub fn new(fixed: Option<u32>) -> Self {
        Self { fixed: fixed.map(f64::from), intervals: [(0.0, 0.0); INTERVALS] }
    }

    /// `packets` packets of `bytes` in all were reported.
    #[inline]
    pub fn on_reported(&mut self, bytes: u64, packets: usize) {
        self.intervals[0].0 += bytes as f64;
        self.intervals[0].1 += packets as f64;
    }

    /// A loss event began.
    pub fn on_event(&mut self) {
        self.intervals.rotate_right(1);
        self.intervals[0] = (0.0, 0.0);
    }

    /// s, in bytes; at least 1.
    pub fn bytes(&self) -> f64 {
        // [rfc5348] §4.1: the average segment size over the last four loss intervals.
        let (bytes, packets) = self.intervals.iter().fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        let mean = if packets > 0.0 { bytes / packets } else { INITIAL_BYTES };
        self.fixed.unwrap_or(mean).max(1.0)
    }
}

// [rfc5348] §4.1: the average over the last four loss intervals.
const INTERVALS: usize = 4;
/// Before the first report: a full packet.
const INITIAL_BYTES: f64 = 1_200.0;

#[cfg(test)]
mod tests {
    use super::*;

    /// [rfc5348] §4.1, worked by hand: (0 + 300 + 100 + 800) B in 4 packets; the 9000 B before are out of the window.
    #[test]
    fn the_mean_is_over_four_loss_intervals() {
        let mut size = PacketSize::new(None);
        assert_eq!(size.bytes(), 1_200.0);
        for (bytes, packets) in [(9_000, 1), (800, 1), (100, 2), (300, 1)] {
            size.on_reported(bytes, packets);
            size.on_event();
        }
        assert_eq!(size.bytes(), 300.0);
        assert_eq!(PacketSize::new(Some(500)).bytes(), 500.0);
    }
}
