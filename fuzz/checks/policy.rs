//! Properties that hold for every byte string taken for a policy: no panic, and what loads decides within its range or
//! says that it cannot.

use legato_control::policy::{Decide, Manifest, NetworkPolicy, Policy, PolicyError};

/// The manifest and the weights of an input: a zero byte parts them.
pub fn load(bytes: &[u8]) -> Result<NetworkPolicy, PolicyError> {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    let toml = String::from_utf8_lossy(&bytes[..end]);
    let manifest = Manifest::parse(&toml, "x")?;
    Ok(NetworkPolicy::new(manifest.load(bytes.get(end + 1..).unwrap_or_default())?))
}

pub fn policy(bytes: &[u8]) {
    let mut policy = match load(bytes) {
        Ok(policy) => policy,
        Err(error) => {
            let line = error.to_string();
            assert!(!line.contains('\n') && line.len() < 1_500, "{line}");
            return;
        }
    };
    let manifest = policy.model().manifest().clone();
    let mut observation = vec![0.5; manifest.inputs()];
    for value in [0.5, -1e3, f32::MAX, f32::NAN, 0.0] {
        observation[0] = value;
        let action = policy.act(&observation);
        match manifest.decide() {
            Decide::Value { low, high } => assert!(action.is_nan() || (low..=high).contains(&action)),
            Decide::Argmax => assert!(action.is_nan() || (action >= 0.0 && (action as usize) < manifest.outputs())),
        }
    }
}
