//! The reports of the emulated network to its calls.

use crate::clock::Clock;
use legato_units::{DataRate, TimeDelta, Timestamp};
use legato_wire::rtp;
use std::net::SocketAddr;

/// The two directions of a call on the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The direction of its media.
    Forward,
    /// The direction of its feedback.
    Reverse,
}

impl Way {
    /// The other one.
    pub fn opposite(self) -> Self {
        if self == Self::Forward { Self::Reverse } else { Self::Forward }
    }

    /// Between a call's directions and the network's paths, either way: `media` is the path that the call's media
    /// take.
    pub fn across(self, media: Self) -> Self {
        if self == media { Self::Forward } else { Self::Reverse }
    }
}

/// A media packet on the forward path, as its arrival is recorded.
pub type Media = legato_trace::PacketArrived;

/// What only the link can see about itself.
#[derive(Clone, Copy, Debug)]
pub struct LinkSample {
    /// The end of the bin.
    pub at: Timestamp,
    /// Mean capacity over it.
    pub capacity: Option<DataRate>,
    /// Backlog over the capacity; absent in an outage.
    pub queue: Option<TimeDelta>,
}

/// One report.
#[derive(Debug)]
pub enum LinkEvent {
    /// A media packet came out of the forward path.
    Arrived(Media, Timestamp),
    /// Media can flow for every call on the network, by this clock.
    Begun(Clock),
    /// A datagram came out of a path to the endpoint.
    Datagram {
        /// Its bytes.
        bytes: Vec<u8>,
        /// Where it came from.
        peer: SocketAddr,
        /// When it reached the socket, before the path.
        entered: Timestamp,
        /// The media packet it is.
        media: Option<Media>,
    },
    /// A media packet was lost on the forward path.
    Dropped(Media, &'static str),
    /// Feedback between two other ends went into the reverse path; bytes on the wire.
    FeedbackSent(Timestamp, u32),
    /// Another 100 ms of the link have passed.
    Sample(LinkSample),
    /// A media packet of another sender went into the forward path.
    Sent(Media, rtp::Header),
}

/// Where a call wants its reports. It runs on the network's thread and must not block.
pub type Report = Box<dyn Fn(LinkEvent) + Send>;
