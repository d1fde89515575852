//! Why bytes are refused. Small, `Copy` and made of static names, so refusing costs nothing.

/// Why bytes were refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A field has a value the standard forbids.
    #[error("{field}: {value} is not allowed")]
    Invalid {
        /// The field, e.g. `rtcp.version`.
        field: &'static str,
        /// Its value.
        value: u64,
    },
    /// Bytes are left over after the end of the format.
    #[error("{field}: {bytes} bytes too many")]
    Trailing {
        /// What ended before the bytes did.
        field: &'static str,
        /// How many bytes were left.
        bytes: usize,
    },
    /// The bytes end before the field does.
    #[error("{field}: needs {needed} bytes, {available} are left")]
    Truncated {
        /// The field, e.g. `twcc.chunk`.
        field: &'static str,
        /// Bytes the field needs.
        needed: usize,
        /// Bytes available.
        available: usize,
    },
}

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
