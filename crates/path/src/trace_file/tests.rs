//! Trace files: each format worked by hand, and invalid ones. Arbitrary bytes:
//! tests/arbitrary_bytes.rs.

use super::*;
use crate::capacity::{AfterLast, Capacity, Cut, RateSteps};
use flate2::Compression;
use flate2::write::GzEncoder;
use legato_units::Timestamp;
use proptest::prelude::*;
use std::io::Write;

fn only(text: &str) -> Trace {
    let mut traces = parse(text.as_bytes(), "data/fcc/some.csv", None).expect("a trace");
    assert_eq!(traces.len(), 1);
    traces.remove(0)
}
fn refused(bytes: &[u8]) -> String {
    parse(bytes, "bad", None).expect_err("refused").to_string()
}
fn rates(trace: &Trace) -> &RateSteps {
    let Profile::Rates(table) = &trace.profile else { panic!("rates") };
    table
}
/// `(ms, kbit/s)` of each step, and the length in ms.
fn steps(trace: &Trace) -> (Vec<(i64, u64)>, i64) {
    let steps = rates(trace).steps().map(|(at, rate)| (at.as_millis(), rate.as_bps() / 1_000));
    (steps.collect(), trace.duration().as_millis())
}

/// An iBox profile with these numbers.
fn ibox(kbps: f64, bytes: f64, ms: f64, cross_traffic: &str) -> Vec<u8> {
    format!(
        "{{\"bottleneck_bandwidth_kbps\": {kbps}, \"buffer_size_bytes\": {bytes}, \"propagation_delay_ms\": {ms}, \
         \"cross_traffic_kbps\": {cross_traffic}}}"
    )
    .into_bytes()
}

#[test]
fn mahimahi_lists_opportunities_and_the_last_is_the_period() {
    let trace = only("1\r\n1\r\n\r\n5\r\n");
    assert_eq!(trace.format, Format::Mahimahi);
    assert_eq!(trace.duration(), TimeDelta::from_millis(5));
    // Three times 12,000 bits in 5 ms.
    assert_eq!(trace.mean_rate().as_bps(), 7_200_000);
    assert_eq!((trace.name.as_str(), trace.family.as_str()), ("some.csv", "fcc"));
}

#[test]
fn two_columns_are_seconds_and_megabits_and_start_at_zero() {
    let trace = only("1200.23 14.5\n1200.44 0\n1200.66 2\n");
    assert_eq!(trace.format, Format::RateOverTime);
    assert_eq!(steps(&trace), (vec![(0, 14_500), (210, 0), (430, 2_000)], 650));
    assert_eq!(steps(&only("0.0\t2.132\n5.0\t1.1\n")), (vec![(0, 2_132), (5_000, 1_100)], 10_000));
}

#[test]
fn a_header_states_the_units() {
    let trace = only("# ours\ncapacity_bps;time_ms;loss_ratio;rtt_ms\n300000;0;0.01;40\n1000000;500;0;80\n");
    assert_eq!(steps(&trace), (vec![(0, 300), (500, 1_000)], 1_000));
    assert_eq!(trace.series.loss_ratio[0].value, 0.01);
    assert_eq!(trace.series.rtt[1], Sample { at: TimeDelta::from_millis(500), value: TimeDelta::from_millis(80) });
    assert_eq!(steps(&only("time_s,rate_mbps\n3,1\n")), (vec![(0, 1_000)], 1_000));
}

#[test]
fn ucc_5g_holds_over_skipped_seconds_and_averages_repeated_ones() {
    let text = "Timestamp,Speed,DL_bitrate,UL_bitrate\n2020.02.14_23.59.58,0,100,1\n2020.02.14_23.59.59,0,200,1\n\
                2020.02.14_23.59.59,0,400,1\n2020.02.15_00.00.02,0,50,1\n";
    assert_eq!(steps(&only(text)), (vec![(0, 100), (1_000, 300), (4_000, 50)], 5_000));
}

#[test]
fn nyu_mets_has_a_unit_per_row_and_a_run_between_reconnections() {
    let text = "Value,Unit\n3.5,Mbits/sec\n900,Kbits/sec\n0,bits/sec\nthe,connection\n,\nconnected,to\n2,Mbits/sec\n";
    let traces = parse(text.as_bytes(), "Ferry1.csv", None).expect("two runs");
    assert_eq!(steps(&traces[0]), (vec![(0, 3_500), (1_000, 900), (2_000, 0)], 3_000));
    assert_eq!(steps(&traces[1]), (vec![(0, 2_000)], 1_000));
    assert_eq!((traces[1].name.as_str(), traces[1].part.as_deref()), ("Ferry1.csv#run.1", Some("run.1")));
    let multivariate = only("12.6,9,0,102,13,3,7.37,2100\n3.18,9,0,102,13,3,6.51,2100\n");
    assert_eq!(steps(&multivariate), (vec![(0, 12_600), (1_000, 3_180)], 2_000));
}

#[test]
fn nyu_mets_rows_may_end_in_empty_columns() {
    for header in ["", "Value,Unit,,,\n", "throughput,unit,,,\n"] {
        let trace = only(&format!("{header}4.09,Mbits/sec,,,\n900,Kbits/sec,,,\n"));
        assert_eq!(trace.format, Format::NyuMets);
        assert_eq!(steps(&trace), (vec![(0, 4_090), (1_000, 900)], 2_000));
    }
}

#[test]
fn starlink_is_cut_into_runs_and_directions() {
    let row = |s: u32, down: &str, up: &str| {
        let (from, to) = (format!("2024-04-19 16:23:{s:02}.001"), format!("2024-04-19 16:23:{:02}", s + 1));
        format!("{from},{to},{down},{from},{to},{up}\n")
    };
    let text = "timestamp_start_dl,timestamp_end_dl,download,timestamp_start_ul,timestamp_end_ul,upload\n".to_owned()
        + &row(0, "100", "5")
        + &row(2, "200", "6")
        + &row(40, "300", "7");
    let traces = parse(text.as_bytes(), "throughput.csv", None).expect("four traces");
    let names: Vec<_> = traces.iter().map(|trace| trace.part.as_deref().unwrap_or("")).collect();
    assert_eq!(names, ["down.0", "down.1", "up.0", "up.1"]);
    assert_eq!(steps(&traces[2]), (vec![(0, 5_000), (2_000, 6_000)], 2_999));
    assert_eq!(steps(&traces[1]), (vec![(0, 300_000)], 999));
}

#[test]
fn opennetlab_gives_capacity_loss_rtt_and_jitter() {
    let text = r#"{"type":"video","downlink":{},"uplink":{"trace_pattern":[
        {"duration":60000,"capacity":300,"loss":0.01,"rtt":50},{"duration":500.5,"capacity":1e3,"jitter":3}]}}"#;
    let trace = only(text);
    assert_eq!(steps(&trace), (vec![(0, 300), (60_000, 1_000)], 60_500));
    assert_eq!(trace.series.loss_ratio, [Sample { at: TimeDelta::ZERO, value: 0.01 }]);
    assert_eq!(trace.series.rtt[0].value, TimeDelta::from_millis(50));
    assert_eq!(trace.series.jitter, [Sample { at: TimeDelta::from_secs(60), value: TimeDelta::from_millis(3) }]);
}

#[test]
fn hairpin_rows_have_rate_round_trip_and_loss() {
    let trace = only("0.000 2.50 27.0ms 0.00\n0.015 20.59 34.0ms 0.50\n0.030 2.50 9.0ms -0.03\n");
    assert_eq!(trace.format, Format::Hairpin);
    assert_eq!(steps(&trace), (vec![(0, 2_500), (15, 20_590), (30, 2_500)], 45));
    assert_eq!(trace.series.rtt[1].value, TimeDelta::from_millis(34));
    assert_eq!(trace.series.loss_ratio[1].value, 0.5);
    assert_eq!(trace.series.loss_ratio[2].value, 0.0, "packets of the row before that came late");
    let (floor, share) = trace.minimum().expect("rates");
    assert_eq!((floor.as_bps(), (share * 3.0).round()), (2_500_000, 2.0));
}

/// A cut from 20 ms on, 20 ms long: 10 ms of the second row, then 10 ms of the third, again and again.
#[test]
fn conditions_are_those_of_the_part_that_is_played() {
    let trace = only("0.000 2.50 20ms 0.00\n0.015 20.59 34ms 0.50\n0.030 2.50 9ms 0.00\n");
    let ms = TimeDelta::from_millis;
    let cut = Cut { start: ms(20), duration: Some(ms(20)), scale: 0.25 };
    let conditions = trace.conditions(&cut);
    let delay = conditions.propagation.expect("has round-trip times");
    assert_eq!(delay.steps(), [(ms(0), ms(17)), (ms(10), TimeDelta::from_micros(4_500))]);
    assert_eq!(conditions.return_propagation, Some(delay));
    let lost = conditions.loss_ratio.expect("has losses");
    assert_eq!([0, 9, 10, 19, 20, 30].map(|at| lost.at(Timestamp::from_millis(at))), [0.5, 0.5, 0.0, 0.0, 0.5, 0.0]);
    assert!(conditions.queue.is_none() && conditions.cross_traffic.is_none());
    assert!(only("0 1\n1 2\n").conditions(&Cut::default()).is_empty());
}

#[test]
fn ibox_gives_the_path_and_its_cross_traffic() {
    let link = r#""buffer_size_bytes": 12000, "#;
    let ours = format!(
        "{{{link}\"bottleneck_bandwidth_kbps\": 6792, \"propagation_delay_ms\": 24, \"cross_traffic_kbps\": [500, 0, 250]}}\n"
    );
    let of = |kbps: u32| {
        format!(
            "{{{link}\"bottleneck_bandwidth\": {kbps}, \"propagation_delay\": 24, \"cross_traffic_pattern\": [500, 0, 250]}}"
        )
    };
    let published = format!(
        "{{\"data_flow_direction\": \"download\", \"config\": {{\"uplink\": {}, \"downlink\": {}}}}}",
        of(10_000),
        of(6_792)
    );
    for text in [ours, published] {
        let trace = only(&text);
        assert_eq!((trace.format, steps(&trace)), (Format::Ibox, (vec![(0, 6_792)], 3_000)));
        let cut = Cut { scale: 0.5, ..Cut::default() };
        let conditions = trace.conditions(&cut);
        let delay = conditions.propagation.expect("fitted");
        assert_eq!(delay.steps(), [(TimeDelta::ZERO, TimeDelta::from_millis(24))]);
        assert!(conditions.return_propagation.is_none(), "one way was measured");
        assert_eq!(conditions.queue.map(|queue| queue.as_bytes()), Some(6_000), "as long at half the rate");
        let traffic = conditions.cross_traffic.expect("fitted");
        let kbps = [0, 1, 2, 3].map(|second| traffic.at(Timestamp::from_secs(second)).as_bps() / 1_000);
        assert_eq!(kbps, [250, 0, 125, 250]);
    }
}

/// Every invalid input from our list of limits, and its one-line error.
#[test]
fn invalid_files_are_refused_in_one_line_that_names_the_place() {
    let deep = "[".repeat(40) + &"]".repeat(40);
    let deep = format!("{{\"uplink\":{deep}}}");
    let cases: &[(&[u8], &str)] = &[
        (b"", "bad is empty"),
        (b"\n\n", "bad is empty"),
        (
            b"hello world\n",
            "bad:1: row = \"hello world\" is of no known trace format: hairpin, ibox, mahimahi, nyu-mets, \
             nyu-mets-multivariate, opennetlab, rate-over-time, starlink, ucc-5g",
        ),
        (b"0\n", r#"bad: time_ms = "0" is the last and so the period: it must be positive"#),
        (b"5\n3\n", r#"bad:2: time_ms = "3" is before the previous line"#),
        (b"5\n-3\n", r#"bad:2: time_ms = "-3" is not a whole number of ms"#),
        (b"5\n6\0\n", r#"bad:2: time_ms = "6\0" is not a whole number of ms"#),
        (b"5\n99999999999999999999\n", r#"bad:2: time_ms = "99999999999999999999" is not a whole number of ms"#),
        (b"5\n86400001\n", r#"bad:2: time_ms = "86400001" is more than 24 hours"#),
        (b"1\n\xff\n", r#"bad:2: byte = "0xff" is not UTF-8 text"#),
        (b"0 1\n1 nan\n", r#"bad:2: rate_mbps = "nan" is not finite"#),
        (b"0 1\n1 inf\n", r#"bad:2: rate_mbps = "inf" is not finite"#),
        (b"0 1\n1 1e400\n", r#"bad:2: rate_mbps = "1e400" is not finite"#),
        (b"0 1\n1 -2\n", r#"bad:2: rate_mbps = "-2" is below zero"#),
        (b"0 1\n1 100001\n", r#"bad:2: rate_mbps = "100001" is above 100 Gbit/s"#),
        (b"0 1\n1 2\n0.5 1\n", r#"bad:3: time_s = "0.5 s" is not after the previous time"#),
        (b"5 1\n4 2\n", r#"bad:2: time_s = "-1 s" is not after the previous time"#),
        (b"0 1\n1e300 2\n", r#"bad:2: time_s = "1e300" is not a valid time"#),
        (b"0 1\n86400 2\n", r#"bad:2: time_s = "86400 s" is more than 24 hours after the first"#),
        (b"0 1\n2\n", r#"bad:2: row = "2" has no column rate_mbps"#),
        (
            b"# ours\n\ntime_s,speed\n0,1\n",
            r#"bad:3: header = "time_s,speed" has no rate (rate_mbps, capacity_kbps, rate_bps)"#,
        ),
        (b"0 0\n1 0\n", "bad is not a valid capacity: nothing would ever be sent"),
        (b"time_s,rate_mbps\n", "bad is not a valid capacity: it is empty"),
        (b"time_s,rate_mbps,rate_bps\n0,1,1\n", r#"bad:1: header = "rate_bps" is a second rate_mbps"#),
        (b"time_s,rate_mbps,loss_ratio\n0,1,1.5\n", r#"bad:2: loss_ratio = "1.5" is above 1"#),
        (b"1,Mbits/sec\n2,Furlongs\n", r#"bad:2: unit = "Furlongs" is not one of bits/sec, Kbits/sec, Mbits/sec"#),
        (b"DL_bitrate,x\n1,2\n", r#"bad:1: column = "Timestamp" is missing"#),
        (b"Timestamp,DL_bitrate\n2020,1\n", r#"bad:2: Timestamp = "2020" is not YYYY.MM.DD_hh.mm.ss"#),
        (b"{\"uplink\":{\"trace_pattern\":[]}}", r#"bad: uplink.trace_pattern = "[]" is empty"#),
        (b"{}", r#"bad: trace_pattern = "" is missing in uplink and downlink"#),
        (
            b"{\"uplink\":{\"trace_pattern\":[{\"duration\":1,\"capacity\":1e400}]}}",
            "bad:1: json = \"{\\\"uplink\\\":{\\\"trace_pattern\\\":[{\\\"duration\\\":\" does not parse: number out of range",
        ),
        (
            b"{\"uplink\":{\"trace_pattern\":[{\"duration\":1,\"capacity\":1,\n\"capacity\":2}]}}",
            r#"bad:2: json = "\"capacity\":2}]}}" does not parse: duplicate field `capacity`"#,
        ),
        (
            b"{\"uplink\":{\"trace_pattern\":[{\"duration\":0,\"capacity\":1}]}}",
            r#"bad: uplink.trace_pattern[0].duration = "0" is not positive"#,
        ),
        (
            b"{\"uplink\":{\"trace_pattern\":[{\"duration\":9,\"capacity\":-1}]}}",
            r#"bad: uplink.trace_pattern[0].capacity = "-1" is below zero"#,
        ),
        (deep.as_bytes(), "bad is JSON nested deeper than 32"),
        (b"0 2.5 9ms 0\n1 2.5 9 0\n", r#"bad:2: rtt = "9" has no unit ms"#),
        (b"0 2.5 9ms 0\n1 2.5 61000ms 0\n", r#"bad:2: rtt = "61000ms" is above a minute"#),
        (b"0 2.5 9ms 0\n1 2.5 nanms 0\n", r#"bad:2: rtt = "nan" is not finite"#),
        (b"0 2.5 9ms 0\n1 2.5 9ms -1.5\n", r#"bad:2: loss_ratio = "-1.5" is below zero"#),
        (b"0 2.5 9ms 0\n1 2.5 9ms 1.5\n", r#"bad:2: loss_ratio = "1.5" is above 1"#),
        (b"0 2.5 9ms 0\n1 -1 9ms 0\n", r#"bad:2: rate_mbps = "-1" is below zero"#),
        (b"0 2.5 9ms 0\n1 2.5 9ms\n", r#"bad:2: row = "1 2.5 9ms" has no column loss_ratio"#),
        (b"0 2.5 9ms 0\n1 2.5 9ms 0 7\n", r#"bad:2: row = "7" is a fifth column"#),
        (b"0 2.5 9ms 0\n0 2.5 9ms 0\n", r#"bad:2: time_s = "0 s" is not after the previous time"#),
        (b"time_s,rate_mbps,rtt_ms\n0,1,60001\n", r#"bad:2: rtt_ms = "60001" is above a minute"#),
        (
            b"{\"bottleneck_bandwidth_kbps\": 1}",
            r#"bad:1: json = "{\"bottleneck_bandwidth_kbps\": 1}" does not parse: missing field `buffer_size_bytes`"#,
        ),
        (&ibox(0.0, 1.0, 1.0, "[1]"), "bad is not a valid capacity: nothing would ever be sent"),
        (&ibox(-1.0, 1.0, 1.0, "[1]"), r#"bad: bottleneck_bandwidth = "-1" is below zero"#),
        (&ibox(1.0, -1.0, 1.0, "[1]"), r#"bad: buffer_size_bytes = "-1" is below zero"#),
        (&ibox(1.0, 1.0, 60_001.0, "[1]"), r#"bad: propagation_delay = "60001" is above 60000 ms"#),
        (&ibox(1.0, 1.0, 1.0, "[]"), r#"bad: cross_traffic_pattern = "0" values are not within 1 to 86400"#),
        (&ibox(1.0, 1.0, 1.0, "[5, -2]"), r#"bad: cross_traffic_pattern[1] = "-2" is below zero"#),
        (
            b"{\"data_flow_direction\": \"up\", \"config\": {\"bottleneck_bandwidth\": 1}}",
            r#"bad: data_flow_direction = "up" is not upload or download"#,
        ),
        (
            b"{\"data_flow_direction\": \"upload\", \"config\": {\"x\": {\"bottleneck_bandwidth\": 1}}}",
            r#"bad: config.uplink = "" is absent, but is the direction that was measured"#,
        ),
        (b"\x1f\x8bnonsense", "bad is not valid gzip: "),
        (b"operator,country,access_technology,rtt_ms\n", "bad lists base RTTs and is not a trace over time"),
    ];
    for (bytes, expected) in cases {
        let message = refused(bytes);
        assert!(message.starts_with(expected), "{message}\n  instead of\n{expected}");
        assert!(!message.contains('\n'), "{message}");
    }
}

#[test]
fn an_oversized_file_plain_or_inflated_is_refused() {
    assert_eq!(refused(&vec![b'1'; MAX_FILE + 1]), "bad is larger than 64 MiB");
    let mut bomb = GzEncoder::new(Vec::new(), Compression::fast());
    for _ in 0..65 {
        bomb.write_all(&[b'\n'; 1 << 20]).expect("memory");
    }
    assert_eq!(refused(&bomb.finish().expect("memory")), "bad is larger than 64 MiB");
    let many: String = (0..1_000_002).map(|n| format!("{n} 1\n")).collect();
    let message = refused(many.as_bytes());
    assert!(message.contains("more than"), "{message}");
}

#[test]
fn gzip_is_transparent() {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(b"0 1\n1 2\n").expect("memory");
    let traces = parse(&packed.finish().expect("memory"), "a/wifi-zhuge/b/x.gz", None).expect("a trace");
    assert_eq!((traces[0].name.as_str(), traces[0].family.as_str()), ("x", "wifi-zhuge"));
}

#[test]
fn a_format_can_be_forced() {
    assert_eq!(Format::by_name("nyu-mets"), Some(Format::NyuMets));
    let error = parse(b"0 1\n", "x", Some(Format::Mahimahi)).expect_err("refused").to_string();
    assert_eq!(error, r#"x:1: time_ms = "0 1" is not a whole number of ms"#);
}

#[test]
fn a_missing_file_and_a_missing_part_are_errors() {
    assert!(matches!(read("no/such/file", None), Err(Error::Io { .. })));
    let error = read("no/such/file#up.1", None).expect_err("refused").to_string();
    assert!(error.starts_with("no/such/file: "), "{error}");
}

#[test]
fn a_cut_plays_a_window_at_another_speed() {
    let trace = only("0 1\n10 4\n20 2\n");
    let cut = Cut { scale: 0.5, start: TimeDelta::from_secs(5), duration: Some(TimeDelta::from_secs(10)) };
    let link = trace.capacity(&cut, AfterLast::Hold).expect("inside");
    assert_eq!(link.rate_at(Timestamp::from_secs(1)).as_bps(), 500_000);
    assert_eq!(link.rate_at(Timestamp::from_secs(6)).as_bps(), 2_000_000);
    assert_eq!(
        trace.rates(TimeDelta::from_secs(15)).iter().map(|r| r.as_bps()).collect::<Vec<_>>(),
        [2_000_000, 2_666_666]
    );
}

/// 1 Mbit/s for 10 s, 5 Mbit/s for 100 s, 0 for 100 s: only windows that touch a slow end and keep a
/// mean qualify.
#[test]
fn windows_have_a_dip_and_a_mean() {
    let trace = only("time_s,rate_mbps\n0,1\n10,5\n110,0\n210,0.0\n");
    let windows = trace.windows(&Challenge { stride: TimeDelta::from_secs(5), ..Challenge::default() });
    let starts: Vec<_> = windows.iter().map(|w| w.cut.start.as_millis() / 1_000).collect();
    // A 2 s dip under 1.5 Mbit/s: starts to 5 s; then 110 − 58 … 110 − 4 s of 5 Mbit/s in 60.
    assert_eq!(starts, [0, 5, 55, 60, 65, 70, 75, 80, 85, 90, 95, 100, 105]);
    assert_eq!(windows[0].dip_rate.as_bps(), 1_000_000);
    assert_eq!(windows[0].mean_rate.as_bps(), (10_000_000 + 250_000_000) / 60);
    // Four times slower, everything dips, and the mean decides.
    assert_eq!(trace.windows(&Challenge { scale: 0.25, ..Challenge::default() }).len(), 10);
}

proptest! {
    #[test]
    fn what_parses_plays_and_has_windows(rows in prop::collection::vec((1u32..5_000, 0u32..20_000), 1..60)) {
        let mut at = 0;
        let mut text = String::from("time_ms,rate_kbps\n");
        for (gap, kbps) in rows {
            text += &format!("{at},{kbps}\n");
            at += gap;
        }
        if let Ok(traces) = parse(text.as_bytes(), "x", None) {
            let trace = &traces[0];
            for window in trace.windows(&Challenge { length: TimeDelta::from_secs(5), ..Challenge::default() }) {
                let link = trace.capacity(&window.cut, AfterLast::Repeat).expect("a window sends");
                let mean = link.mean_rate(Timestamp::ZERO, Timestamp::ZERO + window.cut.duration.expect("has one"));
                prop_assert!(mean.as_bps().abs_diff(window.mean_rate.as_bps()) <= 2);
            }
        }
    }
}
