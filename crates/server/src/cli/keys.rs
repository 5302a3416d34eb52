//! `boxoffice keys`.

use std::sync::Arc;

use axum::http::Method;
use boxoffice_engine::Settings;
use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};

use super::client::Server;
use super::console::{Failure, LogFormat, log, say};
use super::store::{self, Data};
use crate::caller::OPEN_TENANT;
use crate::keys::{Key, Keys, Role, Wanted, check_name};
use crate::time::Moment;

/// What to do with API keys.
#[derive(Debug, Args)]
pub(super) struct Options {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Make a key. It is the last line printed, and is never shown again.
    Create(Create),
    /// List the keys that were not revoked: id, tenant, role, when it was made, name.
    List(Place),
    /// Make a key useless.
    Revoke(Revoke),
}

/// Where the keys are.
#[derive(Debug, Args)]
struct Place {
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

#[derive(Debug, Args)]
struct Create {
    #[command(flatten)]
    place: Place,
    /// Whose key it is. On a running server it must be the tenant of the key that is used.
    #[arg(long, env = "BOXOFFICE_TENANT", default_value = OPEN_TENANT, value_parser = tenant)]
    tenant: String,
    /// What it may do.
    #[arg(long, env = "BOXOFFICE_KEYS_ROLE")]
    role: Role,
    /// To tell it from others.
    #[arg(long, env = "BOXOFFICE_KEYS_NAME", value_parser = name)]
    name: Option<String>,
}

#[derive(Debug, Args)]
struct Revoke {
    #[command(flatten)]
    place: Place,
    /// As it is listed.
    id: String,
}

pub(super) fn run(options: &Options) -> Result<(), Failure> {
    log(LogFormat::Text, "warn");
    match &options.what {
        What::Create(create) => match create.place.server()? {
            Some(server) => create_on(&server, create),
            None => create_in(create),
        },
        What::List(place) => match place.server()? {
            Some(server) => list_on(&server),
            None => list_in(place),
        },
        What::Revoke(Revoke { place, id }) => match place.server()? {
            Some(server) => server.ask(Method::DELETE, &format!("/v1/keys/{id}"), None).map(|_| ()),
            None => revoke_in(place, id),
        },
    }
}

impl Place {
    fn server(&self) -> Result<Option<Server>, Failure> {
        self.server.as_ref().map(|url| Server::new(url, self.key.clone())).transpose()
    }

    /// Whoever mistypes a path must not be told that there are no keys.
    fn must_exist(&self) -> Result<(), Failure> {
        match self.data.place()? {
            store::Place::Directory(directory) => store::must_exist(&directory),
            store::Place::Database(_) => Ok(()),
        }
    }

    /// Works on the keys of a stopped store.
    fn with_keys<R>(&self, work: impl FnOnce(&Keys) -> Result<R, Failure>) -> Result<R, Failure> {
        let settings = Settings { shards: 1, ..Settings::default() };
        let engine = self.data.place()?.start(&settings, true, None)?.engine;
        let result = work(&Keys::load(&engine)?);
        engine.close()?;
        result
    }
}

/// Tenants are slugs: they stand in the names of inventories.
fn tenant(text: &str) -> Result<String, &'static str> {
    let letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let first = text.bytes().next().is_some_and(letter);
    if first && text.len() <= 63 && text.bytes().all(|byte| letter(byte) || byte == b'-') {
        return Ok(text.to_owned());
    }
    Err("must be 1 to 63 lower-case letters, digits and dashes, not starting with a dash")
}

fn name(text: &str) -> Result<String, String> {
    check_name(text).map(|()| text.to_owned())
}

fn create_in(create: &Create) -> Result<(), Failure> {
    // There may be no store yet: a server that others can reach needs a key before its first start.
    let made = create.place.with_keys(|keys| {
        Ok(keys.make(Wanted {
            tenant: &create.tenant,
            role: create.role,
            name: create.name.clone(),
            seed: rand::random(),
            fingerprint: None,
        })?)
    })?;
    say_made(&made.key.id, &create.tenant, &made.text)
}

fn create_on(server: &Server, create: &Create) -> Result<(), Failure> {
    // Before anything is made: the first key ends open mode, and one that nobody is told would lock everybody out.
    let listed = server.ask(Method::GET, "/v1/keys?limit=1", None)?;
    let tenant = match listed["items"].get(0) {
        Some(key) => text(key, "tenant")?,
        // Whoever uses a key has one at least.
        None => OPEN_TENANT,
    };
    if tenant != create.tenant {
        let problem = format!("here only keys of the tenant {tenant:?} can be made; nothing was made");
        return Err(Failure::new(problem));
    }
    let body = json!({ "role": word(create.role), "name": create.name });
    let made = server.ask(Method::POST, "/v1/keys", Some(&body))?;
    say_made(text(&made, "id")?, tenant, text(&made, "key")?)
}

fn say_made(id: &str, tenant: &str, key: &str) -> Result<(), Failure> {
    say(format!("Made key {id} of tenant {tenant}. Keep what follows; it is not shown again."))?;
    say(key)
}

fn list_in(place: &Place) -> Result<(), Failure> {
    place.must_exist()?;
    let keys = place.with_keys(|keys| Ok(keys.all()))?;
    let good = keys.iter().filter(|key| key.revoked_at_ms.is_none());
    good.map(line).try_for_each(say)
}

fn line(key: &Arc<Key>) -> String {
    let name = key.name.as_deref().unwrap_or_default();
    format!("{}\t{}\t{}\t{}\t{name}", key.id, key.tenant, word(key.role), Moment(key.created_at()))
}

fn list_on(server: &Server) -> Result<(), Failure> {
    let mut cursor = String::new();
    loop {
        let page = server.ask(Method::GET, &format!("/v1/keys{cursor}"), None)?;
        for key in page["items"].as_array().into_iter().flatten() {
            let name = key["name"].as_str().unwrap_or_default();
            let [id, tenant, role, made] =
                ["id", "tenant", "role", "created_at"].map(|field| text(key, field));
            say(format!("{}\t{}\t{}\t{}\t{name}", id?, tenant?, role?, made?))?;
        }
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("?cursor={next}"),
            None => return Ok(()),
        }
    }
}

fn revoke_in(place: &Place, id: &str) -> Result<(), Failure> {
    place.must_exist()?;
    place.with_keys(|keys| {
        let found = keys.all().into_iter().find(|key| key.id == *id);
        let key = found.ok_or_else(|| Failure::new(format!("there is no key {id}")))?;
        Ok(keys.revoke(&key.tenant, id)?)
    })
}

fn word(role: Role) -> String {
    role.to_possible_value().expect("no role is hidden").get_name().to_owned()
}

fn text<'a>(object: &'a Value, field: &str) -> Result<&'a str, Failure> {
    object[field].as_str().ok_or_else(|| Failure::new(format!("the server's answer has no {field:?}")))
}
