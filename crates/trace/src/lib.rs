//! The records of a call, and the figures computed from them.
//!
//! Sender, receiver and driver report to a [`TraceSink`] what happens; the [`Recorder`] is the sink
//! that keeps what the summary and the tables of a run folder need, and [`Part`] writes them.

mod figures;
mod freeze;
mod part;
mod pauses;
mod quantile;
mod record;
mod recorder;
mod rtcp_log;
mod sink;
mod stall_floor;
mod summary;
mod table;
mod traffic;
mod viewed_delay;

pub use figures::{AgedPicture, CallFacts};
pub use freeze::{Freeze, GapWatch, STALL_GAP};
pub use part::{CallLabels, Part};
pub use quantile::Quantiles;
pub use record::{FrameDecoded, FrameEncoded, PacketArrived, PacketSent, Record};
pub use recorder::{FrameRow, GaugeRow, LogLevel, PacketRow, Recorder, SeriesRow};
pub use rtcp_log::{End, RtcpRow};
pub use sink::{At, SERIES_INTERVAL, Sample, TraceSink};
pub use stall_floor::LinkFacts;
pub use summary::{Summary, Value};
pub use table::{Column, write_table};
pub use traffic::{TRAFFIC_INTERVAL, TrafficFigures};
