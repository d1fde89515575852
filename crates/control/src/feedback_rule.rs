//! How often a controller wants transport feedback. [rfc8888] §4 leaves that to the congestion control, and to what the
//! call allows.

use serde::{Deserialize, Serialize};

/// When the receiver sends transport feedback, once something has arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FeedbackRule {
    /// As often as 5 % of the bitrate pay for, between two bounds: RTCP's rule, and libwebrtc's.
    #[default]
    BitrateShare,
    /// SCReAM's second version: after 16 packets, with the last packet of a frame, and 40 ms after the last feedback.
    DataUnits,
    /// SCReAM's first version, by the rate of the media: every 20 ms from 500 kbit/s on, every 400 ms up to 25 kbit/s.
    MediaRate,
    /// TFRC's: once a round trip, and at once when a new loss event is found.
    RoundTrip,
}
