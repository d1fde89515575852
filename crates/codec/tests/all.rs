//! All integration tests of the crate in one binary: each binary is linked anew, which takes longer than its tests.

mod mutation_fuzz;
mod two_assemblies;
