//! How much a link will pass, and how sure that is: a distribution over rates, how it moves, and what feedback says of it.

mod distribution;
mod evidence;
mod models;

pub use self::distribution::Belief;
pub use self::evidence::Evidence;
