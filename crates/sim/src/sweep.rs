//! Many calls into one run folder, on all cores, resumable, the same bytes for any number of
//! threads: parts are fixed by the plan, and each is written by the thread that took it.

use crate::error::SimError;
use crate::plan::{LoadedPlan, Plan, PlannedSession};
use crate::recorded_path::with_cross_traffic;
use crate::run::{CallParts, run_call};
use crate::scenario::Scenario;
use crate::session::run_session;
use legato_trace::{CallLabels, LogLevel, Part, Recorder, Summary, TrafficFigures};
use serde_json::json;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

/// The run folder's format.
pub const FORMAT: u32 = 1;

/// A sweep, before, while and after it runs.
pub struct Sweep {
    shared: Arc<Shared>,
    threads: usize,
    workers: Vec<JoinHandle<()>>,
}

struct Shared {
    plan: LoadedPlan,
    folder: PathBuf,
    next_part: AtomicU64,
    calls_done: AtomicU64,
    simulated_ms: AtomicU64,
    cancelled: AtomicBool,
    failure: Mutex<Option<SimError>>,
}

impl Sweep {
    /// Load everything and open the folder; one that holds part of the same plan is continued, one
    /// that holds another run is refused. `threads` 0: one per core.
    pub fn new(plan: &Plan, folder: &Path, threads: usize) -> Result<Self, SimError> {
        let loaded = plan.load()?;
        check_calls(&loaded)?;
        open_folder(plan, &loaded, folder, "sweep")?;
        let threads = if threads == 0 { thread::available_parallelism().map_or(1, usize::from) } else { threads };
        let shared = Shared {
            plan: loaded,
            folder: folder.to_owned(),
            next_part: AtomicU64::new(0),
            calls_done: AtomicU64::new(0),
            simulated_ms: AtomicU64::new(0),
            cancelled: AtomicBool::new(false),
            failure: Mutex::new(None),
        };
        Ok(Self { shared: Arc::new(shared), threads, workers: Vec::new() })
    }

    /// The number of calls in the plan.
    pub fn total_calls(&self) -> u64 {
        self.shared.plan.calls()
    }

    /// Begin, in the background.
    pub fn start(&mut self) {
        let threads = self.threads.min(self.shared.plan.parts() as usize).max(1);
        self.workers = (0..threads)
            .map(|_| {
                let shared = Arc::clone(&self.shared);
                thread::spawn(move || shared.work())
            })
            .collect();
    }

    /// Completed calls, including those of earlier runs, and seconds simulated in this one.
    pub fn progress(&self) -> (u64, f64) {
        let calls = self.shared.calls_done.load(Ordering::Relaxed);
        (calls, self.shared.simulated_ms.load(Ordering::Relaxed) as f64 / 1e3)
    }

    /// Whether everything is done, failed or cancelled.
    pub fn is_finished(&self) -> bool {
        self.workers.iter().all(JoinHandle::is_finished)
    }

    /// Stop after the calls in progress. Complete parts stay; others are not written.
    pub fn cancel(&self) {
        self.shared.cancelled.store(true, Ordering::Relaxed);
    }

    /// Wait for the end. True: every part is written.
    pub fn join(&mut self) -> Result<bool, SimError> {
        for worker in self.workers.drain(..) {
            worker.join().map_err(|_| SimError::Io("a worker died: this is a bug in Legato".to_owned()))?;
        }
        match self.shared.failure.lock().expect("no worker panics while it holds this").take() {
            Some(error) => Err(error),
            None => Ok(self.shared.calls_done.load(Ordering::Relaxed) == self.total_calls()),
        }
    }
}

impl Shared {
    fn work(&self) {
        let mut recorders = Vec::new();
        loop {
            let part = self.next_part.fetch_add(1, Ordering::Relaxed);
            if part >= self.plan.parts() || self.cancelled.load(Ordering::Relaxed) {
                return;
            }
            if let Err(error) = self.run_part(part, &mut recorders) {
                self.cancelled.store(true, Ordering::Relaxed);
                self.failure.lock().expect("no worker panics while it holds this").get_or_insert(error);
                return;
            }
        }
    }

    fn run_part(&self, number: u64, recorders: &mut Vec<Recorder>) -> Result<(), SimError> {
        let first = number * self.plan.sessions_per_part;
        let last = (first + self.plan.sessions_per_part).min(self.plan.sessions());
        let calls = self.plan.calls_per_session();
        let name = format!("{number:05}");
        if self.folder.join("summary").join(format!("{name}.parquet")).exists() {
            self.calls_done.fetch_add((last - first) * calls, Ordering::Relaxed);
            return Ok(());
        }
        let mut part = Part::new(self.plan.level);
        for session in first..last {
            if self.cancelled.load(Ordering::Relaxed) {
                // Calls of an unwritten part do not count as done.
                self.calls_done.fetch_sub((session - first) * calls, Ordering::Relaxed);
                return Ok(());
            }
            let outcome = run_planned(&self.plan, session, self.plan.level, recorders)?;
            let mut simulated_s = 0.0;
            for ((labels, summary), recorder) in outcome.calls.into_iter().zip(recorders.iter()) {
                simulated_s += summary.duration_s;
                part.push(labels, summary, recorder);
            }
            for flow in &outcome.traffic {
                part.push_traffic(session, flow);
            }
            self.calls_done.fetch_add(calls, Ordering::Relaxed);
            self.simulated_ms.fetch_add((simulated_s * 1e3) as u64, Ordering::Relaxed);
        }
        part.write(&self.folder, &name).map_err(|error| io_error(&self.folder, &error))
    }
}

/// The results of a session.
pub struct Outcome {
    /// Its calls, in the scenario's order.
    pub calls: Vec<(CallLabels, Summary)>,
    /// Its other flows.
    pub traffic: Vec<TrafficFigures>,
}

/// Run one session of a plan; the tables of its calls stay in `recorders`, one each, until the next.
pub fn run_planned(
    plan: &LoadedPlan,
    session: u64,
    level: LogLevel,
    recorders: &mut Vec<Recorder>,
) -> Result<Outcome, SimError> {
    let planned = plan.session(session);
    let scenario = &*with_cross_traffic(&plan.scenario, planned.parts.cross_traffic());
    let (summaries, traffic) = if scenario.is_shared() {
        run_session(scenario, &planned.parts, &plan.session_parts, planned.seed, level, recorders)?
    } else {
        recorders.resize_with(recorders.len().max(1), Recorder::default);
        (vec![run_call(scenario, &planned.parts, planned.seed, level, &mut recorders[0])?], Vec::new())
    };
    let labels = |n| labels_of(plan, &planned, session, n);
    let calls = summaries.into_iter().enumerate().map(|(n, summary)| (labels(n), summary)).collect();
    Ok(Outcome { calls, traffic })
}

/// The labels of call `n` of a session.
pub(crate) fn labels_of(plan: &LoadedPlan, planned: &PlannedSession<'_>, session: u64, n: usize) -> CallLabels {
    let scenario = &plan.scenario;
    let video = &scenario.video;
    let forward = planned.parts.forward.as_ref();
    let own = scenario.calls.as_ref().and_then(|calls| calls.get(n));
    let controller = own.and_then(|call| call.own.controller.as_ref()).map(|spec| spec.name.as_str().into());
    CallLabels {
        call: session * plan.calls_per_session() + n as u64,
        session,
        flow: own.map(|call| call.name.clone().unwrap_or_else(|| format!("call {}", n + 1)).into()),
        start_s: own.map_or(0.0, |call| call.start_s),
        scenario: scenario.name.as_str().into(),
        controller: controller.unwrap_or_else(|| planned.controller.clone()),
        trace: forward.map_or_else(|| "unlimited".into(), |loaded| loaded.label.clone()),
        trace_family: forward.and_then(|loaded| loaded.family.clone()),
        clip: planned.parts.clip.label.clone(),
        encoder: planned.parts.clip.encoder_name(video).into(),
        decoder: planned.parts.clip.decoder(video).name().into(),
        seed: planned.seed,
    }
}

/// Build each controller and each clip's encoder once, so that what cannot run is refused before
/// anything is written.
fn check_calls(plan: &LoadedPlan) -> Result<(), SimError> {
    let per_controller = plan.sessions() / plan.controllers.len() as u64;
    let controllers = (0..plan.controllers.len() as u64).map(|n| n * per_controller);
    let per_clip = plan.seeds.len() as u64;
    let clips = (0..plan.clips.len() as u64).map(|n| n * per_clip);
    // Calls that name a controller are tried alone, like the others.
    let own = plan.scenario.calls.iter().flatten().filter_map(|call| call.own.controller.as_ref());
    let own: Vec<_> = own.collect();
    let alone = Scenario {
        duration_s: 0.001,
        calls: None,
        tcp: Vec::new(),
        udp: Vec::new(),
        links: Vec::new(),
        ..plan.scenario.clone()
    };
    let try_out =
        |parts: &CallParts, seed| run_call(&alone, parts, seed, LogLevel::Summary, &mut Recorder::default()).map(drop);
    for session in controllers.chain(clips) {
        let planned = plan.session(session);
        try_out(&planned.parts, planned.seed)?;
        for &controller in &own {
            try_out(&CallParts { controller: controller.clone(), ..planned.parts.clone() }, planned.seed)?;
        }
    }
    Ok(())
}

/// Open a run folder for the calls of a plan; `kind` is how they are made; see [`Sweep::new`].
pub(crate) fn open_folder(plan: &Plan, loaded: &LoadedPlan, folder: &Path, kind: &str) -> Result<(), SimError> {
    let text = serde_json::to_string_pretty(plan).expect("a plan is plain values") + "\n";
    let place = folder.join("plan.json");
    let manifest = serde_json::to_string_pretty(&manifest(plan, loaded, kind)).expect("plain values") + "\n";
    if place.exists() {
        for (name, wanted, what) in
            [("plan.json", &text, "holds another run"), ("manifest.json", &manifest, "was started by another version")]
        {
            let place = folder.join(name);
            let before = fs::read_to_string(&place).map_err(|error| io_error(&place, &error))?;
            if before != *wanted {
                let message = format!("{}: {what}; choose another folder or remove it", folder.display());
                return Err(SimError::RunFolder(message));
            }
        }
        return Ok(());
    }
    // The remains of a run stopped before its first part are neither a run nor anyone else's files.
    let ours = |name: &std::ffi::OsStr| name == "manifest.json" || name.to_string_lossy().ends_with(".partial");
    let occupied = fs::read_dir(folder).is_ok_and(|entries| entries.flatten().any(|entry| !ours(&entry.file_name())));
    let just_begun = || SimError::RunFolder(format!("{}: another run began there just now", folder.display()));
    if occupied && place.exists() {
        return Err(just_begun());
    }
    if occupied {
        let message = format!("{}: is not empty and holds no run; choose another folder", folder.display());
        return Err(SimError::RunFolder(message));
    }
    fs::create_dir_all(folder).map_err(|error| io_error(folder, &error))?;
    for (name, text) in [("manifest.json", &manifest), ("plan.json", &text)] {
        let partial = folder.join(format!("{name}.partial"));
        fs::write(&partial, text).map_err(|error| io_error(&partial, &error))?;
        fs::rename(&partial, folder.join(name)).map_err(|error| match error.kind() {
            // Another process wrote the same file and has renamed it.
            ErrorKind::NotFound => just_begun(),
            _ => io_error(folder, &error),
        })?;
    }
    Ok(())
}

fn manifest(plan: &Plan, loaded: &LoadedPlan, kind: &str) -> serde_json::Value {
    let labels = |list: Vec<&str>| json!(list);
    json!({
        "format": FORMAT,
        "legato": env!("CARGO_PKG_VERSION"),
        "commit": env!("LEGATO_COMMIT"),
        "kind": kind,
        "log": plan.log,
        "calls": loaded.calls(),
        "calls_per_session": loaded.calls_per_session(),
        "calls_per_part": loaded.sessions_per_part * loaded.calls_per_session(),
        "duration_s": loaded.scenario.duration_s,
        "scenario": loaded.scenario.name,
        "controllers": labels(loaded.controllers.iter().map(|(label, _)| &**label).collect()),
        "traces": labels(loaded.traces.iter().flatten().map(|trace| &*trace.label).collect()),
        "clips": labels(loaded.clips.iter().map(|clip| &*clip.label).collect()),
        "seeds": loaded.seeds,
    })
}

pub(crate) fn io_error(path: &Path, error: &std::io::Error) -> SimError {
    SimError::Io(format!("{}: {error}", path.display()))
}
