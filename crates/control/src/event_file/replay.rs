//! An event file played again: the controller of its header is built anew and gets the same events.

use super::answers::{Answers, WithFuture};
use super::{Answer, CONTRACT_VERSION, EventLog, Line};
use crate::{Assets, BuildError, Context};

/// Why a file could not be replayed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// A line does not follow the format.
    #[error("line {line}: {message}")]
    Line {
        /// Counted from 1.
        line: usize,
        /// What is wrong with it.
        message: String,
    },
    /// The controller could not be built.
    #[error(transparent)]
    Build(#[from] BuildError),
}

/// The event file that the controller of `recorded` writes now, from the same events; [`first_difference`] compares them.
/// `assets` finds the controller, its policies and its guests; the future is the recorded one.
///
/// # Errors
/// A line that this version does not define, or a controller that cannot be built from the header.
pub fn replay(recorded: &str, assets: &dyn Assets) -> Result<String, ReplayError> {
    let fault = |line: usize, message: String| ReplayError::Line { line: line + 1, message };
    let lines = recorded.lines().enumerate().map(|(at, text)| {
        let line: Line = serde_json::from_str(text).map_err(|error| fault(at, error.to_string()))?;
        Ok(line)
    });
    let lines = lines.collect::<Result<Vec<_>, ReplayError>>()?;
    let Some((Line::Header(header), rest)) = lines.split_first() else {
        return Err(fault(0, "is no header".to_owned()));
    };
    if header.version != CONTRACT_VERSION {
        let message = format!("version = {}: this program replays version {CONTRACT_VERSION}", header.version);
        return Err(fault(0, message));
    }
    let Some(entry) = assets.controller(&header.controller) else {
        return Err(fault(0, format!("controller = {:?}: no such controller", header.controller)));
    };
    let answers = rest.iter().filter_map(|line| match line {
        Line::Future(answer) => Some(answer.clone()),
        _ => None,
    });
    let assets = WithFuture { assets, future: Answers::new(answers.collect::<Vec<Answer>>().into()) };
    let context = Context { limits: header.limits, start: header.start, seed: header.seed, assets: &assets };
    let log = EventLog::default();
    let mut controller = log.record(entry, &header.config, context)?;
    for line in rest {
        match line {
            Line::Event(at, event) => controller.on_event(*at, event),
            Line::Probe(_) => {
                controller.poll_probe();
            }
            _ => {}
        }
    }
    Ok(log.text())
}

/// The first line that two files do not share: its number from 1, and the line in each, empty behind its end.
pub fn first_difference<'a>(recorded: &'a str, replayed: &'a str) -> Option<(usize, &'a str, &'a str)> {
    let (mut recorded, mut replayed) = (recorded.lines(), replayed.lines());
    for line in 1.. {
        match (recorded.next(), replayed.next()) {
            (None, None) => return None,
            (before, now) if before == now => {}
            (before, now) => return Some((line, before.unwrap_or_default(), now.unwrap_or_default())),
        }
    }
    None
}
