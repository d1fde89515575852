//! All integration tests of the crate in one binary: each binary is linked anew, which takes longer than its tests.

mod events;
mod gcc_against_port;
mod gcc_on_a_link;
mod nada_on_a_link;
mod parameters;
mod properties;
mod scream_on_a_link;
mod silence;
mod test_link;
mod tfrc_on_a_link;
