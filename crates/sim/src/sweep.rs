//! Many calls into one run folder, on all cores, resumable, the same bytes for any number of
//! threads: parts are fixed by the plan, and each is written by whoever took it.

use crate::error::SimError;
use crate::plan::{LoadedPlan, Plan};
use crate::run::run_call;
use legato_trace::{CallLabels, LogLevel, Part, Recorder, Summary};
use serde_json::json;
use std::fs;
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
    /// Load everything and open the folder; a folder that holds part of the same plan is gone on
    /// with, one that holds another run is refused. `threads` 0: one a core.
    pub fn new(plan: &Plan, folder: &Path, threads: usize) -> Result<Self, SimError> {
        let loaded = plan.load()?;
        check_calls(&loaded)?;
        open_folder(plan, &loaded, folder)?;
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

    /// How many calls the plan makes.
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

    /// Calls done, those of earlier sessions included, and seconds simulated in this one.
    pub fn progress(&self) -> (u64, f64) {
        let calls = self.shared.calls_done.load(Ordering::Relaxed);
        (calls, self.shared.simulated_ms.load(Ordering::Relaxed) as f64 / 1e3)
    }

    /// Whether everything is done, failed or cancelled.
    pub fn is_finished(&self) -> bool {
        self.workers.iter().all(JoinHandle::is_finished)
    }

    /// Stop after the calls in hand. Parts that are whole stay; others are not written.
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
        let mut recorder = Recorder::default();
        loop {
            let part = self.next_part.fetch_add(1, Ordering::Relaxed);
            if part >= self.plan.parts() || self.cancelled.load(Ordering::Relaxed) {
                return;
            }
            if let Err(error) = self.run_part(part, &mut recorder) {
                self.cancelled.store(true, Ordering::Relaxed);
                self.failure.lock().expect("no worker panics while it holds this").get_or_insert(error);
                return;
            }
        }
    }

    fn run_part(&self, number: u64, recorder: &mut Recorder) -> Result<(), SimError> {
        let first = number * self.plan.calls_per_part;
        let last = (first + self.plan.calls_per_part).min(self.plan.calls());
        let name = format!("{number:05}");
        if self.folder.join("summary").join(format!("{name}.parquet")).exists() {
            self.calls_done.fetch_add(last - first, Ordering::Relaxed);
            return Ok(());
        }
        let mut part = Part::new(self.plan.level);
        for call in first..last {
            if self.cancelled.load(Ordering::Relaxed) {
                // Calls of a part that is not written are not done.
                self.calls_done.fetch_sub(call - first, Ordering::Relaxed);
                return Ok(());
            }
            let (labels, summary) = run_planned(&self.plan, call, self.plan.level, recorder)?;
            let duration_ms = (summary.duration_s * 1e3) as u64;
            part.push(labels, summary, recorder);
            self.calls_done.fetch_add(1, Ordering::Relaxed);
            self.simulated_ms.fetch_add(duration_ms, Ordering::Relaxed);
        }
        part.write(&self.folder, &name).map_err(|error| io_error(&self.folder, &error))
    }
}

/// Run one call of a plan.
pub fn run_planned(
    plan: &LoadedPlan,
    call: u64,
    level: LogLevel,
    recorder: &mut Recorder,
) -> Result<(CallLabels, Summary), SimError> {
    let planned = plan.call(call);
    let summary = run_call(&plan.scenario, &planned.parts, planned.seed, level, recorder)?;
    let video = &plan.scenario.video;
    let forward = planned.parts.forward.as_ref();
    let labels = CallLabels {
        call,
        scenario: plan.scenario.name.as_str().into(),
        controller: planned.controller.clone(),
        trace: forward.map_or_else(|| "unlimited".into(), |loaded| loaded.label.clone()),
        trace_family: forward.and_then(|loaded| loaded.family.clone()),
        clip: planned.parts.clip.label.clone(),
        encoder: planned.parts.clip.encoder_name(video).into(),
        decoder: planned.parts.clip.decoder_name(video).into(),
        seed: planned.seed,
    };
    Ok((labels, summary))
}

/// Build each controller and each clip's encoder once, so that what cannot run is refused before
/// anything is written.
fn check_calls(plan: &LoadedPlan) -> Result<(), SimError> {
    let per_controller = plan.calls() / plan.controllers.len() as u64;
    let controllers = (0..plan.controllers.len() as u64).map(|n| n * per_controller);
    let per_clip = plan.seeds.len() as u64;
    let clips = (0..plan.clips.len() as u64).map(|n| n * per_clip);
    for call in controllers.chain(clips) {
        let planned = plan.call(call);
        let shortest = crate::scenario::Scenario { duration_s: 0.001, ..plan.scenario.clone() };
        run_call(&shortest, &planned.parts, planned.seed, LogLevel::Summary, &mut Recorder::default())?;
    }
    Ok(())
}

fn open_folder(plan: &Plan, loaded: &LoadedPlan, folder: &Path) -> Result<(), SimError> {
    let text = serde_json::to_string_pretty(plan).expect("a plan is plain values") + "\n";
    let place = folder.join("plan.json");
    let manifest = serde_json::to_string_pretty(&manifest(plan, loaded)).expect("plain values") + "\n";
    if place.exists() {
        for (name, wanted, what) in
            [("plan.json", &text, "holds another run"), ("manifest.json", &manifest, "was begun by another version")]
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
    // What a stop before the first part leaves behind is no run, and nothing of anybody's either.
    let ours = |name: &std::ffi::OsStr| name == "manifest.json" || name.to_string_lossy().ends_with(".partial");
    let occupied = fs::read_dir(folder).is_ok_and(|entries| entries.flatten().any(|entry| !ours(&entry.file_name())));
    if occupied {
        let message = format!("{}: is not empty and holds no run; choose another folder", folder.display());
        return Err(SimError::RunFolder(message));
    }
    fs::create_dir_all(folder).map_err(|error| io_error(folder, &error))?;
    for (name, text) in [("manifest.json", &manifest), ("plan.json", &text)] {
        let partial = folder.join(format!("{name}.partial"));
        fs::write(&partial, text).map_err(|error| io_error(&partial, &error))?;
        fs::rename(&partial, folder.join(name)).map_err(|error| io_error(folder, &error))?;
    }
    Ok(())
}

fn manifest(plan: &Plan, loaded: &LoadedPlan) -> serde_json::Value {
    let labels = |list: Vec<&str>| json!(list);
    json!({
        "format": FORMAT,
        "legato": env!("CARGO_PKG_VERSION"),
        "commit": env!("LEGATO_COMMIT"),
        "kind": "sweep",
        "log": plan.log,
        "calls": loaded.calls(),
        "calls_per_part": loaded.calls_per_part,
        "duration_s": loaded.scenario.duration_s,
        "scenario": loaded.scenario.name,
        "controllers": labels(loaded.controllers.iter().map(|(label, _)| &**label).collect()),
        "traces": labels(loaded.traces.iter().flatten().map(|trace| &*trace.label).collect()),
        "clips": labels(loaded.clips.iter().map(|clip| &*clip.label).collect()),
        "seeds": loaded.seeds,
    })
}

fn io_error(path: &Path, error: &std::io::Error) -> SimError {
    SimError::Io(format!("{}: {error}", path.display()))
}
