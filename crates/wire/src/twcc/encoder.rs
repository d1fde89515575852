//! Writes transport-wide feedback. Chunks are chosen greedily as in libwebrtc: a run while all symbols
//! are the same, else 14 one-bit symbols, else (if there is a large delta among them) 7 two-bit ones.
//!
//! One feedback of 14 packets is written 20 times per simulated second, so the common case is kept
//! short: while symbols repeat, only their number is kept.

use super::{FORMAT, LARGE, MAX_RUN, MISSING, REFERENCE_UNIT, SMALL, TICK, TWO_BIT, VECTOR};
use crate::rtcp::{TRANSPORT_FEEDBACK, first_byte};
use legato_units::Timestamp;

/// The maximum an [`Encoder`] writes into one packet: it fits the smallest usual MTU with room for
/// the rest of a compound.
pub const MAX_ENCODED_BYTES: usize = 1_200;

/// The fields of a feedback that do not follow from its arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The end that sends the feedback.
    pub sender_ssrc: u32,
    /// A media stream of the transport reported on.
    pub media_ssrc: u32,
    /// The sequence number of the first status.
    pub base_seq: u16,
    /// Counts feedback packets, modulo 256.
    pub feedback_count: u8,
}

/// Writes feedback packets. Holds only scratch space: what one call writes does not depend on
/// the calls before.
#[derive(Clone, Debug)]
pub struct Encoder {
    /// The packet: header, chunks, at the end the deltas.
    packet: [u8; MAX_ENCODED_BYTES],
    /// The deltas, until the end of the chunks is decided.
    deltas: [u8; MAX_ENCODED_BYTES],
    /// The arrivals in ticks, [`NO_TICKS`] if there is none.
    ticks: Vec<i64>,
}

impl Default for Encoder {
    fn default() -> Self {
        Self { packet: [0; MAX_ENCODED_BYTES], deltas: [0; MAX_ENCODED_BYTES], ticks: Vec::new() }
    }
}

impl Encoder {
    /// Appends one RTCP packet to `out`. `arrivals` has one entry per sequence number, from
    /// `header.base_seq` on: when it arrived by the receiver's clock, or `None`.
    ///
    /// Returns how many entries the packet reports. If that is less than were given, the next one
    /// did not fit (65,535 entries, [`MAX_ENCODED_BYTES`], or an arrival more than 8.19 s from the
    /// one before): continue from there with the next `feedback_count`. Returns 0 and writes nothing
    /// if none of the entries that fit arrived.
    pub fn encode(
        &mut self,
        out: &mut Vec<u8>,
        header: &Header,
        arrivals: impl IntoIterator<Item = Option<Timestamp>, IntoIter: ExactSizeIterator>,
    ) -> u16 {
        let mut ticks = std::mem::take(&mut self.ticks);
        ticks.clear();
        // One more than a packet reports at most: that shows whether there are more.
        ticks.extend(arrivals.into_iter().map(|arrival| arrival.map_or(NO_TICKS, to_ticks)));
        ticks.truncate(usize::from(u16::MAX) + 1);
        let count = self.encode_ticks(out, header, &ticks);
        self.ticks = ticks;
        count
    }

    fn encode_ticks(&mut self, out: &mut Vec<u8>, header: &Header, ticks: &[i64]) -> u16 {
        let mut pending = Pending::default();
        let (mut at, mut delta_len) = (FIXED_BYTES, 0);
        // Up to the first arrival, which sets the reference.
        let Some(missing) = ticks.iter().position(|&ticks| ticks != NO_TICKS) else { return 0 };
        if missing > usize::from(u16::MAX) {
            return 0;
        }
        for _ in 0..missing {
            at = self.add_symbol(&mut pending, at, MISSING);
        }
        let reference = ticks[missing].div_euclid(TICKS_PER_REFERENCE);
        let mut last_ticks = reference * TICKS_PER_REFERENCE;
        let mut reported = missing;
        while reported < ticks.len() {
            // The maximum that the pending symbols and this packet can add: 3 chunks, a delta, padding.
            if reported == usize::from(u16::MAX) || at + delta_len > MAX_BEFORE_LAST {
                break;
            }
            let symbol = if ticks[reported] == NO_TICKS {
                MISSING
            } else {
                let delta = ticks[reported] - last_ticks;
                if let Ok(small) = u8::try_from(delta) {
                    self.deltas[delta_len] = small;
                    delta_len += 1;
                    last_ticks = ticks[reported];
                    SMALL
                } else if self.put_large(delta_len, delta) {
                    delta_len += 2;
                    last_ticks = ticks[reported];
                    LARGE
                } else {
                    break;
                }
            };
            reported += 1;
            if !pending.repeats(symbol) {
                at = self.add_symbol(&mut pending, at, symbol);
                continue;
            }
            pending.len += 1;
            if symbol == SMALL {
                // The common case: packets arrive soon after one another.
                let room = (MAX_RUN - pending.len) as usize;
                let room = room
                    .min(usize::from(u16::MAX) - reported)
                    .min((MAX_BEFORE_LAST + 1).saturating_sub(at + delta_len));
                let mut run = 0;
                for (delta, &ticks) in self.deltas[delta_len..].iter_mut().zip(&ticks[reported..]).take(room) {
                    // A missing packet is too far away.
                    let Ok(small) = u8::try_from(ticks.wrapping_sub(last_ticks)) else { break };
                    *delta = small;
                    last_ticks = ticks;
                    run += 1;
                }
                delta_len += run;
                reported += run;
                pending.len += run as u32;
            }
        }
        let count = reported as u16;
        self.packet[at..at + 2].copy_from_slice(&pending.emit_all().to_be_bytes());
        at += 2;
        self.packet[at..at + delta_len].copy_from_slice(&self.deltas[..delta_len]);
        at += delta_len;
        let padding = at.wrapping_neg() & 3;
        if padding > 0 {
            self.packet[at..at + padding - 1].fill(0);
            self.packet[at + padding - 1] = padding as u8;
            at += padding;
        }
        // At most MAX_ENCODED_BYTES, so the words fit 16 bits; of the reference, the low 24 count.
        let words = (at / 4 - 1) as u32;
        let fixed = [
            u32::from_be_bytes([first_byte(padding > 0, FORMAT), TRANSPORT_FEEDBACK, 0, 0]) | words,
            header.sender_ssrc,
            header.media_ssrc,
            (u32::from(header.base_seq) << 16) | u32::from(count),
            ((reference as u32) << 8) | u32::from(header.feedback_count),
        ];
        for (bytes, word) in self.packet.as_chunks_mut().0.iter_mut().zip(fixed) {
            *bytes = word.to_be_bytes();
        }
        out.extend_from_slice(&self.packet[..at]);
        count
    }

    /// Takes the next symbol; writes a chunk at `at` if the symbol requires one. Returns where the
    /// next chunk goes.
    #[inline]
    fn add_symbol(&mut self, pending: &mut Pending, at: usize, symbol: u32) -> usize {
        if pending.push(symbol) {
            return at;
        }
        self.packet[at..at + 2].copy_from_slice(&pending.emit().to_be_bytes());
        let pushed = pending.push(symbol);
        debug_assert!(pushed, "at most 6 symbols are left pending");
        at + 2
    }

    /// Writes a delta of two bytes; false if it needs more.
    #[cold]
    fn put_large(&mut self, at: usize, delta: i64) -> bool {
        let Ok(large) = i16::try_from(delta) else { return false };
        self.deltas[at..at + 2].copy_from_slice(&large.to_be_bytes());
        true
    }
}

/// The nearest tick of 250 us; halves go up.
#[inline]
fn to_ticks(at: Timestamp) -> i64 {
    // Counted from long before any valid time, so that the division is unsigned, which is cheaper.
    // 2^62 ns are 146 years.
    const BIAS_TICKS: i64 = (1 << 62) / TICK.as_nanos();
    const BIAS_NS: i64 = BIAS_TICKS * TICK.as_nanos();
    let since_bias_ns = at.as_nanos().saturating_add(BIAS_NS + TICK.as_nanos() / 2).max(0);
    (since_bias_ns.cast_unsigned() / TICK.as_nanos().cast_unsigned()).cast_signed() - BIAS_TICKS
}

/// Symbols not yet in a chunk: a run of one symbol, or at most 14 mixed ones.
#[derive(Default)]
struct Pending {
    len: u32,
    /// The symbol of a run.
    symbol: u32,
    mixed: bool,
    /// Of mixed ones: all of them, latest lowest, two bits each.
    two_bit: u32,
    /// The same with one bit each; valid while none is `LARGE`.
    one_bit: u32,
    /// Of mixed ones: whether one is `LARGE`.
    large: bool,
}

impl Pending {
    /// Whether the symbol extends the current run.
    #[inline]
    fn repeats(&self, symbol: u32) -> bool {
        !self.mixed && symbol == self.symbol && (1..MAX_RUN).contains(&self.len)
    }

    /// Takes a symbol, or refuses one that no chunk could hold with the others.
    #[inline]
    fn push(&mut self, symbol: u32) -> bool {
        if !self.mixed {
            if self.len == 0 {
                self.symbol = symbol;
            }
            if symbol == self.symbol {
                if self.len == MAX_RUN {
                    return false;
                }
                self.len += 1;
                return true;
            }
            if self.len >= 14 || (self.len >= 7 && (symbol == LARGE || self.symbol == LARGE)) {
                return false;
            }
            self.mixed = true;
            self.two_bit = repeat_two_bit(self.symbol, self.len);
            self.one_bit = (self.symbol & 1) * ((1 << self.len) - 1);
            self.large = self.symbol == LARGE;
        } else if self.len >= 14 || (self.len >= 7 && (self.large || symbol == LARGE)) {
            return false;
        }
        self.two_bit = (self.two_bit << 2) | symbol;
        self.one_bit = (self.one_bit << 1) | (symbol & 1);
        self.large |= symbol == LARGE;
        self.len += 1;
        true
    }

    /// The chunk to write when a symbol is refused; the other symbols stay pending.
    fn emit(&mut self) -> u16 {
        if !self.mixed || self.len == 14 {
            let chunk = self.emit_all();
            *self = Self::default();
            return chunk;
        }
        // 7 to 13 mixed symbols with a large delta among them or next: the first seven.
        let rest = self.len - 7;
        let chunk = VECTOR | TWO_BIT | ((self.two_bit >> (2 * rest)) & 0x3fff);
        let symbols = self.two_bit;
        *self = Self::default();
        for i in (0..rest).rev() {
            self.push((symbols >> (2 * i)) & 3);
        }
        chunk as u16
    }

    /// The one chunk that holds everything pending.
    #[inline]
    fn emit_all(&self) -> u16 {
        let chunk = if !self.mixed {
            (self.symbol << 13) | self.len
        } else if self.len <= 7 {
            VECTOR | TWO_BIT | (self.two_bit << (14 - 2 * self.len))
        } else {
            VECTOR | (self.one_bit << (14 - self.len))
        };
        chunk as u16
    }
}

/// `len` times `symbol`, at most 14, two bits each.
fn repeat_two_bit(symbol: u32, len: u32) -> u32 {
    (symbol * 0x0555_5555) & ((1 << (2 * len)) - 1)
}

/// Stands for no arrival: earlier than any valid time, and so not within a small delta of one.
const NO_TICKS: i64 = i64::MIN;
/// The maximum length of chunks and deltas before the last packet is reported.
const MAX_BEFORE_LAST: usize = MAX_ENCODED_BYTES - 3 * 2 - 2 - 3;
/// Bytes before the chunks.
const FIXED_BYTES: usize = 20;
const TICKS_PER_REFERENCE: i64 = REFERENCE_UNIT.as_nanos() / TICK.as_nanos();
