//! A call as two values: [`Sender`] and [`Receiver`]. Sans-IO: a driver passes them inputs with the
//! time, polls for what to do, and wakes them at their deadlines. The simulator and a real socket
//! drive the same objects.
//!
//! The contract of one turn: `handle(now, input)`, then `poll()` until it returns `Deadline`; do
//! what each result says, in order; call `handle(now, Deadline)` at that time if nothing came
//! before. `now` never goes back. Each end has its own clock.

#![forbid(unsafe_code)]

mod arrival_log;
mod best_of_two;
mod call;
mod datagram;
mod feedback_format;
mod feedback_schedule;
mod keyframe_requests;
mod nack_list;
mod network;
pub mod parity;
mod pauses;
mod receiver;
mod receiver_clock;
mod receiver_side;
mod report_times;
mod rtx_allowance;
mod rtx_store;
mod send_history;
mod sender;
mod sending_half;
mod stream_index;
mod stream_log;
mod video_packet;

pub use call::{Call, Pause, Turn};
pub use datagram::rtcp_wire_size;
pub use feedback_format::FeedbackFormat;
pub use keyframe_requests::{KeyframeRequests, Patience};
pub use legato_media::frame_buffer::FrameAssembly;
pub use network::{Arrival, Dropped, Network, NetworkSample, PrivateNetwork, Rtcp, Sent};
pub use pauses::{PauseChange, Pauses};
pub use receiver::{Receiver, ReceiverConfig, ReceiverInput, ReceiverOutput, RenderedFrame};
pub use receiver_clock::ReceiverClock;
pub use receiver_side::ReceiverSide;
pub use send_history::SendHistory;
pub use sender::{AudioConfig, Sender, SenderConfig, SenderInput, SenderOutput};
pub use sending_half::{Decide, SendingHalf};
pub use video_packet::VideoPacket;
