//! SCReAM in both versions: [`rfc8298`] is the RFC's, `scream`; the drafts of its second version and libwebrtc's
//! variant are `scream-v2`. Shared are: the reading of feedback, the definitions of queue delay and lost packet, the
//! target queue against other flows. Their windows and rates are separate, and no constant of one is ever used in the
//! other.

pub mod competing_flows;
pub mod feedback;
pub mod loss;
pub mod media_queue;
pub mod queue_delay;
pub mod rfc8298;
pub mod round_trip;
pub mod sample_grid;
pub mod silence;
pub mod v2;

pub use rfc8298::Scream;
pub use v2::ScreamV2;
