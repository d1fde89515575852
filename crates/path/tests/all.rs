//! All integration tests of the crate in one binary: each binary is linked anew, which takes longer than its tests.

mod arbitrary_bytes;
mod arrivals;
mod conservation;
mod mutation_fuzz;
mod trace_library;
mod truth;
