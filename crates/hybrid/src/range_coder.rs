//! An adaptive binary range coder; every packet begins a new one.
//!
//! Carries as in the range coder of LZMA. A model is two estimates of one probability, a quick one and a slow one, as
//! in [vvc]; the coder uses their mean. The last bytes of a packet are cut as short as its content allows, and the
//! reader replaces missing bytes by zeros.

/// Codes decisions: a writer takes each bit and passes it on, a reader ignores it and returns the coded one. One
/// description thus serves both.
pub(crate) trait BitCoder {
    /// Whether the bits passed in are ignored.
    const READS: bool;
    /// A decision with an adaptive model.
    fn bit(&mut self, model: usize, bit: bool) -> bool;
    /// A decision that is as likely as not.
    fn even(&mut self, bit: bool) -> bool;
}

/// The probability of a one, in 65536ths, quick and slow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Model {
    quick: u16,
    slow: u16,
}

const QUICK: u32 = 4;
const SLOW: u32 = 7;
/// Estimates keep away from certainty.
const SURE: u16 = 256;

impl Model {
    /// Start at a probability of a one in 256ths.
    pub(crate) fn new(initial: u8) -> Self {
        let start = (u16::from(initial) << 8 | 128).clamp(SURE, u16::MAX - SURE);
        Self { quick: start, slow: start }
    }
    #[inline(always)]
    fn probability(self) -> u32 {
        (u32::from(self.quick) + u32::from(self.slow)) >> 1
    }
    #[inline(always)]
    fn update(&mut self, bit: bool) {
        if bit {
            self.quick += (u16::MAX - SURE - self.quick) >> QUICK;
            self.slow += (u16::MAX - SURE - self.slow) >> SLOW;
        } else {
            self.quick -= (self.quick - SURE) >> QUICK;
            self.slow -= (self.slow - SURE) >> SLOW;
        }
    }
}

/// Bits of cost, in 256ths, of a decision that had this probability of a one in 256ths.
pub(crate) fn cost(probability: u8, bit: bool) -> u16 {
    BITS[usize::from(if bit { probability } else { 255 - probability })]
}

/// Writes a packet's decisions.
pub(crate) struct Writer {
    models: Vec<Model>,
    low: u64,
    range: u32,
    cache: u8,
    pending: usize,
    started: bool,
    bytes: Vec<u8>,
}

const SMALLEST_RANGE: u32 = 1 << 24;

impl Writer {
    pub(crate) fn new(models: Vec<Model>) -> Self {
        Self { models, low: 0, range: u32::MAX, cache: 0, pending: 0, started: false, bytes: Vec::new() }
    }
    #[inline(always)]
    fn normalise(&mut self) {
        while self.range < SMALLEST_RANGE {
            self.range <<= 8;
            self.shift();
        }
    }
    fn shift(&mut self) {
        let carry = (self.low >> 32) as u8;
        if self.low < 0xff00_0000 || carry == 1 {
            // The first byte is always zero and is not written.
            if self.started {
                self.bytes.push(self.cache.wrapping_add(carry));
            }
            self.started = true;
            self.bytes.extend(std::iter::repeat_n(0xff_u8.wrapping_add(carry), self.pending));
            self.pending = 0;
            self.cache = (self.low >> 24) as u8;
        } else {
            self.pending += 1;
        }
        self.low = (self.low & 0x00ff_ffff) << 8;
    }
    /// The bytes, as short as their content allows.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        let end = self.low + u64::from(self.range) - 1;
        let zeros = (0..=32).rev().find(|&zeros| (end >> zeros) << zeros >= self.low).unwrap_or(0);
        self.low = (end >> zeros) << zeros;
        for _ in 0..5 {
            self.shift();
        }
        while self.bytes.last() == Some(&0) {
            self.bytes.pop();
        }
        self.bytes
    }
}

impl BitCoder for Writer {
    const READS: bool = false;
    #[inline]
    fn bit(&mut self, model: usize, bit: bool) -> bool {
        let model = &mut self.models[model];
        let bound = (self.range >> 16) * model.probability();
        model.update(bit);
        if bit {
            self.range = bound;
        } else {
            self.low += u64::from(bound);
            self.range -= bound;
        }
        self.normalise();
        bit
    }
    #[inline]
    fn even(&mut self, bit: bool) -> bool {
        self.range >>= 1;
        if !bit {
            self.low += u64::from(self.range);
        }
        self.normalise();
        bit
    }
}

/// Reads a packet's decisions; any bytes give some.
pub(crate) struct Reader<'a> {
    models: Vec<Model>,
    code: u32,
    range: u32,
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(models: Vec<Model>, bytes: &'a [u8]) -> Self {
        let mut reader = Self { models, code: 0, range: u32::MAX, bytes, at: 0 };
        for _ in 0..4 {
            reader.code = reader.code << 8 | reader.next();
        }
        reader
    }
    #[inline(always)]
    fn next(&mut self) -> u32 {
        let byte = self.bytes.get(self.at).copied().unwrap_or(0);
        self.at += 1;
        u32::from(byte)
    }
    #[inline(always)]
    fn normalise(&mut self) {
        while self.range < SMALLEST_RANGE {
            self.range <<= 8;
            self.code = self.code << 8 | self.next();
        }
    }
}

impl BitCoder for Reader<'_> {
    const READS: bool = true;
    #[inline]
    fn bit(&mut self, model: usize, _: bool) -> bool {
        let model = &mut self.models[model];
        let bound = (self.range >> 16) * model.probability();
        let bit = self.code < bound;
        model.update(bit);
        if bit {
            self.range = bound;
        } else {
            self.code -= bound;
            self.range -= bound;
        }
        self.normalise();
        bit
    }
    #[inline]
    fn even(&mut self, _: bool) -> bool {
        self.range >>= 1;
        let bit = self.code < self.range;
        if !bit {
            self.code -= self.range;
        }
        self.normalise();
        bit
    }
}

/// -256 log2((i + 1/2) / 256).
#[rustfmt::skip]
const BITS: [u16; 256] = [
    2304, 1898, 1710, 1585, 1492, 1418, 1357, 1304, 1258, 1217, 1180, 1146, 1115, 1087, 1060, 1036,
    1013, 991, 970, 951, 932, 915, 898, 882, 867, 852, 838, 824, 811, 798, 786, 774,
    762, 751, 740, 730, 719, 709, 700, 690, 681, 672, 663, 655, 646, 638, 630, 622,
    614, 607, 599, 592, 585, 578, 571, 565, 558, 552, 545, 539, 533, 527, 521, 515,
    509, 503, 498, 492, 487, 482, 476, 471, 466, 461, 456, 451, 446, 441, 437, 432,
    427, 423, 418, 414, 409, 405, 401, 396, 392, 388, 384, 380, 376, 372, 368, 364,
    360, 357, 353, 349, 345, 342, 338, 334, 331, 327, 324, 320, 317, 314, 310, 307,
    304, 300, 297, 294, 291, 288, 284, 281, 278, 275, 272, 269, 266, 263, 260, 257,
    255, 252, 249, 246, 243, 240, 238, 235, 232, 230, 227, 224, 222, 219, 216, 214,
    211, 209, 206, 204, 201, 199, 196, 194, 191, 189, 187, 184, 182, 179, 177, 175,
    172, 170, 168, 166, 163, 161, 159, 157, 154, 152, 150, 148, 146, 144, 142, 139,
    137, 135, 133, 131, 129, 127, 125, 123, 121, 119, 117, 115, 113, 111, 109, 107,
    105, 103, 101, 100, 98, 96, 94, 92, 90, 88, 87, 85, 83, 81, 79, 78,
    76, 74, 72, 71, 69, 67, 65, 64, 62, 60, 58, 57, 55, 53, 52, 50,
    48, 47, 45, 44, 42, 40, 39, 37, 36, 34, 32, 31, 29, 28, 26, 25,
    23, 22, 20, 18, 17, 15, 14, 12, 11, 9, 8, 7, 5, 4, 2, 1,
];

#[cfg(test)]
mod tests {
    use super::*;

    /// A fixed sequence of decisions: which model, and the bit, some of them rare.
    fn decisions(count: u32) -> impl Iterator<Item = (usize, bool)> {
        let mut state = 1_u32;
        (0..count).map(move |_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let model = (state >> 20) as usize % 5;
            (model, (state >> 24) % 16 < [0, 1, 4, 15, 16][model])
        })
    }

    fn models() -> Vec<Model> {
        vec![Model::new(128); 5]
    }

    #[test]
    fn what_is_written_is_read() {
        for count in [0, 1, 2, 10, 1000, 50_000] {
            let mut writer = Writer::new(models());
            for (model, bit) in decisions(count) {
                if model == 4 {
                    writer.even(bit)
                } else {
                    writer.bit(model, bit)
                };
            }
            let bytes = writer.finish();
            let mut reader = Reader::new(models(), &bytes);
            for (at, (model, bit)) in decisions(count).enumerate() {
                let read = if model == 4 { reader.even(false) } else { reader.bit(model, false) };
                assert_eq!(read, bit, "decision {at} of {count}");
            }
        }
    }

    /// Decisions of probability 0, 1/16, 1/4 and 15/16 and an even one: 0 + 0.337 + 0.811 + 0.337 + 1 bits, 2.49 / 5 each.
    #[test]
    fn rare_decisions_cost_what_information_theory_says() {
        let mut writer = Writer::new(models());
        for (model, bit) in decisions(50_000) {
            if model == 4 {
                writer.even(bit)
            } else {
                writer.bit(model, bit)
            };
        }
        let bits = writer.finish().len() as f64 * 8.0 / 50_000.0;
        assert!((0.497..0.53).contains(&bits), "{bits}");
    }

    #[test]
    fn a_cost_is_the_logarithm_of_a_probability() {
        assert_eq!(cost(127, true), 257);
        assert_eq!(cost(63, true), 515);
        assert_eq!(cost(255, false), 2304);
    }
}
