//! The receiver's log of the last LOGWIN: how many packets arrived, were lost or marked, and their
//! bytes, in slots of a fiftieth so that a packet costs one addition.

use legato_units::{DataRate, DataSize, TimeDelta};

/// Counts over a sliding window of the receiver's time.
#[derive(Clone, Debug)]
pub struct LogWindow {
    slot: TimeDelta,
    slots: [Counts; SLOTS],
    /// The slot of the newest arrival.
    newest: i64,
    total: Counts,
    /// Of the newest arrival, since the first.
    latest: TimeDelta,
}

/// Ours: with [rfc8698]'s LOGWIN of 500 ms a slot is 10 ms.
const SLOTS: usize = 50;

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    bytes: u64,
    arrived: u32,
    lost: u32,
    marked: u32,
}

impl LogWindow {
    /// A window of this length; the receiver's time starts at zero.
    pub fn new(length: TimeDelta) -> Self {
        Self {
            slot: length / SLOTS as i64,
            slots: [Counts::default(); SLOTS],
            newest: 0,
            total: Counts::default(),
            latest: TimeDelta::ZERO,
        }
    }

    /// A packet arrived at `at`, since the first arrival. One out of order counts at the newest
    /// arrival's time.
    #[inline]
    pub fn push_arrived(&mut self, at: TimeDelta, size: DataSize, marked: bool) {
        if at > self.latest {
            self.latest = at;
            let slot = at.as_nanos() / self.slot.as_nanos();
            if slot > self.newest {
                self.forget_until(slot);
            }
        }
        let bytes = size.as_bytes().min(1 << 24);
        let slot = &mut self.slots[(self.newest as usize) % SLOTS];
        for counts in [slot, &mut self.total] {
            counts.bytes += bytes;
            counts.arrived += 1;
            counts.marked += u32::from(marked);
        }
    }

    /// A packet is missing; it would have arrived about now.
    #[inline]
    pub fn push_lost(&mut self) {
        self.slots[(self.newest as usize) % SLOTS].lost += 1;
        self.total.lost += 1;
    }

    /// Bytes that arrive late belong to the rate although their packet counts as lost.
    #[inline]
    pub fn push_late(&mut self, size: DataSize) {
        let bytes = size.as_bytes().min(1 << 24);
        self.slots[(self.newest as usize) % SLOTS].bytes += bytes;
        self.total.bytes += bytes;
    }

    /// p_inst: of the packets that were due, the share that did not arrive.
    // [rfc8698] §5.1.2: the number lost over the number sent, in the window.
    pub fn loss_ratio(&self) -> f64 {
        f64::from(self.total.lost) / f64::from((self.total.lost + self.total.arrived).max(1))
    }

    /// Of the packets that arrived, the share that was marked.
    pub fn mark_ratio(&self) -> f64 {
        f64::from(self.total.marked) / f64::from(self.total.arrived.max(1))
    }

    /// r_recv.
    // [rfc8698] §5.1.3: bytes that arrived in the window over its length.
    pub fn received_rate(&self) -> DataRate {
        // The window reaches from the start of the oldest slot to the newest arrival.
        let oldest = self.slot * (self.newest - (SLOTS as i64 - 1)).max(0);
        let whole = self.slot * SLOTS as i64;
        let span = if oldest > TimeDelta::ZERO { self.latest - oldest } else { whole };
        DataSize::from_bytes(self.total.bytes) / span
    }

    /// When the newest packet arrived.
    #[inline]
    pub fn latest(&self) -> TimeDelta {
        self.latest
    }

    #[inline(never)]
    fn forget_until(&mut self, slot: i64) {
        let fresh = (slot - self.newest).min(SLOTS as i64);
        for back in 0..fresh {
            let old = std::mem::take(&mut self.slots[((slot - back) as usize) % SLOTS]);
            self.total.bytes -= old.bytes;
            self.total.arrived -= old.arrived;
            self.total.lost -= old.lost;
            self.total.marked -= old.marked;
        }
        self.newest = slot;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: i64) -> TimeDelta {
        TimeDelta::from_millis(ms)
    }
    const SIZE: DataSize = DataSize::from_bytes(1_250);

    /// [rfc8698] §5.1.3, worked by hand: 10,000 bits every 10 ms are 1 Mbit/s.
    #[test]
    fn the_rate_is_what_arrived_in_the_window_over_its_length() {
        let mut window = LogWindow::new(ms(500));
        for n in 0..=200 {
            window.push_arrived(ms(10 * n), SIZE, false);
        }
        // The oldest slot begins at 1,510 ms; 50 packets in 490 ms.
        assert_eq!(window.received_rate().as_bps(), 1_020_408);
    }

    #[test]
    fn a_window_that_is_not_full_yet_counts_as_a_whole_one() {
        let mut window = LogWindow::new(ms(500));
        for n in 0..10 {
            window.push_arrived(ms(n), SIZE, false);
        }
        assert_eq!(window.received_rate().as_bps(), 200_000);
    }

    /// [rfc8698] §5.1.2, worked by hand: 1 of 10 is lost, 3 of 9 are marked.
    #[test]
    fn ratios_are_over_the_window_and_forget() {
        let mut window = LogWindow::new(ms(500));
        for n in 0..9 {
            window.push_arrived(ms(n), SIZE, n < 3);
        }
        window.push_lost();
        assert_eq!((window.loss_ratio(), window.mark_ratio()), (0.1, 3.0 / 9.0));
        window.push_arrived(ms(600), SIZE, false);
        assert_eq!((window.loss_ratio(), window.mark_ratio()), (0.0, 0.0));
    }

    #[test]
    fn late_bytes_count_for_the_rate_alone() {
        let mut window = LogWindow::new(ms(500));
        window.push_arrived(ms(0), SIZE, false);
        window.push_lost();
        window.push_late(SIZE);
        assert_eq!(window.received_rate().as_bps(), 40_000);
        assert_eq!(window.loss_ratio(), 0.5);
    }
}
