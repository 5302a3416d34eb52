//! A Kafka broker of our own: one process that is broker and controller, on ports that were free.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Signal;

use crate::error::{Error, Result};
use crate::process::{Server, directory, find, target};

/// What it is made of.
const POM: &str = include_str!("../kafka/pom.xml");
/// Any name does.
const CLUSTER: &str = "MkU3OEVBNTcwNTJENDM2Qg";
/// Small, and quick to start: a test is not a benchmark.
const JAVA: &[&str] = &["-Xms64m", "-Xmx320m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"];

/// A running broker.
#[derive(Debug)]
pub struct Kafka {
    server: Option<Server>,
    java: PathBuf,
    classes: PathBuf,
    port: u16,
    directory: tempfile::TempDir,
}

impl Kafka {
    /// Starts a broker without topics. The first time it is fetched with Maven, into cargo's target directory.
    pub fn start() -> Result<Kafka> {
        let java = find("java", "default-jre-headless")?;
        let classes = classes()?;
        let directory = directory()?;
        let (broker, controller) = free_ports()?;
        let settings = directory.path().join("server.properties");
        std::fs::write(&settings, properties(directory.path(), broker, controller))
            .map_err(Error::io("cannot write the broker's settings"))?;
        let mut kafka = Kafka { server: None, java, classes, port: broker, directory };
        let mut format = kafka.command("kafka.tools.StorageTool");
        let made = format.args(["format", "-t", CLUSTER, "-c"]).arg(&settings).output();
        let made = made.map_err(Error::io("cannot run java"))?;
        if !made.status.success() {
            let said = String::from_utf8_lossy(&made.stderr).into_owned();
            return Err(Error::Wrong(format!("the broker's directory cannot be made: {said}")));
        }
        kafka.run()?;
        Ok(kafka)
    }

    /// Its address.
    pub fn brokers(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Ends it at once, as a crash would.
    pub fn stop(&mut self) {
        self.server = None;
    }

    /// Starts it again on what it left.
    pub fn run(&mut self) -> Result<()> {
        let mut command = self.command("kafka.Kafka");
        command.arg(self.directory.path().join("server.properties"));
        let mut server = Server::start(&mut command, Signal::KILL, self.directory.path().join("kafka.log"))?;
        server.wait_until_ready(|| Ok(TcpStream::connect(("127.0.0.1", self.port)).is_ok()))?;
        self.server = Some(server);
        Ok(())
    }

    fn command(&self, class: &str) -> Command {
        let mut command = Command::new(&self.java);
        command.args(JAVA).arg("-cp").arg(self.classes.join("*")).arg(class);
        command.current_dir(self.directory.path());
        command
    }
}

fn properties(directory: &Path, broker: u16, controller: u16) -> String {
    format!(
        "process.roles=broker,controller\n\
         node.id=1\n\
         controller.quorum.voters=1@127.0.0.1:{controller}\n\
         controller.listener.names=CONTROLLER\n\
         listeners=PLAINTEXT://127.0.0.1:{broker},CONTROLLER://127.0.0.1:{controller}\n\
         advertised.listeners=PLAINTEXT://127.0.0.1:{broker}\n\
         listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT\n\
         log.dirs={}\n\
         auto.create.topics.enable=false\n\
         offsets.topic.num.partitions=1\n\
         offsets.topic.replication.factor=1\n\
         transaction.state.log.num.partitions=1\n\
         transaction.state.log.replication.factor=1\n\
         transaction.state.log.min.isr=1\n\
         share.coordinator.state.topic.num.partitions=1\n\
         share.coordinator.state.topic.replication.factor=1\n\
         group.initial.rebalance.delay.ms=0\n\
         group.min.session.timeout.ms=500\n\
         broker.session.timeout.ms=3000\n\
         broker.heartbeat.interval.ms=500\n\
         log.cleaner.dedupe.buffer.size=4194304\n\
         num.io.threads=2\n\
         num.network.threads=2\n",
        directory.join("data").display(),
    )
}

fn free_ports() -> Result<(u16, u16)> {
    let listen = || TcpListener::bind(("127.0.0.1", 0));
    let port = |listener: &TcpListener| listener.local_addr().map(|address| address.port());
    let found = listen().and_then(|one| listen().and_then(|other| Ok((port(&one)?, port(&other)?))));
    found.map_err(Error::io("no free port"))
}

/// The directory with the broker's classes, which are fetched if they are not there. One process at a time does so.
fn classes() -> Result<PathBuf> {
    let target = target()?;
    let mut hasher = DefaultHasher::new();
    POM.hash(&mut hasher);
    let classes = target.join(format!("kafka-{:016x}", hasher.finish()));
    let lock = std::fs::File::create(target.join("kafka.lock")).map_err(Error::io("cannot make a lock"))?;
    lock.lock().map_err(Error::io("cannot lock a file"))?;
    if classes.is_dir() {
        return Ok(classes);
    }
    let maven = find("mvn", "maven")?;
    let fetched = tempfile::tempdir_in(&target).map_err(Error::io("cannot make a directory"))?;
    let pom = fetched.path().join("pom.xml");
    std::fs::write(&pom, POM).map_err(Error::io("cannot write the list of what a broker needs"))?;
    let mut command = Command::new(maven);
    command
        .args(["-q", "-B", "-ntp", "dependency:copy-dependencies", "-DincludeScope=runtime", "-f"])
        .arg(&pom);
    command.arg(format!("-DoutputDirectory={}", fetched.path().join("classes").display()));
    let done = command.output().map_err(Error::io("cannot run mvn"))?;
    if !done.status.success() {
        let said = String::from_utf8_lossy(&done.stdout).into_owned();
        return Err(Error::Wrong(format!("a broker cannot be fetched: {said}")));
    }
    std::fs::rename(fetched.path().join("classes"), &classes)
        .map_err(Error::io("cannot rename a directory"))?;
    Ok(classes)
}
