//! The table of controllers. Properties, fuzzing, scenarios, Python, the command line and the
//! report find a controller only through it.

use crate::{
    burst_rtc, camel, clairvoyant, fbra, fixed, gcc, gcc_receiver, jm_tfrc, learned, legato, legato_receiver, nada,
    ndtc, opennetlab, oracle, pudica, remote, safeguard, salsify, scream, sqp, tfrc, ukf, vidaptive, vtfrc,
};
use legato_control::{Assets, Entry};
use std::borrow::Cow;

/// Every controller, one line each, by name.
pub const REGISTRY: &[Entry] = &[
    Entry::of::<learned::aurora::Aurora>(),
    Entry::of::<burst_rtc::BurstRtc>(),
    Entry::of::<camel::Camel>(),
    Entry::of::<clairvoyant::Clairvoyant>(),
    Entry::of::<learned::clcc::Clcc>(),
    Entry::of::<learned::concerto::Concerto>(),
    Entry::of::<fbra::Fbra>(),
    Entry::of::<fixed::Fixed>(),
    Entry::of::<gcc::Gcc>(),
    Entry::of::<gcc_receiver::GccReceiver>(),
    Entry::of::<learned::hrcc::Hrcc>(),
    Entry::of::<jm_tfrc::JmTfrc>(),
    Entry::of::<legato::Legato>(),
    Entry::of::<legato_receiver::LegatoReceiver>(),
    Entry::of::<learned::mmsys24::Mmsys24Baseline>(),
    Entry::of::<nada::Nada>(),
    Entry::of::<ndtc::Ndtc>(),
    Entry::of::<learned::nvc_cc::NvcCc>(),
    Entry::of::<learned::onrl::Onrl>(),
    Entry::of::<opennetlab::OpenNetLab>(),
    Entry::of::<oracle::Oracle>(),
    Entry::of::<pudica::Pudica>(),
    Entry::of::<learned::r3net::R3Net>(),
    Entry::of::<remote::Remote>(),
    Entry::of::<learned::concerto::RlV>(),
    Entry::of::<safeguard::Safeguard>(),
    Entry::of::<salsify::Salsify>(),
    Entry::of::<scream::Scream>(),
    Entry::of::<scream::ScreamV2>(),
    Entry::of::<sqp::Sqp>(),
    Entry::of::<learned::mmsys24::TenTms>(),
    Entry::of::<tfrc::Tfrc>(),
    Entry::of::<ukf::Ukf>(),
    Entry::of::<vidaptive::Vidaptive>(),
    Entry::of::<vtfrc::Vtfrc>(),
];

/// The entry with that name.
pub fn entry(name: &str) -> Option<&'static Entry> {
    REGISTRY.iter().find(|entry| entry.name == name)
}

/// No files and no future, but the other controllers: for one that wraps another.
pub struct NoFiles;

impl Assets for NoFiles {
    fn file(&self, _name: &str) -> Option<Cow<'_, [u8]>> {
        None
    }

    fn controller(&self, name: &str) -> Option<&'static Entry> {
        entry(name)
    }
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
    fn the_half_at_the_sender_of_one_at_the_receiver_can_be_built() {
        use legato_control::{Context, NoAssets, RateLimits, Side};
        use legato_units::{DataRate, Timestamp};
        let limits = RateLimits { min: DataRate::ZERO, start: DataRate::ZERO, max: DataRate::MAX };
        let context = Context { limits, start: Timestamp::ZERO, seed: 0, assets: &NoAssets };
        let remote = super::entry("remote").expect("registered");
        for entry in REGISTRY {
            let config = entry.at_sender.parse().expect("TOML");
            assert!(entry.side == Side::Receiver || entry.at_sender.is_empty(), "{}", entry.name);
            remote.build(&config, context).map(|_| ()).expect(entry.name);
        }
    }

    #[test]
    fn an_unknown_parameter_is_refused_by_name() {
        use legato_control::{Context, NoAssets, RateLimits};
        use legato_units::{DataRate, Timestamp};
        let limits = RateLimits { min: DataRate::ZERO, start: DataRate::ZERO, max: DataRate::MAX };
        let context = Context { limits, start: Timestamp::ZERO, seed: 0, assets: &NoAssets };
        for entry in REGISTRY {
            let error = entry.build(&toml::toml! { no_such_key = 1 }, context).err().expect("refused");
            assert!(error.to_string().contains("no_such_key"), "{error}");
        }
    }

    #[test]
    fn a_parameter_of_a_table_is_refused_by_its_whole_name() {
        use legato_control::{Context, NoAssets, RateLimits};
        use legato_units::{DataRate, Timestamp};
        let limits = RateLimits { min: DataRate::ZERO, start: DataRate::ZERO, max: DataRate::MAX };
        let context = Context { limits, start: Timestamp::ZERO, seed: 0, assets: &NoAssets };
        let gcc = entry("gcc").expect("registered");
        let refused = |config: toml::Table| gcc.build(&config, context).err().expect("refused").to_string();
        let unknown = refused(toml::toml! { trendline = { no_such_key = 1 } });
        assert!(unknown.contains("trendline.no_such_key: unknown field `no_such_key`"), "{unknown}");
        let text = refused(toml::toml! { trendline = { slope_gain = "x" } });
        assert!(text.contains("trendline.slope_gain: invalid type"), "{text}");
    }
}
