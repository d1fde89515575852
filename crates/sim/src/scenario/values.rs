//! Which values a scenario may have, and how others are refused.

use serde::de::IntoDeserializer;
use serde::{Deserialize, Deserializer};

/// The dotted key of an invalid value, and its fault.
pub(crate) type Refusal = (String, String);

/// A day.
pub(crate) const MAX_DURATION_S: f64 = 86_400.0;

/// Refuse a number that is not between these.
pub(crate) fn within(key: &str, value: f64, min: f64, max: f64) -> Result<(), Refusal> {
    // Written so that NaN is refused.
    if value >= min && value <= max {
        return Ok(());
    }
    Err((key.to_owned(), format!("{value} is not within {min} to {max}")))
}

/// Read an enum from its name. Without this a table with the name as its key would do as well, and the message for a
/// number would not say that a string is expected.
pub(crate) fn choice<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    T::deserialize(String::deserialize(deserializer)?.into_deserializer())
}

/// The same of a key that may be absent.
pub(crate) fn some_choice<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    choice(deserializer).map(Some)
}
