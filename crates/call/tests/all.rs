//! All integration tests of the crate in one binary: each binary is linked anew, which takes longer than its tests.

mod audio_report;
mod feedback_formats;
mod mutation_fuzz;
mod parity;
mod remote_estimate;
mod repair_deadline;
mod stale_frames;
