//! Why bytes are refused. Small, `Copy` and made of static names, so refusing costs nothing.

use core::fmt;

/// Why bytes were refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A field has a value the standard forbids.
    Invalid {
        /// The field, e.g. `rtcp.version`.
        field: &'static str,
        /// What it held.
        value: u64,
    },
    /// Bytes are left over after the end of the format.
    Trailing {
        /// What ended before the bytes did.
        field: &'static str,
        /// How many bytes were left.
        bytes: usize,
    },
    /// The bytes end before the field does.
    Truncated {
        /// The field, e.g. `twcc.chunk`.
        field: &'static str,
        /// Bytes the field needs.
        needed: usize,
        /// Bytes available.
        available: usize,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid { field, value } => write!(f, "{field}: {value} is not allowed"),
            Self::Trailing { field, bytes } => write!(f, "{field}: {bytes} bytes too many"),
            Self::Truncated { field, needed, available } => {
                write!(f, "{field}: needs {needed} bytes, {available} are left")
            }
        }
    }
}

impl core::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_field_and_the_value() {
        let error = Error::Truncated { field: "twcc.chunk", needed: 2, available: 1 };
        assert_eq!(error.to_string(), "twcc.chunk: needs 2 bytes, 1 are left");
        assert_eq!(Error::Invalid { field: "rtcp.version", value: 1 }.to_string(), "rtcp.version: 1 is not allowed");
    }
}
