//! When each of many things is next due, and which is first: a tournament over pairs, so that a change costs the
//! logarithm of their number.

use legato_units::Timestamp;

/// When each thing is due; [`Timestamp::MAX`]: never.
pub struct Dues {
    /// A match's winner is at half the place of the two that play it, the first of all at 1; the second half are the things
    /// themselves: when, and which.
    matches: Vec<(Timestamp, u32)>,
}

impl Dues {
    /// These times.
    pub fn new(times: &[Timestamp]) -> Self {
        let places = times.len().next_power_of_two();
        let thing = |place: usize| (times.get(place).copied().unwrap_or(Timestamp::MAX), place as u32);
        let mut dues = Self { matches: (0..2 * places).map(|place| thing(place % places)).collect() };
        for place in (1..places).rev() {
            dues.matches[place] = dues.winner(place);
        }
        dues
    }

    /// The first of the earliest, and when it is due.
    #[inline]
    pub fn earliest(&self) -> (usize, Timestamp) {
        let (at, thing) = self.matches[1];
        (thing as usize, at)
    }

    /// When this one is due.
    #[inline]
    pub fn at(&self, thing: usize) -> Timestamp {
        self.matches[self.matches.len() / 2 + thing].0
    }

    /// This one is due then.
    #[inline]
    pub fn set(&mut self, thing: usize, at: Timestamp) {
        let mut place = self.matches.len() / 2 + thing;
        self.matches[place].0 = at;
        place /= 2;
        while place > 0 {
            let winner = self.winner(place);
            if self.matches[place] == winner {
                return;
            }
            self.matches[place] = winner;
            place /= 2;
        }
    }

    #[inline]
    fn winner(&self, place: usize) -> (Timestamp, u32) {
        let (first, second) = (self.matches[2 * place], self.matches[2 * place + 1]);
        // At equal times the one with the lower number is first.
        if second.0 < first.0 { second } else { first }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_the_earliest_is_that_of_a_scan() {
        let mut state = 1_u32;
        let mut random = |below: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) % below
        };
        for length in [1, 2, 3, 7, 8, 33] {
            let mut times = vec![Timestamp::MAX; length];
            let mut dues = Dues::new(&times);
            for _ in 0..500 {
                let place = random(length as u32) as usize;
                times[place] = match random(9) {
                    0 => Timestamp::MAX,
                    ms => Timestamp::from_millis(i64::from(ms)),
                };
                dues.set(place, times[place]);
                let scanned = (0..length).min_by_key(|&place| (times[place], place)).map(|place| (place, times[place]));
                assert_eq!(Some(dues.earliest()), scanned);
                assert_eq!(dues.at(place), times[place]);
            }
        }
        assert_eq!(Dues::new(&[]).earliest(), (0, Timestamp::MAX));
    }
}
