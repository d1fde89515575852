use super::super::trial::{Tensor, file, layer, of_every_kind, tensors, toml};
use super::*;

fn model(toml: &str) -> Model {
    let manifest = Manifest::parse(toml, "trial").unwrap();
    let file = file(&tensors(&manifest));
    let tensors = Tensors::parse(&file).unwrap();
    Model::new(manifest, &tensors).unwrap()
}

fn policy(toml: &str) -> NetworkPolicy {
    NetworkPolicy::new(Arc::new(model(toml)))
}

fn observation(step: usize) -> Vec<f32> {
    (0..24).map(|i| ((i * 37 + step * 11) % 29) as f32 / 14.5 - 1.0).collect()
}

/// The same network in the plainest f64, from the file's own tensors.
struct Plain {
    tensors: Vec<Tensor>,
    state: Vec<f64>,
}

impl Plain {
    fn tensor(&self, name: &str) -> Vec<f64> {
        let found = self.tensors.iter().find(|tensor| tensor.0 == name).unwrap();
        found.2.iter().map(|&value| f64::from(value)).collect()
    }

    fn times(&self, weight: &str, bias: &str, x: &[f64]) -> Vec<f64> {
        let (weight, bias) = (self.tensor(weight), self.tensor(bias));
        let dot = |row: &[f64]| row.iter().zip(x).map(|(w, x)| w * x).sum::<f64>();
        weight.chunks(x.len()).zip(&bias).map(|(row, bias)| dot(row) + bias).collect()
    }

    /// One step of `of_every_kind`.
    fn step(&mut self, observation: &[f32]) -> Vec<f64> {
        let o: Vec<f64> = observation.iter().map(|&value| f64::from(value)).collect();
        let (weight, bias) = (self.tensor("rows.weight"), self.tensor("rows.bias"));
        let at = |f: usize, p: usize| -> f64 {
            (0..2)
                .flat_map(|c| (0..3).map(move |k| (c, k)))
                .map(|(c, k)| weight[(f * 2 + c) * 3 + k] * o[c * 6 + p + k])
                .sum()
        };
        let rows: Vec<f64> = (0..20).map(|i| (at(i / 4, i % 4) + bias[i / 4]).max(0.0)).collect();
        let (weight, bias) = (self.tensor("grid.weight"), self.tensor("grid.bias"));
        let pixel = |y: usize, x: usize| {
            if (1..=3).contains(&y) && (1..=4).contains(&x) { o[12 + (y - 1) * 4 + x - 1] } else { 0.0 }
        };
        let at = |f: usize, p: usize| -> f64 {
            (0..9).map(|k| weight[f * 9 + k] * pixel(p / 4 + k / 3, p % 4 + k % 3)).sum()
        };
        let leaky = |x: f64| if x < 0.0 { 0.2 * x } else { x };
        let grid: Vec<f64> = (0..36).map(|i| leaky(at(i / 12, i % 12) + bias[i / 12])).collect();
        let x = [&grid[..], &rows[3..20], &o[5..9]].concat();
        let gi = self.times("memory.weight_ih", "memory.bias_ih", &x);
        let gh = self.times("memory.weight_hh", "memory.bias_hh", &self.state);
        let sigmoid = |x: f64| 1.0 / (1.0 + libm::exp(-x));
        self.state = (0..21)
            .map(|i| {
                let (r, z) = (sigmoid(gi[i] + gh[i]), sigmoid(gi[21 + i] + gh[21 + i]));
                (1.0 - z) * libm::tanh(gi[42 + i] + r * gh[42 + i]) + z * self.state[i]
            })
            .collect();
        let last = [&self.state[..], &rows].concat();
        self.times("last.weight", "last.bias", &last).into_iter().map(libm::tanh).collect()
    }
}

#[test]
fn every_kind_of_layer_is_within_1e_5_of_plain_sums_in_f64() {
    let toml = of_every_kind("argmax");
    let mut policy = policy(&toml);
    let mut plain = Plain { tensors: tensors(policy.model().manifest()), state: vec![0.0; 21] };
    for step in 0..20 {
        let expected = plain.step(&observation(step));
        let outputs = policy.outputs(&observation(step));
        assert_eq!(outputs.len(), 7);
        for (output, expected) in outputs.iter().zip(&expected) {
            assert!((f64::from(*output) - expected).abs() < 1e-5, "step {step}: {outputs:?}, {expected:?}");
        }
    }
}

#[test]
fn the_bits_do_not_depend_on_the_vector_width() {
    let outputs = |lanes: Lanes| -> Vec<u32> {
        let mut model = model(&of_every_kind("argmax"));
        model.lanes = lanes;
        let mut policy = NetworkPolicy::new(Arc::new(model));
        (0..20).flat_map(|step| policy.outputs(&observation(step)).to_vec()).map(f32::to_bits).collect()
    };
    let all: Vec<_> = Lanes::all().into_iter().map(outputs).collect();
    assert!(all.iter().all(|bits| *bits == all[0]));
}

#[test]
fn a_policy_remembers_until_it_is_reset_and_a_copy_continues_alike() {
    let mut policy = policy(&of_every_kind("value"));
    let first = policy.act(&observation(0));
    let second = policy.act(&observation(0));
    assert_ne!(first, second);
    let mut copy = dyn_clone::clone_box(&policy);
    assert_eq!(copy.act(&observation(1)), policy.act(&observation(1)));
    policy.reset();
    assert_eq!((policy.act(&observation(0)), policy.act(&observation(0))), (first, second));
}

#[test]
fn a_nan_observation_gives_nan_and_is_forgotten() {
    for decide in ["value", "argmax"] {
        let mut policy = policy(&of_every_kind(decide));
        let first = policy.act(&observation(0));
        let mut broken = observation(1);
        broken[7] = f32::NAN;
        assert!(policy.act(&broken).is_nan());
        assert_eq!(policy.act(&observation(0)), first);
    }
}

#[test]
fn a_value_is_clamped_and_the_first_of_the_largest_is_chosen() {
    let value = Decide::Value { low: 0.0, high: 1.0 };
    assert_eq!([-0.5, 0.25, 7.0, f32::INFINITY].map(|output| decided(value, &[output])), [0.0, 0.25, 1.0, 1.0]);
    assert_eq!(decided(Decide::Argmax, &[1.0, 3.0, 2.0, 3.0]), 1.0);
    assert!(decided(Decide::Argmax, &[1.0, f32::NAN]).is_nan() && decided(value, &[f32::NAN]).is_nan());
}

#[test]
#[should_panic(expected = "an observation of trial")]
fn an_observation_of_another_length_is_a_mistake_in_the_program() {
    policy(&toml(2, "value", &layer("only", "dense", "\"observation\"", "inputs = 2\noutputs = 1"))).act(&[0.0]);
}
