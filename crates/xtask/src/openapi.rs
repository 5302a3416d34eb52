//! Keeps `docs/openapi.json` as the code has it. A test of the server fails while it is not.

use crate::error::{Error, Result};
use crate::sources;
use crate::step::{cargo, output_of};

const FILE: &str = "docs/openapi.json";

pub(crate) fn run() -> Result<()> {
    let root = sources::root()?;
    let arguments = "run --locked --quiet --package boxoffice-server --bin boxoffice -- openapi";
    let document = output_of(cargo().args(arguments.split(' ')).current_dir(&root))?;
    std::fs::write(root.join(FILE), document).map_err(|error| Error::new(format!("{FILE}: {error}")))?;
    println!("{FILE} is as the code has it");
    Ok(())
}
