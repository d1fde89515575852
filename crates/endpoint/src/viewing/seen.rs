//! Pictures of a call as the receiving end saw them.

use crate::clock::Clock;
use crate::viewing::decoder::Image;
use legato_units::Timestamp;

/// A frame as the other end reports it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShownFrame {
    /// Of its RTP packets.
    pub rtp_timestamp: u32,
    /// When its last packet came, by the call's clock.
    pub received: Option<Timestamp>,
    /// When it was put on the screen, by the call's clock.
    pub shown: Timestamp,
}

/// A picture as it was received.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeenPicture {
    /// Of its RTP packets.
    pub rtp_timestamp: u32,
    /// When it was complete and next in order, or when it was given up.
    pub decodable_at: Timestamp,
    /// Packets of it that never came.
    pub lost_packets: u16,
    /// It was decoded.
    pub decoded: bool,
    /// The decoded image, if we decoded it.
    pub image: Option<Image>,
    /// When it was to be shown.
    pub due: Timestamp,
    /// When it was shown.
    pub shown: Option<Timestamp>,
}

impl SeenPicture {
    /// A picture that a browser reports: it reports those it showed.
    pub fn of_browser(frame: &ShownFrame) -> Self {
        let &ShownFrame { rtp_timestamp, received, shown } = frame;
        Self {
            rtp_timestamp,
            decodable_at: received.unwrap_or(shown),
            lost_packets: 0,
            decoded: true,
            image: None,
            due: shown,
            shown: Some(shown),
        }
    }

    /// The same by another clock.
    pub fn by(&self, own: Clock, other: Clock) -> Self {
        let at = |time: Timestamp| other.at(own.instant(time));
        Self { decodable_at: at(self.decodable_at), due: at(self.due), shown: self.shown.map(at), ..*self }
    }
}

/// What a receiving end gave its decoder, in this order: RTP time and bytes.
pub type Received = Vec<(u32, Vec<u8>)>;
