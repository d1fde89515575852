//! Transport-wide congestion control feedback (draft-holmer-rmcat-transport-wide-cc-extensions-01):
//! which transport-wide sequence numbers arrived and when.
//!
//! After the RTCP header and two SSRCs: base sequence number (16 bits), status count (16),
//! reference time (24, signed, units of 64 ms), feedback count (8); then chunks of 16 bits that
//! give each packet a symbol; then one delta for every packet that arrived, in ticks of 250 us,
//! the first from the reference time and each later one from the arrival before it.
//!
//! **Rounding.** Each arrival is rounded to the nearest tick of the receiver's clock and the delta
//! is the difference of two rounded arrivals, so no error builds up (libwebrtc adds the rounded
//! delta to its base for the same end). The reference is the rounded first arrival, rounded down
//! to 64 ms; the first delta is therefore always small. libwebrtc rounds the reference first and
//! may need a large delta there; receivers cannot tell.
//!
//! **Where the draft's text and practice part**, practice wins: the packet type is 205, and in a
//! one-bit vector 1 says "received". Symbol 11 is reserved and refused. [`Feedback::parse`] is
//! strict and what our own ends use; [`Feedback::parse_interop`] takes what libwebrtc takes: runs
//! past the count are cut, and where the deltas do not fit the packet (after its padding is taken
//! off) the feedback says only what arrived, not when.

use crate::Error;
use crate::reader::{Reader, be_u24};
use crate::rtcp::{self, Packet};
use legato_units::{TimeDelta, Timestamp};

/// The FMT of this feedback, within packet type 205.
pub const FORMAT: u8 = 15;
/// The tick of deltas.
pub const TICK: TimeDelta = TimeDelta::from_micros(250);
/// The unit of the reference time.
pub const REFERENCE_UNIT: TimeDelta = TimeDelta::from_millis(64);
/// The most an [`Encoder`] writes into one packet: it fits the smallest usual MTU with room for
/// what else a compound holds.
pub const MAX_ENCODED_BYTES: usize = 1_200;

/// One feedback packet, checked as a whole, borrowed from its bytes.
#[derive(Clone, Copy, Debug)]
pub struct Feedback<'a> {
    sender_ssrc: u32,
    media_ssrc: u32,
    base_seq: u16,
    status_count: u16,
    reference: i32,
    feedback_count: u8,
    timestamps: bool,
    chunks: &'a [u8],
    deltas: &'a [u8],
}

/// What a feedback says of one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It arrived, this long after the reference time (`None`: the feedback does not say when).
    Arrived(Option<TimeDelta>),
    /// It has not arrived yet.
    Missing,
}

impl<'a> Feedback<'a> {
    /// Reads one RTCP packet, header included. Strict: every symbol valid, runs that end with the
    /// count, all deltas present, nothing behind them but padding.
    #[inline]
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        Self::from_packet(&Packet::parse(bytes)?)
    }

    /// Reads one RTCP packet as libwebrtc does; see the head of this module.
    pub fn parse_interop(bytes: &'a [u8]) -> Result<Self, Error> {
        Self::read(&Packet::parse(bytes)?, false)
    }

    /// [`Feedback::parse`] of a packet met in a compound.
    #[inline]
    pub fn from_packet(packet: &Packet<'a>) -> Result<Self, Error> {
        Self::read(packet, true)
    }

    #[inline]
    fn read(packet: &Packet<'a>, strict: bool) -> Result<Self, Error> {
        packet.expect(rtcp::TRANSPORT_FEEDBACK, FORMAT)?;
        let mut reader = Reader::new(packet.body());
        let header: [u8; 16] = reader.array("twcc.header")?;
        let [s0, s1, s2, s3, m0, m1, m2, m3, b0, b1, c0, c1, r0, r1, r2, feedback_count] = header;
        let status_count = u16::from_be_bytes([c0, c1]);
        if status_count == 0 {
            return Err(Error::Invalid { field: "twcc.status_count", value: 0 });
        }
        let body = reader.rest();
        let extent = Extent::measure(body, status_count, strict)?;
        // `measure` has read that many bytes of chunks.
        let (chunks, deltas) = body.split_at(extent.chunk_bytes);
        let timestamps = deltas.len() >= extent.delta_bytes;
        if strict && !timestamps {
            return Err(Error::Truncated { field: "twcc.deltas", needed: extent.delta_bytes, available: deltas.len() });
        }
        if extent.reserved && timestamps {
            return Err(Error::Invalid { field: "twcc.symbol", value: RESERVED.into() });
        }
        // Zeros up to the word that no P bit declares are common; more than that is no padding.
        if strict && deltas.len() - extent.delta_bytes > 3 {
            return Err(Error::Trailing { field: "twcc.deltas", bytes: deltas.len() - extent.delta_bytes });
        }
        Ok(Self {
            sender_ssrc: u32::from_be_bytes([s0, s1, s2, s3]),
            media_ssrc: u32::from_be_bytes([m0, m1, m2, m3]),
            base_seq: u16::from_be_bytes([b0, b1]),
            status_count,
            // Sign-extends 24 bits.
            reference: (be_u24([r0, r1, r2]) << 8).cast_signed() >> 8,
            feedback_count,
            timestamps,
            chunks,
            deltas: if timestamps { &deltas[..extent.delta_bytes] } else { &[] },
        })
    }

    /// Who sent the feedback.
    pub fn sender_ssrc(&self) -> u32 {
        self.sender_ssrc
    }
    /// A media stream of the transport reported on.
    pub fn media_ssrc(&self) -> u32 {
        self.media_ssrc
    }
    /// The first sequence number reported on.
    #[inline]
    pub fn base_seq(&self) -> u16 {
        self.base_seq
    }
    /// How many packets are reported on; at least one.
    #[inline]
    pub fn status_count(&self) -> u16 {
        self.status_count
    }
    /// The reference time in units of 64 ms, −2^23..2^23; wraps, see [`unwrap_reference`].
    #[inline]
    pub fn reference(&self) -> i32 {
        self.reference
    }
    /// Counts feedback packets, modulo 256.
    pub fn feedback_count(&self) -> u8 {
        self.feedback_count
    }
    /// Whether arrivals carry a time; false only of interop feedback.
    pub fn has_timestamps(&self) -> bool {
        self.timestamps
    }

    /// Every packet reported on, in sequence order. Offsets count from the reference time and may
    /// be negative.
    #[inline]
    pub fn statuses(&self) -> Statuses<'a> {
        Statuses {
            chunks: self.chunks,
            deltas: self.deltas,
            offset_ticks: 0,
            word: 0,
            width: 0,
            step: 0,
            in_chunk: 0,
            left: self.status_count,
            seq: self.base_seq,
            timestamps: self.timestamps,
        }
    }
}

/// The reference time nearest to `previous` (units of 64 ms, unwrapped) that reads as `wrapped`
/// in 24 bits. Start with `previous` = the first `wrapped` itself.
#[inline]
pub fn unwrap_reference(previous: i64, wrapped: i32) -> i64 {
    // The difference modulo 2^24, sign-extended.
    let difference = ((i64::from(wrapped).wrapping_sub(previous) as i32) << 8) >> 8;
    previous + i64::from(difference)
}

/// How far chunks and deltas reach, found before anything is iterated.
struct Extent {
    chunk_bytes: usize,
    delta_bytes: usize,
    reserved: bool,
}

impl Extent {
    #[inline]
    fn measure(body: &[u8], status_count: u16, strict: bool) -> Result<Self, Error> {
        let (mut at, mut delta_bytes, mut reserved) = (0, 0, false);
        let mut left = u32::from(status_count);
        while left > 0 {
            let Some(&[high, low]) = body.get(at..at + 2) else {
                return Err(Error::Truncated { field: "twcc.chunk", needed: 2, available: body.len() - at });
            };
            at += 2;
            let chunk = u32::from(u16::from_be_bytes([high, low]));
            let described = if chunk & VECTOR == 0 {
                let (symbol, run) = ((chunk >> 13) & 3, chunk & MAX_RUN);
                if strict && (run == 0 || run > left) {
                    return Err(Error::Invalid { field: "twcc.run_length", value: run.into() });
                }
                let run = run.min(left);
                // A reserved symbol counts as three bytes, as in libwebrtc.
                delta_bytes += (symbol * run) as usize;
                reserved |= symbol == RESERVED && run > 0;
                run
            } else if chunk & TWO_BIT == 0 {
                let packets = left.min(14);
                delta_bytes += ((chunk & 0x3fff) >> (14 - packets)).count_ones() as usize;
                packets
            } else {
                let packets = left.min(7);
                let symbols = (chunk & 0x3fff) >> (14 - 2 * packets);
                let (small, large) = (symbols & 0x1555, (symbols >> 1) & 0x1555);
                delta_bytes += (small.count_ones() + 2 * large.count_ones()) as usize;
                reserved |= small & large != 0;
                packets
            };
            left -= described;
        }
        Ok(Self { chunk_bytes: at, delta_bytes, reserved })
    }
}

/// Iterator over the packets of a [`Feedback`].
#[derive(Clone, Debug)]
pub struct Statuses<'a> {
    chunks: &'a [u8],
    deltas: &'a [u8],
    offset_ticks: i64,
    /// The chunk's symbols, the next one in the top bits.
    word: u32,
    /// Bits a symbol.
    width: u32,
    /// Bits to shift after a symbol: the width, or 0 within a run.
    step: u32,
    in_chunk: u16,
    left: u16,
    seq: u16,
    timestamps: bool,
}

impl Iterator for Statuses<'_> {
    type Item = (u16, Status);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            return None;
        }
        while self.in_chunk == 0 {
            let (&[high, low], rest) = self.chunks.split_first_chunk()?;
            self.chunks = rest;
            let chunk = u32::from(u16::from_be_bytes([high, low]));
            (self.width, self.step, self.word, self.in_chunk) = if chunk & VECTOR == 0 {
                (2, 0, chunk << 17, (chunk & MAX_RUN) as u16)
            } else if chunk & TWO_BIT == 0 {
                (1, 1, chunk << 18, 14)
            } else {
                (2, 2, chunk << 18, 7)
            };
        }
        let symbol = self.word >> (32 - self.width);
        self.word <<= self.step;
        self.in_chunk -= 1;
        self.left -= 1;
        let seq = self.seq;
        self.seq = seq.wrapping_add(1);

        let delta = match symbol {
            MISSING => return Some((seq, Status::Missing)),
            _ if !self.timestamps => return Some((seq, Status::Arrived(None))),
            SMALL => {
                let (&small, rest) = self.deltas.split_first()?;
                self.deltas = rest;
                i64::from(small)
            }
            _ => {
                let (&large, rest) = self.deltas.split_first_chunk()?;
                self.deltas = rest;
                i64::from(i16::from_be_bytes(large))
            }
        };
        self.offset_ticks += delta;
        Some((seq, Status::Arrived(Some(TimeDelta::from_nanos(self.offset_ticks * TICK.as_nanos())))))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (usize::from(self.left), Some(usize::from(self.left)))
    }
}

impl ExactSizeIterator for Statuses<'_> {}

/// The fields of a feedback that its arrivals do not give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Who sends the feedback.
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
    chunks: [u8; MAX_ENCODED_BYTES],
    deltas: [u8; MAX_ENCODED_BYTES],
}

impl Default for Encoder {
    fn default() -> Self {
        Self { chunks: [0; MAX_ENCODED_BYTES], deltas: [0; MAX_ENCODED_BYTES] }
    }
}

impl Encoder {
    /// Appends one RTCP packet to `out`. `arrivals` has one entry a sequence number, from
    /// `header.base_seq` on: when it arrived by the receiver's clock, or `None`.
    ///
    /// Returns how many entries the packet tells of. Where that is less than were given, the next
    /// one did not fit (65,535 entries, [`MAX_ENCODED_BYTES`], or an arrival more than 8.19 s from
    /// the one before): go on from there with the next `feedback_count`. Returns 0 and writes
    /// nothing where none of the entries that fit arrived.
    pub fn encode(
        &mut self,
        out: &mut Vec<u8>,
        header: &Header,
        arrivals: impl IntoIterator<Item = Option<Timestamp>>,
    ) -> u16 {
        let mut pending = Pending::default();
        let (mut chunk_len, mut delta_len, mut count) = (0, 0, 0u16);
        let mut reference = None;
        let mut last_ticks = 0;
        for arrival in arrivals {
            // Three chunks is the most that pending and this packet can still become.
            if count == u16::MAX || chunk_len + delta_len > MAX_ENCODED_BYTES - FIXED_BYTES - 3 * 2 - 2 - 3 {
                break;
            }
            let symbol = match arrival {
                None => MISSING,
                Some(at) => {
                    let ticks = to_ticks(at);
                    let delta = if reference.is_none() {
                        reference = Some(ticks.div_euclid(TICKS_PER_REFERENCE));
                        ticks.rem_euclid(TICKS_PER_REFERENCE)
                    } else {
                        ticks - last_ticks
                    };
                    let symbol = if let Ok(small) = u8::try_from(delta) {
                        self.deltas[delta_len] = small;
                        delta_len += 1;
                        SMALL
                    } else if let Ok(large) = i16::try_from(delta) {
                        self.deltas[delta_len..delta_len + 2].copy_from_slice(&large.to_be_bytes());
                        delta_len += 2;
                        LARGE
                    } else {
                        break;
                    };
                    last_ticks = ticks;
                    symbol
                }
            };
            if !pending.accepts(symbol) {
                self.chunks[chunk_len..chunk_len + 2].copy_from_slice(&pending.emit().to_be_bytes());
                chunk_len += 2;
            }
            pending.push(symbol);
            count += 1;
        }
        let Some(reference) = reference else { return 0 };
        self.chunks[chunk_len..chunk_len + 2].copy_from_slice(&pending.emit_last().to_be_bytes());
        chunk_len += 2;

        let unpadded = FIXED_BYTES + chunk_len + delta_len;
        let padding = unpadded.wrapping_neg() & 3;
        // At most MAX_ENCODED_BYTES, so the words fit 16 bits.
        let words = ((unpadded + padding) / 4 - 1) as u16;
        let mut fixed = [0; FIXED_BYTES];
        fixed[0] = rtcp::first_byte(padding > 0, FORMAT);
        fixed[1] = rtcp::TRANSPORT_FEEDBACK;
        fixed[2..4].copy_from_slice(&words.to_be_bytes());
        fixed[4..8].copy_from_slice(&header.sender_ssrc.to_be_bytes());
        fixed[8..12].copy_from_slice(&header.media_ssrc.to_be_bytes());
        fixed[12..14].copy_from_slice(&header.base_seq.to_be_bytes());
        fixed[14..16].copy_from_slice(&count.to_be_bytes());
        // The low 24 bits, then the count of feedbacks.
        fixed[16..20].copy_from_slice(&(((reference as u32) << 8) | u32::from(header.feedback_count)).to_be_bytes());
        out.reserve(unpadded + padding);
        out.extend_from_slice(&fixed);
        out.extend_from_slice(&self.chunks[..chunk_len]);
        out.extend_from_slice(&self.deltas[..delta_len]);
        out.extend_from_slice([[].as_slice(), &[1], &[0, 2], &[0, 0, 3]][padding]);
        count
    }
}

/// The nearest tick of 250 us; halves go up.
#[inline]
fn to_ticks(at: Timestamp) -> i64 {
    let tick_ns = TICK.as_nanos();
    at.as_nanos().saturating_add(tick_ns / 2).div_euclid(tick_ns)
}

/// Symbols not yet in a chunk: one run, or at most 14 of them.
#[derive(Default)]
struct Pending {
    len: u32,
    last: u32,
    /// The symbols, latest lowest, two bits each.
    two_bit: u32,
    /// The same, one bit each; right while no symbol is `LARGE`.
    one_bit: u32,
    mixed: bool,
    large: bool,
}

impl Pending {
    #[inline]
    fn accepts(&self, symbol: u32) -> bool {
        self.len < 7
            || (self.len < 14 && !self.large && symbol != LARGE)
            || (!self.mixed && symbol == self.last && self.len < MAX_RUN)
    }

    #[inline]
    fn push(&mut self, symbol: u32) {
        self.mixed |= self.len > 0 && symbol != self.last;
        self.large |= symbol == LARGE;
        self.last = symbol;
        self.two_bit = (self.two_bit << 2) | symbol;
        self.one_bit = (self.one_bit << 1) | symbol;
        self.len += 1;
    }

    /// The chunk to write when a symbol is not accepted; what it does not hold stays pending.
    #[inline]
    fn emit(&mut self) -> u16 {
        if !self.mixed || self.len == 14 {
            let chunk = self.emit_last();
            *self = Self::default();
            return chunk;
        }
        // 7 to 13 mixed symbols and a large delta among them or next: the first seven, two bits each.
        let rest = self.len - 7;
        let chunk = VECTOR | TWO_BIT | ((self.two_bit >> (2 * rest)) & 0x3fff);
        let symbols = self.two_bit & ((1 << (2 * rest)) - 1);
        *self = Self::default();
        for i in (0..rest).rev() {
            self.push((symbols >> (2 * i)) & 3);
        }
        chunk as u16
    }

    /// The one chunk that holds all that is pending.
    #[inline]
    fn emit_last(&self) -> u16 {
        let chunk = if !self.mixed {
            (self.last << 13) | self.len
        } else if self.len <= 7 {
            VECTOR | TWO_BIT | (self.two_bit << (14 - 2 * self.len))
        } else {
            VECTOR | (self.one_bit << (14 - self.len))
        };
        chunk as u16
    }
}

const MISSING: u32 = 0b00;
const SMALL: u32 = 0b01;
const LARGE: u32 = 0b10;
const RESERVED: u32 = 0b11;
/// Set in a chunk that is a vector.
const VECTOR: u32 = 0x8000;
/// Set in a vector of two-bit symbols.
const TWO_BIT: u32 = 0x4000;
const MAX_RUN: u32 = 0x1fff;
/// Bytes before the chunks.
const FIXED_BYTES: usize = 20;
const TICKS_PER_REFERENCE: i64 = 256;

#[cfg(test)]
#[path = "twcc_tests.rs"]
mod tests;
