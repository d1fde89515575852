//! The errors of a real call, each in one line.

use std::fmt;

/// Why a call could not be made or ended early.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The other end could not be reached, or went away.
    Connection(String),
    /// The encoder failed.
    Encoder(String),
    /// The evaluation after the call was stopped.
    Interrupted,
    /// Pictures could not be read.
    Pictures(String),
    /// A session description that cannot be used.
    Sdp(String),
    /// A socket or a thread could not be created.
    System(String),
    /// VMAF could not be measured.
    Vmaf(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interrupted => f.write_str("interrupted"),
            Self::Connection(text)
            | Self::Encoder(text)
            | Self::Pictures(text)
            | Self::Sdp(text)
            | Self::System(text)
            | Self::Vmaf(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Error {}
