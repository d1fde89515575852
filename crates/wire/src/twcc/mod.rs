//! Transport-wide congestion control feedback (draft-holmer-rmcat-transport-wide-cc-extensions-01):
//! which transport-wide sequence numbers arrived and when.
//!
//! After the RTCP header and two SSRCs: base sequence number (16 bits), status count (16), reference time (24, signed,
//! units of 64 ms), feedback count (8). Then chunks of 16 bits give each packet a symbol. Then every packet that
//! arrived has a delta in ticks of 250 us, the first from the reference time and each later one from the arrival before
//! it.
//!
//! **Rounding.** Each arrival is rounded to the nearest tick of the receiver's clock, and the delta is the difference of two rounded arrivals, so no error accumulates. (libwebrtc adds the rounded delta to its base for the same purpose.) The reference is the rounded first arrival, rounded down to 64 ms, so the first delta is always small. In libwebrtc the reference is rounded first and may need a large delta; receivers cannot see the difference.
//!
//! **Where the draft's text and practice differ**, practice wins: the packet type is 205, and in a
//! one-bit vector 1 says "received". Symbol 11 is reserved and refused. [`Feedback::parse`] is strict and serves
//! Legato's ends. [`Feedback::parse_interop`] is as lenient as libwebrtc: it cuts runs past the count. If the deltas do
//! not fit the packet (without its padding), the feedback only says which packets arrived, not when.

mod encoder;

pub use encoder::{Encoder, Header, MAX_ENCODED_BYTES};

use crate::Error;
use crate::reader::{Reader, be_u24};
use crate::rtcp::{Packet, TRANSPORT_FEEDBACK};
use legato_units::{PeerTimestamp, TimeDelta};

/// The FMT of this feedback, within packet type 205.
pub const FORMAT: u8 = 15;
/// The tick of deltas.
pub const TICK: TimeDelta = TimeDelta::from_micros(250);
/// The unit of the reference time.
pub const REFERENCE_UNIT: TimeDelta = TimeDelta::from_millis(64);

/// One feedback packet, fully validated, borrowed from its bytes.
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

/// The report on one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It arrived, this long after the reference time (`None`: the feedback does not say when).
    Arrived(Option<TimeDelta>),
    /// It has not arrived yet.
    Missing,
}

impl<'a> Feedback<'a> {
    /// Reads one RTCP packet, header included. Strict: every symbol valid, runs that end with the
    /// count, all deltas present, nothing after them but padding.
    #[inline]
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        Self::from_packet(&Packet::parse(bytes)?)
    }

    /// Reads one RTCP packet as libwebrtc does; see the head of this module.
    pub fn parse_interop(bytes: &'a [u8]) -> Result<Self, Error> {
        Self::read(&Packet::parse(bytes)?, false)
    }

    /// [`Feedback::parse`] of a packet found in a compound.
    #[inline]
    pub fn from_packet(packet: &Packet<'a>) -> Result<Self, Error> {
        Self::read(packet, true)
    }

    #[inline]
    fn read(packet: &Packet<'a>, strict: bool) -> Result<Self, Error> {
        packet.expect(TRANSPORT_FEEDBACK, FORMAT)?;
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
        // Zeros up to the next word without a P bit are common; more than that is not padding.
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

    /// The end that sent the feedback.
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
    /// The number of packets reported on; at least one.
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
    /// Whether arrivals carry a time; false only for interop feedback.
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

/// The extent of chunks and deltas, determined before anything is iterated.
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
    /// The chunk's symbols, two bits each, the next one in the top bits.
    word: u32,
    /// Bits to shift after a symbol: two, or zero within a run.
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
            self.begin_chunk()?;
        }
        let symbol = self.word >> 30;
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

/// Consecutive packets with one kind of status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatusRun {
    /// How many, at least one.
    pub packets: u16,
    /// Whether they arrived.
    pub arrived: bool,
    /// Whether the feedback says when.
    pub timed: bool,
}

impl Statuses<'_> {
    /// The next packets that one chunk describes in the same way. Their arrival times, if it gives them, are appended to
    /// `times`, counted from `origin`, the reference time. Most feedback is one run of packets that arrived soon after one
    /// another.
    #[inline]
    pub fn next_run(&mut self, origin: PeerTimestamp, times: &mut Vec<PeerTimestamp>) -> Option<StatusRun> {
        if self.left == 0 {
            return None;
        }
        while self.in_chunk == 0 {
            self.begin_chunk()?;
        }
        let (symbol, most) = (self.word >> 30, self.in_chunk.min(self.left));
        let mut packets = if self.step == 0 { most } else { 1 };
        self.word <<= self.step;
        while packets < most && self.word >> 30 == symbol {
            self.word <<= self.step;
            packets += 1;
        }
        self.in_chunk -= packets;
        self.left -= packets;
        self.seq = self.seq.wrapping_add(packets);
        let (arrived, timed) = (symbol != MISSING, symbol != MISSING && self.timestamps);
        if timed {
            let width = if symbol == SMALL { 1 } else { 2 };
            let (deltas, rest) = self.deltas.split_at_checked(width * usize::from(packets))?;
            self.deltas = rest;
            let mut ticks = self.offset_ticks;
            let mut at = |delta: i64| {
                ticks += delta;
                origin + TimeDelta::from_nanos(ticks * TICK.as_nanos())
            };
            if symbol == SMALL {
                times.extend(deltas.iter().map(|&small| at(i64::from(small))));
            } else {
                times.extend(deltas.as_chunks().0.iter().map(|&large| at(i64::from(i16::from_be_bytes(large)))));
            }
            self.offset_ticks = ticks;
        }
        Some(StatusRun { packets, arrived, timed })
    }
}

impl Statuses<'_> {
    #[inline]
    fn begin_chunk(&mut self) -> Option<()> {
        let (&[high, low], rest) = self.chunks.split_first_chunk()?;
        self.chunks = rest;
        let chunk = u32::from(u16::from_be_bytes([high, low]));
        (self.step, self.word, self.in_chunk) = if chunk & VECTOR == 0 {
            (0, chunk << 17, (chunk & MAX_RUN) as u16)
        } else if chunk & TWO_BIT == 0 {
            (2, spread(chunk & 0x3fff) << 4, 14)
        } else {
            (2, chunk << 18, 7)
        };
        Some(())
    }
}

impl ExactSizeIterator for Statuses<'_> {}

/// 14 one-bit symbols as two-bit ones: a zero before each bit.
const fn spread(bits: u32) -> u32 {
    let bits = (bits | bits << 8) & 0x00ff_00ff;
    let bits = (bits | bits << 4) & 0x0f0f_0f0f;
    let bits = (bits | bits << 2) & 0x3333_3333;
    (bits | bits << 1) & 0x5555_5555
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

#[cfg(test)]
mod tests;
