//! A flow's TOML table holds the keys of every flow and those of its kind. It is read by hand: serde's `flatten`
//! buffers the table, so that an unknown key or a wrong value would lose its line and its dotted key.

use super::{Direction, FlowSpec};
use crate::scenario::choice;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, Visitor};
use std::fmt;
use std::marker::PhantomData;

/// The keys of a flow of one kind.
pub trait OwnKeys: Default {
    /// Its keys.
    const KEYS: &'static [&'static str];
    /// Read the value of one of them.
    fn read<'de, A: MapAccess<'de>>(&mut self, key: &str, table: &mut A) -> Result<(), A::Error>;
}

/// What every flow has.
const KEYS: [&str; 7] = ["name", "start_s", "stop_s", "direction", "propagation_ms", "route", "return_route"];

impl<'de, Own: OwnKeys> Deserialize<'de> for FlowSpec<Own> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Table(PhantomData))
    }
}

struct Table<Own>(PhantomData<Own>);

impl<'de, Own: OwnKeys> Visitor<'de> for Table<Own> {
    type Value = FlowSpec<Own>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut table: A) -> Result<Self::Value, A::Error> {
        let mut flow = FlowSpec::<Own>::default();
        while let Some(key) = table.next_key_seed(Key(Own::KEYS))? {
            match key {
                "name" => flow.name = table.next_value()?,
                "start_s" => flow.start_s = table.next_value()?,
                "stop_s" => flow.stop_s = table.next_value()?,
                "direction" => flow.direction = Some(table.next_value::<Named>()?.direction),
                "propagation_ms" => flow.propagation_ms = table.next_value()?,
                "route" => flow.route = table.next_value()?,
                "return_route" => flow.return_route = table.next_value()?,
                own => flow.own.read(own, &mut table)?,
            }
        }
        Ok(flow)
    }
}

/// A direction by its name.
#[derive(Deserialize)]
#[serde(transparent)]
struct Named {
    #[serde(deserialize_with = "choice")]
    direction: Direction,
}

/// A key of every flow, or one of these.
struct Key(&'static [&'static str]);

impl<'de> DeserializeSeed<'de> for Key {
    type Value = &'static str;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<&'static str, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl Visitor<'_> for Key {
    type Value = &'static str;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<&'static str, E> {
        let known = || KEYS.iter().chain(self.0);
        known().find(|&&name| name == key).copied().ok_or_else(|| {
            let known: Vec<String> = known().map(|name| format!("`{name}`")).collect();
            E::custom(format_args!("unknown field `{key}`, expected one of {}", known.join(", ")))
        })
    }
}
