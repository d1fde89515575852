//! Estimators that several controllers share: arrival groups, trend lines, rates over windows, loss events; and the
//! belief in a link's rate, which decides nothing and is recorded.

pub mod arrival_groups;
pub mod arrivals;
pub mod belief;
pub mod complexity;
pub mod delay_filter;
pub mod feedback_rtt;
pub mod frame_dispersion;
pub mod frame_interval;
#[cfg(test)]
mod frame_reports;
pub mod frame_trips;
pub mod link_capacity;
pub mod loss_events;
pub mod loss_intervals;
pub mod overuse;
pub mod receiver_rate;
pub mod robust_throughput;
pub mod silence;
pub mod tcp_equation;
pub mod trendline;
pub mod unscented_kalman;
pub mod windowed_min;
