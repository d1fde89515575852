//! What travels on links that flows share.

use crate::cross_traffic::{Ack, Segment};
use crate::in_transit::Ticket;
use legato_path::{Ecn, Packet};
use legato_units::{DataSize, Timestamp};

/// The two ways between a flow's ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From the flow's source: media, data.
    Out,
    /// To it: feedback, acknowledgements.
    Back,
}

/// What a packet of a session carries.
#[derive(Clone, Debug)]
pub enum Parcel {
    /// An acknowledgement of TCP.
    Ack(Ack),
    /// Nothing anybody reads, and when it left: constant-rate UDP.
    Filler(Timestamp),
    /// A call's media, or its sender's RTCP.
    Media(Ticket),
    /// A call's RTCP from its receiver, and when it left.
    Reply(Timestamp, Vec<u8>),
    /// Data of TCP.
    Segment(Segment),
}

impl Parcel {
    /// Which way it goes.
    pub fn way(&self) -> Way {
        match self {
            Self::Filler(_) | Self::Media(_) | Self::Segment(_) => Way::Out,
            Self::Ack(_) | Self::Reply(..) => Way::Back,
        }
    }

    /// As a packet of flow `flow`.
    pub fn packet(self, flow: u16, size: DataSize, ecn: Ecn) -> Packet<Self> {
        Packet { size, flow, ecn, payload: self }
    }
}
