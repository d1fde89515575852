//! A scenario: a TOML file with everything that a call depends on, except its seed. Every key has a default; unknown
//! keys are refused. docs/reference/scenario.md lists them.

mod ends;
mod media;
mod network;
mod values;

pub use ends::{
    BreakersSpec, ClockSpec, ControllerSpec, EcnSpec, FeedbackTiming, LimitsSpec, ReceiverSpec, SenderSpec,
};
pub use media::{AudioSpec, EncoderKind, FrameSizesSpec, VideoSpec};
pub use network::{
    AggregationSpec, CapacitySpec, ConditionsSpec, GilbertElliottSpec, JitterDistribution, JitterSpec, PathSpec,
    PlaysSpec, PolicerSpec, QueueKind, QueueSpec, RecordedSpec, ReorderSpec, TokenBucketSpec,
};

pub(crate) use values::{MAX_DURATION_S, Refusal, choice, within};

use crate::error::SimError;
use crate::flows::{CallSpec, Flows, LinkSpec, TcpSpec, UdpSpec};
use crate::pauses::{self, PauseSpec};
use legato_control::ranges::{self, OutOfRange};
use legato_control::{in_tomls_words, schema_of};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A scenario file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Scenario {
    /// Its name in reports.
    pub name: String,
    /// Simulated duration.
    #[schemars(range(min = 0.1, max = MAX_DURATION_S))]
    pub duration_s: f64,
    /// Bounds and initial value of the target bitrate.
    pub limits: LimitsSpec,
    /// The rate controller. A receiver-side one goes to the receiver, and `remote` to the sender.
    pub controller: ControllerSpec,
    /// A rate controller at the receiver, in addition to the sender's `controller`: `remote` with its parameters, or one
    /// that uses the remote estimate as one input among others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receiver_controller: Option<ControllerSpec>,
    /// The source.
    pub video: VideoSpec,
    /// An audio stream next to the video.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audio: Option<AudioSpec>,
    /// The sending end.
    pub sender: SenderSpec,
    /// The receiving end.
    pub receiver: ReceiverSpec,
    /// From sender to receiver.
    pub forward: PathSpec,
    /// From receiver to sender.
    pub reverse: PathSpec,
    /// The receiver's clock.
    pub clock: ClockSpec,
    /// Calls that share the links; absent: one call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<Vec<CallSpec>>,
    /// TCP flows that compete with them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tcp: Vec<TcpSpec>,
    /// Constant-rate UDP flows that compete with them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub udp: Vec<UdpSpec>,
    /// Further bottlenecks that flows are routed over.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<LinkSpec>,
    /// When the sender's media is paused.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pauses: Vec<PauseSpec>,
}

impl Default for Scenario {
    fn default() -> Self {
        Self {
            name: "unnamed".to_owned(),
            duration_s: 60.0,
            limits: LimitsSpec::default(),
            controller: ControllerSpec { name: "gcc".to_owned(), config: toml::Table::new() },
            receiver_controller: None,
            video: VideoSpec::default(),
            audio: None,
            sender: SenderSpec::default(),
            receiver: ReceiverSpec::default(),
            forward: PathSpec::default(),
            reverse: PathSpec::default(),
            clock: ClockSpec::default(),
            calls: None,
            tcp: Vec::new(),
            udp: Vec::new(),
            links: Vec::new(),
            pauses: Vec::new(),
        }
    }
}

/// Maximum size of a scenario file.
const MAX_TEXT_BYTES: usize = 1 << 20;

impl Scenario {
    /// Parse `text`, read from `file`; the name is for messages.
    pub fn parse(text: &str, file: &str) -> Result<Self, SimError> {
        let refused = |line, key, message| SimError::Scenario { file: file.to_owned(), line, key, message };
        if text.len() > MAX_TEXT_BYTES {
            return Err(refused(None, None, format!("{} bytes are more than 1 MiB", text.len())));
        }
        let unreadable = |error: &toml::de::Error| refused(line_of(error, text), None, describe(error, text));
        let document = toml::Deserializer::parse(text).map_err(|error| unreadable(&error))?;
        let mut scenario: Self = serde_path_to_error::deserialize(document).map_err(|error| {
            let key = Some(error.path().to_string());
            not_one_of(error.inner().message())
                .map_or_else(|| unreadable(error.inner()), |message| refused(None, key, message))
        })?;
        let table: toml::Table = text.parse().expect("it was read before");
        ranges::check(schema_of::<Self>().as_value(), &table).map_err(|OutOfRange { key, value, range }| {
            refused(None, Some(key), format!("{value} is not within {range}"))
        })?;
        scenario.check().map_err(|(key, message)| refused(None, Some(key), message))?;
        scenario.video.settle();
        Ok(scenario)
    }

    /// The scenario as TOML with every default written out.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a scenario is tables of plain values")
    }

    /// Refuses combinations that contradict each other; each value is in its own range.
    fn check(&self) -> Result<(), Refusal> {
        self.limits.check("limits")?;
        self.video.check()?;
        self.receiver.check()?;
        self.forward.check("forward")?;
        self.reverse.check("reverse")?;
        pauses::check(&self.pauses)?;
        let Self { tcp, udp, links, .. } = self;
        Flows { calls: self.calls.as_deref().unwrap_or_default(), tcp, udp, links }.check(self.duration_s)
    }

    /// Whether flows share links; otherwise the scenario is a single call.
    pub fn is_shared(&self) -> bool {
        self.calls.is_some() || !(self.tcp.is_empty() && self.udp.is_empty() && self.links.is_empty())
    }

    /// Number of calls per seed.
    pub fn calls_per_session(&self) -> usize {
        self.calls.as_ref().map_or(1, Vec::len)
    }
}

/// serde's message for an unknown choice, worded like all other refusals; `None` for other messages.
fn not_one_of(message: &str) -> Option<String> {
    let (value, known) = message.strip_prefix("unknown variant `")?.split_once("`, expected ")?;
    let known: Vec<&str> = known.split('`').skip(1).step_by(2).collect();
    Some(format!("{value:?} is not one of {}", known.join(", ")))
}

/// The line of an error, counted from 1.
fn line_of(error: &toml::de::Error, text: &str) -> Option<usize> {
    error.span().map(|span| text[..span.start.min(text.len())].matches('\n').count() + 1)
}

/// TOML's own message with the text of its line, which names key and value.
fn describe(error: &toml::de::Error, text: &str) -> String {
    let message = in_tomls_words(&error.message().trim().replace('\n', ", "));
    let Some(span) = error.span() else { return message };
    let start = text.get(..span.start).and_then(|before| before.rfind('\n')).map_or(0, |newline| newline + 1);
    let line = text.get(start..).and_then(|rest| rest.lines().next()).unwrap_or("").trim();
    let shown: String = line.chars().take(80).collect();
    if shown.is_empty() { message } else { format!("{message}, in `{shown}`") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        Scenario::parse(text, "a.toml").unwrap_err().to_string()
    }

    #[test]
    fn an_empty_file_is_the_default_call_and_defaults_survive_a_round_trip() {
        let scenario = Scenario::parse("", "a.toml").unwrap();
        let mut default = Scenario::default();
        default.video.settle();
        assert_eq!(scenario, default);
        assert_eq!(Scenario::parse(&scenario.to_toml(), "b.toml").unwrap(), scenario);
    }

    #[test]
    fn the_encoder_is_openh264_unless_x264_or_its_buffer_is_asked_for() {
        let chosen = |text: &str| {
            let video = Scenario::parse(&format!("[video]\n{text}"), "a.toml").unwrap().video;
            // Both are written out where they count: a run folder does not change its meaning with a default.
            let kept: Scenario =
                toml::from_str(&Scenario { video: video.clone(), ..Scenario::default() }.to_toml()).unwrap();
            assert_eq!(kept.video, video);
            (video.encoder(), video.vbv_ms)
        };
        assert_eq!(chosen(""), (EncoderKind::OpenH264, None));
        assert_eq!(chosen("encoder = \"x264\""), (EncoderKind::X264, Some(500)));
        assert_eq!(chosen("encoder = \"x264\"\nvbv_ms = 100"), (EncoderKind::X264, Some(100)));
        assert_eq!(chosen("vbv_ms = 1000"), (EncoderKind::X264, Some(1000)));
        // As run folders were written when the buffer was always named.
        assert_eq!(chosen("encoder = \"openh264\"\nvbv_ms = 500"), (EncoderKind::OpenH264, Some(500)));
    }

    #[test]
    fn the_receivers_clock_is_never_the_senders_by_default() {
        let clock = Scenario::default().clock;
        assert!(clock.offset_ms != 0.0 && clock.drift_ppm != 0.0);
    }

    #[test]
    fn refusals_name_file_line_key_and_value() {
        assert!(refused("duration = 3").contains("a.toml:1: unknown field `duration`"));
        let mistyped = refused("\n[video]\nfps = \"x\"");
        assert_eq!(
            mistyped,
            "a.toml:3: invalid type: string \"x\", expected a whole number of 0 or more, in `fps = \"x\"`"
        );
        let not_a_table =
            "a.toml:1: invalid type: integer `3`, expected a table of keys, in `forward = { capacity = 3 }`";
        assert_eq!(refused("forward = { capacity = 3 }"), not_a_table);
        assert_eq!(refused("duration_s = -1.0"), "a.toml: duration_s: -1 is not within 0.1 to 86400");
        assert_eq!(refused("duration_s = nan"), "a.toml: duration_s: NaN is not within 0.1 to 86400");
        assert_eq!(refused("[forward]\nloss_ratio = 1.5"), "a.toml: forward.loss_ratio: 1.5 is not within 0 to 1");
        assert!(refused("[forward.capacity]\nconstant_bps = 1\ntrace = \"x\"").contains("exactly one of"));
        assert!(refused("[limits]\nmin_bps = 9\nstart_bps = 5").contains("limits: min_bps = 9, start_bps = 5"));
        assert!(refused("[forward.queue]\nlimit_ms = 1.0\nlimit_packets = 2").contains("exclude one another"));
        let misplaced = refused("[forward.queue]\nkind = \"pie\"\nmark_above_ms = 1.0");
        assert_eq!(misplaced, "a.toml: forward.queue.mark_above_ms: only drop_tail has it");
        let overlapping = "[[pauses]]\nstart_s = 1.0\nend_s = 5.0\n[[pauses]]\nstart_s = 4.0\nend_s = 6.0";
        assert_eq!(refused(overlapping), "a.toml: pauses[1].start_s: 4 is not within 5 to 86400");
        assert!(refused(&"#".repeat(1 << 21)).contains("more than 1 MiB"));
    }

    #[test]
    fn a_choice_that_does_not_exist_is_refused_with_its_key_and_the_alternatives() {
        let choices = [
            ("[sender]\necn", "sender.ecn", "ect0, ect1, off"),
            ("[receiver]\nfeedback", "receiver.feedback", "ccfb, twcc"),
            ("[video]\nencoder", "video.encoder", "grace_standin, hybrid, jm, openh264, x264"),
            ("[video]\ndecoder", "video.decoder", "loss_tolerant, sliced, strict"),
            ("[forward.queue]\nkind", "forward.queue.kind", "codel, drop_tail, pie"),
            ("[reverse.queue]\nkind", "reverse.queue.kind", "codel, drop_tail, pie"),
            ("[forward.capacity]\nplays", "forward.capacity.plays", "capacity, path"),
            ("[[links]]\nname = \"L\"\n[links.queue]\nkind", "links[0].queue.kind", "codel, drop_tail, pie"),
            ("[[calls]]\ndirection", "calls[0].direction", "forward, reverse"),
            ("[[calls]]\n[[calls]]\ndirection", "calls[1].direction", "forward, reverse"),
            ("[[tcp]]\ndirection", "tcp[0].direction", "forward, reverse"),
            ("[[udp]]\ndirection", "udp[0].direction", "forward, reverse"),
            ("[[tcp]]\n[tcp.config]\ncongestion_control", "tcp[0].config.congestion_control", "bbr, bic, cubic, reno"),
            ("[[tcp]]\n[tcp.config]\nworkload", "tcp[0].config.workload", "bursts, long, on_off, once"),
        ];
        for (text, key, known) in choices {
            for value in ["magic", "", "Strict", "drop-tail", "x`y"] {
                let expected = format!("a.toml: {key}: {value:?} is not one of {known}");
                assert_eq!(refused(&format!("{text} = {value:?}")), expected);
            }
        }
        // Those of TCP may be tables.
        for (text, ..) in choices.iter().filter(|(_, key, _)| !key.contains("config")) {
            let (line, name) = (text.matches('\n').count() + 1, text.rsplit('\n').next().unwrap());
            let expected = format!("a.toml:{line}: invalid type: integer `3`, expected a string, in `{name} = 3`");
            assert_eq!(refused(&format!("{text} = 3")), expected);
            assert!(refused(&format!("{text} = {{ off = {{}} }}")).contains("invalid type: table, expected a string"));
        }
    }

    #[test]
    fn a_flows_unknown_keys_and_values_are_refused_with_their_line() {
        let cases = [
            ("[[calls]]\nnam = \"x\"", "a.toml:2: unknown field `nam`, expected one of `name`, `start_s`, "),
            ("[[tcp]]\nname = \"x\"\npriority = 1.0", "a.toml:3: unknown field `priority`, expected one of `name`, "),
            (
                "[[udp]]\nstart_s = \"x\"",
                "a.toml:2: invalid type: string \"x\", expected a number, in `start_s = \"x\"`",
            ),
            ("[[calls]]\ncontroller = { nam = \"x\" }", "a.toml:2: unknown field `nam`, expected `name` or `config`"),
            ("[[calls]]\n[[calls]]\nstop_s = 0.0", "a.toml: calls[1].stop_s: 0 s is not 0.1 s after start_s = 0 s"),
            (
                "[[udp]]\nconfig = { rate_bps = 100_000 }\nreturn_route = [\"x\"]",
                "a.toml: udp[0].return_route: UDP sends nothing back",
            ),
        ];
        for (text, expected) in cases {
            let message = refused(text);
            assert!(message.starts_with(expected), "{message}");
        }
    }
}
