//! The picture on display, and its quality as the camera goes on.

use crate::{EncodedFrame, Profile, Quality, SourceFrame};
use std::sync::Arc;

/// The last rendered picture of a decoder.
#[derive(Clone, Debug, Default)]
pub(super) struct Display {
    profile: Option<Arc<Profile>>,
    shown: Option<(u64, Quality)>,
}

impl Display {
    pub(super) fn new(profile: Option<Arc<Profile>>) -> Self {
        Self { profile, shown: None }
    }
    /// A new picture is shown.
    #[inline]
    pub(super) fn show(&mut self, encoded: &EncodedFrame, quality: Option<Quality>) {
        self.shown = quality.map(|quality| (encoded.frame, quality));
    }
    /// The picture against what the camera sees now; as it was when new if no clip was measured.
    pub(super) fn frozen(&self, current: &SourceFrame) -> Option<Quality> {
        let (frame, quality) = self.shown?;
        let age = current.frame.saturating_sub(frame);
        Some(match &self.profile {
            Some(profile) => profile.freeze.aged(quality, current.content, age),
            None => quality,
        })
    }
}
