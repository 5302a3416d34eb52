//! From `REDIS_URLS` to instances.

use std::sync::Arc;

use redis::cluster::ClusterClient;
use redis::sentinel::{SentinelClient, SentinelNodeConnectionInfo, SentinelServerType};
use redis::{Client, TlsMode};

use super::instance::{Instance, Kind};

/// The instances of a list of URLs: one, or three and more that know nothing of each other. The mirror and what nodes tell each
/// other is on the first.
#[derive(Debug, Clone)]
pub struct Instances {
    instances: Vec<Arc<Instance>>,
}

/// Why a list of URLs cannot be used. Never says a URL, which may have a password in it.
#[derive(Debug, thiserror::Error)]
pub enum UrlsError {
    /// One of them cannot be read.
    #[error(
        "URL {0} of Redis is none of redis://host:port, rediss://host:port, redis+sentinel://host:port,host:port/service, redis-cluster://host:port,host:port"
    )]
    Form(usize),
    /// A majority of two is both: worse than one.
    #[error("two instances of Redis are worse than one: name one, or three and more")]
    Two,
}

impl Instances {
    /// Reads URLs with commas between them. What has no scheme is another address of the one before it.
    pub fn parse(urls: &str) -> Result<Instances, UrlsError> {
        let mut whole: Vec<String> = Vec::new();
        for url in urls.split(',').map(str::trim).filter(|url| !url.is_empty()) {
            match whole.last_mut() {
                Some(before) if !url.contains("://") => {
                    before.push(',');
                    before.push_str(url);
                }
                _ => whole.push(url.to_owned()),
            }
        }
        let read = |(index, url): (usize, &String)| {
            kind_of(url).map(|kind| Arc::new(Instance::new(kind))).ok_or(UrlsError::Form(index + 1))
        };
        let instances = whole.iter().enumerate().map(read).collect::<Result<Vec<_>, _>>()?;
        match instances.len() {
            0 => Err(UrlsError::Form(1)),
            2 => Err(UrlsError::Two),
            _ => Ok(Instances { instances }),
        }
    }

    /// The one with the mirror.
    pub fn first(&self) -> &Arc<Instance> {
        &self.instances[0]
    }

    /// All of them, for locks.
    pub fn all(&self) -> &[Arc<Instance>] {
        &self.instances
    }
}

fn kind_of(url: &str) -> Option<Kind> {
    let (scheme, rest) = url.split_once("://")?;
    match scheme {
        "redis+sentinel" | "redis-sentinel" => sentinel(rest, "redis", None),
        "rediss+sentinel" | "rediss-sentinel" => sentinel(rest, "rediss", Some(TlsMode::Secure)),
        "redis-cluster" => cluster(rest, "redis"),
        "rediss-cluster" => cluster(rest, "rediss"),
        _ => Some(Kind::Server(Box::new(Client::open(url).ok()?))),
    }
}

/// `user:password@host:port,host:port/service/database`; the credentials are those of the servers. Sentinel's own follow:
/// `?sentinel_user=user&sentinel_password=password`.
fn sentinel(rest: &str, scheme: &str, tls: Option<TlsMode>) -> Option<Kind> {
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (addresses, path) = rest.split_once('/')?;
    let (credentials, hosts) = split_credentials(addresses);
    let (service, database) = path.split_once('/').unwrap_or((path, "0"));
    if service.is_empty() {
        return None;
    }
    let own = sentinel_credentials(query)?;
    let sentinels: Vec<String> = hosts.split(',').map(|host| format!("{scheme}://{own}{host}")).collect();
    // The driver knows how credentials are written.
    let server = Client::open(format!("{scheme}://{credentials}server/{database}")).ok()?;
    let server = server.get_connection_info().redis_settings().clone();
    let mut node = SentinelNodeConnectionInfo::default().set_redis_connection_info(server);
    if let Some(tls) = tls {
        node = node.set_tls_mode(tls);
    }
    let client = SentinelClient::build(sentinels, service, Some(node), SentinelServerType::Master).ok()?;
    Some(Kind::Sentinel(Box::new(tokio::sync::Mutex::new(client))))
}

/// `user:password@`, or nothing, of what follows the `?`; `None` if something else does.
fn sentinel_credentials(query: &str) -> Option<String> {
    let (mut user, mut password) = ("", "");
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        match pair.split_once('=')? {
            ("sentinel_user", value) => user = value,
            ("sentinel_password", value) => password = value,
            _ => return None,
        }
    }
    Some(if password.is_empty() { String::new() } else { format!("{user}:{password}@") })
}

/// `user:password@host:port,host:port`.
fn cluster(rest: &str, scheme: &str) -> Option<Kind> {
    let (credentials, hosts) = split_credentials(rest);
    let hosts = hosts.trim_end_matches('/');
    let seeds: Vec<String> = hosts.split(',').map(|host| format!("{scheme}://{credentials}{host}")).collect();
    let client = Box::new(ClusterClient::new(seeds.clone()).ok()?);
    let seeds = seeds.into_iter().map(Client::open).collect::<Result<Vec<_>, _>>().ok()?;
    Some(Kind::Cluster { client, seeds })
}

/// `user:password@`, or nothing, and what follows.
fn split_credentials(text: &str) -> (&str, &str) {
    text.split_at(text.rfind('@').map_or(0, |at| at + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many instances, or why not.
    #[track_caller]
    fn check(urls: &str, expected: Result<&[&str], &str>) {
        let parsed = Instances::parse(urls).map_err(|error| error.to_string());
        match (parsed, expected) {
            (Ok(found), Ok(expected)) => {
                let places: Vec<String> = found.all().iter().map(|instance| instance.place()).collect();
                assert_eq!(places, expected, "{urls}");
            }
            (Err(error), Err(expected)) => assert!(error.contains(expected), "{urls}: {error}"),
            (found, expected) => panic!("{urls}: {found:?}, expected {expected:?}"),
        }
    }

    #[test]
    fn urls_are_read_or_refused() {
        check("redis://127.0.0.1:7001", Ok(&["127.0.0.1:7001"]));
        check(" redis://a:1, redis://b:2,redis://c:3 ,", Ok(&["a:1", "b:2", "c:3"]));
        check("redis://:secret@a:1/3", Ok(&["a:1"]));
        check("redis+unix:///run/redis.sock", Ok(&["/run/redis.sock"]));
        check("redis+sentinel://:secret@a:26379,b:26379/tickets/2", Ok(&["the service of Sentinel"]));
        check("redis-sentinel://a:26379/tickets", Ok(&["the service of Sentinel"]));
        check("redis-sentinel://a:1/tickets?sentinel_password=p%26q", Ok(&["the service of Sentinel"]));
        check(
            "redis-sentinel://a:1/tickets/2?sentinel_user=u&sentinel_password=p",
            Ok(&["the service of Sentinel"]),
        );
        check("redis-cluster://a:7000,b:7000,c:7000", Ok(&["the cluster of a:7000"]));
        check("redis://a:1,redis://b:2", Err("two instances"));
        check("", Err("URL 1"));
        check("redis://a:1,http://b,redis://c:1", Err("URL 2"));
        check("redis+sentinel://a:26379", Err("URL 1"));
        check("redis+sentinel://a:26379/tickets?password=p", Err("URL 1"));
        check("a:1", Err("URL 1"));
    }
}
