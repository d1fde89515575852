use super::*;
use crate::plan::{LoadedPlan, Plan};

const SCENARIO: &str = r#"
duration_s = 4.0
controller = { name = "nvc-cc", config = { policy = "hand" } }
[receiver]
max_feedback_interval_ms = 50.0
[clock]
offset_ms = 1234.5
[forward]
propagation_ms = 20.0
loss_ratio = 0.02
jitter = { std_ms = 2.0 }
capacity = { steps = [[0.0, 1_500_000], [2.0, 700_000]] }
[reverse]
propagation_ms = 20.0
"#;

fn plan(scenario: &str) -> LoadedPlan {
    let plan = Plan { scenario: scenario.to_owned(), ..Plan::parse(r#"{"scenario": "", "seeds": [1]}"#).unwrap() };
    plan.load().unwrap()
}

fn shared(scenario: &str) -> Result<Episode, SimError> {
    let plan = plan(scenario);
    Episode::shared(&plan.scenario, plan.session(0).parts, &plan.session_parts, 7)
}

fn observed(episode: &mut Episode, agent: usize) -> Vec<f32> {
    let mut row = vec![0.0; episode.layout().len()];
    episode.observe_into(agent, &mut row);
    row
}

fn states(episode: &Episode) -> Vec<AgentState> {
    episode.agents().iter().map(Agent::state).collect()
}

/// Actions that fill the link and drain it.
fn answer(step: usize) -> f32 {
    if step % 20 < 12 { 0.05 } else { -0.08 }
}

#[test]
fn one_call_alone_equals_the_episode_of_one_call_at_either_end() {
    for scenario in [SCENARIO.to_owned(), SCENARIO.replace("nvc-cc", "r3net")] {
        let loaded = plan(&scenario);
        let mut alone = Episode::alone(&loaded.scenario, loaded.session(0).parts, 7, None).unwrap();
        let mut among = shared(&scenario).unwrap();
        let mut row = vec![0.0; alone.layout().len()];
        for step in 0.. {
            alone.observe_into(0, &mut row);
            assert_eq!(row, observed(&mut among, 0), "{step}");
            let action = answer(step).max(0.01);
            alone.step(&[action]);
            among.step(&[action]);
            let (one, other) = (alone.agents()[0].outcome().unwrap(), among.agents()[0].outcome().unwrap());
            assert_eq!(format!("{one:?}"), format!("{other:?}"), "{step}");
            if one.truncated {
                break;
            }
        }
        assert_eq!(states(&among), [AgentState::Over]);
    }
}

#[test]
fn calls_come_and_go_and_only_waiting_ones_act() {
    let calls = "calls = [{}, { start_s = 1.0, name = \"late\" }, { stop_s = 2.02 }]\n";
    let mut episode = shared(&format!("{calls}{SCENARIO}")).unwrap();
    assert_eq!(episode.agents().iter().map(Agent::name).collect::<Vec<_>>(), ["call 1", "late", "call 3"]);
    assert_eq!(states(&episode), [AgentState::Acting, AgentState::Waiting, AgentState::Acting]);
    let mut acted = [0; 3];
    let mut truncated = [0; 3];
    for step in 0.. {
        episode.step(&[answer(step); 3]);
        for (n, outcome) in episode.agents().iter().map(Agent::outcome).enumerate() {
            acted[n] += usize::from(outcome.is_some());
            truncated[n] += usize::from(outcome.is_some_and(|outcome| outcome.truncated));
        }
        if states(&episode).iter().all(|&state| state == AgentState::Over) {
            break;
        }
    }
    // Decisions at 50 ms, 100 ms, … until the end; the late one's first is at 1,050 ms.
    assert_eq!((acted, truncated), ([79, 59, 40], [1, 1, 1]));
}

#[test]
fn flows_affect_each_other() {
    let run = |other: f32| {
        let mut episode = shared(&format!("calls = [{{}}, {{}}]\n{SCENARIO}")).unwrap();
        (0..30).for_each(|_| episode.step(&[0.0, other]));
        episode.agents()[0].outcome().unwrap().stats.delay.unwrap()
    };
    assert!(run(0.1) > run(-0.1) + TimeDelta::from_millis(20));
}

#[test]
fn calls_that_cannot_be_steered_together_are_refused_by_name() {
    let calls = "calls = [{}, { start_s = 1.01 }]\n";
    let error = shared(&format!("{calls}{SCENARIO}")).err().unwrap().to_string();
    assert!(error.contains("calls[1].start_s = 1.01 is not a multiple of 50 ms"), "{error}");
    let calls = "calls = [{ controller = { name = \"gcc\" } }]\n";
    let error = shared(&format!("{calls}{SCENARIO}")).err().unwrap().to_string();
    assert!(error.contains("none is steered"), "{error}");
    let error =
        shared(&SCENARIO.replace("nvc-cc\", config = { policy = \"hand\" }", "gcc\"")).err().unwrap().to_string();
    assert!(error.contains("not learned"), "{error}");
}
