//! Bytes to structs and back: RTP headers, payloads of H.264, VP8, VP9, the hybrid codec and parity, and RTCP
//! compounds. Also the three feedback formats of congestion control (transport-wide, RFC 8888, REMB), and the IP and
//! UDP headers around them. Stateless: a caller that needs a sequence number or a reference time across packets keeps
//! it itself. Parsers borrow from the packet, never allocate, and return a value or an [`Error`] for every byte string.
//!
//! ```
//! use legato_units::{TimeDelta, Timestamp};
//! use legato_wire::twcc::{Encoder, Feedback, Header, Status};
//!
//! let mut encoder = Encoder::default();
//! let mut bytes = Vec::new();
//! let arrivals = [Some(Timestamp::from_millis(1_000)), None, Some(Timestamp::from_millis(1_010))];
//! let header = Header { sender_ssrc: 1, media_ssrc: 2, base_seq: 65_535, feedback_count: 0 };
//! assert_eq!(encoder.encode(&mut bytes, &header, arrivals), 3);
//!
//! let feedback = Feedback::parse(&bytes)?;
//! let statuses: Vec<(u16, Status)> = feedback.statuses().collect();
//! // 1,000 ms is 15 reference units of 64 ms and 40 ms.
//! assert_eq!(feedback.reference(), 15);
//! assert_eq!(statuses[0], (65_535, Status::Arrived(Some(TimeDelta::from_millis(40)))));
//! assert_eq!(statuses[1], (0, Status::Missing));
//! assert_eq!(statuses[2], (1, Status::Arrived(Some(TimeDelta::from_millis(50)))));
//! # Ok::<(), legato_wire::Error>(())
//! ```

#![forbid(unsafe_code)]

pub mod ccfb;
mod error;
pub mod h264;
pub mod hybrid;
pub mod ip;
pub mod ntp;
pub mod parity;
mod reader;
pub mod remb;
pub mod rtcp;
pub mod rtp;
pub mod twcc;
pub mod vp8;
pub mod vp9;

pub use error::Error;
