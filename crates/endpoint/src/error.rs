//! The errors of a real call, each in one line.

/// Why a call could not be made or ended early.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The other end could not be reached, or went away.
    #[error("{0}")]
    Connection(String),
    /// The encoder failed.
    #[error("{0}")]
    Encoder(String),
    /// The evaluation after the call was stopped.
    #[error("interrupted")]
    Interrupted,
    /// Parity where there can be none.
    #[error("parity: {0}")]
    Parity(String),
    /// Pictures could not be read.
    #[error("{0}")]
    Pictures(String),
    /// A session description that cannot be used.
    #[error("{0}")]
    Sdp(String),
    /// A socket or a thread could not be created.
    #[error("{0}")]
    System(String),
    /// VMAF could not be measured.
    #[error("{0}")]
    Vmaf(String),
}

impl From<legato_codec::Error> for Error {
    fn from(error: legato_codec::Error) -> Self {
        Self::Encoder(error.to_string())
    }
}
