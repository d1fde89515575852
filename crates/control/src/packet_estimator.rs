//! An estimator that gets the packets that arrived and returns a bandwidth, nothing else: the interface of AlphaRTC's
//! and OpenNetLab's estimators. The builder of a call may host such estimators in another language.

use crate::ReceivedPacket;
use dyn_clone::DynClone;
use legato_units::Timestamp;

/// What `opennetlab` asks.
pub trait PacketEstimator: DynClone + Send {
    /// A packet arrived at `now`, by the receiver's clock.
    fn report(&mut self, now: Timestamp, packet: &ReceivedPacket);

    /// The bandwidth in bit/s; NaN if there is none, because the estimator failed.
    fn estimate_bps(&mut self) -> f64;
}
dyn_clone::clone_trait_object!(PacketEstimator);
