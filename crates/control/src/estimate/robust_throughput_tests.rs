use super::*;

/// Thousand-byte packets at two given rates, and a walk over the window as the definition has it.
struct Path {
    estimator: RobustThroughput,
    departure: Timestamp,
    arrival: PeerTimestamp,
}

impl Path {
    fn new() -> Self {
        Self {
            estimator: RobustThroughput::default(),
            departure: Timestamp::from_secs(1),
            arrival: PeerTimestamp::from_nanos(0),
        }
    }

    fn feed(&mut self, packets: u32, sent: DataRate, received: DataRate) -> Option<DataRate> {
        for _ in 0..packets {
            self.estimator.on_packet(self.departure, self.arrival, SIZE);
            self.departure += SIZE / sent;
            self.arrival += SIZE / received;
        }
        self.estimator.trim();
        let rate = self.estimator.rate();
        assert_eq!(rate, plain(&self.estimator));
        rate
    }
}

const SIZE: DataSize = DataSize::from_bytes(1_000);

/// The same number without any running state.
fn plain(estimator: &RobustThroughput) -> Option<DataRate> {
    let window: Vec<_> = estimator.window.iter().collect();
    if window.len() < REQUIRED_PACKETS {
        return None;
    }
    let mut gaps: Vec<_> = window.iter().zip(window.iter().skip(1)).map(|(a, b)| b.arrival - a.arrival).collect();
    gaps.sort();
    let bytes: u64 = window.iter().map(|packet| packet.size_bytes).sum();
    let span = window[window.len() - 1].arrival - window[0].arrival - gaps[gaps.len() - 1] + gaps[gaps.len() - 2];
    let received = rate_over(bytes - window[0].size_bytes, span);
    let sent = estimator.sent_rate_reordered();
    Some(sent.map_or(received, |sent| sent.min(received)))
}

fn kbps(kbps: u64) -> DataRate {
    DataRate::from_kbps(kbps)
}

fn assert_near(rate: Option<DataRate>, expected: DataRate, tolerance: f64) {
    let rate = rate.expect("an estimate");
    let error = rate.as_bps_f64() / expected.as_bps_f64() - 1.0;
    assert!(error.abs() <= tolerance, "{rate} is not {expected}");
}

#[test]
fn fewer_than_ten_packets_give_no_estimate() {
    let mut path = Path::new();
    assert_eq!(path.feed(9, kbps(800), kbps(800)), None);
    assert_near(path.feed(1, kbps(800), kbps(800)), kbps(800), 0.001);
}

#[test]
fn a_steady_flow_gives_its_rate() {
    let mut path = Path::new();
    assert_near(path.feed(20, kbps(800), kbps(800)), kbps(800), 0.001);
}

#[test]
fn the_estimate_follows_up_and_down() {
    let mut path = Path::new();
    path.feed(20, kbps(800), kbps(800));
    let mut last = DataRate::ZERO;
    for _ in 0..20 {
        let rate = path.feed(10, kbps(1_600), kbps(1_600)).unwrap();
        assert!(rate >= last);
        last = rate;
    }
    assert_near(Some(last), kbps(1_600), 0.001);
    for _ in 0..20 {
        last = path.feed(10, kbps(400), kbps(400)).unwrap();
    }
    assert_near(Some(last), kbps(400), 0.001);
}

#[test]
fn the_smaller_of_the_sending_and_the_receiver_rate_counts() {
    assert_near(Path::new().feed(100, kbps(800), kbps(400)), kbps(400), 0.01);
    assert_near(Path::new().feed(100, kbps(400), kbps(800)), kbps(400), 0.01);
}

#[test]
fn a_spike_of_250_ms_changes_the_estimate_by_less_than_five_percent() {
    let mut path = Path::new();
    path.feed(200, kbps(800), kbps(800));
    // The link stalls for 250 ms and then releases 25 packets at once.
    path.arrival += TimeDelta::from_millis(250);
    assert_near(path.feed(1, kbps(800), kbps(40_000)), kbps(800), 0.05);
    for _ in 0..25 {
        assert_near(path.feed(1, kbps(800), kbps(40_000)), kbps(800), 0.05);
    }
    for _ in 0..100 {
        assert_near(path.feed(1, kbps(800), kbps(800)), kbps(800), 0.05);
    }
}

#[test]
fn half_the_packets_lost_halve_the_estimate() {
    let mut path = Path::new();
    for _ in 0..100 {
        path.feed(1, kbps(800), kbps(800));
        path.departure += SIZE / kbps(800);
        path.arrival += SIZE / kbps(800);
    }
    assert_near(path.estimator.rate(), kbps(400), 0.01);
}

#[test]
fn a_peers_clock_set_back_by_two_seconds_starts_over() {
    let mut path = Path::new();
    path.feed(30, kbps(800), kbps(800));
    path.arrival = path.arrival - TimeDelta::from_secs(2);
    assert_eq!(path.feed(9, kbps(800), kbps(800)), None);
    assert_near(path.feed(20, kbps(800), kbps(800)), kbps(800), 0.01);
}

#[test]
fn after_a_pause_of_a_minute_there_is_no_estimate_and_then_a_right_one() {
    let mut path = Path::new();
    path.feed(100, kbps(800), kbps(800));
    path.departure += TimeDelta::from_secs(60);
    path.arrival += TimeDelta::from_secs(60);
    assert_eq!(path.feed(9, kbps(800), kbps(800)), None);
    assert_near(path.feed(1, kbps(800), kbps(800)), kbps(800), 0.001);
}

#[test]
fn packets_overtaken_on_the_way_do_not_change_the_estimate() {
    let mut path = Path::new();
    let (mut held, mut rates) = (None, Vec::new());
    for n in 0..400 {
        if n % 20 == 7 {
            held = Some(path.departure);
        }
        path.feed(1, kbps(800), kbps(800));
        if n % 20 == 12 {
            // A packet that left 50 ms ago arrives now, reported late and out of order.
            let late = path.arrival - TimeDelta::from_micros(15_000);
            path.estimator.on_packet(held.unwrap(), late, DataSize::from_bytes(10));
            path.estimator.trim();
            assert_eq!(path.estimator.rate(), plain(&path.estimator));
        }
        rates.extend(path.estimator.rate());
    }
    assert_near(rates.last().copied(), kbps(800), 0.02);
}

#[test]
fn running_sums_equal_a_walk_over_the_window() {
    let mut state = 7_u64;
    let mut draw = move |below: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((state >> 33) % below) as i64
    };
    let mut path = Path::new();
    for n in 0..20_000 {
        let step = if n % 5_000 > 4_000 { 40_000 } else { 4_000 };
        path.departure += TimeDelta::from_micros(250 * draw(20));
        path.arrival += TimeDelta::from_micros(250 * draw(step / 250));
        let early = if draw(10) == 0 { draw(50_000) } else { 0 };
        let departure = path.departure - TimeDelta::from_micros(if draw(15) == 0 { 30_000 } else { 0 });
        let size = DataSize::from_bytes(draw(1_500) as u64);
        path.estimator.on_packet(departure, path.arrival - TimeDelta::from_micros(early), size);
        if draw(8) == 0 {
            path.estimator.trim();
            assert_eq!(path.estimator.rate(), plain(&path.estimator), "packet {n}");
        }
    }
}
