//! Every parameter of every controller states its meaning and its unit in a complete sentence.

use legato_control::{Context, Parameter, RateLimits};
use legato_controllers::{NoFiles, REGISTRY, entry};
use legato_units::{DataRate, Timestamp};

fn all() -> impl Iterator<Item = (&'static str, Parameter)> {
    REGISTRY.iter().flat_map(|entry| {
        let parameters = entry.parameters(&toml::Table::new()).expect("the defaults are valid");
        parameters.into_iter().map(|parameter| (entry.name, parameter))
    })
}

/// The fault of a meaning, if any.
fn fault(meaning: &str) -> Option<&'static str> {
    let meaning = meaning.trim();
    let last = meaning.chars().last()?;
    if meaning.contains('…') {
        return Some("runs on into another parameter's");
    }
    if meaning.starts_with("See ") || meaning.starts_with("The same") && meaning.split(' ').count() < 5 {
        return Some("sends the reader elsewhere");
    }
    if meaning.split_whitespace().count() < 4 {
        return Some("is a name, no sentence");
    }
    (!['.', '!', '?'].contains(&last)).then_some("has no end")
}

#[test]
fn every_parameter_has_a_sentence_that_stands_alone() {
    let faults: Vec<_> = all()
        .filter_map(|(name, Parameter { key, meaning, .. })| {
            let fault = if meaning.is_empty() { Some("is missing") } else { fault(&meaning) };
            fault.map(|fault| format!("{name}: {key}: the meaning {fault}: {meaning:?}"))
        })
        .collect();
    assert!(faults.is_empty(), "{}\n{} in all", faults.join("\n"), faults.len());
}

#[test]
fn fragments_and_references_are_refused() {
    assert_eq!(fault("See `alr`."), Some("sends the reader elsewhere"));
    assert_eq!(fault("… down to this."), Some("runs on into another parameter's"));
    assert_eq!(fault("MIN_CWND."), Some("is a name, no sentence"));
    assert_eq!(fault("The minimum number of packets"), Some("has no end"));
    assert_eq!(fault("The minimum number of packets of a probe."), None);
}

/// Keys of `config` that no parameter speaks of, with tables walked through.
fn missing(config: &toml::Table, prefix: &str, known: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    for (key, value) in config {
        let key = format!("{prefix}{key}");
        match value {
            _ if known.contains(&key) => {}
            toml::Value::Table(inner) => found.extend(missing(inner, &format!("{key}."), known)),
            _ => found.push(key),
        }
    }
    found
}

#[test]
fn no_value_of_a_config_is_left_out() {
    for entry in REGISTRY {
        let known: Vec<_> =
            entry.parameters(&toml::Table::new()).unwrap().into_iter().map(|parameter| parameter.key).collect();
        assert_eq!(missing(&entry.default_config(), "", &known), [""; 0], "{}", entry.name);
    }
}

#[test]
fn every_number_has_a_unit_and_nothing_else_has() {
    for (name, Parameter { key, value, unit, .. }) in all() {
        let number = match &value {
            Some(toml::Value::Array(values)) => values.first().is_some_and(|first| !first.is_str()),
            Some(value) => value.is_integer() || value.is_float(),
            None => continue,
        };
        assert_eq!(number, !unit.is_empty(), "{name}: {key} in {unit:?}");
    }
}

/// `value` at the dotted `key`, and nothing else.
fn alone(key: &str, value: toml::Value) -> toml::Table {
    let nested = key.rsplit('.').fold(value, |value, key| toml::Table::from_iter([(key.to_owned(), value)]).into());
    nested.as_table().expect("a key was given").clone()
}

#[test]
fn a_value_out_of_range_is_refused_with_its_key_and_what_is_accepted() {
    for entry in REGISTRY {
        for Parameter { key, default, range, unit, .. } in entry.parameters(&toml::Table::new()).unwrap() {
            let refused: Vec<toml::Value> = match &default {
                Some(toml::Value::Integer(_)) => vec![(-1_000_000).into(), i64::MAX.into()],
                Some(toml::Value::Float(_)) => vec![f64::NAN.into(), (-1e300).into(), 1e300.into()],
                _ => continue,
            };
            assert!(!unit.is_empty(), "{}: {key}", entry.name);
            for value in refused {
                let range = range.unwrap_or_else(|| panic!("{}: {key} has no range", entry.name));
                let message = entry.config_with(&alone(&key, value)).unwrap_err().to_string();
                assert!(message.starts_with(&format!("controller {}: {key} = ", entry.name)), "{message}");
                assert!(message.ends_with(&range.to_string()), "{message}");
            }
        }
    }
}

#[test]
fn defaults_and_profiles_are_in_their_own_ranges() {
    for entry in REGISTRY {
        let defaults = entry.default_config();
        assert_eq!(entry.config_with(&defaults), Ok(defaults), "{}", entry.name);
    }
    for (name, profiles) in [
        ("gcc", &["m150", "low-delay"][..]),
        ("scream-v2", &["competing-flows", "v2-draft", "v2-ericsson", "v2-libwebrtc"]),
    ] {
        for profile in profiles {
            let whole = entry(name).unwrap().config_with(&alone("profile", (*profile).into())).unwrap();
            assert_eq!(entry(name).unwrap().config_with(&whole), Ok(whole), "{name}@profile={profile}");
        }
    }
}

#[test]
fn units_follow_the_names() {
    let parameters = |name| entry(name).expect("registered").parameters(&toml::Table::new()).unwrap();
    let (gcc, ukf) = (parameters("gcc"), parameters("ukf"));
    let unit = |key: &str| gcc.iter().chain(&ukf).find(|parameter| parameter.key == key).map(|found| found.unit);
    assert_eq!(unit("pushback.queue_ms"), Some("ms"));
    assert_eq!(unit("pushback.min_bitrate_bps"), Some("bit/s"));
    assert_eq!(unit("rules.climb_per_s_ratio"), Some("ratio per s"));
    assert_eq!(unit("overuse.up_gain_per_ms"), Some("1/ms"));
    assert_eq!(unit("trendline.window_groups"), Some("group"));
    assert_eq!(unit("trendline.slope_gain"), Some("factor"));
    assert_eq!(unit("loss.observations"), Some("count"));
    assert_eq!(unit("pushback.enabled"), Some(""));
}

#[test]
fn a_value_of_the_wrong_type_is_named_with_its_key_in_words_of_toml() {
    let limits = RateLimits { min: DataRate::ZERO, start: DataRate::from_kbps(300), max: DataRate::from_mbps(1) };
    let context = Context { limits, start: Timestamp::ZERO, seed: 1, assets: &NoFiles };
    let refused = |name: &str, config: toml::Table| {
        let built = entry(name).expect("it is registered").build(&config, context);
        built.err().expect("it is refused").to_string()
    };
    for (name, config, expected) in [
        (
            "legato",
            toml::toml! { pacing_ratio = "abc" },
            "controller legato: pacing_ratio: invalid type: string \"abc\", expected a number",
        ),
        (
            "gcc",
            toml::toml! { aimd = { backoff_ratio = "x" } },
            "controller gcc: aimd.backoff_ratio: invalid type: string \"x\", expected a number",
        ),
        (
            "gcc",
            toml::Table::from_iter([("aimd".to_owned(), toml::Value::Integer(3))]),
            "controller gcc: aimd: invalid type: integer `3`, expected a table of keys",
        ),
    ] {
        assert_eq!(refused(name, config), expected);
    }
    let unknown = refused("legato", toml::toml! { pacing = 1.0 });
    assert!(unknown.starts_with("controller legato: unknown field `pacing`, expected one of"), "{unknown}");
}
