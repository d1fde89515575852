//! Pauses of the media, as configured in a scenario (RFC 8867 section 5.8).

use crate::scenario::{MAX_DURATION_S, within};
use legato_call::{PauseChange, Pauses};
use legato_units::{TimeDelta, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A period without media: camera and microphone stop, RTCP continues.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PauseSpec {
    /// From here on …
    pub start_s: f64,
    /// … to here, where a key frame follows at once.
    pub end_s: f64,
}

/// Pauses follow one another.
pub(crate) fn check(pauses: &[PauseSpec]) -> Result<(), (String, String)> {
    let mut earliest = 0.0;
    for (place, &PauseSpec { start_s, end_s }) in pauses.iter().enumerate() {
        within(&format!("pauses[{place}].start_s"), start_s, earliest, MAX_DURATION_S)?;
        within(&format!("pauses[{place}].end_s"), end_s, start_s, MAX_DURATION_S)?;
        earliest = end_s;
    }
    Ok(())
}

/// When media pauses and goes on, from `start` on.
pub(crate) fn changes(pauses: &[PauseSpec], start: Timestamp) -> Pauses {
    let at = |s| start + TimeDelta::from_secs_f64(s);
    let change = |s, paused| PauseChange { at: at(s), paused };
    Pauses::new(pauses.iter().flat_map(|pause| [change(pause.start_s, true), change(pause.end_s, false)]).collect())
}
