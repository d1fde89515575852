//! How much a TCP connection may have in flight: one file per algorithm. The connection does their common work (loss
//! detection, retransmission, pacing at the given rate) and reports its observations.

mod bbr;
mod bic;
mod cubic;
mod max_filter;
mod reno;

use super::config::{Algorithm, TcpConfig};
use super::delivery_rate::RateSample;
use legato_units::{DataRate, TimeDelta, Timestamp};
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};

impl Algorithm {
    /// An instance at the start of a connection. Randomness is drawn from `rng`.
    pub(super) fn build(self, config: &TcpConfig, rng: &mut ChaCha8Rng) -> Box<dyn CongestionControl> {
        match self {
            Self::Bbr => {
                let own = ChaCha8Rng::seed_from_u64(rng.next_u64());
                Box::new(bbr::Bbr::new(config.segment_bytes, config.initial_window(), own))
            }
            Self::Bic => Box::new(bic::Bic::new(config.segment_bytes, config.initial_window())),
            Self::Cubic => Box::new(cubic::Cubic::new(config.segment_bytes, config.initial_window())),
            Self::Reno => Box::new(reno::Reno::new(config.segment_bytes, config.initial_window())),
        }
    }
}

/// The connection's phase of loss recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Nothing is missing.
    Open,
    /// Between a loss and the acknowledgment of everything outstanding at that time.
    Recovery,
    /// The same after a timeout.
    Timeout,
}

/// The effects of an acknowledgment.
#[derive(Clone, Copy, Debug)]
pub(super) struct AckSample {
    /// Its arrival.
    pub now: Timestamp,
    /// The phase of the connection when it came.
    pub phase: Phase,
    /// Bytes that the cumulative acknowledgment moved over.
    pub acked_bytes: u64,
    /// Bytes acknowledged or SACKed for the first time.
    pub delivered_bytes: u64,
    /// Bytes newly found lost.
    pub lost_bytes: u64,
    /// In the network before and after it.
    pub prior_in_flight_bytes: u64,
    /// See there.
    pub in_flight_bytes: u64,
    /// The window, not the application, held the connection back.
    pub window_limited: bool,
    /// It echoes a mark: no reason to grow.
    pub marked: bool,
    /// Smoothed round-trip time.
    pub srtt: TimeDelta,
    /// Of the segment that left last among those delivered, unless it left twice.
    pub rtt: Option<TimeDelta>,
    /// Delivered since the connection's start, this acknowledgment included.
    pub total_delivered_bytes: u64,
    /// `total_delivered_bytes` when the segment that left last among those delivered left.
    pub newest_stamp_bytes: Option<u64>,
    /// The delivery rate.
    pub rate: Option<RateSample>,
}

/// A reason to slow down.
#[derive(Clone, Copy, Debug)]
pub(super) struct Congestion {
    /// A loss, or a mark.
    pub cause: Cause,
    /// FlightSize: outstanding before the acknowledgment that revealed it, without what SACKs released.
    pub prior_in_flight_bytes: u64,
    /// In the network now.
    pub in_flight_bytes: u64,
    /// Bytes the acknowledgment delivered.
    pub delivered_bytes: u64,
    /// Delivered since the connection's start.
    pub total_delivered_bytes: u64,
}

/// The reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// A segment is lost.
    Loss,
    /// A packet was marked.
    Mark,
}

/// An algorithm. Methods are called in the order of events; [`CongestionControl::on_congestion`] and
/// [`CongestionControl::on_recovered`] come before the [`CongestionControl::on_ack`] of the same acknowledgment.
pub(super) trait CongestionControl: Send {
    /// An acknowledgment came.
    fn on_ack(&mut self, ack: &AckSample);
    /// A loss or mark was found; at most once per window of data.
    fn on_congestion(&mut self, congestion: &Congestion);
    /// The retransmission timer expired; `again` if it had for the same data. `in_flight_bytes` were believed
    /// to be in the network.
    fn on_timeout(&mut self, in_flight_bytes: u64, again: bool);
    /// Everything outstanding at the last loss or timeout has arrived.
    fn on_recovered(&mut self) {}
    /// The first segment leaves after the connection was idle for longer than a retransmission timeout.
    fn on_idle_restart(&mut self) {}
    /// A segment leaves while nothing is in flight and the application had too little to send.
    fn on_app_limited_restart(&mut self) {}
    /// The maximum bytes in flight.
    fn window_bytes(&self) -> u64;
    /// The pacing rate and the maximum burst in bytes; absent: as fast as acknowledgments come.
    fn pacing(&self) -> Option<(DataRate, u64)> {
        None
    }
    /// Less than the path's capacity is in flight, on purpose: rate samples are meaningless.
    fn holds_back(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod testing {
    use super::*;

    /// `acked_bytes` acknowledged while the window is the limit, nothing else known.
    pub fn ack(acked_bytes: u64) -> AckSample {
        AckSample {
            now: Timestamp::ZERO,
            phase: Phase::Open,
            acked_bytes,
            delivered_bytes: acked_bytes,
            lost_bytes: 0,
            prior_in_flight_bytes: 0,
            in_flight_bytes: 0,
            window_limited: true,
            marked: false,
            srtt: TimeDelta::from_millis(100),
            rtt: None,
            total_delivered_bytes: 0,
            newest_stamp_bytes: None,
            rate: None,
        }
    }

    /// A loss or mark with `flight` bytes in flight.
    pub fn congestion(cause: Cause, flight: u64) -> Congestion {
        Congestion {
            cause,
            prior_in_flight_bytes: flight,
            in_flight_bytes: flight,
            delivered_bytes: 0,
            total_delivered_bytes: 0,
        }
    }
}
