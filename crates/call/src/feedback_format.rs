//! Which format of transport-wide feedback a call uses. Exactly one is active: two that report the same packets would
//! double each report.

use serde::{Deserialize, Serialize};

/// How the receiver reports arrivals to the sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FeedbackFormat {
    /// RFC 8888: by stream and RTP sequence number, 1/1024 s, with ECN marks.
    Ccfb,
    /// Transport-wide congestion control: one number over all streams, 1/4 ms, no marks.
    #[default]
    Twcc,
}
