//! What a controller answers.

use legato_units::{DataRate, DataSize, TimeDelta};
use serde::{Deserialize, Serialize};

/// What the sender shall do until the next event. Rates count bytes on the wire, packet headers
/// included; the sender takes headers, FEC and retransmissions off before it asks the encoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// What all media together may use.
    pub target_bitrate: DataRate,
    /// How fast the pacer lets packets go.
    pub pacing_rate: DataRate,
    /// Fill the pacer up to this with padding.
    pub padding_rate: DataRate,
    /// The part of the target that is spent on parity.
    pub fec_rate: DataRate,
    /// Hold packets while this much is in flight (`None`: no window).
    pub congestion_window: Option<DataSize>,
    /// Ask the encoder for frames no larger than this (`None`: as the bitrate has it).
    pub max_frame_size: Option<DataSize>,
    /// Leave out one captured frame in so many, and its share of the target with it; 1 leaves out all
    /// (`None`: none).
    pub drop_one_frame_in: Option<u32>,
    /// Have each frame coded twice, a little better and a little worse than the last one that was
    /// sent, and send the larger that fits `max_frame_size`, or neither: [fouladi2018]'s way.
    pub best_of_two: bool,
    /// Send nothing at all: a circuit breaker of [rfc8083] has tripped.
    pub cease: bool,
}

impl Decision {
    /// A target with the pacing of 2.5 times itself that libwebrtc starts with, and nothing else.
    pub fn of_target(target_bitrate: DataRate) -> Self {
        Self {
            target_bitrate,
            pacing_rate: target_bitrate.scale(2.5),
            padding_rate: DataRate::ZERO,
            fec_rate: DataRate::ZERO,
            congestion_window: None,
            max_frame_size: None,
            drop_one_frame_in: None,
            best_of_two: false,
            cease: false,
        }
    }
}

/// A burst the pacer shall send at a given rate so that the path's capacity shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeCluster {
    /// Comes back in the reports of its packets.
    pub id: u32,
    /// Send at this rate.
    pub target_rate: DataRate,
    /// Send for at least this long …
    pub min_duration: TimeDelta,
    /// … and at least so many packets.
    pub min_packets: u32,
    /// Leave at least this between two bursts of the cluster.
    pub min_delta: TimeDelta,
}
