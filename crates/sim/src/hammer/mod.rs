//! The hammer: a real process on a real disk, made to be killed, and the audit of what it leaves.
//!
//! The simulator shows what the engine does on a disk that lies; the hammer shows that the simulated disk is not the only
//! one it works on. Clients of the engine write down what they ask before they ask it and what they are told when they are
//! told it ([`log`]), in a file that survives the process. Whoever opens the store afterwards can hold it against that
//! file ([`audit`]): nothing that was acknowledged is missing, nothing that was refused has happened.

pub mod audit;
pub mod client;
pub mod fill;
pub mod history;
pub mod log;
pub mod process;
pub mod stock;
