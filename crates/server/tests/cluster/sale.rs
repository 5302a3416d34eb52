//! A sale of one hall to many clients over all nodes, and the audit afterwards.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use boxoffice_services::Postgres;
use serde_json::{Value, json};

use crate::client::{Client, Said};
use crate::nodes::{Nodes, run, within_deadline};

pub(crate) const DATABASE: &str = "postgres";
const CLIENTS: usize = 64;
/// Metrics of the nodes.
pub(crate) const BATCHES: &str = "boxoffice_batch_commands_count";
pub(crate) const FENCED_BATCHES: &str = "boxoffice_fenced_batches_total";
/// After an answer that is none. Not at full speed: the nodes need the processor.
const RETRY_AFTER: Duration = Duration::from_millis(50);
/// Seats in a row.
const COLS: usize = 100;
/// Of so many bookings that are granted, one is cancelled.
const CANCELLED_ONE_IN: usize = 10;

/// How many bookings a scene tries, unless the environment says otherwise.
const BOOKINGS_DEFAULT: usize = 20_000;

fn bookings() -> usize {
    let asked = std::env::var("BOXOFFICE_CLUSTER_BOOKINGS").ok();
    asked.map_or(BOOKINGS_DEFAULT, |asked| asked.parse().expect("BOXOFFICE_CLUSTER_BOOKINGS is a number"))
}

/// One hall, sold by all nodes.
pub(crate) struct Sale<'a> {
    nodes: &'a Nodes,
    attempts: usize,
    seats: usize,
    /// Bookings that were asked for and answered.
    done: AtomicUsize,
    told: Mutex<Vec<Told>>,
    /// How often clients were told each code of a problem on the way.
    troubles: Mutex<BTreeMap<String, usize>>,
}

/// What a client was told of one booking.
struct Told {
    /// What it asked, under its key.
    asked: (String, String),
    said: Said,
    /// Granted, and not cancelled since.
    kept: bool,
}

impl Told {
    /// The id and the seat of a booking that was granted.
    fn booking(&self) -> Option<(String, String)> {
        let body = (self.said.status == 201).then(|| self.said.json())?;
        let text = |value: &Value| value.as_str().unwrap_or_else(|| panic!("{body}")).to_owned();
        Some((text(&body["id"]), text(&body["seats"][0]["seat"])))
    }
}

impl<'a> Sale<'a> {
    /// Opens a hall that is a little too small for all who will come.
    pub(crate) fn open(nodes: &'a Nodes) -> Sale<'a> {
        let attempts = bookings();
        let rows = (attempts * 17 / 20).div_ceil(COLS);
        let subsections = json!([{ "number": 1, "rows": rows, "cols": COLS }]);
        let sections = json!([{ "name": "A", "price": 100, "subsections": subsections }]);
        let hall = json!({ "id": "hall", "name": "Hall", "currency": "TWD", "sections": sections });
        let said = nodes.ask(0, "POST", "/v1/events", &hall.to_string());
        assert_eq!(said.status, 201, "{said:?}");
        for node in 0..nodes.count() {
            within_deadline(|| (nodes.get(node, "/v1/events/hall").status == 200).then_some(()));
        }
        let (done, told, troubles) = (AtomicUsize::new(0), Mutex::default(), Mutex::default());
        Sale { nodes, attempts, seats: rows * COLS, done, told, troubles }
    }

    /// Lets all clients come, while something happens beside them.
    pub(crate) fn run(&self, meanwhile: impl FnOnce(&Sale<'_>)) {
        std::thread::scope(|scope| {
            for client in 0..CLIENTS {
                scope.spawn(move || self.buy(client));
            }
            meanwhile(self);
        });
    }

    /// Waits until so many percent of all bookings were answered.
    pub(crate) fn reach(&self, percent: usize) {
        within_deadline(|| {
            (self.done.load(Ordering::Relaxed) * 100 >= self.attempts * percent).then_some(())
        });
    }

    pub(crate) fn is_over(&self) -> bool {
        self.done.load(Ordering::Relaxed) == self.attempts
    }

    /// One client: books what it can, each time at another node, and now and then cancels.
    fn buy(&self, client: usize) {
        let mut clients: Vec<Client> = (0..self.nodes.count()).map(|node| self.nodes.client(node)).collect();
        let mut told = Vec::new();
        for attempt in (client..self.attempts).step_by(CLIENTS) {
            let asked = (format!("book-{attempt}"), booking(&format!("client-{client}")));
            let said = self.persist(&mut clients, attempt, "/v1/bookings", &asked);
            assert!(
                said.status == 201 || (said.status == 409 && said.code() == "NOT_ENOUGH_SEATS"),
                "{said:?}"
            );
            let mut this = Told { asked, said, kept: true };
            if let Some((id, _)) = this.booking()
                && attempt % CANCELLED_ONE_IN == 0
            {
                let target = format!("/v1/bookings/{id}/cancel");
                let asked = (format!("cancel-{attempt}"), "{}".to_owned());
                let said = self.persist(&mut clients, attempt + 1, &target, &asked);
                assert_eq!(said.status, 200, "{said:?}");
                this.kept = false;
            }
            told.push(this);
            self.done.fetch_add(1, Ordering::Relaxed);
        }
        self.told.lock().unwrap().extend(told);
    }

    /// Asks one node after the other, under the same key, until one knows.
    fn persist(&self, clients: &mut [Client], first: usize, target: &str, asked: &(String, String)) -> Said {
        let (count, (key, body)) = (clients.len(), asked);
        for attempt in 0..2_000 {
            let trouble = match clients[(first + attempt) % count].ask("POST", target, Some(key), body) {
                Some(said) if said.status < 500 => return said,
                Some(said) => {
                    assert!(said.header("retry-after").is_some(), "{said:?}");
                    said.code()
                }
                None => "no answer".to_owned(),
            };
            *self.troubles.lock().unwrap().entry(trouble).or_default() += 1;
            std::thread::sleep(RETRY_AFTER);
        }
        panic!("nobody answers {target} under {key}");
    }

    /// How often clients were told this code of a problem on the way.
    pub(crate) fn troubles(&self, code: &str) -> usize {
        self.troubles.lock().unwrap().get(code).copied().unwrap_or(0)
    }

    /// Compares what clients were told with what the nodes that run show, what SQL says, and what the journal proves. Then
    /// stops all nodes.
    pub(crate) fn audit(self, database: &Postgres) {
        let told = self.told.into_inner().unwrap();
        assert_eq!(told.len(), self.attempts, "everybody was answered");
        let granted: Vec<(&Told, String, String)> =
            told.iter().filter_map(|told| told.booking().map(|(id, seat)| (told, id, seat))).collect();
        let kept: Vec<&(&Told, String, String)> = granted.iter().filter(|(told, ..)| told.kept).collect();
        let seats: BTreeSet<&str> = kept.iter().map(|(_, _, seat)| seat.as_str()).collect();
        assert_eq!(seats.len(), kept.len(), "no seat was sold twice");
        let refused = self.attempts - granted.len();
        let sold = kept.len();
        let cancelled = granted.len() - sold;
        let (batches, fenced) = (self.nodes.counted(BATCHES), self.nodes.counted(FENCED_BATCHES));
        println!("{} granted, {cancelled} cancelled, {refused} refused", granted.len());
        println!("{batches} batches, {fenced} fenced; on the way {:?}", self.troubles.into_inner().unwrap());
        assert!(refused > 0, "the hall is too small for all");

        // SQL: each booking that was acknowledged is there, as it was acknowledged, and nothing else is.
        let rows = database.psql(DATABASE, "SELECT id, status FROM booking").unwrap();
        let rows: BTreeMap<&str, &str> = rows.lines().filter_map(|row| row.split_once('|')).collect();
        for (told, id, _) in &granted {
            let expected = if told.kept { "confirmed" } else { "cancelled" };
            assert_eq!(rows.get(id.as_str()), Some(&expected), "{}: {id}", told.asked.0);
        }
        assert_eq!(rows.len(), granted.len(), "one effect for each key");
        let claims = "SELECT booking, seat_row || '-' || seat FROM claim WHERE state = 'sold'";
        let claims = database.psql(DATABASE, claims).unwrap();
        let claims: BTreeSet<(&str, &str)> = claims.lines().filter_map(|row| row.split_once('|')).collect();
        let expected = kept.iter().map(|(_, id, seat)| (id.as_str(), seat.as_str())).collect();
        assert_eq!(claims, expected, "each has the seat that it was told");
        let counts = database
            .psql(DATABASE, "SELECT held, sold, blocked, capacity FROM inventory WHERE id = 'hall'")
            .unwrap();
        assert_eq!(counts, format!("0|{sold}|0|{}", self.seats));

        // Every node: exact numbers, and the same answers to the same keys, byte for byte.
        let stats = json!({ "available": self.seats - sold, "held": 0, "sold": sold, "blocked": 0,
            "total": self.seats });
        for node in 0..self.nodes.count() {
            let shown = || self.nodes.get(node, "/v1/events/hall").json()["stats"].clone();
            within_deadline(|| (shown() == stats).then_some(()));
            let mut client = self.nodes.client(node);
            for told in told.iter().skip(node).step_by(41) {
                let (key, body) = &told.asked;
                let again = client.ask("POST", "/v1/bookings", Some(key), body).expect("an answer");
                assert_eq!((again.status, &again.body), (told.said.status, &told.said.body), "{key}");
                assert_eq!(again.header("idempotent-replayed"), Some("true"), "{key}");
            }
        }
        for node in 0..self.nodes.count() {
            assert_eq!(self.nodes.stop(node), Some(0), "node {node} stops in an orderly way");
        }
        let verified = run(&["verify", "--database-url", &database.url(DATABASE)]);
        assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));
    }
}

/// The body of a booking of one seat.
pub(crate) fn booking(customer: &str) -> String {
    json!({ "customer": customer, "event": "hall", "confirm": true, "best_available": { "quantity": 1 } })
        .to_string()
}
