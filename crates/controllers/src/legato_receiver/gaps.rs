//! How many packets are missing, from their numbers: due minus came, as receiver reports count
//! ([rfc3550] appendix A.3), so that a packet that was only late is taken off again.

/// Counts packets since it was last read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gaps {
    highest: Option<u64>,
    due: u64,
    came: u64,
}

/// A jump of more numbers is another sender or a restart, and says nothing of losses.
const MAX_JUMP: u64 = 1_000;

impl Gaps {
    /// The packet with this number came.
    pub fn on_packet(&mut self, seq: u64) {
        let Some(highest) = self.highest else {
            (self.highest, self.due, self.came) = (Some(seq), 1, 1);
            return;
        };
        if seq.abs_diff(highest) > MAX_JUMP {
            *self = Self { highest: Some(seq), ..Self::default() };
            return;
        }
        self.came += 1;
        self.due += seq.saturating_sub(highest);
        self.highest = Some(highest.max(seq));
    }

    /// Packets missing, and packets that came, since the last call.
    pub fn take(&mut self) -> (u64, u64) {
        let missing = self.due.saturating_sub(self.came);
        let came = self.came;
        (self.due, self.came) = (0, 0);
        (missing, came)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(gaps: &mut Gaps, seqs: &[u64]) -> (u64, u64) {
        seqs.iter().for_each(|seq| gaps.on_packet(*seq));
        gaps.take()
    }

    /// [rfc3550] A.3: 10 to 14 are five due, of which 12 is missing; the late 12 is subtracted from the next count.
    #[test]
    fn numbers_that_are_left_out_are_missing() {
        let mut gaps = Gaps::default();
        assert_eq!(taken(&mut gaps, &[10, 11, 13, 14]), (1, 4));
        assert_eq!(taken(&mut gaps, &[12, 15, 17]), (0, 3));
        assert_eq!(taken(&mut gaps, &[20]), (2, 1));
        assert_eq!(taken(&mut gaps, &[]), (0, 0));
    }

    #[test]
    fn a_restart_of_the_numbers_is_no_loss() {
        let mut gaps = Gaps::default();
        taken(&mut gaps, &[50_000, 50_001]);
        assert_eq!(taken(&mut gaps, &[7, 8]), (0, 1));
        assert_eq!(taken(&mut gaps, &[u64::MAX]), (0, 0));
    }
}
