//! From a path's description to a path: data shared by many calls is loaded once.

use crate::error::SimError;
use crate::recorded_path;
use crate::scenario::{
    CapacitySpec, ConditionsSpec, JitterDistribution, PathSpec, PlaysSpec, QueueKind, QueueSpec, RecordedSpec, Scenario,
};
use crate::seed::Seed;
use legato_path::capacity::{AfterLast, Capacity, CapacityError, Cut, LinkCapacity, RateSteps, Steps};
use legato_path::generate::Generator;
use legato_path::queue::{CoDel, CoDelConfig, Pie, PieConfig, QueueLimit};
use legato_path::stage::{
    Aggregation, Bottleneck, Distribution, GilbertElliott, Jitter, JitterConfig, Loss, Policer, Propagation,
    QueuedBottleneck, Reorder, TokenBucket, VaryingLoss,
};
use legato_path::trace_file::{self, Conditions, Format};
use legato_path::{Path, PathStage};
use legato_units::{DataRate, DataSize, TimeDelta};
use rand_core::RngCore;
use std::path::Path as FilePath;
use std::sync::Arc;

/// A bottleneck's capacity, loaded: calls share its data.
#[derive(Clone)]
pub struct LoadedCapacity {
    /// Its name in reports.
    pub label: Arc<str>,
    /// The data set it comes from.
    pub family: Option<Arc<str>>,
    /// Converts a queue's ms into bytes.
    pub reference: DataRate,
    /// The capacity at its start.
    pub capacity: LinkCapacity,
    /// If not empty, the whole network is drawn anew for each seed by one of these, drawn as well.
    pub generators: Arc<[Generator]>,
    /// The other records of a trace, if they are played.
    pub conditions: Arc<Conditions>,
}

/// RFC 8867 section 4.2: a tail-drop queue of 300 ms.
const DEFAULT_QUEUE: TimeDelta = TimeDelta::from_millis(300);

impl LoadedCapacity {
    /// Load what `spec` names; paths are relative to `folder`.
    pub fn load(spec: &CapacitySpec, folder: &FilePath) -> Result<Self, SimError> {
        if let Some(bps) = spec.constant_bps {
            let rate = DataRate::from_bps(bps);
            let capacity = LinkCapacity::constant(rate);
            return Ok(Self {
                label: rate.to_string().into(),
                family: Some("constant".into()),
                reference: rate,
                capacity,
                generators: Arc::default(),
                conditions: Arc::default(),
            });
        }
        if let Some(steps) = &spec.steps {
            return Self::of_steps(steps);
        }
        if let Some(names) = &spec.generator {
            return Self::of_generators(names);
        }
        let Some(trace) = &spec.trace else {
            return Err(SimError::Plan("the capacity comes from a trace that is not given".to_owned()));
        };
        let address = resolve(trace, folder);
        let trace = trace_file::read(&address, format_of(spec.family.as_deref(), &address)?)?;
        let cut = Cut {
            scale: spec.scale.unwrap_or(1.0),
            start: TimeDelta::from_secs_f64(spec.start_s.unwrap_or(0.0)),
            duration: spec.duration_s.map(TimeDelta::from_secs_f64),
        };
        let refused = |error: CapacityError| {
            let (scale, start_s) = (spec.scale.unwrap_or(1.0), spec.start_s.unwrap_or(0.0));
            let length = spec.duration_s.map_or_else(String::new, |s| format!(", duration_s = {s}"));
            SimError::Trace(format!("{address}: scale = {scale}, start_s = {start_s}{length}: {error}"))
        };
        let capacity = trace.capacity(&cut, AfterLast::Repeat).map_err(refused)?;
        let length = cut.duration.unwrap_or(trace.duration() - cut.start).min(trace.duration() - cut.start);
        let start = legato_units::Timestamp::ZERO;
        let mut label = trace.name.clone();
        // The played part belongs to its identity.
        if let Some(scale) = spec.scale.filter(|&scale| scale != 1.0) {
            label += &format!(" x{scale}");
        }
        if let Some(start_s) = spec.start_s.filter(|&start_s| start_s != 0.0) {
            label += &format!(" @{start_s}s");
        }
        if let Some(duration_s) = spec.duration_s {
            label += &format!(" {duration_s}s");
        }
        let mut conditions = trace.conditions(&cut);
        if spec.plays == Some(PlaysSpec::Capacity) && !conditions.is_empty() {
            label += " capacity alone";
            conditions = Conditions::default();
        }
        Ok(Self {
            label: label.into(),
            family: Some(trace.family.as_str().into()),
            reference: capacity.mean_rate(start, start + length),
            capacity,
            generators: Arc::default(),
            conditions: Arc::new(conditions),
        })
    }

    fn of_generators(names: &str) -> Result<Self, SimError> {
        let refused = |problem| SimError::Plan(format!("capacity.generator: {problem}"));
        Ok(Self {
            label: names.into(),
            family: Some("generator".into()),
            reference: DataRate::ZERO,
            capacity: LinkCapacity::constant(DataRate::ZERO),
            generators: Generator::by_names(names).map_err(refused)?,
            conditions: Arc::default(),
        })
    }

    /// Whether [`LoadedCapacity::draw`] changes the two paths.
    pub fn sets_the_path(&self) -> bool {
        !self.generators.is_empty() || !self.conditions.is_empty()
    }

    /// The capacity for a seed: itself, or for a generator a network with its own capacity, queue,
    /// loss and propagation, written into the two paths; as is what a trace records of its path.
    pub fn draw(&self, seed: Seed, forward: &mut PathSpec, reverse: &mut PathSpec) -> Self {
        let generator = match &*self.generators {
            [] => {
                recorded_path::apply(&self.conditions, forward, reverse);
                return self.clone();
            }
            [only] => only,
            several => &several[seed.stream("path.which_generator").next_u64() as usize % several.len()],
        };
        let network = generator.draw(&mut seed.stream("path.generator"));
        let one_way_ms = (network.min_rtt / 2).as_millis_f64();
        (forward.propagation_ms, reverse.propagation_ms) = (one_way_ms, one_way_ms);
        forward.loss_ratio = network.loss_ratio;
        forward.queue.kind = QueueKind::DropTail;
        (forward.queue.limit_ms, forward.queue.limit_bytes) = (None, None);
        forward.queue.limit_packets = Some(network.queue_packets);
        let reference = network.capacity.mean_rate();
        Self { reference, capacity: Steps::new(network.capacity).into(), generators: Arc::default(), ..self.clone() }
    }

    fn of_steps(steps: &[(f64, u64)]) -> Result<Self, SimError> {
        let refused = |error: CapacityError| SimError::Plan(format!("capacity.steps: {error}"));
        let last = steps.last().map_or(0.0, |step| step.0);
        let entries = steps.iter().map(|&(s, bps)| (TimeDelta::from_secs_f64(s), DataRate::from_bps(bps)));
        // The last rate holds; the table itself ends a second later.
        let duration = TimeDelta::from_secs_f64(last) + TimeDelta::from_secs(1);
        let table = RateSteps::new(entries, duration, AfterLast::Hold).map_err(refused)?;
        let most = steps.iter().map(|step| step.1).max().unwrap_or(0);
        Ok(Self {
            label: "steps".into(),
            family: Some("steps".into()),
            reference: DataRate::from_bps(most),
            capacity: Steps::new(Arc::new(table)).into(),
            generators: Arc::default(),
            conditions: Arc::default(),
        })
    }
}

/// The format that a scenario names, for the trace at that address.
fn format_of(family: Option<&str>, address: &str) -> Result<Option<Format>, SimError> {
    let named = |name: &str| {
        Format::by_name(name).ok_or_else(|| {
            let known: Vec<_> = Format::ALL.iter().map(|format| format.name()).collect();
            SimError::Trace(format!("{address}: family = {name:?} is not one of {}", known.join(", ")))
        })
    };
    family.map(named).transpose()
}

/// Load the conditions that the two paths of a scenario name. `folder` is the base of their files.
pub(crate) fn load_conditions(scenario: &mut Scenario, folder: &FilePath) -> Result<(), SimError> {
    for (path, way) in [(&mut scenario.forward, "forward"), (&mut scenario.reverse, "reverse")] {
        if let Some(spec) = &path.conditions {
            path.recorded = read_conditions(spec, folder)
                .map_err(|error| SimError::Trace(format!("{way}.conditions.trace = {:?}: {error}", spec.trace)))?;
        }
    }
    Ok(())
}

fn read_conditions(spec: &ConditionsSpec, folder: &FilePath) -> Result<RecordedSpec, SimError> {
    let address = resolve(&spec.trace, folder);
    let trace = trace_file::read(&address, format_of(spec.family.as_deref(), &address)?)?;
    let cut = Cut {
        start: TimeDelta::from_secs_f64(spec.start_s.unwrap_or(0.0)),
        duration: spec.duration_s.map(TimeDelta::from_secs_f64),
        ..Cut::default()
    };
    // The same parts are valid as of its capacity.
    trace.capacity(&cut, AfterLast::Repeat).map_err(|error| SimError::Trace(format!("{address}: {error}")))?;
    let Conditions { propagation, loss_ratio, .. } = trace.conditions(&cut);
    if propagation.is_none() && loss_ratio.is_none() {
        return Err(SimError::Trace(format!("{address} records neither delay nor loss")));
    }
    Ok(RecordedSpec { propagation, loss_ratio })
}

/// Load what a path's bottleneck names, if it has one. `key` is its place in the scenario, for the error of an unreadable
/// trace.
pub fn load_capacity(
    spec: Option<&CapacitySpec>,
    folder: &FilePath,
    key: &str,
) -> Result<Option<LoadedCapacity>, SimError> {
    spec.map(|spec| load_named(spec, folder, key)).transpose()
}

/// The same if there is one.
pub fn load_named(spec: &CapacitySpec, folder: &FilePath, key: &str) -> Result<LoadedCapacity, SimError> {
    let named = |error| match (error, &spec.trace) {
        (SimError::Trace(problem), Some(trace)) => SimError::Trace(format!("{key}.trace = {trace:?}: {problem}")),
        (other, _) => other,
    };
    LoadedCapacity::load(spec, folder).map_err(named)
}

/// Build the path of one call. `name` is `"forward"` or `"reverse"`.
pub fn build_path<P: Send + 'static>(
    spec: &PathSpec,
    capacity: Option<&LoadedCapacity>,
    seed: Seed,
    name: &str,
) -> Result<Path<P>, SimError> {
    let mut stages = link_stages(spec, capacity, seed, name)?;
    stages.extend(tail_stages(spec, capacity.map(|loaded| loaded.reference), seed, name)?);
    Ok(Path::new(stages))
}

/// What flows on a link share: loss, policer and shaper, the bottleneck, the medium.
pub fn link_stages<P: Send + 'static>(
    spec: &PathSpec,
    capacity: Option<&LoadedCapacity>,
    seed: Seed,
    name: &str,
) -> Result<Vec<PathStage<P>>, SimError> {
    let stream = |what: &str| seed.stream(&format!("path.{name}.{what}"));
    let refused = |error: &dyn std::fmt::Display| SimError::Plan(format!("{name}: {error}"));
    let mut stages: Vec<PathStage<P>> = Vec::with_capacity(6);
    if let Some(loss_ratio) = &spec.recorded.loss_ratio {
        let loss = VaryingLoss::new(loss_ratio.clone(), stream("loss"));
        stages.push(loss.map_err(|error| refused(&error))?.into());
    } else if spec.loss_ratio > 0.0 {
        stages.push(Loss::new(spec.loss_ratio, stream("loss")).map_err(|error| refused(&error))?.into());
    }
    if let Some(burst) = &spec.gilbert_elliott {
        let chain = GilbertElliott::new(
            burst.good_to_bad_ratio,
            burst.bad_to_good_ratio,
            0.0,
            burst.loss_bad_ratio,
            stream("gilbert_elliott"),
        );
        stages.push(chain.map_err(|error| refused(&error))?.into());
    }
    if let Some(policer) = &spec.policer {
        let (rate, burst) = (DataRate::from_bps(policer.rate_bps), DataSize::from_bytes(policer.burst_bytes));
        let stage = Policer::new(rate, burst);
        stages.push(stage.map_err(|error| refused(&format!("policer.{error}")))?.into());
    }
    if let Some(bucket) = &spec.token_bucket {
        let (rate, burst) = (DataRate::from_bps(bucket.rate_bps), DataSize::from_bytes(bucket.burst_bytes));
        let stage = TokenBucket::new(rate, burst, rate * TimeDelta::from_millis_f64(bucket.limit_ms));
        stages.push(stage.map_err(|error| refused(&format!("token_bucket.{error}")))?.into());
    }
    if let Some(loaded) = capacity {
        stages.push(bottleneck(&spec.queue, loaded, || stream("pie")));
    }
    if let Some(medium) = &spec.aggregation {
        let wait = TimeDelta::from_millis_f64(medium.wait_ms);
        stages.push(Aggregation::new(wait, medium.max_packets, stream("aggregation")).into());
    }
    Ok(stages)
}

/// The private part of each flow's way: propagation, packet delay variation, reordering. `serial` is the rate of the
/// lowest bottleneck, by which jitter keeps packets in order.
pub fn tail_stages<P: Send + 'static>(
    spec: &PathSpec,
    serial: Option<DataRate>,
    seed: Seed,
    name: &str,
) -> Result<Vec<PathStage<P>>, SimError> {
    let stream = |what: &str| seed.stream(&format!("path.{name}.{what}"));
    if spec.conditions.is_some() && spec.recorded == RecordedSpec::default() {
        return Err(SimError::Plan(format!("{name}.conditions were not loaded: only a plan loads them")));
    }
    let propagation = match &spec.recorded.propagation {
        Some(delay) => {
            Propagation::over_time(delay.clone()).map_err(|error| SimError::Plan(format!("{name}: {error}")))?
        }
        None => Propagation::fixed(TimeDelta::from_millis_f64(spec.propagation_ms)),
    };
    let mut stages: Vec<PathStage<P>> = vec![propagation.into()];
    if let Some(jitter) = &spec.jitter {
        let config = JitterConfig {
            std: TimeDelta::from_millis_f64(jitter.std_ms),
            n_std: jitter.n_std,
            distribution: match jitter.distribution {
                JitterDistribution::Folded => Distribution::Folded,
                JitterDistribution::Shifted => Distribution::Shifted,
            },
            serial,
        };
        stages.push(Jitter::new(config, stream("jitter")).into());
    }
    if let Some(reorder) = &spec.reorder {
        let extra = TimeDelta::from_millis_f64(reorder.extra_ms);
        let stage = Reorder::new(reorder.packet_ratio, extra, stream("reorder"));
        stages.push(stage.map_err(|error| SimError::Plan(format!("{name}: {error}")))?.into());
    }
    Ok(stages)
}

fn bottleneck<P: Send + 'static>(
    spec: &QueueSpec,
    loaded: &LoadedCapacity,
    stream: impl FnOnce() -> rand_chacha::ChaCha8Rng,
) -> PathStage<P> {
    let capacity = loaded.capacity.clone();
    let limit = queue_limit(spec, loaded);
    match spec.kind {
        QueueKind::CoDel => {
            let config = CoDelConfig { limit, ecn: spec.ecn, ..CoDelConfig::default() };
            QueuedBottleneck::new(capacity, Box::new(CoDel::new(config))).into()
        }
        QueueKind::Pie => {
            let config = PieConfig { limit, ecn: spec.ecn, ..PieConfig::default() };
            QueuedBottleneck::new(capacity, Box::new(Pie::new(config, stream()))).into()
        }
        QueueKind::DropTail => {
            let mark_above = spec.mark_above_ms.map_or(TimeDelta::MAX, TimeDelta::from_millis_f64);
            Bottleneck::new(capacity, limit).with_step_mark(mark_above).into()
        }
    }
}

/// The limit of a bottleneck's queue: the scenario's, or that of its kind.
pub fn queue_limit(spec: &QueueSpec, loaded: &LoadedCapacity) -> QueueLimit {
    let reference = spec.reference_bps.map_or(loaded.reference, DataRate::from_bps);
    let of_time = |span| QueueLimit::Time { span, reference, rescale: spec.rescale };
    if let Some(bytes) = spec.limit_bytes {
        return QueueLimit::Bytes(DataSize::from_bytes(bytes));
    }
    if let Some(packets) = spec.limit_packets {
        return QueueLimit::Packets(packets);
    }
    match (spec.limit_ms, spec.kind) {
        (Some(span_ms), _) => of_time(TimeDelta::from_millis_f64(span_ms)),
        (None, QueueKind::DropTail) => of_time(DEFAULT_QUEUE),
        (None, QueueKind::CoDel) => CoDelConfig::default().limit,
        (None, QueueKind::Pie) => PieConfig::default().limit,
    }
}

/// A path named in a scenario or plan, relative to the folder of the file that names it.
pub fn resolve(name: &str, folder: &FilePath) -> String {
    let path = FilePath::new(name);
    if path.is_absolute() { name.to_owned() } else { folder.join(path).to_string_lossy().into_owned() }
}
