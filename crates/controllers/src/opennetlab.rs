//! `opennetlab` hosts an estimator written for AlphaRTC ([alphartc]): a Python file with a class `Estimator`, which gets
//! each packet that arrives (`report_states`) and is asked for a bandwidth every 200 ms (`get_estimated_bandwidth`).
//! Such files were written for the MMSys 2021 challenge and since; this judges them against all others.
//!
//! The estimator itself is somebody else's program: whether the same call gives the same bytes is up to it. The
//! builder of the call provides the host (`Assets::host`), so this crate knows no Python. Without a file there is no
//! estimator, and the target stays where the call starts.

use legato_control::{BuildError, Construct, Context, Decision, Event, RateController, RateLimits, Side};
use legato_units::{DataRate, TimeDelta, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of [`OpenNetLab`].
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The Python file with the class `Estimator`. It is run: name only files that you trust. Empty: no estimator, and
    /// the target stays the start rate.
    pub file: String,
}

/// Asks a foreign estimator every 200 ms.
#[derive(Clone)]
pub struct OpenNetLab {
    limits: RateLimits,
    estimator: Option<Box<dyn RateController>>,
    target: DataRate,
    next: Timestamp,
    /// A packet came since the last estimate.
    news: bool,
    estimates: u32,
    failures: u32,
}

impl Construct for OpenNetLab {
    const NAME: &'static str = "opennetlab";
    const SIDE: Side = Side::Receiver;
    const SUMMARY: &'static str = "an estimator of AlphaRTC's interface, from a Python file";
    const CITES: &'static [&'static str] = &["alphartc"];
    type Config = Config;

    fn new(config: Config, context: Context<'_>) -> Result<Self, BuildError> {
        let Context { limits, start, assets, .. } = context;
        let estimator = match config.file.as_str() {
            "" => None,
            file => {
                let missing = || BuildError::Missing { controller: Self::NAME, what: "a host for Python".into() };
                let guest = assets.host().ok_or_else(missing)?.guest("alphartc", file, context);
                Some(guest.map_err(|message| BuildError::Config {
                    controller: Self::NAME,
                    message: format!("file = {file:?}: {message}"),
                })?)
            }
        };
        Ok(Self {
            limits,
            estimator,
            target: limits.start,
            next: start + INTERVAL,
            news: false,
            estimates: 0,
            failures: 0,
        })
    }
}

impl OpenNetLab {
    fn report(&mut self, now: Timestamp, event: &Event) {
        self.news = true;
        if let Some(estimator) = &mut self.estimator {
            estimator.on_event(now, event);
        }
    }

    fn ask(&mut self, now: Timestamp) {
        self.next = (self.next + INTERVAL).max(now + TimeDelta::from_millis(1));
        // Ours: an interval without a packet is no reason to send more or less; the sender halves in silence.
        let Some(estimator) = self.estimator.as_mut().filter(|_| std::mem::take(&mut self.news)) else { return };
        estimator.on_event(now, &Event::Deadline);
        if estimator.has_estimate() {
            self.estimates += 1;
            self.target = estimator.decision().target_bitrate;
        } else {
            self.failures += 1;
        }
    }
}

impl RateController for OpenNetLab {
    fn on_event(&mut self, now: Timestamp, event: &Event) {
        match event {
            Event::PacketReceived(_) => self.report(now, event),
            Event::Deadline if now >= self.next => self.ask(now),
            Event::Limits(limits) => self.limits = *limits,
            _ => {}
        }
    }

    fn decision(&self) -> Decision {
        Decision::of_target(self.limits.clamp(self.target))
    }

    fn next_deadline(&self) -> Option<Timestamp> {
        Some(self.next)
    }

    fn observe(&mut self, gauge: &mut dyn FnMut(&'static str, f64)) {
        gauge("estimates", f64::from(self.estimates));
        gauge("failures", f64::from(self.failures));
    }
}

// [alphartc]: the estimator is asked every 200 ms.
const INTERVAL: TimeDelta = TimeDelta::from_millis(200);

#[cfg(test)]
mod tests {
    use super::*;
    use legato_control::{Assets, NoAssets, PacketKind, ReceivedPacket};
    use legato_units::{DataSize, PeerTimestamp};
    use std::borrow::Cow;

    const LIMITS: RateLimits =
        RateLimits { min: DataRate::from_kbps(50), start: DataRate::from_kbps(300), max: DataRate::from_mbps(4) };

    /// Estimates from the arrivals since the last request, over 200 ms; fails when there are none.
    #[derive(Clone, Default)]
    struct Sum {
        now: DataSize,
        last: DataSize,
    }

    impl RateController for Sum {
        fn on_event(&mut self, _now: Timestamp, event: &Event) {
            match event {
                Event::PacketReceived(packet) => self.now += packet.size,
                Event::Deadline => self.last = std::mem::take(&mut self.now),
                _ => {}
            }
        }
        fn decision(&self) -> Decision {
            Decision::of_target(self.last / INTERVAL)
        }
        fn has_estimate(&self) -> bool {
            self.last > DataSize::ZERO
        }
    }

    struct Host;
    impl Assets for Host {
        fn file(&self, _name: &str) -> Option<Cow<'_, [u8]>> {
            None
        }
        fn host(&self) -> Option<&dyn legato_control::Host> {
            Some(self)
        }
    }
    impl legato_control::Host for Host {
        fn guest(&self, interface: &str, file: &str, _: Context<'_>) -> Result<Box<dyn RateController>, String> {
            assert_eq!(interface, "alphartc");
            if file == "sum.py" { Ok(Box::<Sum>::default()) } else { Err("no such file".into()) }
        }
    }

    fn build(file: &str, assets: &dyn Assets) -> Result<OpenNetLab, BuildError> {
        let context = Context { limits: LIMITS, start: Timestamp::ZERO, seed: 0, assets };
        OpenNetLab::new(Config { file: file.into() }, context)
    }

    fn packet(bytes: u64) -> Event {
        Event::PacketReceived(ReceivedPacket {
            transport_seq: 1,
            ssrc: 1,
            size: DataSize::from_bytes(bytes),
            kind: PacketKind::Video,
            departure: Some(PeerTimestamp::from_nanos(0)),
            ce: false,
        })
    }

    #[test]
    fn the_estimator_gets_packets_and_is_asked_every_200_ms() {
        let at = Timestamp::from_millis;
        let mut controller = build("sum.py", &Host).unwrap();
        assert_eq!(controller.next_deadline(), Some(at(200)));
        controller.on_event(at(50), &packet(10_000));
        controller.on_event(at(150), &packet(5_000));
        assert_eq!(controller.decision().target_bitrate, LIMITS.start);
        controller.on_event(at(200), &Event::Deadline);
        // 120,000 bits in 0.2 s.
        assert_eq!(controller.decision().target_bitrate, DataRate::from_kbps(600));
        // Nothing came: it is not asked. A packet of no size: it fails, and the last estimate holds.
        controller.on_event(at(400), &Event::Deadline);
        assert_eq!((controller.estimates, controller.failures), (1, 0));
        controller.on_event(at(500), &packet(0));
        controller.on_event(at(600), &Event::Deadline);
        assert_eq!((controller.estimates, controller.failures), (1, 1));
        assert_eq!(controller.decision().target_bitrate, DataRate::from_kbps(600));
    }

    #[test]
    fn a_file_that_cannot_be_hosted_is_refused_by_name() {
        let refused = |file, assets: &dyn Assets| build(file, assets).err().unwrap().to_string();
        assert_eq!(refused("other.py", &Host), "controller opennetlab: file = \"other.py\": no such file");
        assert_eq!(refused("sum.py", &NoAssets), "controller opennetlab needs a host for Python");
        let mut alone = build("", &NoAssets).unwrap();
        alone.on_event(Timestamp::from_millis(100), &packet(90_000));
        alone.on_event(Timestamp::from_millis(200), &Event::Deadline);
        assert_eq!(alone.decision().target_bitrate, LIMITS.start);
    }
}
