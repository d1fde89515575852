//! What the parameters of controllers mean, for users: each has its value, its unit and a sentence. The sentence is the
//! doc comment of the field that the parameter is read into, so that it exists once.

use crate::ranges::Range;
use schemars::{JsonSchema, Schema, generate::SchemaSettings};
use serde_json::Value;
use std::any::TypeId;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// One parameter of a controller.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its key, dotted where it is in a table: `pushback.queue_ms`.
    pub key: String,
    /// The value in force; `None` if it is absent, and something else decides.
    pub value: Option<toml::Value>,
    /// The value's default; `None` if it is absent.
    pub default: Option<toml::Value>,
    /// Its unit; empty for text, switches, choices and tables of another controller's parameters.
    pub unit: &'static str,
    /// The accepted range; `None` if that is every number, or the parameter is not a number.
    pub range: Option<Range>,
    /// Its meaning, in one sentence or more; empty if there is none.
    pub meaning: String,
}

/// The schema of a config, with the doc comments and ranges of its fields and of the tables within it. Made once for each
/// type: it takes a hundred times as long as a check against it, and sweeps build thousands of controllers.
pub fn schema_of<C: JsonSchema + 'static>() -> &'static Schema {
    static MADE: Mutex<BTreeMap<TypeId, &'static Schema>> = Mutex::new(BTreeMap::new());
    MADE.lock().unwrap_or_else(PoisonError::into_inner).entry(TypeId::of::<C>()).or_insert_with(|| {
        let mut settings = SchemaSettings::draft2020_12();
        settings.inline_subschemas = true;
        Box::leak(Box::new(settings.into_generator().into_root_schema_for::<C>()))
    })
}

/// Every parameter of `schema`, in the order of the fields, with its default and its value.
pub(crate) fn of(schema: &Schema, defaults: &toml::Table, values: &toml::Table) -> Vec<Parameter> {
    let mut found = Vec::new();
    walk(schema.as_value(), "", defaults, values, &mut found);
    found
}

fn walk(schema: &Value, prefix: &str, defaults: &toml::Table, values: &toml::Table, found: &mut Vec<Parameter>) {
    let fields = schema.get("properties").and_then(Value::as_object);
    for (key, field) in fields.into_iter().flatten() {
        let (default, value) = (defaults.get(key), values.get(key));
        let whole = format!("{prefix}{key}");
        if let (Some(toml::Value::Table(default)), Some(toml::Value::Table(value)), Some(_)) =
            (default, value, field.get("properties"))
        {
            walk(field, &format!("{whole}."), default, value, found);
            continue;
        }
        found.push(Parameter {
            unit: unit_of(key, field),
            range: Range::of(field),
            meaning: meaning_of(field),
            key: whole,
            value: value.cloned(),
            default: default.cloned(),
        });
    }
}

fn text(schema: &Value) -> String {
    let text = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The field's own text, and those of its choices.
fn meaning_of(field: &Value) -> String {
    let mut meaning = text(field);
    for choice in field.get("oneOf").and_then(Value::as_array).into_iter().flatten() {
        if let Some(name) = choice.get("const").and_then(Value::as_str) {
            meaning += &format!(" `{name}`: {}", text(choice));
        }
    }
    meaning
}

/// The unit that the name ends in; a whole number without one counts things.
fn unit_of(key: &str, field: &Value) -> &'static str {
    if !is_number(field) {
        return "";
    }
    if key.contains("_per_") {
        return PER.iter().find(|(suffix, _)| key.ends_with(suffix)).map_or("1/s", |(_, unit)| unit);
    }
    let suffix = key.rsplit('_').next().unwrap_or(key);
    match SUFFIXES.iter().find(|(name, _)| *name == suffix) {
        Some((_, unit)) => unit,
        None if is_whole(field) => "count",
        None => "factor",
    }
}

fn kinds(field: &Value) -> Vec<&str> {
    match field.get("type") {
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// A number, or several.
fn is_number(field: &Value) -> bool {
    let numeric = |field: &Value| kinds(field).iter().any(|kind| ["number", "integer"].contains(kind));
    let inner = field.get("items").or_else(|| field.get("prefixItems").and_then(|items| items.get(0)));
    numeric(field) || inner.is_some_and(|inner| numeric(inner) || is_number(inner))
}

fn is_whole(field: &Value) -> bool {
    kinds(field).contains(&"integer")
}

/// Endings of names, and the units they stand for.
const SUFFIXES: &[(&str, &str)] = &[
    ("bps", "bit/s"),
    ("bytes", "byte"),
    ("db", "dB"),
    ("fps", "1/s"),
    ("frames", "frame"),
    ("groups", "group"),
    ("ms", "ms"),
    ("packets", "packet"),
    ("ratio", "ratio"),
    ("ratios", "ratio"),
    ("s", "s"),
    ("std", "standard deviation"),
    ("steps", "s, bit/s"),
    ("trips", "round trip"),
    ("weight", "ratio"),
];
/// The same for names of one thing per another.
const PER: &[(&str, &str)] = &[
    ("per_ms", "1/ms"),
    ("per_s_ratio", "ratio per s"),
    ("packets_per_ack", "packet"),
    ("us_per_byte", "µs per byte"),
    ("per_s", "1/s"),
];
