//! The codecs of this build, a line each.

use crate::{CallCodec, Error, h264, vp8, vp9};

/// In the order in which they are listed; the first is the default.
pub const CODECS: &[&CallCodec] = &[
    &h264::H264,
    &vp8::VP8,
    &vp9::VP9,
    #[cfg(feature = "hybrid")]
    &crate::hybrid::HYBRID,
];

/// Known codecs that this build lacks.
const ABSENT: &[&str] = &[
    #[cfg(not(feature = "hybrid"))]
    "hybrid",
];

/// The names of all, this build's first.
pub fn names() -> impl Iterator<Item = &'static str> {
    CODECS.iter().map(|codec| codec.name).chain(ABSENT.iter().copied())
}

/// How to build Legato so that it has this codec; `None` where every build has it.
pub fn remedy(name: &str) -> Option<String> {
    if ABSENT.contains(&name) {
        return Some(format!("build Legato with its feature {name}"));
    }
    find(name).ok()?.remedy.map(str::to_owned)
}

/// The codec of this name; refuses an unknown one, and one that this build lacks.
pub fn find(name: &str) -> Result<&'static CallCodec, Error> {
    if ABSENT.contains(&name) {
        return Err(Error(format!("codec {name}: not in this build, which lacks the feature {name}")));
    }
    CODECS.iter().copied().find(|codec| codec.name == name).ok_or_else(|| {
        let names = names().collect::<Vec<_>>().join(", ");
        Error(format!("codec {name}: one of {names} is needed"))
    })
}
