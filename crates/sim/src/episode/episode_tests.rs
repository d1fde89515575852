use super::*;
use crate::plan::Plan;
use legato_units::DataSize;

const SCENARIO: &str = r#"
duration_s = 3.0
controller = { name = "nvc-cc", config = { policy = "hand" } }
[receiver]
max_feedback_interval_ms = 50.0
[forward]
propagation_ms = 20.0
capacity = { steps = [[0.0, 1_000_000], [1.5, 400_000]] }
[reverse]
propagation_ms = 20.0
"#;

fn plan(scenario: &str) -> crate::plan::LoadedPlan {
    let plan = Plan { scenario: scenario.to_owned(), ..Plan::parse(r#"{"scenario": "", "seeds": [1]}"#).unwrap() };
    plan.load().unwrap()
}

fn episode(scenario: &str, seed: u64) -> Episode {
    let plan = plan(scenario);
    Episode::alone(&plan.scenario, plan.session(0).parts, seed, None).unwrap()
}

fn observed(episode: &mut Episode) -> Vec<f32> {
    let mut row = vec![0.0; episode.layout().len()];
    episode.observe_into(0, &mut row);
    row
}

fn step(episode: &mut Episode, action: f32) -> Outcome {
    episode.step(&[action]);
    *episode.agents()[0].outcome().unwrap()
}

#[test]
fn a_call_of_three_seconds_has_sixty_intervals_and_is_cut_off_at_the_last() {
    let mut episode = episode(SCENARIO, 1);
    let mut steps = 0;
    loop {
        let outcome = step(&mut episode, 0.0);
        steps += 1;
        assert_eq!(outcome.stats.span, TimeDelta::from_millis(50));
        if outcome.truncated {
            break;
        }
    }
    // The first decision is made at 50 ms, so 59 actions take effect and the last interval ends the call.
    assert_eq!(steps, 59);
}

#[test]
fn an_action_affects_the_interval_that_follows_it() {
    let mut episode = episode(SCENARIO, 1);
    for _ in 0..10 {
        step(&mut episode, 0.0);
    }
    let before = step(&mut episode, 0.0).stats.target_bitrate;
    assert_eq!(step(&mut episode, 0.5).stats.target_bitrate, before.scale(1.5));
}

#[test]
fn capacity_is_given_for_the_past_and_the_coming_second() {
    let mut episode = episode(SCENARIO, 1);
    let outcomes: Vec<Outcome> = (0..30).map(|_| step(&mut episode, 0.0)).collect();
    let kbps = |rate: Option<DataRate>| rate.unwrap().as_kbps_f64();
    assert_eq!(kbps(outcomes[5].capacity), 1_000.0);
    assert_eq!(kbps(outcomes[29].capacity), 400.0);
    // From 1 s on, the coming second is half one and half the other.
    assert_eq!(kbps(outcomes[18].capacity_ahead), 700.0);
}

#[test]
fn an_overload_shows_in_the_observation_and_in_the_truth() {
    let mut episode = episode(SCENARIO, 1);
    let mut last = step(&mut episode, 0.0);
    for _ in 0..25 {
        last = step(&mut episode, 0.3);
    }
    assert!(last.stats.delay.unwrap() > TimeDelta::from_millis(100), "{last:?}");
    assert!(last.truth.one_way_delay.unwrap() > TimeDelta::from_millis(100), "{last:?}");
    assert!(last.stats.arrived > DataSize::ZERO);
    // Latency ratio of the newest interval.
    assert!(observed(&mut episode)[28] > 1.0);
}

#[test]
fn a_pause_at_the_instant_of_a_decision_does_not_take_it_from_the_agent() {
    let mut episode = episode(&(SCENARIO.to_owned() + "[[pauses]]\nstart_s = 1.0\nend_s = 2.0\n"), 1);
    for _ in 0..58 {
        assert_eq!(step(&mut episode, 0.0).stats.span, TimeDelta::from_millis(50));
    }
}

/// Only what the controller could know is in the observation: the same packets on a link whose
/// capacity differs only in the future, before anything is sent there.
#[test]
fn truth_alone_changes_no_observation() {
    let other =
        SCENARIO.replace("[1.5, 400_000]", "[1.5, 900_000]").replace("capacity = {", "loss_ratio = 0.0\ncapacity = {");
    let (mut one, mut two) = (episode(SCENARIO, 1), episode(&other, 1));
    for n in 0..28 {
        let (a, b) = (step(&mut one, 0.01), step(&mut two, 0.01));
        assert_eq!(observed(&mut one), observed(&mut two), "step {n}");
        assert_eq!(a.stats, b.stats);
        if n > 20 {
            assert_ne!(a.capacity_ahead, b.capacity_ahead);
        }
    }
}

/// A steered call that repeats a policy's actions makes the same call.
#[test]
fn a_receivers_controller_is_steered_by_its_own_clock() {
    let scenario = SCENARIO.replace("nvc-cc", "r3net") + "[clock]\noffset_ms = 1234.5\ndrift_ppm = 50.0\n";
    let mut episode = episode(&scenario, 1);
    let mut last = step(&mut episode, 0.1);
    for _ in 0..20 {
        last = step(&mut episode, 0.1);
    }
    assert_eq!(last.stats.target_bitrate, DataRate::from_kbps(800));
    let rate = last.stats.receiver_rate_200ms.as_kbps_f64();
    assert!((500.0..1_000.0).contains(&rate), "{rate}");
}

#[test]
fn a_batch_is_the_same_for_any_number_of_threads() {
    let play = |scenario: &str, threads| {
        let mut batch = Batch::new(plan(scenario), 20, 7, threads).unwrap();
        let width = batch.layout().len();
        let (mut seen, mut last) = (vec![0.0; 20 * width], vec![0.0; 20 * width]);
        let (mut rows, mut truncated) = (vec![0.0; 20 * COLUMNS.len()], vec![false; 20]);
        let (mut all, mut over) = (Vec::new(), 0);
        for step in 0..70 {
            let actions: Vec<f32> = (0..20).map(|slot| ((slot * 7 + step * 3) % 11) as f32 / 10.0 - 0.5).collect();
            batch.step(&actions, &mut seen, &mut last, &mut rows, &mut truncated).unwrap();
            all.extend(seen.iter().chain(&rows).map(|value| value.to_bits()));
            over += truncated.iter().filter(|&&over| over).count();
        }
        assert_eq!(over, 20);
        all
    };
    let beside_tcp = format!("{SCENARIO}[[tcp]]\nstart_s = 1.0\n");
    assert_eq!(play(SCENARIO, 1), play(SCENARIO, 2));
    assert_eq!(play(&beside_tcp, 1), play(&beside_tcp, 2));
    // The first second is the same call, up to the feedback that is still on its way.
    let width = Batch::new(plan(SCENARIO), 1, 7, 1).unwrap().layout().len() + COLUMNS.len();
    let (alone, beside) = (play(SCENARIO, 1), play(&beside_tcp, 1));
    assert_eq!(alone[..20 * 19 * width], beside[..20 * 19 * width]);
    assert_ne!(alone, beside);
}

#[test]
fn calls_of_a_batch_cannot_be_staggered_beside_traffic_nor_be_several() {
    let mut batch = Batch::new(plan(&format!("{SCENARIO}[[tcp]]\n")), 2, 7, 1).unwrap();
    let message = batch.reset(7, true).unwrap_err().to_string();
    assert!(message.contains("staggered: calls beside tcp or udp all begin at the same age"), "{message}");
    let several = Batch::new(plan(&format!("{SCENARIO}[[calls]]\n[[calls]]\n")), 2, 7, 1).err().unwrap();
    assert!(several.to_string().contains("calls: an environment of single calls"), "{several}");
}

#[test]
fn a_controller_that_decides_for_itself_is_refused() {
    let plan = plan(&SCENARIO.replace("nvc-cc", "gcc").replace(", config = { policy = \"hand\" }", ""));
    let error = Episode::alone(&plan.scenario, plan.session(0).parts, 1, None).err().unwrap();
    assert!(error.to_string().contains("gcc is not learned"), "{error}");
}

#[test]
fn a_call_cut_off_early_is_the_same_until_then() {
    let plan = plan(SCENARIO);
    let until = |share| Episode::alone(&plan.scenario, plan.session(0).parts, 1, share).unwrap();
    let (mut whole, mut cut) = (until(None), until(Some(0.5)));
    for _ in 0..28 {
        assert!(!step(&mut cut, 0.1).truncated && !step(&mut whole, 0.1).truncated);
        assert_eq!(observed(&mut cut), observed(&mut whole));
    }
    assert!(step(&mut cut, 0.1).truncated);
    let mut at_once = until(Some(0.0));
    assert!(step(&mut at_once, 0.0).truncated);
}

#[test]
fn staggered_calls_end_at_different_ages_and_later_ones_are_complete() {
    let mut batch = Batch::new(plan(SCENARIO), 20, 1, 1).unwrap();
    let width = batch.layout().len();
    let ends = |batch: &mut Batch| {
        let mut ends = vec![Vec::new(); 20];
        let (mut seen, mut last) = (vec![0.0; 20 * width], vec![0.0; 20 * width]);
        let (mut rows, mut truncated) = (vec![0.0; 20 * COLUMNS.len()], [false; 20]);
        for step in 1..=118 {
            batch.step(&[0.0; 20], &mut seen, &mut last, &mut rows, &mut truncated).unwrap();
            for (ends, _) in ends.iter_mut().zip(truncated).filter(|(_, truncated)| *truncated) {
                ends.push(step);
            }
        }
        ends
    };
    assert_eq!(ends(&mut batch), vec![vec![59, 118]; 20]);
    batch.reset(1, true).unwrap();
    let staggered = ends(&mut batch);
    assert!(staggered.iter().all(|ends| ends[0] <= 59 && ends[1] == ends[0] + 59), "{staggered:?}");
    let mut ages: Vec<_> = staggered.iter().map(|ends| ends[0]).collect();
    ages.sort_unstable();
    assert!(ages[3] < 20 && ages[16] > 40, "{ages:?}");
    batch.reset(1, true).unwrap();
    assert_eq!(ends(&mut batch), staggered);
}
