//! Flags, environment and the configuration file.

use std::path::Path;

use crate::process::{Server, boxoffice, path, run, said};

fn write(directory: &Path, text: &str) -> String {
    let file = directory.join("boxoffice.toml");
    std::fs::write(&file, text).unwrap();
    path(&file).to_owned()
}

#[test]
fn a_flag_beats_the_environment_which_beats_the_file() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    // Listening on an address of others without a key is refused by name, which shows what won.
    let config = write(home.path(), &format!("data = {:?}\nlisten = \"0.0.0.0:1\"\n", path(&data)));
    let in_file = run(&["serve", "--config", &config]);
    in_file.badly(1, &["0.0.0.0:1 can be reached"]);
    let run_with = |arguments: &[&str]| {
        said(boxoffice(arguments).env("BOXOFFICE_LISTEN", "0.0.0.0:2").output().unwrap())
    };
    run_with(&["serve", "--config", &config]).badly(1, &["0.0.0.0:2 can be reached"]);
    run_with(&["--config", &config, "--listen", "0.0.0.0:3"]).badly(1, &["0.0.0.0:3 can be reached"]);
    let named_by_environment = boxoffice(&[]).env("BOXOFFICE_CONFIG", &config).output().unwrap();
    said(named_by_environment).badly(1, &["0.0.0.0:1 can be reached"]);
}

#[test]
fn what_the_file_must_not_say_is_refused() {
    let home = tempfile::tempdir().unwrap();
    for (text, words) in [
        ("lisen = \"127.0.0.1:0\"", vec!["\"lisen\"", "not an option"]),
        ("config = \"x\"", vec!["\"config\"", "not an option"]),
        ("shards = 0", vec!["--shards"]),
        ("shards = 1.5", vec!["--shards"]),
        ("redlock_drift_factor = 0.6", vec!["--redlock-drift-factor"]),
        ("idempotency_keep_seconds = 2592001", vec!["--idempotency-keep-seconds"]),
        ("journal_retention = \"some\"", vec!["must be `all` or a number"]),
        ("shards = [1]", vec!["\"shards\"", "a string, a number, true or false"]),
        ("shards", vec!["not TOML"]),
    ] {
        let config = write(home.path(), text);
        run(&["serve", "--config", &config]).badly(2, &words);
    }
    run(&["serve", "--config", "nowhere.toml"]).badly(2, &["nowhere.toml"]);
    run(&["sell"]).badly(2, &["sell"]);
}

#[test]
fn the_file_that_is_delivered_names_every_option_and_works() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/boxoffice.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let help = run(&["serve", "--help"]).well();
    let flags = help.lines().filter_map(|line| line.trim_start().strip_prefix("--")?.split(' ').next());
    for flag in flags.filter(|flag| !["config", "help"].contains(flag)) {
        let line =
            |line: &str| line.trim_start_matches("# ").starts_with(&format!("{} = ", flag.replace('-', "_")));
        assert!(text.lines().any(line), "{flag} is not in deploy/boxoffice.toml");
    }
    // All of it at once, those that are not set by default too.
    let home = tempfile::tempdir().unwrap();
    let uncommented: String = text
        .lines()
        .map(|line| {
            let option = line
                .strip_prefix("# ")
                .filter(|rest| rest.split_once(" = ").is_some_and(|(name, _)| !name.contains(' ')));
            format!("{}\n", option.unwrap_or(line))
        })
        .collect();
    let data = home.path().join("data");
    let made = run(&["keys", "create", "--data", path(&data), "--role", "public"]).well();
    let key = made.lines().last().unwrap();
    // A directory or a database, not both.
    let uncommented = uncommented.replace("\ndatabase_url", "\n# database_url");
    // Redis and Kafka are for databases.
    let uncommented = uncommented.replace("\nredis_urls", "\n# redis_urls");
    let uncommented = uncommented.replace("\nkafka_brokers", "\n# kafka_brokers");
    let config = write(home.path(), &uncommented.replace("bo_...", key));
    let server =
        Server::start(&["serve", "--config", &config, "--data", path(&data), "--listen", "127.0.0.1:0"]);
    assert_eq!(server.get("/readyz").0, 200);
    server.stop();
}
