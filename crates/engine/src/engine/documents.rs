//! Small records beside the journals, and how their secrets are erased.

use super::Engine;
use crate::answer::SubmitError;
use crate::store::{Document, SecretStart, StoreError};

/// Records of this prefix name secrets that were removed and are not yet overwritten, by the mark of their erasure. Of each secret they
/// have the complement of its start: so they are not overwritten with it, and half of the secret stays unknown.
const UNWIPED_PREFIX: &str = "unwiped/";

impl Engine {
    /// The small records whose names begin with a prefix, in order of name. Reads the store.
    pub fn documents(&self, prefix: &str) -> Result<Vec<Document>, StoreError> {
        self.must_be_available()?;
        self.running.shared.store.documents(prefix)
    }

    /// The small records that have these names, in no order. Blocks for as long as reading takes.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn documents_named(&self, names: &[String]) -> Result<Vec<Document>, StoreError> {
        self.must_be_available()?;
        self.running.shared.store.documents_named(names)
    }

    /// Makes small records durable, all or none; those without contents are removed. Blocks for as long as a commit takes.
    ///
    /// # Errors
    /// If the store cannot be written: then the engine has stopped, unless the store is only away.
    pub fn write_documents(&self, documents: &[(String, Option<Vec<u8>>)]) -> Result<(), SubmitError> {
        self.write(|store| store.write_documents(documents))
    }

    /// Makes a small record durable unless there is one of that name, and says whether it did; for what several processes
    /// must agree on. Two that share a handle of this engine must not ask at the same time.
    ///
    /// # Errors
    /// If the store cannot be written: then the engine has stopped, unless the store is only away.
    pub fn create_document(&self, name: &str, contents: &[u8]) -> Result<bool, SubmitError> {
        self.write(|store| store.create_document(name, contents))
    }

    /// Removes the small records whose names begin so, overwrites what is left of them on the store's own disk, and keeps `mark` in their
    /// place. Durable when it returns. An erasure that was interrupted is finished by the next one with the same mark, or by
    /// [`Engine::finish_erasures`]. Two with one mark must not run at the same time.
    ///
    /// The contents must be secrets of [`SECRET_BYTES`](crate::store::SECRET_BYTES) random bytes. Blocks for as long as two commits and
    /// reading the whole store take.
    ///
    /// # Errors
    /// As with [`Engine::write_documents`].
    pub fn erase_documents(&self, prefix: &str, mark: Document) -> Result<(), SubmitError> {
        let unwiped = format!("{UNWIPED_PREFIX}{}", mark.0);
        let mut starts = Vec::new();
        for (_, noted) in self.documents_named(std::slice::from_ref(&unwiped))? {
            starts.extend(noted_starts(&noted));
        }
        let (names, contents): (Vec<_>, Vec<_>) = self.documents(prefix)?.into_iter().unzip();
        starts.extend(contents.iter().filter_map(|secret| secret.first_chunk::<START_BYTES>().copied()));
        let mut documents: Vec<_> = names.into_iter().map(|name| (name, None)).collect();
        documents.push((mark.0, Some(mark.1)));
        if !starts.is_empty() {
            documents.push((unwiped.clone(), Some(note(&starts))));
        }
        self.write_documents(&documents)?;
        self.wipe(unwiped, &starts)
    }

    /// Overwrites what interrupted erasures left on the store's own disk. Blocks for as long as reading the whole store takes, if there is
    /// any.
    ///
    /// # Errors
    /// As with [`Engine::write_documents`].
    pub fn finish_erasures(&self) -> Result<(), SubmitError> {
        for (unwiped, noted) in self.documents(UNWIPED_PREFIX)? {
            self.wipe(unwiped, &noted_starts(&noted))?;
        }
        Ok(())
    }

    fn wipe(&self, unwiped: String, starts: &[SecretStart]) -> Result<(), SubmitError> {
        if starts.is_empty() {
            return Ok(());
        }
        self.write(|store| store.wipe(starts))?;
        self.write_documents(&[(unwiped, None)])
    }
}

const START_BYTES: usize = size_of::<SecretStart>();

fn note(starts: &[SecretStart]) -> Vec<u8> {
    starts.as_flattened().iter().map(|byte| !byte).collect()
}

fn noted_starts(noted: &[u8]) -> Vec<SecretStart> {
    let (starts, _) = noted.as_chunks::<START_BYTES>();
    starts.iter().map(|start| start.map(|byte| !byte)).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::engine::Settings;

    fn files_with(directory: &Path, secret: &[u8]) -> usize {
        let files = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
        let has = |bytes: Vec<u8>| bytes.windows(secret.len()).any(|window| window == secret);
        files.filter(|file| has(std::fs::read(file).unwrap())).count()
    }

    #[test]
    fn interrupted_erasure_is_finished_by_the_next_one_and_at_the_next_start() {
        for by_next_erasure in [true, false] {
            let directory = tempfile::tempdir().unwrap();
            let directory = directory.path().join("store");
            let secret: [u8; 32] = rand::random();
            let start: SecretStart = *secret.first_chunk().unwrap();
            let engine = Engine::open(&directory, &Settings::default()).unwrap();
            engine.write_documents(&[("contact/ann/1".to_owned(), Some(secret.to_vec()))]).unwrap();
            // As far as an erasure comes that ends before it overwrites.
            let unwiped = format!("{UNWIPED_PREFIX}erasure/ann");
            engine
                .write_documents(&[
                    ("contact/ann/1".to_owned(), None),
                    (unwiped.clone(), Some(note(&[start]))),
                ])
                .unwrap();
            assert_ne!(files_with(&directory, &secret), 0, "redb does not overwrite what it removes");
            if by_next_erasure {
                let mark = ("erasure/ann".to_owned(), b"1".to_vec());
                engine.erase_documents("contact/ann/", mark).unwrap();
            } else {
                engine.finish_erasures().unwrap();
            }
            assert_eq!(files_with(&directory, &secret), 0);
            assert_eq!(engine.documents(UNWIPED_PREFIX).unwrap(), []);
        }
    }
}
