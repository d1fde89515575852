//! All integration tests of the crate in one binary: each binary is linked anew, which takes longer than its tests.

mod circuit_breakers;
mod clip_fps;
mod encoder_interval;
mod event_files;
mod frames_and_parity;
mod held_media;
mod key_frames;
mod libwebrtc_scenarios;
mod marks_and_feedback;
mod padding;
mod pauses;
mod random_networks;
mod receiver_side;
mod recorded_paths;
mod run_folder;
mod scream_beside_tcp;
mod scream_steps;
mod sessions;
mod tcp_beside_a_call;
mod viewed_figures;
