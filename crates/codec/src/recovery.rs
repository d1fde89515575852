//! How a call recovers from lost packets.

use crate::Error;
use std::fmt;
use std::str::FromStr;

/// The way that does without more packets than the video has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recovery {
    /// Lost packets are requested and sent again, of a codec that needs them.
    #[default]
    Nack,
    /// Nothing is sent again: incomplete frames are shown, and the next frame is predicted from one that the receiver
    /// has.
    References,
}

impl Recovery {
    /// All, by their names in options.
    pub const ALL: [(&str, Self); 2] = [("nack", Self::Nack), ("references", Self::References)];
}

impl fmt::Display for Recovery {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::ALL.iter().find(|(_, one)| one == self).map_or("", |(name, _)| name);
        formatter.write_str(name)
    }
}

impl FromStr for Recovery {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|(known, _)| *known == name).map(|(_, recovery)| recovery).ok_or_else(|| {
            let names = Self::ALL.map(|(known, _)| known).join(", ");
            Error(format!("recovery {name}: one of {names} is needed"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recoveries_are_found_by_name() {
        assert!(
            Recovery::ALL
                .into_iter()
                .all(|(name, recovery)| name.parse() == Ok(recovery) && recovery.to_string() == name)
        );
        let unknown = "rtx".parse::<Recovery>().unwrap_err().to_string();
        assert_eq!(unknown, "recovery rtx: one of nack, references is needed");
    }
}
