//! Transport-wide sequence numbers of packets that come in, unwrapped.

/// The newest number so far.
#[derive(Debug, Default)]
pub struct TransportSeq {
    newest: Option<u64>,
}

impl TransportSeq {
    /// The full number of a packet's 16 bits, relative to the newest.
    pub fn unwrap(&mut self, seq: u16) -> u64 {
        let last = self.newest.unwrap_or(u64::from(seq));
        let step = i64::from(seq.wrapping_sub(last as u16).cast_signed());
        // A number that would lie before the very first is taken literally.
        let unwrapped = last.checked_add_signed(step).unwrap_or(u64::from(seq));
        self.newest = Some(last.max(unwrapped));
        unwrapped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_continue_beyond_sixteen_bits_in_any_order() {
        let mut numbers = TransportSeq::default();
        let seen = [65_534, 65_535, 1, 0, 2].map(|seq| numbers.unwrap(seq));
        assert_eq!(seen, [65_534, 65_535, 65_537, 65_536, 65_538]);
        let mut early = TransportSeq::default();
        assert_eq!([3, 1, 65_535].map(|seq| early.unwrap(seq)), [3, 1, 65_535]);
    }
}
