//! ERRANT: one speed test per row; base RTTs are drawn from its RTTs.

use super::error::Fault;
use super::rows::{Header, field, lines, time};
use legato_units::TimeDelta;

pub(super) fn parse(text: &str) -> Result<Vec<TimeDelta>, Fault> {
    let mut lines = lines(text);
    let (_, header) = lines.next().ok_or_else(|| Fault::whole("is empty"))??;
    let index = Header::new(header).index("rtt_ms")?;
    let mut rtts = Vec::new();
    for row in lines {
        let (n, line) = row?;
        let text = field(line, index, "rtt_ms", n)?;
        let rtt = time(text, 1e6, "rtt_ms", n)?;
        if rtt > MAX_RTT {
            return Err(Fault::new("rtt_ms", text, "is above a minute").on(n));
        }
        rtts.push(rtt);
    }
    if rtts.is_empty() { Err(Fault::whole("lists no RTT")) } else { Ok(rtts) }
}

const MAX_RTT: TimeDelta = TimeDelta::from_secs(60);
