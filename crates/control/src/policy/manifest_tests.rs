use super::super::trial::{Tensor, file, layer, of_every_kind, refused, tensors, toml};
use super::*;

fn dense(rest: &str) -> String {
    layer("only", "dense", "\"observation\"", rest)
}

fn valid() -> String {
    toml(3, "value", &dense("inputs = 3\noutputs = 1\nactivation = \"tanh\""))
}

#[test]
fn a_manifest_names_what_its_policy_was_made_for() {
    let text = valid() + "[trained]\nseed = 4\ncommand = \"legato train\"\n";
    let manifest = Manifest::parse(&text, "p/policy.toml").unwrap();
    assert_eq!((manifest.controller(), manifest.action_map(), manifest.history()), ("trial", "trial", 3));
    assert_eq!((manifest.features(), manifest.width()), (&["a".to_owned()][..], 1));
    assert_eq!((manifest.inputs(), manifest.outputs(), manifest.parameters()), (3, 1, 4));
    assert_eq!(manifest.decide(), Decide::Value { low: -1.0, high: 1.0 });
    assert_eq!(manifest.weights_file(), "weights.safetensors");
    assert_eq!(manifest.trained()["seed"].as_integer(), Some(4));
    let shapes = manifest.tensors();
    assert_eq!(shapes, [("only.weight".to_owned(), vec![1, 3]), ("only.bias".to_owned(), vec![1])]);
}

#[test]
fn an_observation_is_history_times_features_times_width() {
    let text = valid().replace("history = 3", "history = 3\nwidth = 4").replace("inputs = 3", "inputs = 12");
    assert_eq!(Manifest::parse(&text, "p").unwrap().inputs(), 12);
}

/// Each broken manifest: the replaced text of a valid one, and the error.
#[test]
fn a_manifest_is_refused_with_file_key_and_value() {
    let cases = [
        ("format = 1", "format = 2", "format = 2: this version reads 1"),
        ("format = 1", "format = 1\ncolour = 3", "colour: unknown key"),
        ("format = 1", "", "format: missing"),
        ("format = 1", "format 1", "line 1: not TOML: key with no value, expected `=`"),
        ("\"trial\"\n[obs", "7\n[obs", "controller = 7: text of 1 to 256 bytes is needed"),
        ("[\"a\"]", "[\"a\", \"a\"]", "observation.features = a: named twice"),
        ("[\"a\"]", "[]", "observation.features = []: a list of texts is needed, each of 1 to 256 bytes"),
        ("history = 3", "history = 0", "observation.history = 0: an integer of 1 to 65536 is needed"),
        (
            "history = 3",
            "history = 3\nwidth = 65536",
            "observation.history = 3: 196608 values of an observation, 65536 are the most",
        ),
        ("\"value\"", "\"mean\"", "action.decide = mean: value or argmax is needed"),
        (
            "\"value\"",
            "\"value\"\nrange = [1.0, 0.0]",
            "action.range = [1.0, 0.0]: two finite numbers are needed, ascending",
        ),
        (
            "\"value\"",
            "\"value\"\nrange = [0.0, inf]",
            "action.range = [0.0, inf]: two finite numbers are needed, ascending",
        ),
        (
            "\"value\"",
            "\"argmax\"",
            "action.decide = argmax: the last layer has one output, there is nothing to choose",
        ),
        (
            "\"value\"",
            "\"argmax\"\nrange = [0, 1]",
            "action.decide = argmax: the last layer has one output, there is nothing to choose",
        ),
        ("\"weights.safetensors\"", "\"../w\"", "network.weights = ../w: the name of a file beside this one is needed"),
        ("outputs = 1", "outputs = 2", "action.decide = value: the last layer has 2 outputs, not one"),
        ("inputs = 3", "inputs = 4", "network.layers[0].name = only: the layer has 4 inputs, and from gives it 3"),
        (
            "\"tanh\"",
            "\"swish\"",
            "network.layers[0].activation = swish: linear, tanh, hard_tanh, relu, leaky_relu, sigmoid or softmax",
        ),
        ("\"tanh\"", "\"tanh\"\nslope = 0.5", "network.layers[0].slope: unknown key"),
        (
            "\"dense\"",
            "\"lstm\"",
            "network.layers[0].kind = lstm: dense, gru, conv1d, conv2d, layer_norm, scale or dot is needed",
        ),
        (
            "name = \"only\"",
            "name = \"observation\"",
            "network.layers[0].name = observation: letters, digits and _ make a name; observation is taken",
        ),
        (
            "name = \"only\"",
            "name = \"a.b\"",
            "network.layers[0].name = a.b: letters, digits and _ make a name; observation is taken",
        ),
        ("[\"observation\"]", "[\"only\"]", "network.layers[0].from = only: neither observation nor an earlier layer"),
        (
            "[\"observation\"]",
            "[\"observation[1:4]\"]",
            "network.layers[0].from = observation[1:4]: 3 values are there, START below END",
        ),
        (
            "[\"observation\"]",
            "[\"observation[2:2]\"]",
            "network.layers[0].from = observation[2:2]: 3 values are there, START below END",
        ),
        (
            "[\"observation\"]",
            "[\"observation[1]\"]",
            "network.layers[0].from = observation[1]: a slice is written [START:END]",
        ),
        (
            "inputs = 3\noutputs = 1",
            "inputs = 3\noutputs = 65537",
            "network.layers[0].outputs = 65537: an integer of 1 to 65536 is needed",
        ),
    ];
    for (old, new, said) in cases {
        let text = valid().replacen(old, new, 1);
        assert_ne!(text, valid(), "{old} is in the valid one");
        let error = refused(&text);
        assert_eq!(error.to_string(), format!("p/policy.toml: {said}"), "for {new}");
    }
}

#[test]
fn a_layer_may_read_earlier_layers_only_and_must_be_read() {
    let first = layer("first", "dense", "\"observation\"", "inputs = 3\noutputs = 1");
    let last = |name: &str, from: &str| layer(name, "dense", from, "inputs = 3\noutputs = 1");
    let later = toml(
        3,
        "value",
        &[layer("one", "dense", "\"two\"", "inputs = 1\noutputs = 3"), last("two", "\"one\"")].concat(),
    );
    assert_eq!(
        refused(&later).to_string(),
        "p/policy.toml: network.layers[0].from = two: neither observation nor an earlier layer"
    );
    let twice = toml(3, "value", &[first.clone(), last("first", "\"observation\"")].concat());
    assert_eq!(
        refused(&twice).to_string(),
        "p/policy.toml: network.layers[1].name = first: an earlier layer has this name"
    );
    let unread = toml(3, "value", &[first, last("last", "\"observation\"")].concat());
    assert_eq!(
        refused(&unread).to_string(),
        "p/policy.toml: network.layers = first: no layer reads it, and it is not the last"
    );
}

#[test]
fn oversized_policies_are_refused_before_anything_is_allocated() {
    let error_of = |text: &str| refused(text).to_string();
    assert_eq!(error_of(&"#".repeat((1 << 20) + 1)), "p/policy.toml: 1048577 bytes, 1048576 are the most");
    let wide =
        dense("inputs = 3\noutputs = 65536") + &layer("more", "dense", "\"only\"", "inputs = 65536\noutputs = 65536");
    assert!(error_of(&toml(3, "argmax", &wide)).contains("16777216 and 1073741824 are the most"));
    let many: String =
        (0..65).map(|i| layer(&format!("l{i}"), "dense", "\"observation\"", "inputs = 3\noutputs = 1")).collect();
    assert!(error_of(&toml(3, "value", &many)).contains("network.layers = a list of 65: 1 to 64 tables are needed"));
    let deep = layer(
        "c",
        "conv2d",
        "\"observation\"",
        "channels = 4096\nheight = 4096\nwidth = 4096\nfilters = 4096\nkernel = [4096, 4096]",
    );
    assert!(error_of(&toml(3, "value", &deep)).contains("1 to 65536 can be"));
    let small = layer("c", "conv1d", "\"observation\"", "channels = 1\nlength = 3\nfilters = 2\nkernel = 4");
    assert!(error_of(&toml(3, "value", &small)).contains("0 outputs of 4 inputs each"));
}

/// Each broken set of weights and its error.
#[test]
fn weights_are_refused_with_file_and_tensor() {
    let manifest = Manifest::parse(&of_every_kind("value"), "p/policy.toml").unwrap();
    let sound = tensors(&manifest);
    assert!(manifest.load(&file(&sound)).is_ok());
    let error_of = |bytes: &[u8]| manifest.load(bytes).expect_err("broken weights").to_string();
    let changed = |change: &dyn Fn(&mut Vec<Tensor>)| {
        let mut tensors = sound.clone();
        change(&mut tensors);
        error_of(&file(&tensors))
    };
    let head = "p/policy.toml: network.weights = \"weights.safetensors\": ";
    assert_eq!(changed(&|t| drop(t.remove(0))), format!("{head}tensor rows.weight: missing"));
    assert_eq!(
        changed(&|t| t[0].1 = vec![5, 6, 1]),
        format!("{head}tensor rows.weight: shape [5, 6, 1], [5, 2, 3] is needed")
    );
    assert_eq!(
        changed(&|t| t[3].2[1] = f32::NAN),
        format!("{head}tensor grid.bias: value 1 is NaN, finite ones are needed")
    );
    assert_eq!(
        changed(&|t| t[4].2[0] = f32::INFINITY),
        format!("{head}tensor memory.weight_ih: value 0 is inf, finite ones are needed")
    );
    assert_eq!(
        changed(&|t| t.push(("more".into(), vec![1], vec![0.0]))),
        format!("{head}tensor more: no layer has it")
    );
    let bytes = file(&sound);
    assert!(error_of(&bytes[..bytes.len() - 4]).contains("not safetensors, or cut off"));
    assert_eq!(error_of(&bytes[..7]), format!("{head}7 bytes: too short for safetensors"));
    assert_eq!(
        error_of(&[0xff; 64]),
        format!("{head}header of 18446744073709551615 bytes: not safetensors, or cut off")
    );
    assert_eq!(error_of(&vec![0; (64 << 20) + 1]), format!("{head}67108865 bytes, 67108864 are the most"));
    let integers = replaced(&bytes, b"F32", b"I32");
    assert_eq!(error_of(&integers), format!("{head}tensor rows.weight: type I32, F32 is needed"));
}

fn replaced(bytes: &[u8], old: &[u8; 3], new: &[u8; 3]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let places: Vec<usize> = (0..bytes.len() - 3).filter(|&i| bytes[i..i + 3] == *old).collect();
    places.into_iter().for_each(|at| bytes[at..at + 3].copy_from_slice(new));
    bytes
}
