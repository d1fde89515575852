//! How a controller is built, and from what.

use crate::parameters::{self, Parameter};
use crate::policy::{self, Model};
use crate::ranges::{self, OutOfRange};
use crate::steering::Steered;
use crate::toml_words::in_tomls_words;
use crate::{KnownFuture, RateController, RateLimits, Side};
use legato_units::Timestamp;
use schemars::{JsonSchema, Schema};
use serde::{Serialize, de::DeserializeOwned};
use std::borrow::Cow;
use std::sync::Arc;

/// A controller's static properties.
pub trait Construct: RateController + Sized + 'static {
    /// The name users type.
    const NAME: &'static str;
    /// The end it runs at.
    const SIDE: Side;
    /// One line for `legato controllers`.
    const SUMMARY: &'static str;
    /// Keys of docs/references.bib.
    const CITES: &'static [&'static str];
    /// A trained policy decides, which its parameter `policy` names.
    const LEARNED: bool = false;
    /// Its policy loses to `gcc` on a shipped family of links (docs/measured/generalisation.md): not for calls that matter.
    const FOR_STUDY: bool = false;
    /// For one at the receiver: the parameters of `remote`, its half at the sender, as TOML.
    const AT_SENDER: &'static str = "";
    /// Its parameters; `#[serde(default, deny_unknown_fields)]`, and a range at each number: see `ranges.rs`.
    type Config: Default + Serialize + DeserializeOwned + JsonSchema + 'static;

    /// The parameters of a named profile, for a controller whose parameter `profile` chooses all that is not given.
    fn profile(name: &str) -> Option<Self::Config> {
        let _ = name;
        None
    }

    /// Build it. Numbers are in the ranges that their fields state; refuses values that contradict one another.
    fn new(config: Self::Config, context: Context<'_>) -> Result<Self, BuildError>;

    /// Builds it with actions set by an environment. Only learned controllers, and wrappers around them, allow this.
    fn steered(config: Self::Config, context: Context<'_>) -> Result<Box<dyn Steered>, BuildError> {
        let _ = (config, context);
        Err(BuildError::NotLearned { controller: Self::NAME })
    }
}

/// One line of the registry in `legato-controllers`: a controller, known by its name.
pub struct Entry {
    /// The name users type.
    pub name: &'static str,
    /// The end it runs at.
    pub side: Side,
    /// A one-line description.
    pub summary: &'static str,
    /// Keys of docs/references.bib.
    pub cites: &'static [&'static str],
    /// A trained policy decides, which its parameter `policy` names; `"hand"` is one that is set from outside.
    pub learned: bool,
    /// Its policy loses to `gcc` on a shipped family of links (docs/measured/generalisation.md): not for calls that matter.
    pub for_study: bool,
    /// For one at the receiver: the parameters of `remote`, its half at the sender, as TOML.
    pub at_sender: &'static str,
    default_config: fn() -> toml::Table,
    config_with: fn(&toml::Table) -> Result<toml::Table, BuildError>,
    schema: fn() -> &'static Schema,
    build: Build<dyn RateController>,
    steered: Build<dyn Steered>,
}

type Build<C> = fn(&toml::Table, Context<'_>) -> Result<Box<C>, BuildError>;

impl Entry {
    /// The line of controller `C`.
    pub const fn of<C: Construct>() -> Self {
        Self {
            name: C::NAME,
            side: C::SIDE,
            summary: C::SUMMARY,
            cites: C::CITES,
            learned: C::LEARNED,
            for_study: C::FOR_STUDY,
            at_sender: C::AT_SENDER,
            default_config: || table_of(&C::Config::default()),
            config_with: |table| Ok(table_of(&config_of::<C>(table)?)),
            schema: parameters::schema_of::<C::Config>,
            build: |table, context| Ok(Box::new(C::new(config_of::<C>(table)?, context)?)),
            steered: |table, context| C::steered(config_of::<C>(table)?, context),
        }
    }

    /// Its parameters with their defaults.
    pub fn default_config(&self) -> toml::Table {
        (self.default_config)()
    }

    /// Its parameters if those of `config` are given: the others have their defaults, or those of the profile.
    pub fn config_with(&self, config: &toml::Table) -> Result<toml::Table, BuildError> {
        self.check_ranges(config)?;
        (self.config_with)(config)
    }

    /// What each parameter means, for the values of `config`: see `parameters.rs`.
    pub fn parameters(&self, config: &toml::Table) -> Result<Vec<Parameter>, BuildError> {
        Ok(parameters::of((self.schema)(), &self.default_config(), &self.config_with(config)?))
    }

    /// Build one; absent keys take their defaults, unknown ones are refused.
    pub fn build(&self, config: &toml::Table, context: Context<'_>) -> Result<Box<dyn RateController>, BuildError> {
        self.check_ranges(config)?;
        (self.build)(config, context)
    }

    /// Build one whose actions are set from outside; refuses controllers that have none.
    pub fn steered(&self, config: &toml::Table, context: Context<'_>) -> Result<Box<dyn Steered>, BuildError> {
        self.check_ranges(config)?;
        (self.steered)(config, context)
    }

    /// Every number is in the range that its field states; the defaults and profiles are, by a test.
    fn check_ranges(&self, config: &toml::Table) -> Result<(), BuildError> {
        let out_of_range =
            |refused: OutOfRange| BuildError::Config { controller: self.name, message: refused.to_string() };
        ranges::check((self.schema)().as_value(), config).map_err(out_of_range)
    }
}

fn config_of<C: Construct>(table: &toml::Table) -> Result<C::Config, BuildError> {
    let parsed = |table: toml::Table| {
        serde_path_to_error::deserialize(toml::Value::Table(table)).map_err(|error| {
            let message = in_tomls_words(error.inner().message());
            let key = error.path().to_string();
            // A message names a field at most, never the table that it is in.
            let named = key == "." || !key.contains('.') && message.contains(&key);
            let message = if named { message } else { format!("{key}: {message}") };
            BuildError::Config { controller: C::NAME, message }
        })
    };
    let profile = table.get("profile").and_then(toml::Value::as_str).and_then(C::profile);
    let Some(profile) = profile else { return parsed(table.clone()) };
    let mut whole = table_of(&profile);
    overlay(&mut whole, table);
    parsed(whole)
}

fn table_of(config: &impl Serialize) -> toml::Table {
    toml::Table::try_from(config).expect("a config is a table of plain values")
}

/// Put the values of `table` into `whole`, table by table.
fn overlay(whole: &mut toml::Table, table: &toml::Table) {
    for (key, value) in table {
        match (whole.get_mut(key), value) {
            (Some(toml::Value::Table(inner)), toml::Value::Table(value)) => overlay(inner, value),
            _ => {
                whole.insert(key.clone(), value.clone());
            }
        }
    }
}

/// What a controller gets when it is built: the only source of files and seeds.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// Bounds and start rate.
    pub limits: RateLimits,
    /// The earliest time of its first event.
    pub start: Timestamp,
    /// For controllers that use randomness.
    pub seed: u64,
    /// Files, and the future if the scenario grants it.
    pub assets: &'a dyn Assets,
}

/// The outside world at build time.
pub trait Assets {
    /// A file by name, `None` if there is none.
    fn file(&self, name: &str) -> Option<Cow<'_, [u8]>>;

    /// A trained policy by name: that of the file `NAME/policy.toml`. A caller that builds many
    /// controllers caches them.
    fn model(&self, name: &str) -> Result<Arc<Model>, String> {
        policy::load(name, |file| self.file(file))
    }

    /// Another controller by name, for one that wraps it.
    fn controller(&self, name: &str) -> Option<&'static Entry> {
        let _ = name;
        None
    }

    /// What the network will do; `None` if it is not known, as in real calls.
    fn future(&self) -> Option<&dyn KnownFuture> {
        None
    }

    /// What runs controllers that are no part of this program; `None` if the caller hosts none.
    fn host(&self) -> Option<&dyn Host> {
        None
    }
}

/// Runs guests: controllers in another language, from a file.
pub trait Host {
    /// A guest from its file. `interface` says what the file was written for: `"alphartc"` is the estimator of
    /// `opennetlab`.
    ///
    /// # Errors
    /// One line that says why the file cannot be hosted.
    fn guest(&self, interface: &str, file: &str, context: Context<'_>) -> Result<Box<dyn RateController>, String>;
}

/// No files, no future, no other controllers.
pub struct NoAssets;

impl Assets for NoAssets {
    fn file(&self, _name: &str) -> Option<Cow<'_, [u8]>> {
        None
    }
}

/// Why a controller could not be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A parameter is unknown, of the wrong type or out of range.
    #[error("controller {controller}: {message}")]
    Config {
        /// The controller.
        controller: &'static str,
        /// The fault, naming key and value.
        message: String,
    },
    /// A file or the future is needed and missing.
    #[error("controller {controller} needs {what}")]
    Missing {
        /// The controller.
        controller: &'static str,
        /// The missing resource.
        what: String,
    },
    /// It was to be steered, and has no policy.
    #[error("controller {controller} is not learned: it cannot be steered")]
    NotLearned {
        /// The controller.
        controller: &'static str,
    },
}
