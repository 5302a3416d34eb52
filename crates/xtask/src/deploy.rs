//! The files of `deploy`: the compose file by its schema, and the Postman collection against a server.

use crate::error::Result;
use crate::sources;
use crate::step::debug_server;
use crate::web::{install, run_tests};

const TESTS: &str = "deploy/tests";

/// Builds the server, runs the tests, and returns what they printed.
pub(crate) fn run() -> Result<String> {
    let root = sources::root()?;
    let tests = root.join(TESTS);
    install(&tests)?;
    run_tests(&tests, None, &debug_server(&root)?)
}
