//! The state machine of [nagy2014]: state and a report's cues to the next state. Pure, one table.
//!
//! STAY holds the rate and observes the path, PROBE sends parity on top of it, UP has replaced the
//! parity by media, DOWN has undershot and lets queues drain.

/// The controller's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Down,
    Probe,
    Stay,
    Up,
}

impl State {
    /// For plots, from the most cautious to the boldest.
    pub(super) fn level(self) -> u8 {
        match self {
            Self::Down => 0,
            Self::Stay => 1,
            Self::Probe => 2,
            Self::Up => 3,
        }
    }
}

/// The worst loss in a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Loss {
    None,
    /// Parity repaired it, or it came early in the interval and has stopped since.
    Past,
    /// Media is missing, recently.
    Recent,
}

/// The cues in a report.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cues {
    pub(super) loss: Loss,
    /// One-way delay over the 40th percentile of its history.
    pub(super) correlated_low: f64,
    /// One-way delay over the 80th percentile of its history.
    pub(super) correlated_high: f64,
    /// The last report in STAY was also above `stay_above`.
    pub(super) delayed_before: bool,
    /// There is nothing to probe for: the application wants no more, or sends less than it may.
    pub(super) content: bool,
}

/// The change to rate and parity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// Return to the rate delivered while undershooting.
    BounceBack,
    /// Media replaces the parity.
    Climb,
    /// Probe more gently.
    FewerParity,
    Hold,
    /// Probe harder.
    MoreParity,
    /// Cut below the goodput.
    Undershoot,
}

/// Thresholds of the correlated delays, ascending: `stay_above` <= `probe_less_above` <= `down_above` <=
/// `undershoot_above`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Thresholds {
    /// alpha_stay, of the high one.
    pub(super) stay_above: f64,
    /// beta, of the low one.
    pub(super) probe_less_above: f64,
    /// alpha_down, of the high one.
    pub(super) down_above: f64,
    /// alpha_undershoot, of the high one.
    pub(super) undershoot_above: f64,
}

/// The state after a report, and the action on the way.
pub(super) fn next(state: State, cues: &Cues, limits: &Thresholds) -> (State, Action) {
    let high = cues.correlated_high;
    match (state, cues.loss) {
        // Undershooting ends.
        (State::Down, Loss::Recent) => (State::Down, Action::Undershoot),
        (State::Down, _) if high > limits.undershoot_above => (State::Down, Action::Undershoot),
        (State::Down, _) => (State::Stay, Action::BounceBack),
        (_, Loss::Recent) => (State::Down, Action::Undershoot),
        (_, _) if high > limits.down_above => (State::Down, Action::Undershoot),
        (_, Loss::Past) => (State::Stay, Action::Hold),
        (State::Up, Loss::None) => (State::Stay, Action::Hold),
        (State::Stay, Loss::None) if high > limits.stay_above => {
            if cues.delayed_before {
                (State::Down, Action::Undershoot)
            } else {
                (State::Stay, Action::Hold)
            }
        }
        (State::Stay, Loss::None) if cues.content => (State::Stay, Action::Hold),
        (State::Stay, Loss::None) if cues.correlated_low <= 1.0 && high <= 1.0 => (State::Probe, Action::MoreParity),
        (State::Stay, Loss::None) => (State::Probe, Action::Hold),
        (State::Probe, Loss::None) if high > limits.stay_above => (State::Stay, Action::Hold),
        (State::Probe, Loss::None) if cues.correlated_low > limits.probe_less_above => {
            (State::Probe, Action::FewerParity)
        }
        (State::Probe, Loss::None) => (State::Up, Action::Climb),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Thresholds =
        Thresholds { stay_above: 1.1, probe_less_above: 1.2, down_above: 1.6, undershoot_above: 2.0 };

    /// [nagy2014], the state machine: state and cues (loss, low, high correlated delay) to state and action.
    #[test]
    fn the_state_machine_is_this_table() {
        use Action::{BounceBack, Climb, FewerParity, Hold, MoreParity, Undershoot};
        use State::{Down, Probe, Stay, Up};
        let table = [
            (Stay, Loss::None, 1.05, 1.02, Probe, Hold),
            (Stay, Loss::None, 0.95, 0.90, Probe, MoreParity),
            (Stay, Loss::None, 1.30, 1.15, Stay, Hold),
            (Stay, Loss::None, 2.00, 1.70, Down, Undershoot),
            (Stay, Loss::Past, 1.00, 1.00, Stay, Hold),
            (Stay, Loss::Recent, 1.00, 1.00, Down, Undershoot),
            (Probe, Loss::None, 1.10, 1.05, Up, Climb),
            (Probe, Loss::None, 1.25, 1.05, Probe, FewerParity),
            (Probe, Loss::None, 1.30, 1.15, Stay, Hold),
            (Probe, Loss::None, 2.00, 1.70, Down, Undershoot),
            (Probe, Loss::Past, 1.00, 1.00, Stay, Hold),
            (Probe, Loss::Recent, 1.00, 1.00, Down, Undershoot),
            (Up, Loss::None, 1.30, 1.15, Stay, Hold),
            (Up, Loss::None, 2.00, 1.70, Down, Undershoot),
            (Up, Loss::Past, 1.00, 1.00, Stay, Hold),
            (Up, Loss::Recent, 1.00, 1.00, Down, Undershoot),
            (Down, Loss::None, 1.80, 1.70, Stay, BounceBack),
            (Down, Loss::None, 2.50, 2.10, Down, Undershoot),
            (Down, Loss::Past, 1.00, 1.00, Stay, BounceBack),
            (Down, Loss::Recent, 1.00, 1.00, Down, Undershoot),
        ];
        for (state, loss, correlated_low, correlated_high, then, action) in table {
            let cues = Cues { loss, correlated_low, correlated_high, delayed_before: false, content: false };
            assert_eq!(next(state, &cues, &LIMITS), (then, action), "{state:?} {cues:?}");
        }
    }

    #[test]
    fn a_second_delayed_report_in_stay_undershoots() {
        let cues =
            Cues { loss: Loss::None, correlated_low: 1.3, correlated_high: 1.15, delayed_before: true, content: false };
        assert_eq!(next(State::Stay, &cues, &LIMITS), (State::Down, Action::Undershoot));
    }

    #[test]
    fn a_satisfied_application_is_not_probed_for() {
        let cues =
            Cues { loss: Loss::None, correlated_low: 1.0, correlated_high: 1.0, delayed_before: false, content: true };
        assert_eq!(next(State::Stay, &cues, &LIMITS), (State::Stay, Action::Hold));
    }
}
