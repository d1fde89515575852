//! What reaches the thread of a call from those beside it: one queue, so that one wait is enough.

use crate::clock::Clock;
use crate::connection::sdp::Answer;
use crate::network::link::LinkSample;
use crate::viewing::decoder::Decoded;
use legato_media::EncodedFrame;
use legato_units::{DataRate, Timestamp};
use legato_wire::rtp;
use std::net::SocketAddr;

/// A media packet on the forward path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Media {
    /// Its transport-wide sequence number, unwrapped.
    pub transport_seq: u64,
    /// Bytes on the wire, IP and UDP headers included.
    pub size_bytes: u16,
    /// When it left the pacer.
    pub departure: Timestamp,
}

/// One message.
#[derive(Debug)]
pub enum Mail {
    /// The other end's answer to the offer.
    Answer(Box<Answer>),
    /// A media packet came out of the forward path.
    Arrived(Media, Timestamp),
    /// Media that others send have begun; the call's clock.
    Begun(Clock),
    /// A datagram came out of a path to the endpoint.
    Datagram {
        /// Its bytes.
        bytes: Vec<u8>,
        /// Where it came from.
        peer: SocketAddr,
        /// When the socket had it, before the path.
        entered: Timestamp,
        /// The media packet it is.
        media: Option<Media>,
    },
    /// Our own decoder is done with a picture.
    Decoded(Decoded),
    /// A media packet was lost on the forward path.
    Dropped(Media, &'static str),
    /// The encoder is done with the picture captured then, or failed.
    Encoded(Result<(EncodedFrame, Timestamp), String>),
    /// What counts as feedback between others went into the reverse path; bytes on the wire.
    FeedbackSent(Timestamp, u32),
    /// Payload types of retransmission by others.
    RepairTypes(Vec<u8>),
    /// Another 100 ms of the link have passed.
    Sample(LinkSample),
    /// A media packet of another's went into the forward path.
    Sent(Media, rtp::Header),
    /// End the call.
    Stop,
    /// What another who sends aims at.
    Target(DataRate),
}
