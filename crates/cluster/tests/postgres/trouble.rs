//! What goes wrong in a database, or in a node beside this one, and is over in a moment: nobody else may suffer from it.

use boxoffice_engine::record::Hash;
use boxoffice_engine::store::{CommitError, Store};

use crate::contract::batch;
use crate::database::Database;

#[test]
fn a_database_that_takes_no_writes_for_a_while_is_waited_for() {
    let database = Database::start();
    let store = database.store();
    let first = batch(1, 1, Hash::default());
    store.commit(&[&first]).unwrap();
    database.rows("ALTER DATABASE postgres SET default_transaction_read_only = on");
    database.rows("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'boxoffice'");
    let second = batch(1, 2, first.head.hash);
    std::thread::scope(|scope| {
        let committing = scope.spawn(|| store.commit(&[&second]));
        let refused = store.write_documents(&[("key".to_owned(), None)]).unwrap_err();
        assert!(matches!(refused, CommitError::Unavailable(_)), "{refused}");
        assert!(!committing.is_finished(), "{:?}", committing.join());
        database.rows("BEGIN READ WRITE; ALTER DATABASE postgres RESET default_transaction_read_only; COMMIT");
        assert_eq!(committing.join().unwrap().unwrap(), []);
    });
    store.write_documents(&[("key".to_owned(), None)]).unwrap();
    assert_eq!(store.heads().unwrap(), [second.head]);
}
