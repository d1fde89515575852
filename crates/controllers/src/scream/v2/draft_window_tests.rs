use super::super::config::DraftConfig;
use super::*;

/// No congestion; much in flight; a round trip of 25 ms; nothing acknowledged.
fn quiet() -> DraftInput {
    let mut in_flight = InFlight::default();
    in_flight.update(100_000);
    DraftInput {
        lost: false,
        marked: false,
        newly_acked_unmarked: 0,
        round_trip: TimeDelta::from_millis(25),
        qdelay_s: 0.0,
        qdelay_avg_s: 0.0,
        qdelay_target_s: 0.060,
        delay_scale: 1.0,
        l4s_alpha: 0.0,
        loss_rate: 0.0,
        in_flight,
        target_bps: 1e6,
        target_max_bps: 6e6,
        acked_bps: 1e6,
    }
}

fn window(bytes: f64) -> DraftWindow {
    DraftWindow { bytes, ..DraftWindow::default() }
}

fn after(bytes: f64, input: &DraftInput) -> f64 {
    let mut window = window(bytes);
    window.update(Timestamp::from_secs(10), input, &Config::default());
    window.bytes()
}

#[track_caller]
fn assert_close(value: f64, expected: f64) {
    assert!((value - expected).abs() < 1e-6, "{value} is not {expected}");
}

/// [draft-johansson-ccwg-rfc8298bis-screamv2] §4.2.2.1, worked by hand: 20,000 × 0.7; §4.5.2: rare loss
/// without a queue leaves it, with 16 ms of queue (more than 60 / 4) it does not.
#[test]
fn loss_cuts_to_seven_tenths_if_it_is_frequent_or_a_queue_stands() {
    let lost = DraftInput { lost: true, ..quiet() };
    assert_close(after(20_000.0, &DraftInput { loss_rate: 0.011, ..lost }), 14_000.0);
    assert_close(after(20_000.0, &lost), 20_000.0);
    assert_close(after(20_000.0, &DraftInput { qdelay_avg_s: 0.016, ..lost }), 14_000.0);
    assert_close(after(4_000.0, &DraftInput { loss_rate: 0.011, ..lost }), 3_000.0);
}

/// [draft-johansson-ccwg-rfc8298bis-screamv2] §4.2.2.1, worked by hand: at 45 ms alpha_v = (45 - 30) / 30 =
/// 0.5: × 0.75; with a round trip of 100 ms, four times the virtual one: × (1 - 0.25 / 4).
#[test]
fn a_queue_beyond_half_its_target_counts_as_marks() {
    let queue = DraftInput { qdelay_avg_s: 0.045, ..quiet() };
    assert_close(after(20_000.0, &queue), 15_000.0);
    assert_close(after(20_000.0, &DraftInput { round_trip: TimeDelta::from_millis(100), ..queue }), 18_750.0);
    assert_close(after(20_000.0, &DraftInput { qdelay_avg_s: 0.029, ..queue }), 20_000.0);
    assert_close(after(20_000.0, &DraftInput { qdelay_avg_s: 0.5, ..queue }), 10_000.0);
}

/// [draft-johansson-ccwg-rfc8298bis-screamv2] §4.5.3, worked by hand: a target of 0.79 of the
/// acknowledged rate: a quarter of the back-off, 20,000 × (1 - 0.25 / 4).
#[test]
fn a_target_already_low_is_cut_a_quarter_as_much() {
    let queue = DraftInput { qdelay_avg_s: 0.045, target_bps: 0.79e6, ..quiet() };
    assert_close(after(20_000.0, &queue), 18_750.0);
}

/// [draft-johansson-ccwg-rfc8298bis-screamv2] §4.2.2.1: once per min(VIRTUAL_RTT, s_rtt); events in between are not
/// forgotten.
#[test]
fn reactions_are_a_virtual_round_trip_apart() {
    let config = Config::default();
    let mut window = window(20_000.0);
    let lost = DraftInput { lost: true, loss_rate: 0.02, ..quiet() };
    window.update(Timestamp::from_millis(1_000), &lost, &config);
    window.update(Timestamp::from_millis(1_024), &lost, &config);
    assert_close(window.bytes(), 14_000.0);
    window.update(Timestamp::from_millis(1_025), &DraftInput { loss_rate: 0.02, ..quiet() }, &config);
    assert_close(window.bytes(), 9_800.0);
}

/// [draft-johansson-ccwg-rfc8298bis-screamv2] §3.1: once per round trip for loss, however short the virtual one.
#[test]
fn loss_cuts_once_a_round_trip() {
    let config = Config::default();
    let mut window = window(20_000.0);
    let round_trip = TimeDelta::from_millis(100);
    let lost = DraftInput { lost: true, loss_rate: 0.02, round_trip, ..quiet() };
    window.update(Timestamp::from_millis(1_000), &lost, &config);
    window.update(Timestamp::from_millis(1_099), &lost, &config);
    assert_close(window.bytes(), 14_000.0);
    window.update(Timestamp::from_millis(1_100), &lost, &config);
    assert_close(window.bytes(), 9_800.0);
}

/// [draft-johansson-ccwg-rfc8298bis-screamv2] §4.2.2.1, worked by hand: at a round trip of 100 ms each reaction is a
/// quarter as deep as one per whole round trip, 0.25 / 4, the first after ten calm seconds as well.
#[test]
fn every_reaction_is_divided_by_the_round_trip_over_the_virtual_one() {
    let config = Config::default();
    let mut window = window(20_000.0);
    let queue = DraftInput { qdelay_avg_s: 0.045, round_trip: TimeDelta::from_millis(100), ..quiet() };
    window.update(Timestamp::from_millis(1_000), &queue, &config);
    window.update(Timestamp::from_millis(1_050), &queue, &config);
    window.update(Timestamp::from_millis(11_050), &queue, &config);
    assert_close(window.bytes(), 20_000.0 * 0.9375 * 0.9375 * 0.9375);
}

/// [draft-johansson-ccwg-rfc8298bis-screamv2] §4.2.2.1, classic marks: × 0.8; L4S with alpha 0.2, far from
/// the inflection point and without a queue: × 0.9; near it: × (1 - 0.1 × 0.25).
#[test]
fn marks_cut_by_their_kind() {
    let marked = DraftInput { marked: true, l4s_alpha: 0.2, ..quiet() };
    assert_close(after(20_000.0, &marked), 16_000.0);
    let draft = DraftConfig { l4s: true, ..DraftConfig::default() };
    let config = Config { draft, ..Config::default() };
    let cut = |inflection_bytes| {
        let last_reaction = Some(Timestamp::from_millis(9_900));
        let mut window = DraftWindow { inflection_bytes, last_reaction, ..window(20_000.0) };
        window.update(Timestamp::from_secs(10), &marked, &config);
        window.bytes()
    };
    assert_close(cut(1.0), 18_000.0);
    assert_close(cut(20_000.0), 19_500.0);
    // After more than 100 round trips the window is at most the bytes in flight.
    let mut in_flight = InFlight::default();
    in_flight.update(10_000);
    in_flight.turn(Timestamp::ZERO, TimeDelta::ZERO);
    let mut window = window(20_000.0);
    window.update(Timestamp::from_secs(10), &DraftInput { in_flight, ..marked }, &config);
    assert_close(window.bytes(), 9_000.0);
}

/// [draft-johansson-ccwg-rfc8298bis-screamv2] §4.2.2.2, worked by hand: 2,000 × 1,000 / 20,000 = 100 bytes,
/// times 1 + 0.02 × 20 = 1.4 if no congestion was seen; half that round trip: half.
#[test]
fn the_window_grows_by_a_segment_per_round_trip_and_a_share_of_itself() {
    let acked = DraftInput { newly_acked_unmarked: 2_000, ..quiet() };
    assert_close(after(20_000.0, &acked), 20_140.0);
    let short = TimeDelta::from_micros(12_500);
    assert_close(after(20_000.0, &DraftInput { round_trip: short, ..acked }), 20_070.0);
    assert_close(after(20_000.0, &DraftInput { delay_scale: 0.0, ..acked }), 20_014.0);
}

/// [draft-johansson-ccwg-rfc8298bis-screamv2] §4.2.2.2, worked by hand: at the inflection point
/// scl = 0.1: 100 × 0.25 × (1 + 0.4 × 0.1); 50 of 100 round trips after congestion, far from it: 1.2.
#[test]
fn near_the_inflection_point_and_after_congestion_it_grows_more_slowly() {
    let acked = DraftInput { newly_acked_unmarked: 2_000, ..quiet() };
    let grown = |inflection_bytes, last_congestion| {
        let mut window = DraftWindow { inflection_bytes, last_congestion, ..window(20_000.0) };
        window.update(Timestamp::from_secs(10), &acked, &Config::default());
        window.bytes() - 20_000.0
    };
    assert_close(grown(20_000.0, None), 26.0);
    assert_close(grown(1.0, Some(Timestamp::from_millis(8_750))), 120.0);
}

/// [draft-johansson-ccwg-rfc8298bis-screamv2] §4.2.2.2: no growth beyond 1,000 + 1.5 × 12,000 bytes, nor at
/// the maximum target.
#[test]
fn the_window_grows_only_if_it_is_used() {
    let mut in_flight = InFlight::default();
    in_flight.update(12_000);
    let acked = DraftInput { newly_acked_unmarked: 2_000, in_flight, ..quiet() };
    assert_close(after(19_000.0, &acked), 19_000.0);
    assert!(after(18_000.0, &acked) > 18_000.0);
    assert_close(after(18_000.0, &DraftInput { target_bps: 6e6, ..acked }), 18_000.0);
}

/// [draft-johansson-ccwg-rfc8298bis-screamv2] §4.5.2: more than a tenth lost without a queue: a policer; at
/// most 0.9 of the window (which the loss itself cuts to 0.7).
#[test]
fn a_policer_bounds_the_window() {
    let mut window = window(20_000.0);
    let draft = DraftConfig { policer: true, ..DraftConfig::default() };
    let config = Config { draft, ..Config::default() };
    window.update(Timestamp::from_secs(10), &DraftInput { lost: true, loss_rate: 0.11, ..quiet() }, &config);
    assert_close(window.bytes(), 14_000.0);
    assert_close(window.policed_bytes, 18_000.0);
}
