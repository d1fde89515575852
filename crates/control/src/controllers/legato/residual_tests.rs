use super::*;
use crate::RateLimits;
use crate::policy::Manifest;
use legato_units::DataRate;

const LIMITS: RateLimits =
    RateLimits { min: DataRate::from_kbps(50), start: DataRate::from_kbps(800), max: DataRate::from_kbps(8_000) };

/// One layer of 14 inputs and 4 outputs: output `output` follows input `input` by `factor`, and `bias` is added to each.
fn model(activation: &str, factors: &[(usize, usize, f32)], bias: f32) -> Arc<Model> {
    let features = FEATURES.map(|name| format!("{name:?}")).join(", ");
    let toml = format!(
        "format = 1\ncontroller = \"legato\"\nobservation = {{ features = [{features}], history = 1 }}\n\
         action = {{ map = \"{ACTION_MAP}\", decide = \"values\" }}\n[network]\nweights = \"w\"\n\
         layers = [{{ name = \"only\", kind = \"dense\", from = [\"observation\"], inputs = 14, outputs = 4, \
         activation = \"{activation}\" }}]\n"
    );
    let header = br#"{"only.weight":{"dtype":"F32","shape":[4,14],"data_offsets":[0,224]},"only.bias":{"dtype":"F32","shape":[4],"data_offsets":[224,240]}}"#;
    let mut weights = [0.0_f32; 60];
    weights[56..].fill(bias);
    factors.iter().for_each(|&(output, input, factor)| weights[14 * output + input] = factor);
    let values = weights.map(f32::to_le_bytes).concat();
    let file = [&(header.len() as u64).to_le_bytes()[..], header, &values].concat();
    Manifest::parse(&toml, "policy.toml").unwrap().load(&file).unwrap()
}

fn moment() -> Moment {
    Moment {
        interval_s: 0.04,
        wait_s: 0.09,
        budget_s: 0.045,
        believed: [50e3, 100e3, 200e3],
        expected_loss_ratio: 0.02,
        lag_s: 0.05,
        frame_bytes: 2_000.0,
        limit_bytes: 4_000.0,
        skipped: true,
    }
}

/// 100,000 bytes a second from the beginning.
fn capacity() -> Capacity {
    Capacity::new(150.0, 1_000.0, LIMITS)
}

#[test]
fn a_network_of_zeros_gives_no_advice() {
    let mut residual = Residual::new(model("tanh", &[], 0.0)).unwrap();
    assert_eq!(residual.advise(&capacity(), &moment()), Advice::default());
}

#[test]
fn advice_is_within_its_bounds() {
    let advice = |bias| Residual::new(model("linear", &[], bias)).unwrap().advise(&capacity(), &moment());
    let rise_ratio = 1.0;
    let most = Advice { utilisation: 0.1, budget_ratio: 2.0, skip_ratio: 2.0, rise_ratio };
    assert_eq!(advice(1e9), most);
    assert_eq!(advice(-1e9), Advice { utilisation: -0.1, budget_ratio: 0.5, skip_ratio: 0.5, rise_ratio });
    assert_eq!(advice(f32::MAX), most);
}

/// Of a rise to four times the capacity half is believed, as a logarithm: twice as much.
#[test]
fn a_rise_is_believed_by_half_at_most_and_a_fall_is_left_alone() {
    let rise = |output, log_rise| Advice::of([0.0, 0.0, 0.0, output], log_rise).rise_ratio;
    assert!((rise(1.0, libm::log(4.0)) - 2.0).abs() < 1e-12 && (rise(1.0, 100.0) - 2.0).abs() < 1e-12);
    assert_eq!([rise(-1.0, 1.0), rise(1.0, -1.0), rise(0.0, 1.0)], [1.0; 3]);
}

/// A wait of 90 ms is twice the budget; beliefs of half, once and twice the capacity are 1.386 apart; 4,000 bytes a
/// frame are 3.33 packets, and half of the limit was used. A skip and a wait are remembered for a second and for ten:
/// of the second picture's wait of nothing 96 and 99.6 % are left of the first one's.
#[test]
fn features_are_ratios_worked_by_hand() {
    let mut residual = Residual::new(model("tanh", &[], 0.0)).unwrap();
    let near = |seen: [f32; 14], expected: [f64; 14]| {
        seen.iter().zip(expected).for_each(|(&seen, expected)| {
            assert!((f64::from(seen) - expected).abs() < 1e-4, "{seen} is not {expected}");
        });
    };
    let ln2 = std::f64::consts::LN_2;
    let packets = libm::log(4_000.0 / 1_200.0) / 2.0;
    let first = [2.0, 0.5, ln2, 0.0, -ln2, 0.2, 0.5, packets, -ln2, 0.0, 0.0, 2.0, 2.0, 0.016];
    near(residual.observe(100e3, 0.5, &moment()), first);
    let next = Moment { wait_s: 0.0, skipped: false, ..moment() };
    let moved = libm::log(1.1) / 0.05;
    let packets = libm::log(4_400.0 / 1_200.0) / 2.0;
    let log = libm::log(1.1);
    let second =
        [0.0, 0.0, ln2, -log, -ln2 - log, 0.2, 0.5, packets, -ln2, 0.04 * moved, 0.004 * moved, 1.92, 1.992, 0.015_936];
    near(residual.observe(110e3, 0.0, &next), second);
}

#[test]
fn outputs_that_are_no_numbers_are_no_advice() {
    let mut residual = Residual::new(model("tanh", &[(0, 0, 1.0)], 0.0)).unwrap();
    let broken = Moment { wait_s: f64::NAN, ..moment() };
    assert_eq!(residual.advise(&capacity(), &broken), Advice::default());
}

#[test]
fn a_policy_of_another_controller_is_refused() {
    let of = |change: &dyn Fn(String) -> String| {
        let toml = change(
            r#"format = 1
controller = "legato"
observation = { features = ["a"], history = 1 }
action = { map = "legato-residual", decide = "values" }
[network]
weights = "w"
layers = [{ name = "only", kind = "dense", from = ["observation"], inputs = 1, outputs = 2 }]
"#
            .to_owned(),
        );
        let header = br#"{"only.weight":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},"only.bias":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}}"#;
        let file = [&(header.len() as u64).to_le_bytes()[..], header, &[0; 16]].concat();
        Residual::new(Manifest::parse(&toml, "p/policy.toml").unwrap().load(&file).unwrap()).unwrap_err()
    };
    let map = of(&|toml| toml.replace("legato-residual", "aurora"));
    assert_eq!(map, "p/policy.toml: action.map = \"aurora\" is not \"legato-residual\"");
    let features = of(&|toml| toml);
    assert!(
        features.starts_with("p/policy.toml: observation.features = [a] are not [wait_over_budget, "),
        "{features}"
    );
}
