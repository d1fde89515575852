//! Counts the decisions of packets, from which initial probabilities are made (`examples/train_contexts.rs`).

use crate::contexts::{MODELS, RANGES, models, range_of};
use crate::interleave::Interleave;
use crate::macroblock::{self, BLOCKS, Expected, Macroblock};
use crate::motion_copy;
use crate::packet::Header;
use crate::picture::Size;
use crate::range_coder::{BitCoder, Reader};

/// How often each decision was a zero and a one, by range of the quantiser.
#[derive(Clone, Debug)]
pub struct Census {
    counts: Vec<Vec<[u32; 2]>>,
}

impl Default for Census {
    fn default() -> Self {
        Self { counts: vec![vec![[0; 2]; MODELS]; RANGES] }
    }
}

impl Census {
    /// Count a packet of a picture of this size; others than this format's are passed over.
    pub fn add(&mut self, size: Size, packet: &[u8]) {
        let Ok((header, decisions)) = Header::parse(packet) else { return };
        let order = Interleave::new(size.columns(), size.rows(), header.packets);
        let reader = Reader::new(models(header.quantiser), decisions);
        let mut counting = Counting { reader, counts: &mut self.counts[range_of(header.quantiser)] };
        let mut seen: Vec<Option<Macroblock>> = vec![None; size.macroblocks()];
        for (x, y) in order.of_packet(usize::from(header.packet)) {
            let near = order.near(x, y).map(|near| near.and_then(|near| seen[near].as_ref()));
            let expected = Expected::of(near, header.distance.is_none());
            let mut macroblock = Macroblock::AT_REST;
            macroblock::code(&mut counting, &expected, &mut macroblock, &mut [[0; 64]; BLOCKS]);
            seen[y * size.columns() + x] = Some(macroblock);
        }
        if header.distance.is_some() {
            let own = |index: usize| seen[index].as_ref().and_then(motion_copy::of);
            let mut copied = vec![None; seen.len()];
            motion_copy::code(
                &mut counting,
                &order,
                usize::from(header.packet),
                header.motion_copies,
                own,
                &mut copied,
            );
        }
    }
    /// The share of ones of every model in 256ths, by range of the quantiser; rare decisions lean to a half.
    pub fn probabilities(&self) -> Vec<Vec<u8>> {
        let share = |[zeros, ones]: &[u32; 2]| {
            let (zeros, ones) = (f64::from(*zeros) + 1.0, f64::from(*ones) + 1.0);
            (256.0 * ones / (zeros + ones)).clamp(1.0, 254.0) as u8
        };
        self.counts.iter().map(|range| range.iter().map(share).collect()).collect()
    }
}

struct Counting<'a, 'b> {
    reader: Reader<'a>,
    counts: &'b mut [[u32; 2]],
}

impl BitCoder for Counting<'_, '_> {
    const READS: bool = true;
    fn bit(&mut self, model: usize, bit: bool) -> bool {
        let bit = self.reader.bit(model, bit);
        self.counts[model][usize::from(bit)] += 1;
        bit
    }
    fn even(&mut self, bit: bool) -> bool {
        self.reader.even(bit)
    }
}
