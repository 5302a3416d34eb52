//! What was answered to those who asked under a key that a delivery be sent again.

use boxoffice_core::time::Timestamp;
use boxoffice_engine::Engine;
use serde::{Deserialize, Serialize};

use super::damaged;
use crate::problem::Problem;

/// One answer, as the store keeps it.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    at_ms: i64,
    answer: String,
}

const DOCUMENT_PREFIX: &str = "webhook-replayed/";

/// The first answer under a key, if there was one. Reads the store.
pub(crate) fn find(engine: &Engine, place: &str, key: &str) -> Result<Option<String>, Problem> {
    let name = document_name(place, key);
    let found = engine.documents(&name)?.into_iter().find(|(found, _)| *found == name);
    let kept = found.map(|(_, contents)| serde_json::from_slice::<Kept>(&contents));
    Ok(kept.transpose().map_err(|error| damaged(&name, &error))?.map(|kept| kept.answer))
}

/// Keeps the first answer under a key, and forgets those that were kept for long enough. Writes to the store.
pub(crate) fn keep(
    engine: &Engine,
    place: &str,
    key: &str,
    answer: &str,
    keep_seconds: u32,
) -> Result<(), Problem> {
    let now = engine.now();
    let is_over = |contents: &[u8]| {
        let kept = serde_json::from_slice::<Kept>(contents);
        kept.is_ok_and(|kept| Timestamp(kept.at_ms).plus_seconds(keep_seconds) < now)
    };
    let all = engine.documents(DOCUMENT_PREFIX)?.into_iter();
    let over = all.filter(|(_, contents)| is_over(contents)).map(|(name, _)| (name, None));
    let kept = Kept { at_ms: now.0, answer: answer.to_owned() };
    let contents = serde_json::to_vec(&kept).expect("an answer is plain data");
    let mut documents: Vec<(String, Option<Vec<u8>>)> = over.collect();
    documents.push((document_name(place, key), Some(contents)));
    Ok(engine.write_documents(&documents)?)
}

/// A place is a webhook and one of its deliveries. Keys are not kept as they were sent.
fn document_name(place: &str, key: &str) -> String {
    format!("{DOCUMENT_PREFIX}{place}/{}", blake3::hash(key.as_bytes()).to_hex())
}
