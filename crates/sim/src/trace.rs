//! What happened in a run: a hash of all of it, and the last steps in words.

use std::collections::VecDeque;

/// Steps that are kept in words for whoever looks at a failure.
const LAST_STEPS_MAX: usize = 60;

/// The steps of a run.
#[derive(Debug)]
pub struct Trace {
    hash: u64,
    steps: u64,
    last: VecDeque<String>,
}

impl Default for Trace {
    fn default() -> Trace {
        // FNV-1a: stable across versions, unlike the standard hasher.
        Trace { hash: 0xcbf2_9ce4_8422_2325, steps: 0, last: VecDeque::new() }
    }
}

impl Trace {
    /// Takes down a step.
    pub fn note(&mut self, step: String) {
        for byte in step.bytes() {
            self.hash = (self.hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        self.steps += 1;
        if self.last.len() == LAST_STEPS_MAX {
            self.last.pop_front();
        }
        self.last.push_back(step);
    }

    /// The same for the same steps.
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// How many.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// The last steps, oldest first.
    pub fn last(&self) -> impl Iterator<Item = &str> {
        self.last.iter().map(String::as_str)
    }
}
