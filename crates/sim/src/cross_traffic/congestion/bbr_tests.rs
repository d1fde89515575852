//! BBR's states and sums, without a link.

use super::super::testing::{ack, congestion};
use super::*;
use crate::Seed;
use crate::cross_traffic::delivery_rate::RateSample;

/// A BBR fed one acknowledgment per round.
struct Rounds {
    bbr: Bbr,
    now: Timestamp,
    delivered: u64,
}

impl Rounds {
    /// Segments of 1,000 bytes, initially ten.
    fn new() -> Self {
        let bbr = Bbr::new(1_000, 10_000, Seed(1).stream("bbr"));
        Self { bbr, now: Timestamp::ZERO, delivered: 0 }
    }

    /// A round ends after `ms` (a round trip's sample from 99 on): at that rate, `lost` bytes lost, `in_flight` bytes in flight before and after.
    fn round(&mut self, ms: i64, kbps: u64, lost_bytes: u64, in_flight: u64) -> &Bbr {
        self.now += TimeDelta::from_millis(ms);
        let newest_stamp_bytes = Some(self.delivered);
        self.delivered += 10_000;
        self.bbr.on_ack(&AckSample {
            now: self.now,
            lost_bytes,
            prior_in_flight_bytes: in_flight,
            in_flight_bytes: in_flight,
            rtt: (ms >= 99).then(|| TimeDelta::from_millis(ms)),
            total_delivered_bytes: self.delivered,
            newest_stamp_bytes,
            rate: Some(RateSample { rate: DataRate::from_kbps(kbps), app_limited: false }),
            ..ack(10_000)
        });
        &self.bbr
    }

    /// Startup, Drain, and ProbeBW at 8 Mbit/s and 100 ms: 100,000 bytes, quanta of two segments.
    fn full() -> Self {
        let mut rounds = Self::new();
        for kbps in [1_000, 2_000, 4_000, 8_000, 8_000, 8_000] {
            rounds.round(100, kbps, 0, 50_000);
        }
        rounds.round(100, 8_000, 0, 280_000);
        rounds.round(100, 8_000, 0, 100_000);
        assert_eq!(rounds.bbr.state, State::ProbeBandwidth);
        rounds
    }
}

/// [draft-cardwell-iccrg-bbr-congestion-control-00] §4.3.2.1, §4.3.2.2 and §4.3.3, as a table: rate, in flight, state. The
/// pipe is full after three rounds below 1.25 times 8 Mbit/s; Drain ends at one product and three quanta of two segments.
#[test]
fn startup_ends_at_the_plateau_and_drain_at_one_product() {
    let mut rounds = Rounds::new();
    let table = [
        (1_000, 20_000, State::Startup),
        (2_000, 40_000, State::Startup),
        (4_000, 80_000, State::Startup),
        (8_000, 160_000, State::Startup),
        (8_500, 280_000, State::Startup),
        (9_900, 280_000, State::Startup),
        (8_000, 280_000, State::Drain),
        (8_000, 129_760, State::Drain),
        (8_000, 129_750, State::ProbeBandwidth),
    ];
    for (index, (kbps, in_flight, state)) in table.into_iter().enumerate() {
        assert_eq!(rounds.round(100, kbps, 0, in_flight).state, state, "round {index}");
        if state == State::Drain {
            // 9.9 Mbit/s · 100 ms = 123,750; + 3 · 2,000 = 129,750.
            assert_eq!(rounds.bbr.in_flight_at(1.0), 129_750);
            assert_eq!(rounds.bbr.pacing_rate, DataRate::from_kbps(9_900).scale(1.0 / HIGH_GAIN));
        }
    }
}

/// [draft-cardwell-iccrg-bbr-congestion-control-00] §4.2.1: 10,000 bytes in 1 ms, then in the first round trip of 100 ms,
/// times 2.885; slower samples do not slow it before the pipe was full.
#[test]
fn the_first_rates_come_from_the_initial_window() {
    let mut rounds = Rounds::new();
    assert_eq!(rounds.bbr.pacing_rate.as_bps(), 230_831_207);
    rounds.round(100, 100, 0, 10_000);
    assert_eq!(rounds.bbr.pacing_rate.as_bps(), 2_308_312);
    rounds.round(100, 2_000, 0, 10_000);
    assert_eq!(rounds.bbr.pacing_rate.as_bps(), 5_770_780);
}

/// [draft-cardwell-iccrg-bbr-congestion-control-00] §4.2.2 and §4.2.3.2, by hand: 8 Mbit/s · 100 ms = 100,000 bytes; twice that
/// and three quanta of two segments.
#[test]
fn the_window_is_two_products_and_three_quanta() {
    let rounds = Rounds::full();
    assert_eq!((rounds.bbr.send_quantum(), rounds.bbr.in_flight_at(2.0)), (2_000, 206_000));
    for (kbps, quantum) in [(1_199, 1_000), (1_200, 2_000), (24_000, 3_000), (1_000_000, 64_000)] {
        let bbr = Bbr { pacing_rate: DataRate::from_kbps(kbps), ..rounds.bbr.clone() };
        assert_eq!(bbr.send_quantum(), quantum, "{kbps}");
    }
}

/// [draft-cardwell-iccrg-bbr-congestion-control-00] §4.3.4.1, §4.3.4.2 and §4.3.4.3: 5/4 until that much is in flight
/// or something is lost, 3/4 until one product is, six round trips at 1; never starting with 3/4.
#[test]
fn the_gain_cycle_probes_drains_and_cruises() {
    let mut rounds = Rounds::full();
    assert_ne!(rounds.bbr.pacing_gain, 0.75, "the cycle does not begin with draining");
    while rounds.bbr.cycle != 0 {
        assert_eq!(rounds.bbr.pacing_gain, 1.0);
        rounds.round(101, 8_000, 0, 100_000);
    }
    assert_eq!(rounds.round(101, 8_000, 0, 120_000).pacing_gain, 1.25);
    // 1.25 · 100,000 + 6,000.
    assert_eq!(rounds.round(101, 8_000, 0, 131_000).pacing_gain, 0.75);
    assert_eq!(rounds.round(50, 8_000, 0, 120_000).pacing_gain, 0.75);
    for _ in 0..6 {
        assert_eq!(rounds.round(101, 8_000, 0, 106_000).pacing_gain, 1.0);
    }
    assert_eq!(rounds.round(101, 8_000, 0, 100_000).pacing_gain, 1.25);
    assert_eq!(rounds.round(101, 8_000, 1_000, 100_000).pacing_gain, 0.75);
}

/// [draft-cardwell-iccrg-bbr-congestion-control-00] §4.1.2.2, §4.1.2.3, §4.2.3.3, §4.2.3.5 and §4.3.5: ten seconds without a shorter
/// round trip, then four segments for 200 ms and a round, then the previous window.
#[test]
fn every_ten_seconds_the_pipe_is_emptied_for_200_ms() {
    let mut rounds = Rounds::full();
    for _ in 0..20 {
        rounds.round(101, 8_000, 0, 100_000);
    }
    let window = rounds.bbr.window;
    while rounds.now - rounds.bbr.min_rtt_at <= TimeDelta::from_millis(9_890) {
        assert_eq!(rounds.round(105, 8_000, 0, 100_000).state, State::ProbeBandwidth);
    }
    while rounds.bbr.state != State::ProbeRoundTrip {
        rounds.round(105, 8_000, 0, 100_000);
    }
    assert_eq!((rounds.bbr.window, rounds.bbr.holds_back()), (4_000, true));
    // The pipe is not empty yet; then 200 ms from when it is.
    rounds.round(100, 8_000, 0, 50_000);
    assert_eq!(rounds.bbr.probe_ends, None);
    rounds.round(99, 500, 0, 4_000);
    assert_eq!(rounds.bbr.probe_ends, Some(rounds.now + TimeDelta::from_millis(200)));
    assert_eq!(rounds.round(100, 500, 0, 4_000).state, State::ProbeRoundTrip);
    assert_eq!(rounds.round(100, 500, 0, 4_000).state, State::ProbeRoundTrip);
    assert_eq!(rounds.round(100, 500, 0, 4_000).state, State::ProbeBandwidth);
    assert_eq!(rounds.bbr.min_rtt, Some(TimeDelta::from_millis(99)));
    assert!(rounds.bbr.window + 2_000 >= window, "{} after {window}", rounds.bbr.window);
}

/// [draft-cardwell-iccrg-bbr-congestion-control-00] §4.2.3.4 and §4.2.3.6: the bytes in flight and no more for one
/// round, then the usual rule, and the previous window when all is repaired; one segment after a timeout.
#[test]
fn loss_conserves_packets_for_a_round_and_forgets_nothing() {
    let mut rounds = Rounds::full();
    for _ in 0..30 {
        rounds.round(101, 8_000, 0, 100_000);
    }
    let window = rounds.bbr.window;
    let total_delivered_bytes = rounds.delivered;
    rounds.bbr.on_congestion(&Congestion {
        in_flight_bytes: 70_000,
        delivered_bytes: 3_000,
        total_delivered_bytes,
        ..congestion(Cause::Loss, 100_000)
    });
    assert_eq!((rounds.bbr.window, rounds.bbr.conserves_packets), (73_000, true));
    // Half a round later.
    let half = AckSample {
        newest_stamp_bytes: Some(total_delivered_bytes - 1),
        in_flight_bytes: 60_000,
        lost_bytes: 8_000,
        total_delivered_bytes,
        now: rounds.now,
        ..ack(2_000)
    };
    rounds.bbr.on_ack(&half);
    assert_eq!((rounds.bbr.window, rounds.bbr.conserves_packets), (65_000, true));
    rounds.round(101, 8_000, 0, 60_000);
    assert_eq!((rounds.bbr.window, rounds.bbr.conserves_packets), (75_000, false));
    rounds.bbr.on_timeout(60_000, false);
    assert_eq!(rounds.bbr.window, 1_000);
    rounds.bbr.on_recovered();
    assert_eq!(rounds.bbr.window, window);
    rounds.bbr.on_congestion(&congestion(Cause::Mark, 5_000));
    assert_eq!(rounds.bbr.window, window);
}

/// [draft-cardwell-iccrg-bbr-congestion-control-00] §4.1.1.3, §4.1.1.5 and §4.3.4.4: application-limited samples do not lower the
/// rate; after idling it paces at exactly the rate and does not probe for the round trip.
#[test]
fn idling_neither_lowers_the_rate_nor_counts_as_a_queue() {
    let mut rounds = Rounds::full();
    let (round, rate) = (rounds.bbr.round, rounds.bbr.rate());
    for n in 0..15 {
        rounds.delivered += 1_000;
        rounds.bbr.on_ack(&AckSample {
            now: rounds.now + TimeDelta::from_secs(11),
            newest_stamp_bytes: Some(rounds.delivered - 1_000),
            total_delivered_bytes: rounds.delivered,
            rate: Some(RateSample { rate: DataRate::from_kbps(100), app_limited: true }),
            ..ack(1_000)
        });
        assert_eq!(rounds.bbr.round, round + 1 + n);
    }
    assert_eq!(rounds.bbr.rate(), rate);
    let mut rounds = Rounds::full();
    rounds.bbr.on_app_limited_restart();
    assert_eq!(rounds.bbr.pacing_rate, DataRate::from_mbps(8));
    rounds.now += TimeDelta::from_secs(11);
    assert_eq!(rounds.round(110, 8_000, 0, 10_000).state, State::ProbeBandwidth);
}
