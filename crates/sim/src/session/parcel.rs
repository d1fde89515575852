//! The packets on links that flows share.

use crate::cross_traffic::{Ack, Segment};
use crate::in_transit::Ticket;
use legato_call::Rtcp;
use legato_units::Timestamp;

/// The two directions between a flow's ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From the flow's source: media, data.
    Out,
    /// To it: feedback, acknowledgements.
    Back,
}

/// The contents of a session's packets.
#[derive(Clone, Debug)]
pub enum Parcel {
    /// An acknowledgement of TCP.
    Ack(Ack),
    /// Constant-rate UDP.
    Filler(Filler),
    /// A call's media, or its sender's RTCP.
    Media(Ticket),
    /// A call's RTCP from its receiver.
    Reply(Rtcp),
    /// Data of TCP.
    Segment(Segment),
}

/// Filler without contents, and when it left.
#[derive(Clone, Copy, Debug)]
pub struct Filler(pub Timestamp);

impl Parcel {
    /// Its direction.
    pub fn way(&self) -> Way {
        match self {
            Self::Filler(_) | Self::Media(_) | Self::Segment(_) => Way::Out,
            Self::Ack(_) | Self::Reply(_) => Way::Back,
        }
    }
}

macro_rules! from_payload {
    ($($payload:ident $variant:ident),*) => { $(
        impl From<$payload> for Parcel {
            fn from(payload: $payload) -> Self {
                Self::$variant(payload)
            }
        }
    )* };
}
from_payload!(Ack Ack, Filler Filler, Rtcp Reply, Segment Segment, Ticket Media);
