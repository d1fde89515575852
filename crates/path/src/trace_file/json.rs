//! JSON within bounds: serde_json recurses, so depth is counted before it sees the text.

use super::error::Fault;
use serde::de::DeserializeOwned;

/// The value of a text at most 32 levels deep. Keys may not repeat (serde refuses a field's second).
pub(super) fn from_text<T: DeserializeOwned>(text: &str) -> Result<T, Fault> {
    let (mut depth, mut in_string, mut escaped) = (0u32, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => depth += 1,
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_DEPTH {
            return Err(Fault::whole("is JSON nested deeper than 32"));
        }
    }
    serde_json::from_str(text).map_err(|error| {
        let message = error.to_string();
        let reason = message.split(" at line").next().unwrap_or(&message).to_owned();
        let line = error.line() as u64;
        let around = text.lines().nth(error.line().saturating_sub(1)).unwrap_or("").trim();
        Fault::new("json", around, format!("does not parse: {reason}")).on(line)
    })
}

const MAX_DEPTH: u32 = 32;
