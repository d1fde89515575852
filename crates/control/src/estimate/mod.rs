//! What several controllers share: arrival groups, trend lines, rates over windows.

pub mod arrival_groups;
pub mod feedback_rtt;
pub mod link_capacity;
pub mod robust_throughput;
pub mod trendline;
