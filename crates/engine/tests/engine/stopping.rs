//! Stopping in good order, and in bad.

use std::io::Write;

use boxoffice_engine::private_files::{create_directory, create_new_file};
use boxoffice_engine::store::{EmbeddedStore, NextCommit, OpenError};
use boxoffice_engine::{Engine, Settings, StopReason, SubmitError};

use crate::scene::{Scene, create_hall, hold, nth};

#[tokio::test]
async fn a_clean_stop_answers_what_was_taken_and_takes_no_more() {
    let scene = Scene::new();
    let hall = scene.hall("hall", 2, 4).await;
    let engine = scene.engine.clone();
    let taken = tokio::spawn(async move { engine.submit(hall, hold(nth(hall, 1), 1)).await });
    tokio::task::yield_now().await;
    scene.engine.close().unwrap();
    match taken.await.unwrap() {
        Ok(answer) => assert_eq!(answer.sequence, 2),
        Err(error) => assert_eq!(error, SubmitError::Stopped, "not taken"),
    }
    assert_eq!(scene.engine.submit(hall, hold(nth(hall, 2), 1)).await, Err(SubmitError::Stopped));
    assert_eq!(scene.engine.stopped().await, StopReason::Asked);
    scene.engine.close().unwrap();
}

#[tokio::test]
async fn after_a_failed_commit_nobody_is_answered_and_reads_go_on() {
    for (next, full) in
        [(NextCommit::FailsBefore, false), (NextCommit::FailsAfter, false), (NextCommit::Full, true)]
    {
        let scene = Scene::new();
        let hall = scene.hall("hall", 2, 4).await;
        scene.grant(hall, hold(nth(hall, 1), 1)).await;
        scene.store.next_commit(next);
        let answer = scene.engine.submit(hall, hold(nth(hall, 2), 1)).await;
        assert_eq!(answer, Err(SubmitError::OutcomeUnknown), "{next:?}");
        let reason = scene.engine.stopped().await;
        assert_eq!(matches!(reason, StopReason::DiskFull(_)), full, "{reason}");
        assert_eq!(matches!(reason, StopReason::StoreFailed(_)), !full, "{reason}");
        assert_eq!(scene.engine.submit(hall, hold(nth(hall, 3), 1)).await, Err(SubmitError::Stopped));
        assert_eq!(scene.engine.view(hall).await.unwrap().sequence, 2, "what is committed can be read");
        assert!(scene.engine.booking("", nth(hall, 1)).await.unwrap().is_some());
        assert!(scene.engine.booking("", nth(hall, 2)).await.unwrap().is_none());
        assert_eq!(scene.engine.close(), Err(reason));

        // After a restart the same key finds out.
        let scene = scene.after_crash();
        let again = scene.engine.submit(hall, hold(nth(hall, 2), 1)).await.unwrap();
        assert_eq!((again.sequence, again.replayed), (3, next == NextCommit::FailsAfter), "{next:?}");
    }
}

#[tokio::test]
async fn a_store_on_disk_is_there_again_after_a_stop() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("data");
    let settings = Settings::default();
    let engine = Engine::open(&path, &settings).unwrap();
    engine.submit_to("hall", create_hall("hall", 2, 4)).await.unwrap();
    let hall = engine.number("hall").unwrap();
    let first = engine.submit(hall, hold(nth(hall, 1), 3)).await.unwrap();
    let in_use = EmbeddedStore::open(&path).err().unwrap();
    assert!(matches!(in_use, OpenError::InUse(_)), "{in_use}");
    engine.close().unwrap();
    drop(engine);
    let engine = Engine::open(&path, &settings).unwrap();
    let again = engine.submit(hall, hold(nth(hall, 1), 3)).await.unwrap();
    assert_eq!(again, boxoffice_engine::Answer { replayed: true, ..first });
}

#[test]
fn a_directory_that_is_not_a_store_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("data");
    create_directory(&path).unwrap();
    create_new_file(&path.join("letter.txt")).unwrap().write_all(b"dear").unwrap();
    assert!(matches!(EmbeddedStore::open(&path), Err(OpenError::Io { .. })));
    assert_eq!(std::fs::read_to_string(path.join("letter.txt")).unwrap(), "dear");
}

#[test]
fn a_store_without_its_mark_or_a_part_of_its_log_is_refused() {
    for missing in ["mark", "log-0", "log-1"] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("data");
        drop(EmbeddedStore::open(&path).unwrap());
        std::fs::remove_file(path.join(missing)).unwrap();
        // And again: looking at it must not have made it look whole.
        for _ in 0..2 {
            let refused = EmbeddedStore::open(&path).map(drop).unwrap_err();
            let expected = match missing {
                "mark" => matches!(refused, OpenError::Io { .. }),
                _ => matches!(refused, OpenError::Damaged(_)),
            };
            assert!(expected, "without {missing}: {refused}");
        }
    }
}

#[tokio::test]
async fn more_than_fits_the_queue_is_refused_at_once_and_nothing_else() {
    let scene = Scene::with(&Settings { shards: 1, ..Settings::default() });
    let hall = scene.hall("hall", 2, 4).await;
    let too_many = boxoffice_engine::limits::QUEUE_COMMANDS_MAX + 1;
    let commands = (0..too_many).map(|_| (hall, hold(nth(hall, 1), 1))).collect();
    let answers = scene.engine.submit_all(commands).await;
    let overloaded = |answer: &Result<_, SubmitError>| matches!(answer, Err(SubmitError::Overloaded { .. }));
    assert!(answers.iter().all(overloaded), "all or none");
    assert_eq!(scene.engine.waiting(), 0);
    let answer = scene.grant(hall, hold(nth(hall, 1), 1)).await;
    assert!(!answer.replayed, "nothing of it was done");
}
