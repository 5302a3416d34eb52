//! `boxoffice erasures`.

use std::io::{Write, stdout};

use clap::Args;

use super::client::Server;
use super::console::Failure;
use super::store::Data;
use crate::contacts::ERASURE_PREFIX;
use crate::{erasures, secret};

/// Of which store.
#[derive(Debug, Args)]
pub(super) struct Options {
    /// The server of a directory must be stopped.
    #[command(flatten)]
    data: Data,
    /// A running server, such as http://127.0.0.1:8080, instead of a stopped one's data.
    #[arg(long, env = "BOXOFFICE_SERVER")]
    server: Option<String>,
    /// An admin's key of the server.
    #[arg(long, env = "BOXOFFICE_KEY", hide_env_values = true)]
    key: Option<String>,
}

pub(super) fn run(options: &Options) -> Result<(), Failure> {
    let mut out = stdout().lock();
    if let Some(url) = &options.server {
        Server::new(url, options.key.clone())?.download("/v1/erasures", &mut out, |_| {})?;
        return Ok(out.flush()?);
    }
    let store = options.data.open()?;
    let secret = store.documents(secret::DOCUMENT)?.pop();
    let (_, secret) = secret.ok_or_else(|| Failure::new("no server has used this store yet"))?;
    out.write_all(erasures::list(&store.documents(ERASURE_PREFIX)?, &secret).as_bytes())?;
    store.close()?;
    Ok(out.flush()?)
}
