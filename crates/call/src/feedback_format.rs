//! Which feedback of transport-wide reach a call runs on. Exactly one is active: two that tell of the
//! same packets would make of each two reports.

/// How the receiver tells the sender what arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FeedbackFormat {
    /// RFC 8888: by stream and RTP sequence number, 1/1024 s, with ECN marks.
    Ccfb,
    /// Transport-wide congestion control: one number over all streams, 1/4 ms, no marks.
    #[default]
    Twcc,
}

impl FeedbackFormat {
    /// The names a scenario may say.
    pub const NAMES: [&str; 2] = ["ccfb", "twcc"];

    /// The format of this name.
    pub fn by_name(name: &str) -> Option<Self> {
        match name {
            "ccfb" => Some(Self::Ccfb),
            "twcc" => Some(Self::Twcc),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_a_format() {
        assert_eq!(
            FeedbackFormat::NAMES.map(FeedbackFormat::by_name),
            [Some(FeedbackFormat::Ccfb), Some(FeedbackFormat::Twcc)]
        );
        assert_eq!(FeedbackFormat::by_name("remb"), None);
    }
}
