//! Two published estimators of the bandwidth estimation challenge at ACM MMSys 2024 ([khairy2024]), as they are: the
//! organisers' baseline and ByteDance's TEN-TMS. They believe that a network trained offline on the logs of real calls
//! knows the bandwidth from 150 numbers about packets that arrived. They run at the receiver and decide every 60 ms.
//!
//! Their weights are the published ones ([mmsys24-models]), converted to policies by tools/import_mmsys24.py; nothing
//! was trained here. docs/papers/khairy2024.md lists the published facts about their input and how we read them.

mod intervals;

use super::{Learned, Scheme};
use crate::ukf::Ukf;
use intervals::{FEATURES, Intervals, SHORT, WIDTH};
use legato_control::action::{self, ActionSpace};
use legato_control::observation::Layout;
use legato_control::window::WindowStats;
use legato_control::{BuildError, Context, Event, Side};
use legato_units::{DataRate, TimeDelta, Timestamp};
use std::marker::PhantomData;

/// The organisers' baseline.
pub type Mmsys24Baseline = Learned<Mmsys24Scheme<Baseline>>;
/// ByteDance's TEN-TMS.
pub type TenTms = Learned<Mmsys24Scheme<Tms>>;

/// The properties of one published model.
pub trait Published: Clone + Send + Sized + 'static {
    /// The name users type.
    const NAME: &'static str;
    /// One line for `legato controllers`.
    const SUMMARY: &'static str;
    /// The rate its output stands for.
    fn rate(action: f32) -> DataRate;
}

/// See [`Mmsys24Baseline`].
#[derive(Clone)]
pub struct Baseline;

impl Published for Baseline {
    const NAME: &'static str = "mmsys24-baseline";
    const SUMMARY: &'static str = "the baseline of the MMSys 2024 challenge, a published network at the receiver";

    fn rate(action: f32) -> DataRate {
        action::mmsys24_baseline(action)
    }
}

/// See [`TenTms`].
#[derive(Clone)]
pub struct Tms;

impl Published for Tms {
    const NAME: &'static str = "ten-tms";
    const SUMMARY: &'static str = "ByteDance's entry to the MMSys 2024 challenge, a published network at the receiver";

    fn rate(action: f32) -> DataRate {
        action::ten_tms(action)
    }
}

/// The common input of the challenge's estimators.
#[derive(Clone)]
pub struct Mmsys24Scheme<P> {
    intervals: Intervals,
    published: PhantomData<P>,
}

impl<P: Published> Scheme for Mmsys24Scheme<P> {
    const NAME: &'static str = P::NAME;
    const SIDE: Side = Side::Receiver;
    const SUMMARY: &'static str = P::SUMMARY;
    const CITES: &'static [&'static str] = &["khairy2024", "mmsys24-models"];
    const INTERVAL: TimeDelta = SHORT;
    const LAYOUT: Layout = Layout { features: FEATURES, width: WIDTH, history: 1 };
    const ACTIONS: ActionSpace = ActionSpace::Continuous { low: -1.0, high: 1.0 };
    type Fallback = Ukf;

    fn new(_context: Context<'_>) -> Result<Self, BuildError> {
        Ok(Self { intervals: Intervals::default(), published: PhantomData })
    }

    fn on_event(&mut self, now: Timestamp, event: &Event) {
        match event {
            Event::PacketReceived(packet) => self.intervals.on_packet(now, packet),
            Event::RoundTripTime(rtt) => self.intervals.on_round_trip(*rtt),
            Event::RouteChange => self.intervals.on_route_change(),
            _ => {}
        }
    }

    fn features(&self, _stats: &WindowStats, _last_action: f32, out: &mut [f32]) {
        self.intervals.write(out);
    }

    fn target(&self, action: f32, _stats: &WindowStats, _target: DataRate) -> DataRate {
        P::rate(action)
    }

    fn close(&mut self, _stats: &WindowStats) {
        self.intervals.close();
    }
}
