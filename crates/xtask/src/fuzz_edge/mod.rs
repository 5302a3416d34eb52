//! Damaged requests, each sent to both lanes of a real server and through nginx: `cargo xtask fuzz-edge`.
//!
//! A connection carries a first request that selects the lane, the damaged request, and three plain requests, the last of
//! which asks for the end of the connection. So every run ends with bytes or a close, and none waits for a deadline. What
//! must hold: each answer is framed correctly; a plain request that is answered gets its own answer; the server closes only
//! after an answer that said so; the express lane and the framework give the same statuses.

mod exchange;
mod nginx;
mod random;
mod request;

use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use self::exchange::{Answer, Transcript, exchange};
use self::nginx::Nginx;
use self::random::Random;
use self::request::{Draft, MUTATIONS};
use crate::error::{Error, Result};
use crate::own_server::{Directory, OwnServer, make_key, post};
use crate::sources;
use crate::step::debug_server;

/// Cases of a run that says nothing else, as in `cargo xtask test`.
const CASES: u64 = 3_000;
/// Connections at one time. The server answers most requests at once: more would only wait for processors.
const CLIENTS: usize = 4;
/// A run ends after so many cases that fail.
const FAILURES_MAX: usize = 5;
/// What is not counted where a client asked for another protocol: hyper then ends a connection whose body is damaged
/// without a last write, and the client gets an end instead of the 400.
const NO_ANSWER: &str = "no answer to the damaged request";
const EVENT: &str = "fuzzed";
const PROBES: usize = 3;

/// Runs the cases that the options name.
pub(crate) fn run(options: &[&str]) -> Result<()> {
    let (mut seed, mut cases) = (0, CASES);
    let mut options = options.iter();
    while let Some(option) = options.next() {
        let value = options.next().and_then(|value| value.parse().ok());
        let value = value.ok_or_else(|| Error::new(format!("{option} needs a number")))?;
        match *option {
            "--seed" => seed = value,
            "--cases" => cases = value,
            _ => {
                return Err(Error::new(format!(
                    "no such option: {option}; there are --seed N and --cases K"
                )));
            }
        }
    }
    let place = Directory::new("fuzz-edge")?;
    let mut server = OwnServer::start(&debug_server(&sources::root()?)?, place.path())?;
    let key = make_key(server.address, "fuzz-edge")?;
    let event = format!(
        r#"{{"id":"{EVENT}","name":"Fuzzed","currency":"TWD",
            "areas":[{{"name":"floor","price":0,"capacity":1000000}}]}}"#
    );
    post(server.address, &key, "/v1/events", &event)?;
    let nginx = Nginx::start(place.path(), server.address)?;
    let lanes = Lanes { key, server: server.address, nginx: nginx.as_ref().map(|nginx| nginx.address) };
    println!(
        "seed {seed}, {cases} cases{}",
        if nginx.is_some() { "" } else { "; not through nginx, which is not installed" }
    );
    let failures = run_cases(&lanes, seed, cases);
    server.stop()?;
    if failures.is_empty() {
        return Ok(());
    }
    Err(Error::new(failures.join("\n")))
}

fn run_cases(lanes: &Lanes, seed: u64, cases: u64) -> Vec<String> {
    let next = AtomicU64::new(0);
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                loop {
                    let case = next.fetch_add(1, Ordering::Relaxed);
                    if case >= cases || failures.lock().is_ok_and(|failures| failures.len() >= FAILURES_MAX) {
                        return;
                    }
                    let case = Case::new(seed.wrapping_add(case));
                    if let Some(failure) = case.failure(lanes)
                        && let Ok(mut failures) = failures.lock()
                    {
                        failures.push(failure);
                    }
                }
            });
        }
    });
    failures.into_inner().unwrap_or_default()
}

/// Where the requests go.
struct Lanes {
    key: String,
    server: SocketAddr,
    nginx: Option<SocketAddr>,
}

/// One damaged request.
struct Case {
    seed: u64,
    /// Places in [`MUTATIONS`], in the order in which they are done.
    mutations: Vec<usize>,
}

/// What a connection is to be served by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lane {
    Express,
    Framework,
    Nginx,
}

impl Case {
    fn new(seed: u64) -> Case {
        let mut random = Random::new(seed, 0);
        let count = 1 + random.below(3);
        Case { seed, mutations: (0..count).map(|_| random.below(MUTATIONS.len())).collect() }
    }

    /// What went wrong, with the fewest mutations that show it.
    fn failure(&self, lanes: &Lanes) -> Option<String> {
        let mut problem = self.problem(lanes, 0)?;
        let mut smallest = Case { seed: self.seed, mutations: self.mutations.clone() };
        let mut place = 0;
        while place < smallest.mutations.len() && smallest.mutations.len() > 1 {
            let mut mutations = smallest.mutations.clone();
            mutations.remove(place);
            let smaller = Case { seed: self.seed, mutations };
            match smaller.problem(lanes, 1 + place) {
                Some(found) => (smallest, problem) = (smaller, found),
                None => place += 1,
            }
        }
        let names: Vec<&str> = smallest.mutations.iter().map(|place| MUTATIONS[*place].0).collect();
        let request = smallest.request(lanes, "m");
        Some(format!(
            "{problem}\n  {}: {}\n  again: cargo xtask fuzz-edge --seed {} --cases 1\n",
            names.join(", "),
            request.escape_ascii(),
            self.seed
        ))
    }

    fn request(&self, lanes: &Lanes, id: &str) -> Vec<u8> {
        let mut draft = Draft::new(&lanes.key, id, EVENT);
        for place in &self.mutations {
            let (_, mutate) = MUTATIONS[*place];
            mutate(&mut draft, &mut Random::new(self.seed, 1 + *place as u64));
        }
        draft.bytes()
    }

    /// The first thing that is not as it must be. `attempt` keeps the ids of attempts apart.
    fn problem(&self, lanes: &Lanes, attempt: usize) -> Option<String> {
        let request = self.request(lanes, &format!("m-{}-{attempt}", self.seed));
        let mut transcripts = Vec::new();
        let mut targets = vec![(Lane::Express, lanes.server), (Lane::Framework, lanes.server)];
        targets.extend(lanes.nginx.map(|address| (Lane::Nginx, address)));
        for (lane, address) in targets {
            let transcript = self.exchange(lanes, lane, address, &request);
            let is_upgrade = request.to_ascii_lowercase().windows(8).any(|window| window == b"upgrade:");
            if let Some(problem) =
                problem_of(lane, &transcript).filter(|it| !(is_upgrade && *it == NO_ANSWER))
            {
                return Some(format!("{lane:?}: {problem}\n  {}", shown(&transcript)));
            }
            transcripts.push(transcript);
        }
        let [express, framework, ..] = transcripts.as_slice() else { return None };
        let statuses = |transcript: &Transcript| -> Vec<(u16, Option<String>)> {
            transcript.answers[1..]
                .iter()
                .map(|answer| (answer.status, answer.probe().map(str::to_owned)))
                .collect()
        };
        // One lane may close where the other goes on.
        let differs = statuses(express).iter().zip(&statuses(framework)).any(|(one, other)| one != other);
        if differs {
            return Some(format!("the lanes differ\n  {}\n  {}", shown(express), shown(framework)));
        }
        let passed = transcripts.get(2)?.answers.get(1).filter(|answer| answer.id.is_some())?;
        let direct = express.answers.get(1)?;
        // nginx drops headers and mends requests that the server refuses. What the server takes means the same through it.
        let is_same = passed.status == direct.status || direct.status >= 400 || passed.status >= 400;
        (!is_same)
            .then(|| format!("nginx changes the answer\n  {}\n  {}", shown(express), shown(&transcripts[2])))
    }

    fn exchange(&self, lanes: &Lanes, lane: Lane, address: SocketAddr, request: &[u8]) -> Transcript {
        let plain = |id: &str| Draft::new(&lanes.key, id, "nowhere");
        let mut bytes = match lane {
            Lane::Express | Lane::Nginx => plain("first").bytes(),
            Lane::Framework => {
                b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Request-Id: first\r\n\r\n".to_vec()
            }
        };
        bytes.extend_from_slice(request);
        for probe in 1..PROBES {
            bytes.extend_from_slice(&plain(&format!("probe-{probe}")).bytes());
        }
        bytes.extend_from_slice(&plain(&format!("probe-{PROBES}")).closing().bytes());
        let mut random = Random::new(self.seed, u64::MAX);
        let middle = if random.is_one_in(2) { random.below(bytes.len()) } else { bytes.len() };
        let is_head = request.trim_ascii_start().starts_with(b"HEAD ");
        exchange(address, &[&bytes[..middle], &bytes[middle..]], |number| is_head && number > 0)
    }
}

impl Answer {
    /// The id of the plain request that this answers.
    fn probe(&self) -> Option<&str> {
        self.id.as_deref().filter(|id| id.starts_with("probe-"))
    }
}

/// What is wrong with one connection.
fn problem_of(lane: Lane, transcript: &Transcript) -> Option<String> {
    let Transcript { answers, fault } = transcript;
    if let Some(fault) = fault {
        // To HTTP/0.9, which it takes what has no version for, nginx answers without a head.
        let is_old = lane == Lane::Nginx && fault.contains("<html>");
        return (!is_old).then(|| fault.clone());
    }
    let Some((first, others)) = answers.split_first() else { return Some("no answer".to_owned()) };
    if first.id.as_deref() != Some("first") {
        return Some("the first request has another's answer".to_owned());
    }
    let mut last_probe = None;
    for (place, answer) in others.iter().enumerate() {
        let is_last = place + 1 == others.len();
        if answer.closes != is_last {
            let problem = if is_last { "closed without notice" } else { "an answer after one that closes" };
            return Some(problem.to_owned());
        }
        if lane == Lane::Nginx && matches!(answer.status, 502 | 504) {
            return Some("nginx lost its connection to the server".to_owned());
        }
        match answer.probe() {
            Some(probe) if last_probe.is_some_and(|last| last >= probe) => {
                return Some("answers are out of step".to_owned());
            }
            Some(probe) => last_probe = Some(probe),
            None if last_probe.is_some() => return Some("a plain request has another's answer".to_owned()),
            None => {}
        }
    }
    others.is_empty().then(|| NO_ANSWER.to_owned())
}

fn shown(transcript: &Transcript) -> String {
    let answers = transcript.answers.iter().map(|Answer { status, id, closes }| {
        let id = id.as_deref().unwrap_or("-");
        format!("{status} to {id}{}", if *closes { ", closes" } else { "" })
    });
    answers.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transcript(answers: &[(u16, &str, bool)]) -> Transcript {
        let answer =
            |&(status, id, closes): &(u16, &str, bool)| Answer { status, id: Some(id.to_owned()), closes };
        Transcript { answers: answers.iter().map(answer).collect(), fault: None }
    }

    #[test]
    fn connection_is_judged_by_its_answers_and_its_end() {
        let first = (404, "first", false);
        let last = (404, "probe-3", true);
        type Row<'a> = (&'a [(u16, &'a str, bool)], Option<&'a str>);
        let rows: [Row<'_>; 8] = [
            (&[first, (201, "m", false), (404, "probe-1", false), (404, "probe-2", false), last], None),
            (&[first, (400, "m", true)], None),
            // The damaged request took the first plain one for its body.
            (&[first, (400, "m", false), (404, "probe-2", false), last], None),
            (&[first, (400, "m", false)], Some("closed without notice")),
            (&[first, (400, "m", true), last], Some("an answer after one that closes")),
            (
                &[first, (201, "m", false), (404, "probe-2", false), (404, "probe-1", true)],
                Some("answers are out of step"),
            ),
            (
                &[first, (404, "probe-1", false), (201, "m", true)],
                Some("a plain request has another's answer"),
            ),
            (&[first], Some(NO_ANSWER)),
        ];
        for (answers, expected) in rows {
            let found = problem_of(Lane::Express, &transcript(answers));
            assert_eq!(found.as_deref(), expected, "{answers:?}");
        }
    }

    #[test]
    fn request_of_a_seed_is_the_same_every_time() {
        let lanes = Lanes { key: "k".to_owned(), server: ([127, 0, 0, 1], 1).into(), nginx: None };
        for seed in 0..2_000 {
            let bytes = || Case::new(seed).request(&lanes, "m");
            assert_eq!(bytes(), bytes(), "seed {seed}");
        }
    }
}
