//! The list of erased contacts: what a backup that is older than an erasure must not bring back.
//!
//! A line of text says what it is and of which store, then each line is a tenant, the hash of a customer and the time of the erasure in
//! milliseconds. The hashes are keyed with the store's secret: without it the list names no customer.

use std::collections::BTreeMap;

use boxoffice_engine::store::Document;

use crate::contacts::{ERASURE_PREFIX, KEY_PREFIX, hexadecimal};
use crate::secret;

const TITLE: &str = "boxoffice erasures, format 1, store ";

/// The list of a store, from its documents.
pub(crate) fn list(erasures: &[Document], store_secret: &[u8]) -> String {
    let mut text = format!("{TITLE}{}\n", store_id(store_secret));
    for (name, at) in erasures {
        let Some((tenant, hash)) = name.strip_prefix(ERASURE_PREFIX).and_then(|rest| rest.split_once('/'))
        else {
            continue;
        };
        text.push_str(&format!("{tenant} {hash} {}\n", String::from_utf8_lossy(at)));
    }
    text
}

/// A list that was read.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Erasures {
    store: String,
    /// When, by tenant and hash as in the names of documents.
    at: BTreeMap<String, i64>,
}

impl Erasures {
    /// Reads a list, or says what is wrong with it.
    pub(crate) fn parse(text: &str) -> Result<Erasures, String> {
        let mut lines = text.lines();
        let store = lines.next().and_then(|first| first.strip_prefix(TITLE));
        let store = store.ok_or("this is no list of `boxoffice erasures`")?.to_owned();
        let mut at = BTreeMap::new();
        for (number, line) in (2..).zip(lines) {
            let mut words = line.split(' ');
            let (Some(tenant), Some(hash), Some(ms), None) =
                (words.next(), words.next(), words.next().and_then(|ms| ms.parse().ok()), words.next())
            else {
                return Err(format!("line {number} is not a tenant, a hash and a time: {line:?}"));
            };
            at.insert(format!("{tenant}/{hash}"), ms);
        }
        Ok(Erasures { store, at })
    }

    /// Takes the keys of contacts that were erased later out of the documents of a backup; says how many keys.
    pub(crate) fn apply(&self, documents: &mut Vec<Document>) -> Result<usize, String> {
        let secret = documents.iter().find(|(name, _)| name == secret::DOCUMENT);
        if secret.is_none_or(|(_, secret)| store_id(secret) != self.store) {
            return Err("the list of erasures is of another store than the backup".to_owned());
        }
        let mut erased = self.at.clone();
        for (name, at) in documents.iter() {
            // What the backup has of this customer came after the erasure.
            if let Some(customer) = name.strip_prefix(ERASURE_PREFIX)
                && erased.get(customer).is_some_and(|erased| *erased <= time_in(at))
            {
                erased.remove(customer);
            }
        }
        let before = documents.len();
        documents.retain(|(name, _)| {
            let key = name.strip_prefix(KEY_PREFIX).and_then(|rest| rest.rsplit_once('/'));
            !key.is_some_and(|(customer, _)| erased.contains_key(customer))
        });
        let keys = before - documents.len();
        let mark = |customer: &String| format!("{ERASURE_PREFIX}{customer}");
        documents.retain(|(name, _)| {
            !name.strip_prefix(ERASURE_PREFIX).is_some_and(|one| erased.contains_key(one))
        });
        documents.extend(erased.iter().map(|(customer, at)| (mark(customer), at.to_string().into_bytes())));
        Ok(keys)
    }
}

pub(crate) fn time_in(contents: &[u8]) -> i64 {
    std::str::from_utf8(contents).ok().and_then(|text| text.parse().ok()).unwrap_or_default()
}

fn store_id(store_secret: &[u8]) -> String {
    let id = blake3::derive_key("boxoffice list of erasures", store_secret);
    hexadecimal(&id[..8])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn documents(names: &[(&str, &str)]) -> Vec<Document> {
        names.iter().map(|(name, contents)| ((*name).to_owned(), contents.as_bytes().to_vec())).collect()
    }

    #[test]
    fn list_erases_what_is_older_than_it_and_nothing_else() {
        let erasures = documents(&[("erasure/house/aa", "500"), ("erasure/house/bb", "500")]);
        let list = Erasures::parse(&list(&erasures, b"secret")).unwrap();
        let mut backup = documents(&[
            ("contact/house/aa/1", "key"),
            ("contact/house/bb/1", "booked again after the erasure"),
            ("contact/house/cc/1", "key"),
            ("contact/other/aa/1", "key"),
            ("erasure/house/bb", "500"),
            (secret::DOCUMENT, "secret"),
        ]);
        assert_eq!(list.apply(&mut backup), Ok(1));
        let names: Vec<&str> = backup.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            names,
            [
                "contact/house/bb/1",
                "contact/house/cc/1",
                "contact/other/aa/1",
                "erasure/house/bb",
                secret::DOCUMENT,
                "erasure/house/aa",
            ]
        );
        assert_eq!(list.apply(&mut backup), Ok(0), "the erasure is in it now");
    }

    #[test]
    fn list_of_another_store_is_refused() {
        let list = Erasures::parse(&list(&[], b"secret")).unwrap();
        assert!(list.apply(&mut documents(&[(secret::DOCUMENT, "another")])).is_err());
        assert!(list.apply(&mut Vec::new()).is_err());
    }

    #[test]
    fn text_that_is_no_list_is_refused_with_its_line() {
        let title = list(&[], b"secret");
        assert!(Erasures::parse("").is_err() && Erasures::parse("something else\n").is_err());
        for line in ["house aa", "house aa 1 2", "house aa soon", ""] {
            let message = Erasures::parse(&format!("{title}house aa 1\n{line}\n")).unwrap_err();
            assert!(message.starts_with("line 3 "), "{message}");
        }
    }
}
