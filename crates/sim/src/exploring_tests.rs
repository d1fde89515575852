use super::*;
use legato_control::policy::Policy as _;
use legato_control::{Assets, Context, Entry, Event, RateLimits};
use legato_controllers::entry;
use legato_units::{DataRate, TimeDelta};
use std::borrow::Cow;

/// A policy of NVC-CC whose action is always `bias`.
fn model(bias: f32) -> Arc<Model> {
    model_with("linear", bias)
}

/// The same, with another activation.
fn model_with(activation: &str, bias: f32) -> Arc<Model> {
    let toml = r#"
        format = 1
        controller = "nvc-cc"
        observation = { features = ["latency_gradient", "latency_ratio", "sending_ratio"], history = 10 }
        action = { map = "nvc-cc", decide = "value", range = [-1.0, 1.0] }
        [network]
        weights = "weights.safetensors"
        layers = [{ name = "only", kind = "dense", from = ["observation"], inputs = 30, outputs = 1, activation = "ACTIVATION" }]
    "#
    .replace("ACTIVATION", activation);
    let header = br#"{"only.weight":{"dtype":"F32","shape":[1,30],"data_offsets":[0,120]},"only.bias":{"dtype":"F32","shape":[1],"data_offsets":[120,124]}}"#;
    let values = [0.0_f32; 30].into_iter().chain([bias]).map(f32::to_le_bytes).collect::<Vec<_>>().concat();
    let weights = [&(header.len() as u64).to_le_bytes()[..], header, &values].concat();
    legato_control::policy::Manifest::parse(&toml, "policy.toml").unwrap().load(&weights).unwrap()
}

struct Call {
    steered: Box<dyn Steered>,
    explorer: Explorer,
    now: Timestamp,
}

/// A safeguarded controller whose actions the explorer sets.
fn call(exchange: &Arc<Exchange>, std: f32) -> Call {
    struct Controllers;
    impl Assets for Controllers {
        fn file(&self, _name: &str) -> Option<Cow<'_, [u8]>> {
            None
        }
        fn controller(&self, name: &str) -> Option<&'static Entry> {
            entry(name)
        }
    }
    let limits =
        RateLimits { min: DataRate::from_kbps(50), start: DataRate::from_kbps(300), max: DataRate::from_kbps(6_000) };
    let context = Context { limits, start: Timestamp::ZERO, seed: 1, assets: &Controllers };
    let config = toml::from_str("inner = 'nvc-cc'\ninner_config = { policy = 'hand' }").unwrap();
    let steered = entry("safeguard").unwrap().steered(&config, context).unwrap();
    Call { steered, explorer: Explorer::new(model(0.25), std, 7, Arc::clone(exchange)), now: Timestamp::ZERO }
}

impl Call {
    /// To the next decision, and through it.
    fn decide(&mut self) {
        self.now = self.steered.pipeline().next_decision();
        self.explorer.decide(self.now, &mut *self.steered);
        self.steered.on_event(self.now, &Event::Deadline);
    }
}

#[test]
fn each_decision_hands_over_its_interval_and_new_weights_hold_from_the_next_on() {
    let exchange = Arc::new(Exchange::default());
    let mut call = call(&exchange, 0.0);
    (0..3).for_each(|_| call.decide());
    exchange.give(1, model(-0.5), 0.0);
    call.decide();
    let taken = exchange.take();
    let of = |explored: &Explored| (explored.version, explored.action);
    assert_eq!(taken.iter().map(of).collect::<Vec<_>>(), [(0, 0.25), (0, 0.25), (0, 0.25), (1, -0.5)]);
    assert_eq!(taken[0].observation.len(), 30);
    let column = |name: &str| COLUMNS.iter().position(|&column| column == name).unwrap();
    assert_eq!(taken[1].row[column("interval_s")], 0.05);
    assert_eq!(taken[1].row[column("target_bitrate_bps")], 300_000.0);
    assert!(taken[1].row[column("true_rtt_ms")].is_nan() && taken[1].row[column("true_decoded_frames")].is_nan());
    assert!(exchange.take().is_empty());
}

#[test]
fn nothing_is_decided_before_it_is_due() {
    let exchange = Arc::new(Exchange::default());
    let mut call = call(&exchange, 0.0);
    call.explorer.decide(Timestamp::ZERO + TimeDelta::from_millis(20), &mut *call.steered);
    assert!(exchange.take().is_empty());
}

/// The learner may hold either lock as long as it likes.
#[test]
fn a_busy_learner_delays_what_is_handed_over_and_no_decision() {
    let exchange = Arc::new(Exchange::default());
    let mut call = call(&exchange, 0.0);
    {
        let _weights = exchange.weights.lock().unwrap();
        let _done = exchange.done.lock().unwrap();
        (0..5).for_each(|_| call.decide());
    }
    assert!(exchange.take().is_empty());
    call.decide();
    assert_eq!(exchange.take().len(), 6);
}

#[test]
fn weights_of_other_layers_are_not_taken() {
    let mut policy = NetworkPolicy::new(model(0.25));
    assert!(!policy.take_weights(model_with("tanh", 0.75)));
    assert_eq!(policy.act(&[0.0; 30]), 0.25);
    assert!(policy.take_weights(model(0.75)));
    assert_eq!(policy.act(&[0.0; 30]), 0.75);
}

#[test]
fn exploration_is_drawn_around_the_output_by_the_seed() {
    let drawn = |std: f32| {
        let exchange = Arc::new(Exchange::default());
        let mut call = call(&exchange, std);
        (0..2_000).for_each(|_| call.decide());
        exchange.take().iter().map(|explored| explored.action).collect::<Vec<_>>()
    };
    let actions = drawn(0.1);
    assert_eq!(actions, drawn(0.1));
    let mean = actions.iter().sum::<f32>() / 2_000.0;
    let std = (actions.iter().map(|action| (action - mean) * (action - mean)).sum::<f32>() / 2_000.0).sqrt();
    assert!((mean - 0.25).abs() < 0.01 && (std - 0.1).abs() < 0.01, "{mean} {std}");
}

#[test]
fn choices_are_drawn_in_proportion_to_their_exponentials() {
    // exp(0), exp(ln 3): a quarter and three quarters.
    let outputs = [0.0, libm::logf(3.0)];
    assert_eq!([0.0, 0.24, 0.26, 0.999].map(|share| chosen(&outputs, share)), [0.0, 0.0, 1.0, 1.0]);
    assert!(chosen(&[0.0, f32::NAN], 0.5).is_nan());
}
