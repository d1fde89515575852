//! Parity of real packets: a Reed-Solomon code over a frame's payloads, what the receiving end restores by it, and how
//! much of it the sending end adds.
//!
//! The simulator needs no bytes for this: it counts arrivals (`legato_media::frame_buffer`), which is the same rule, as
//! any `k` of a frame's packets restore its `k` media packets.

mod erasure;
mod recovery;
mod share;

pub use erasure::parity_symbol;
pub use recovery::{Recovery, Restored};
pub(crate) use share::ParityShare;
pub use share::{ParityRule, UnknownRule};

use legato_wire::parity::{OVERHEAD_BYTES, Payload, symbol};

/// Extra bytes of a parity packet over the largest media packet of its frame.
pub const PARITY_OVERHEAD_BYTES: u16 = OVERHEAD_BYTES as u16;

/// The RTP payload of parity packet `place` of a frame; `payloads` are those of its media packets, whose numbers follow
/// `first_seq`, and the last has the marker. `None`: more packets or longer ones than the code has room for.
pub fn parity_payload(first_seq: u16, payloads: &[Vec<u8>], place: u8) -> Option<Vec<u8>> {
    let last = payloads.len().checked_sub(1)?;
    let packets = u8::try_from(payloads.len()).ok()?;
    let symbols = payloads.iter().enumerate().map(|(index, payload)| symbol(index == last, payload));
    let symbols: Option<Vec<Vec<u8>>> = symbols.collect();
    let symbol = parity_symbol(&symbols?, place)?;
    let head = Payload { first_seq, packets, place, symbol: &symbol }.head();
    Some([&head[..], &symbol].concat())
}
