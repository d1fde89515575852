//! What serde says of a value that it refuses, in words of TOML.

/// serde names types by their names in Rust: here by TOML's.
pub fn in_tomls_words(message: &str) -> String {
    let Some((found, expected)) = message.rsplit_once(", expected ") else { return message.to_owned() };
    let expected = match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number of 0 or more",
        "i64" => "a whole number",
        "f32" | "f64" => "a number",
        "a sequence" => "an array",
        rust if rust.starts_with("struct ") || rust == "a map" => "a table of keys",
        other => other,
    };
    let found = found
        .replace("invalid type: map", "invalid type: table")
        .replace("invalid type: sequence", "invalid type: array");
    format!("{found}, expected {expected}")
}
