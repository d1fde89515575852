//! The limit that each part of the controller sets: the lowest holds, and its cause is recorded.

use legato_units::{ByteRate, Bytes, Seconds};

/// What holds the rate. The gauge `legato_why` is its place in this list, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// Nothing but what the link passes.
    Capacity,
    /// The bytes in front of the next frame.
    Backlog,
    /// Others on the link.
    Sharing,
    /// Losses that fewer bytes avoid, or a trial whether they do.
    Losses,
    /// The marks of a queue manager.
    Marks,
    /// Feedback stays away.
    Silence,
    /// The maximum of the application.
    Application,
}

/// So little is sent and passed, even where nothing is: no ratio is infinite.
pub const TRICKLE: ByteRate = ByteRate::new(1.0);

/// The most that is allowed, and by what.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// The rate.
    pub target: ByteRate,
    /// The size of the next frame.
    pub max_frame: Bytes,
    /// What holds the rate.
    pub why: Why,
}

impl Limit {
    /// The lower of both rates, with its cause, and the lower of both sizes.
    pub fn and(self, other: Self) -> Self {
        let why = if other.target < self.target { other.why } else { self.why };
        Self { target: self.target.min(other.target), max_frame: self.max_frame.min(other.max_frame), why }
    }
}

/// The time left for the next frame.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// After the bytes in front of it have passed.
    pub time: Seconds,
    /// Encoders make single frames so much larger than they are asked to.
    pub overshoot_ratio: f64,
}

impl Room {
    /// The largest frame that a link of this rate passes in that time.
    pub fn at(&self, rate: ByteRate) -> Bytes {
        rate * self.time / self.overshoot_ratio
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(rate: f64, size: f64, why: Why) -> Limit {
        Limit { target: ByteRate::new(rate), max_frame: Bytes::new(size), why }
    }

    #[test]
    fn the_lowest_holds_with_its_cause_and_the_first_of_equals() {
        let base = limit(100.0, 5.0, Why::Backlog);
        let held = base.and(limit(90.0, 7.0, Why::Losses)).and(limit(90.0, 4.0, Why::Marks));
        assert_eq!((held.target.get(), held.max_frame.get(), held.why), (90.0, 4.0, Why::Losses));
    }
}
