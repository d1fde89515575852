//! Reading a table key by key, so that each error names the key's place and the value found there.

use super::PolicyError;
use super::error::shown;
use std::ops::RangeInclusive;
use toml::{Table, Value};

/// A table each key of which is taken once; a key left over is unknown and refused.
pub(super) struct Keys<'a> {
    file: &'a str,
    /// The table's path: empty, or "network.layers[2]".
    place: String,
    table: Table,
}

type Read<T> = Result<T, PolicyError>;

impl<'a> Keys<'a> {
    pub(super) fn new(file: &'a str, table: Table) -> Self {
        Self { file, place: String::new(), table }
    }

    fn path(&self, key: &str) -> String {
        if self.place.is_empty() { key.to_owned() } else { format!("{}.{key}", self.place) }
    }

    /// The error that `value` is invalid for `key`, and why.
    pub(super) fn refuse(&self, key: &str, value: impl ToString, why: &str) -> PolicyError {
        let value = shown(&value.to_string());
        PolicyError::new(self.file, format!("{} = {value}: {why}", self.path(key)))
    }

    fn missing(&self, key: &str) -> PolicyError {
        PolicyError::new(self.file, format!("{}: missing", self.path(key)))
    }

    fn required(&mut self, key: &str) -> Read<Value> {
        self.table.remove(key).ok_or_else(|| self.missing(key))
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// Text of 1 to 256 bytes.
    pub(super) fn text(&mut self, key: &str) -> Read<String> {
        match self.required(key)? {
            Value::String(text) if (1..=256).contains(&text.len()) => Ok(text),
            other => Err(self.refuse(key, other, "text of 1 to 256 bytes is needed")),
        }
    }

    pub(super) fn texts(&mut self, key: &str) -> Read<Vec<String>> {
        let why = "a list of texts is needed, each of 1 to 256 bytes";
        let value = self.required(key)?;
        let Value::Array(values) = &value else { return Err(self.refuse(key, value, why)) };
        let texts = values.iter().map(|value| value.as_str().filter(|text| (1..=256).contains(&text.len())));
        match texts.map(|text| text.map(str::to_owned)).collect::<Option<Vec<_>>>() {
            Some(texts) if !texts.is_empty() => Ok(texts),
            _ => Err(self.refuse(key, value, why)),
        }
    }

    /// An integer within `range`.
    pub(super) fn count(&mut self, key: &str, range: RangeInclusive<usize>) -> Read<usize> {
        let value = self.required(key)?;
        integer(&value, &range).ok_or_else(|| self.refuse(key, value, &needed(&range)))
    }

    /// An integer within `range`, or `default`.
    pub(super) fn count_or(&mut self, key: &str, range: RangeInclusive<usize>, default: usize) -> Read<usize> {
        if self.has(key) { self.count(key, range) } else { Ok(default) }
    }

    /// A number within `range`, or `default`.
    pub(super) fn number_or(&mut self, key: &str, range: RangeInclusive<f64>, default: f64) -> Read<f64> {
        if !self.has(key) {
            return Ok(default);
        }
        let number = f64::from(self.number(key)?);
        let within = format!("not from {} to {}", range.start(), range.end());
        if range.contains(&number) { Ok(number) } else { Err(self.refuse(key, number, &within)) }
    }

    /// Two integers within `range`.
    pub(super) fn pair(&mut self, key: &str, range: RangeInclusive<usize>) -> Read<[usize; 2]> {
        let value = self.required(key)?;
        let pair = match value.as_array().map(Vec::as_slice) {
            Some([a, b]) => integer(a, &range).zip(integer(b, &range)),
            _ => None,
        };
        let (a, b) = pair.ok_or_else(|| self.refuse(key, value, &format!("two of them: {}", needed(&range))))?;
        Ok([a, b])
    }

    /// A finite number that f32 can hold.
    pub(super) fn number(&mut self, key: &str) -> Read<f32> {
        let value = self.required(key)?;
        finite(&value).ok_or_else(|| self.refuse(key, value, "a finite number is needed"))
    }

    /// Two finite numbers, the first below the second.
    pub(super) fn range(&mut self, key: &str) -> Read<[f32; 2]> {
        let value = self.required(key)?;
        let pair = match value.as_array().map(Vec::as_slice) {
            Some([low, high]) => finite(low).zip(finite(high)).filter(|(low, high)| low < high),
            _ => None,
        };
        let (low, high) = pair.ok_or_else(|| self.refuse(key, value, "two finite numbers are needed, ascending"))?;
        Ok([low, high])
    }

    /// A nested table.
    pub(super) fn table(&mut self, key: &str) -> Read<Keys<'a>> {
        match self.required(key)? {
            Value::Table(table) => Ok(Keys { file: self.file, place: self.path(key), table }),
            other => Err(self.refuse(key, other, "a table is needed")),
        }
    }

    /// A list of 1 to `max` tables.
    pub(super) fn tables(&mut self, key: &str, max: usize) -> Read<Vec<Keys<'a>>> {
        let why = format!("1 to {max} tables are needed");
        let values = match self.required(key)? {
            Value::Array(values) if (1..=max).contains(&values.len()) => values,
            Value::Array(values) => return Err(self.refuse(key, format!("a list of {}", values.len()), &why)),
            other => return Err(self.refuse(key, other, &why)),
        };
        let place = self.path(key);
        let table = |(i, value)| match value {
            Value::Table(table) => Ok(Keys { file: self.file, place: format!("{place}[{i}]"), table }),
            other => Err(self.refuse(&format!("{key}[{i}]"), other, "a table is needed")),
        };
        values.into_iter().enumerate().map(table).collect()
    }

    /// Whatever is left, unparsed.
    pub(super) fn rest(self) -> Table {
        self.table
    }

    /// Refuse keys that were not read.
    pub(super) fn finish(self) -> Read<()> {
        match self.table.keys().next() {
            None => Ok(()),
            Some(key) => Err(PolicyError::new(self.file, format!("{}: unknown key", shown(&self.path(key))))),
        }
    }
}

fn integer(value: &Value, range: &RangeInclusive<usize>) -> Option<usize> {
    value.as_integer().and_then(|value| usize::try_from(value).ok()).filter(|value| range.contains(value))
}

fn needed(range: &RangeInclusive<usize>) -> String {
    format!("an integer of {} to {} is needed", range.start(), range.end())
}

fn finite(value: &Value) -> Option<f32> {
    let number = match value {
        Value::Float(number) => *number as f32,
        Value::Integer(number) => *number as f32,
        _ => return None,
    };
    number.is_finite().then_some(number)
}
