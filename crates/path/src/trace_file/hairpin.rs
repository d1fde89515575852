//! Hairpin: a cloud-gaming session, `time_s rate_mbps rtt_ms loss_ratio` in rows of 15 ms, as
//! `0.015 2.50 34.0ms 0.00` ([hairpin]).
//!
//! Rates below 2.50 Mbit/s are written as 2.50. That floor is the log's, not the link's: the round-trip times of those
//! rows are no longer than those of others, so the session sent less there than the link would have passed. Round-trip
//! times of 80 ms and more were removed; the others hold the queue of the session itself.

use super::error::Fault;
use super::rate_over_time::MAX_RTT;
use super::rows::{field, fields, lines, number, rate, time};
use super::steps::StepBuilder;
use super::trace::{Part, Sample};

/// Whether these are the columns of a row.
pub(super) fn is_row(columns: &[&str]) -> bool {
    let is_number = |text: &str| text.parse::<f64>().is_ok();
    columns.len() == 4
        && columns[2].strip_suffix(UNIT).is_some_and(is_number)
        && [0, 1, 3].into_iter().all(|column: usize| is_number(columns[column]))
}

pub(super) fn parse(text: &str) -> Result<Vec<Part>, Fault> {
    let mut builder = StepBuilder::new();
    let (mut rtt, mut loss_ratio, mut first) = (Vec::new(), Vec::new(), None);
    for row in lines(text) {
        let (n, line) = row?;
        let at = time(field(line, 0, "time_s", n)?, 1e9, "time_s", n)?;
        builder.push(at, rate(field(line, 1, "rate_mbps", n)?, 1e6, "rate_mbps", n)?, "time_s", n)?;
        let at = at - *first.get_or_insert(at);
        let with_unit = field(line, 2, "rtt", n)?;
        let ms = with_unit.strip_suffix(UNIT).ok_or_else(|| Fault::new("rtt", with_unit, "has no unit ms").on(n))?;
        let value = time(ms, 1e6, "rtt", n)?;
        if value > MAX_RTT {
            return Err(Fault::new("rtt", with_unit, "is above a minute").on(n));
        }
        rtt.push(Sample { at, value });
        let lost = field(line, 3, "loss_ratio", n)?;
        // A loss of a row may be taken back in the next, as packets that came late (twice in the published logs).
        let value = if late(lost) { 0.0 } else { number(lost, "loss_ratio", n)? };
        if value > 1.0 {
            return Err(Fault::new("loss_ratio", lost, "is above 1").on(n));
        }
        loss_ratio.push(Sample { at, value });
        if let Some(more) = fields(line).nth(4) {
            return Err(Fault::new("row", more, "is a fifth column").on(n));
        }
    }
    let mut part = builder.finish(None, None)?;
    part.series.rtt = rtt;
    part.series.loss_ratio = loss_ratio;
    Ok(vec![part])
}

/// Whether this is a share of packets taken back: from −1 to 0.
fn late(loss: &str) -> bool {
    loss.parse::<f64>().is_ok_and(|ratio| (-1.0..0.0).contains(&ratio))
}

const UNIT: &str = "ms";
