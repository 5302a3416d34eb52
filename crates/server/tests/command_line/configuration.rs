//! Flags, environment and the configuration file.

use std::path::Path;

use serde_json::json;

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
fn serve_help_names_the_floor_of_the_idempotency_retention() {
    let help = run(&["serve", "--help"]).well();
    let (_, option) = help.split_once("--idempotency-keep-seconds").expect("the option");
    let (option, _) = option.split_once("\n      --").expect("another option follows");
    let words = option.split_whitespace().collect::<Vec<_>>().join(" ");
    for named in ["Floor:", "`max_hold_seconds` (3600", "[default: 86400]"] {
        assert!(words.contains(named), "{named} is not in {words}");
    }
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
    // A certificate would have to be made.
    let uncommented = uncommented.replace("\ntls_", "\n# tls_");
    let config = write(home.path(), &uncommented.replace("bo_...", key));
    let server =
        Server::start(&["serve", "--config", &config, "--data", path(&data), "--listen", "127.0.0.1:0"]);
    assert_eq!(server.get("/readyz").0, 200);
    server.stop();
}

#[test]
fn variables_of_other_programs_set_what_nothing_else_sets() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    // A port that is taken shows which one was wanted.
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let serve = |arguments: &[&str]| {
        let arguments = [&["serve", "--data", path(&data)], arguments].concat();
        said(boxoffice(&arguments).env("PORT", &port).output().unwrap())
    };
    serve(&[]).badly(1, &[&format!("127.0.0.1:{port} is used")]);
    serve(&["--listen", "0.0.0.0:3"]).badly(1, &["0.0.0.0:3 can be reached"]);
    let config = write(home.path(), "listen = \"0.0.0.0:1\"\n");
    serve(&["--config", &config]).badly(1, &["0.0.0.0:1 can be reached"]);
    let ours = boxoffice(&["serve"]).env("PORT", &port).env("BOXOFFICE_LISTEN", "0.0.0.0:2").output();
    said(ours.unwrap()).badly(1, &["0.0.0.0:2 can be reached"]);
}

#[test]
fn hold_ttl_ms_is_the_default_of_new_inventories_that_do_not_name_one() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    let arguments = ["serve", "--data", path(&data), "--listen", "127.0.0.1:0"];
    let server = Server::spawn(boxoffice(&arguments).env("HOLD_TTL_MS", "119001"));
    for (id, rules, expected) in [
        ("silent", json!({}), 120),
        ("named", json!({ "hold_ttl_seconds": 30 }), 30),
        ("capped", json!({ "max_hold_seconds": 60 }), 60),
    ] {
        let shop =
            json!({ "id": id, "name": id, "timezone": "Asia/Taipei", "currency": "TWD", "rules": rules });
        assert_eq!(server.post("/v1/shops", &shop).0, 201, "{id}");
        let (_, found) = server.get(&format!("/v1/shops/{id}"));
        assert_eq!(found["rules"]["hold_ttl_seconds"], expected, "{id}");
    }
    let section =
        json!({ "name": "A", "price": 1_000, "subsections": [{ "number": 1, "rows": 1, "cols": 1 }] });
    let event = json!({ "id": "gala", "name": "Gala", "currency": "TWD", "sections": [section] });
    assert_eq!(server.post("/v1/events", &event).0, 201);
    assert_eq!(server.get("/v1/events/gala").1["rules"]["hold_ttl_seconds"], 120);
    let window = json!({ "start": "09:00", "end": "12:00", "capacity": 2 });
    let schedule = json!({ "id": "museum", "name": "M", "timezone": "Asia/Taipei", "currency": "TWD", "windows": [window] });
    assert_eq!(server.post("/v1/schedules", &schedule).0, 201);
    assert_eq!(server.get("/v1/schedules/museum").1["rules"]["hold_ttl_seconds"], 120);
}

#[test]
fn a_variable_with_a_wrong_value_is_an_error_that_names_it() {
    for (variable, value, words) in [
        ("PORT", "70000", "from 0 to 65535"),
        ("HOLD_TTL_MS", "2m", "milliseconds"),
        ("HOLD_TTL_MS", "0", "1..=86400"),
        ("IDEMPOTENCY_TTL_MS", "-1", "milliseconds"),
        ("IDEMPOTENCY_TTL_MS", "2592000001", "2592001"),
        ("LOCK_TTL_MS", "12", "1000..=60000"),
        ("REDLOCK_DRIFT_FACTOR", "2", "from 0 to 0.5"),
        ("REDLOCK_RETRY_COUNT", "some", "some"),
        ("REDLOCK_RETRY_DELAY_MS", "0", "1..=1000"),
        ("REDIS_URL", "http://cache", "URL 1"),
    ] {
        let wrong = boxoffice(&["serve", "--data", "nowhere"]).env(variable, value).output().unwrap();
        said(wrong).badly(2, &[variable, words]);
    }
}

#[test]
fn a_variable_of_ours_that_is_misspelt_is_an_error_with_the_nearest_name() {
    for (variable, nearest) in
        [("BOXOFFICE_LISTN", "BOXOFFICE_LISTEN"), ("BOXOFFICE_REDIS_URL", "BOXOFFICE_REDIS_URLS")]
    {
        for arguments in [&["serve", "--data", "nowhere"][..], &["openapi"]] {
            let misspelt = boxoffice(arguments).env(variable, "1").output().unwrap();
            said(misspelt).badly(2, &[variable, nearest]);
        }
    }
    let mut tested = boxoffice(&["openapi"]);
    tested.env("BOXOFFICE_SEED", "1").env("BOXOFFICE_SERVICE_HOST", "10.0.0.1");
    assert!(tested.output().unwrap().status.success());
}
