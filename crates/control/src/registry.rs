//! The table of controllers. Properties, fuzzing, scenarios, Python, the command line and the
//! report find a controller only through it.

use crate::controllers::{
    fbra, fixed, gcc, jm_tfrc, learned, nada, oracle, remote, safeguard, salsify, scream, sqp, tfrc, ukf, vtfrc,
};
use crate::steering::Steered;
use crate::{BuildError, Construct, Context, RateController, Side};

/// Every controller, one line each, by name.
pub const REGISTRY: &[Entry] = &[
    Entry::of::<learned::aurora::Aurora>(),
    Entry::of::<learned::clcc::Clcc>(),
    Entry::of::<learned::concerto::Concerto>(),
    Entry::of::<fbra::Fbra>(),
    Entry::of::<fixed::Fixed>(),
    Entry::of::<gcc::Gcc>(),
    Entry::of::<learned::hrcc::Hrcc>(),
    Entry::of::<jm_tfrc::JmTfrc>(),
    Entry::of::<nada::Nada>(),
    Entry::of::<learned::nvc_cc::NvcCc>(),
    Entry::of::<learned::onrl::Onrl>(),
    Entry::of::<oracle::Oracle>(),
    Entry::of::<learned::r3net::R3Net>(),
    Entry::of::<remote::Remote>(),
    Entry::of::<learned::concerto::RlV>(),
    Entry::of::<safeguard::Safeguard>(),
    Entry::of::<salsify::Salsify>(),
    Entry::of::<scream::Scream>(),
    Entry::of::<scream::ScreamV2>(),
    Entry::of::<sqp::Sqp>(),
    Entry::of::<tfrc::Tfrc>(),
    Entry::of::<ukf::Ukf>(),
    Entry::of::<vtfrc::Vtfrc>(),
];

/// One line of [`REGISTRY`].
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
    default_config: fn() -> toml::Table,
    build: Build<dyn RateController>,
    steered: Build<dyn Steered>,
}

type Build<C> = fn(&toml::Table, Context<'_>) -> Result<Box<C>, BuildError>;

impl Entry {
    const fn of<C: Construct>() -> Self {
        Self {
            name: C::NAME,
            side: C::SIDE,
            summary: C::SUMMARY,
            cites: C::CITES,
            learned: C::LEARNED,
            default_config: || {
                toml::Table::try_from(C::Config::default()).expect("a config is a table of plain values")
            },
            build: |table, context| Ok(Box::new(C::new(config_of::<C>(table)?, context)?)),
            steered: |table, context| C::steered(config_of::<C>(table)?, context),
        }
    }

    /// Its parameters with their defaults.
    pub fn default_config(&self) -> toml::Table {
        (self.default_config)()
    }

    /// Build one; absent keys take their defaults, unknown ones are refused.
    pub fn build(&self, config: &toml::Table, context: Context<'_>) -> Result<Box<dyn RateController>, BuildError> {
        (self.build)(config, context)
    }

    /// Build one whose actions are set from outside; refuses controllers that have none.
    pub fn steered(&self, config: &toml::Table, context: Context<'_>) -> Result<Box<dyn Steered>, BuildError> {
        (self.steered)(config, context)
    }
}

fn config_of<C: Construct>(table: &toml::Table) -> Result<C::Config, BuildError> {
    let refused =
        |error: toml::de::Error| BuildError::Config { controller: C::NAME, message: error.message().to_owned() };
    table.clone().try_into().map_err(refused)
}

/// The entry with that name.
pub fn entry(name: &str) -> Option<&'static Entry> {
    REGISTRY.iter().find(|entry| entry.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_sorted() {
        assert!(REGISTRY.windows(2).all(|pair| pair[0].name < pair[1].name));
    }

    #[test]
    fn learned_controllers_and_no_others_take_a_policy() {
        for entry in REGISTRY {
            assert_eq!(entry.learned, entry.default_config().contains_key("policy"), "{}", entry.name);
        }
    }

    #[test]
    fn an_unknown_parameter_is_refused_by_name() {
        use crate::{NoAssets, RateLimits};
        use legato_units::{DataRate, Timestamp};
        let limits = RateLimits { min: DataRate::ZERO, start: DataRate::ZERO, max: DataRate::MAX };
        let context = Context { limits, start: Timestamp::ZERO, seed: 0, assets: &NoAssets };
        for entry in REGISTRY {
            let error = entry.build(&toml::toml! { no_such_key = 1 }, context).err().expect("refused");
            assert!(error.to_string().contains("no_such_key"), "{error}");
        }
    }
}
