//! Properties that hold for every byte string given to the trace readers of `legato-path`: no panic, one line of error,
//! and a trace that parses also plays.

use legato_path::capacity::{AfterLast, Capacity, Cut};
use legato_path::stage::Propagation;
use legato_path::trace_file::{Format, parse};
use legato_units::{DataSize, Timestamp};

pub fn trace_file(bytes: &[u8]) {
    for format in [None].into_iter().chain(Format::ALL.map(Some)) {
        match parse(bytes, "x", format) {
            Ok(traces) => {
                assert!(!traces.is_empty());
                for trace in traces {
                    assert!(trace.duration().as_nanos() > 0);
                    let cut = Cut { scale: 0.5, ..Cut::default() };
                    if let Ok(mut link) = trace.capacity(&cut, AfterLast::Repeat) {
                        let end = link.transmit_end(Timestamp::from_secs(1), DataSize::from_bytes(1_200));
                        assert!(end >= Timestamp::from_secs(1));
                    }
                    let conditions = trace.conditions(&cut);
                    let lost = conditions.loss_ratio.iter().flat_map(|ratios| ratios.steps());
                    assert!(lost.copied().all(|(_, ratio)| (0.0..=1.0).contains(&ratio)));
                    if let Some(delay) = conditions.propagation {
                        assert!(Propagation::over_time(delay).is_ok());
                    }
                    assert!(trace.minimum().is_none_or(|(_, share)| (0.0..=1.0).contains(&share)));
                }
            }
            Err(error) => {
                let line = error.to_string();
                assert!(!line.contains('\n') && line.len() < 400, "{line}");
            }
        }
    }
}
