//! Which numbers a key accepts. The field that a key is read into states its range once, as
//! `#[schemars(range(min = .., max = ..))]`; here values are checked against the schema that comes of it, and pages print
//! the same range. A bound that is itself refused is `#[schemars(extend("exclusiveMinimum" = ..))]`.

use serde_json::Value;
use std::fmt;

/// The numbers that a key accepts; a side without a bound is open.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    min: Option<Bound>,
    max: Option<Bound>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Bound {
    value: f64,
    /// The bound itself is accepted.
    inclusive: bool,
}

/// A value outside the range of its key.
#[derive(Clone, Debug, PartialEq)]
pub struct OutOfRange {
    /// Dotted, with the place in a list: `probe.initial_ratios[1]`.
    pub key: String,
    /// As TOML writes it.
    pub value: String,
    /// What would be accepted.
    pub range: Range,
}

impl Range {
    /// The range that a field's schema states, or that of the field's elements; `None` if every number is accepted.
    pub fn of(field: &Value) -> Option<Self> {
        let bound = |inclusive: &str, exclusive: &str| {
            let value = |key: &str| field.get(key).and_then(Value::as_f64);
            let excluded = value(exclusive).map(|value| Bound { value, inclusive: false });
            excluded.or_else(|| value(inclusive).map(|value| Bound { value, inclusive: true }))
        };
        let (min, max) = (bound("minimum", "exclusiveMinimum"), bound("maximum", "exclusiveMaximum"));
        match (min, max) {
            (None, None) => field.get("items").and_then(Self::of),
            (min, max) => Some(Self { min, max }),
        }
    }

    /// Both bounds are accepted.
    fn is_closed(&self) -> bool {
        [self.min, self.max].iter().all(|bound| bound.is_some_and(|bound| bound.inclusive))
    }

    /// NaN is in no range.
    fn contains(&self, number: f64) -> bool {
        let above = |bound: Bound| number > bound.value || bound.inclusive && number == bound.value;
        let below = |bound: Bound| number < bound.value || bound.inclusive && number == bound.value;
        !number.is_nan() && self.min.is_none_or(above) && self.max.is_none_or(below)
    }
}

/// `1 to 100`, `above 0 and at most 1`, `at least 1`.
impl fmt::Display for Range {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let low = |bound: Bound| format!("{} {}", if bound.inclusive { "at least" } else { "above" }, bound.value);
        let high = |bound: Bound| format!("{} {}", if bound.inclusive { "at most" } else { "below" }, bound.value);
        match (self.min, self.max) {
            (Some(min), Some(max)) if self.is_closed() => write!(to, "{} to {}", min.value, max.value),
            (min, max) => {
                let sides: Vec<_> = min.map(low).into_iter().chain(max.map(high)).collect();
                to.write_str(&sides.join(" and "))
            }
        }
    }
}

/// `pacing_ratio = 0.5: not from 1 to 100`.
impl fmt::Display for OutOfRange {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let from = if self.range.is_closed() { "from " } else { "" };
        write!(to, "{} = {}: not {from}{}", self.key, self.value, self.range)
    }
}

/// Check the numbers of `values` against their fields in `schema`. Keys without a field, and values that are not numbers,
/// are left to their reader.
///
/// # Errors
/// The first that is out of range.
pub fn check(schema: &Value, values: &toml::Table) -> Result<(), OutOfRange> {
    check_table(schema, values, "")
}

fn check_table(schema: &Value, values: &toml::Table, prefix: &str) -> Result<(), OutOfRange> {
    let Some(fields) = fields_of(schema) else { return Ok(()) };
    for (key, value) in values {
        if let Some(field) = fields.get(key) {
            check_value(field, value, &|| format!("{prefix}{key}"))?;
        }
    }
    Ok(())
}

fn check_value(field: &Value, value: &toml::Value, key: &dyn Fn() -> String) -> Result<(), OutOfRange> {
    match value {
        toml::Value::Integer(number) => check_number(field, *number as f64, value, key),
        toml::Value::Float(number) => check_number(field, *number, value, key),
        toml::Value::Table(inner) => check_table(field, inner, &format!("{}.", key())),
        toml::Value::Array(values) => {
            let fixed = field.get("prefixItems").and_then(Value::as_array);
            for (place, value) in values.iter().enumerate() {
                let element = fixed.and_then(|fixed| fixed.get(place)).or_else(|| field.get("items"));
                let Some(element) = element else { continue };
                check_value(element, value, &|| format!("{}[{place}]", key()))?;
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

fn check_number(field: &Value, number: f64, value: &toml::Value, key: &dyn Fn() -> String) -> Result<(), OutOfRange> {
    match Range::of(field) {
        Some(range) if !range.contains(number) => {
            let value = match value {
                toml::Value::Integer(whole) => whole.to_string(),
                _ => number.to_string(),
            };
            Err(OutOfRange { key: key(), value, range })
        }
        _ => Ok(()),
    }
}

/// The fields of a table, or of the table that an optional field may be.
fn fields_of(schema: &Value) -> Option<&serde_json::Map<String, Value>> {
    let own = schema.get("properties").and_then(Value::as_object);
    own.or_else(|| schema.get("anyOf")?.as_array()?.iter().find_map(fields_of))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::schema_of;
    use schemars::JsonSchema;

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is read")]
    struct Config {
        #[schemars(range(min = 0.5, max = 100))]
        ratio: f64,
        #[schemars(range(max = 1), extend("exclusiveMinimum" = 0))]
        share: Option<f64>,
        count: u32,
        #[schemars(inner(range(min = 1, max = 3)))]
        steps: Vec<f64>,
        inner: Option<Inner>,
        free: f64,
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is read")]
    struct Inner {
        #[schemars(range(min = 1))]
        packets: u32,
    }

    fn refused(values: toml::Table) -> String {
        check(schema_of::<Config>().as_value(), &values).map_or_else(|refused| refused.to_string(), |()| String::new())
    }

    #[test]
    fn a_value_out_of_range_is_named_with_its_key_and_what_is_accepted() {
        assert_eq!(refused(toml::toml! { ratio = 0.4 }), "ratio = 0.4: not from 0.5 to 100");
        assert_eq!(refused(toml::toml! { ratio = 101 }), "ratio = 101: not from 0.5 to 100");
        assert_eq!(refused(toml::toml! { ratio = nan }), "ratio = NaN: not from 0.5 to 100");
        assert_eq!(refused(toml::toml! { share = 0.0 }), "share = 0: not above 0 and at most 1");
        assert_eq!(refused(toml::toml! { count = -1 }), "count = -1: not at least 0");
        assert_eq!(refused(toml::toml! { steps = [1.0, 4.0] }), "steps[1] = 4: not from 1 to 3");
        assert_eq!(refused(toml::toml! { inner = { packets = 0 } }), "inner.packets = 0: not at least 1");
    }

    #[test]
    fn bounds_are_accepted_and_what_has_no_range_is_left_alone() {
        for accepted in [
            toml::toml! { ratio = 0.5 },
            toml::toml! { ratio = 100 },
            toml::toml! { share = 1.0 },
            toml::toml! { free = nan },
            toml::toml! { steps = [1, 3] },
            toml::toml! { steps = "x" },
            toml::toml! { no_such_key = 7 },
        ] {
            assert_eq!(refused(accepted.clone()), "", "{accepted}");
        }
    }
}
