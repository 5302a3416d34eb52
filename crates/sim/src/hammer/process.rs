//! The hammer from outside: started, listened to, killed.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

/// A running hammer. It is killed when it is dropped, so that no test leaves one behind.
#[derive(Debug)]
pub struct Hammer(Child);

/// Where one store and the log of its clients are.
#[derive(Debug, Clone)]
pub struct Place {
    /// The program.
    pub program: PathBuf,
    /// The directory of the store.
    pub store: PathBuf,
    /// The file of the log.
    pub log: PathBuf,
}

impl Place {
    /// A store and a log in a directory, for this program.
    pub fn within(directory: &Path, program: &str) -> Place {
        Place { program: program.into(), store: directory.join("store"), log: directory.join("log") }
    }

    /// The command line of a mode.
    pub fn arguments(&self, mode: &str, options: &[&str]) -> Vec<String> {
        let mut arguments = vec![mode.to_owned()];
        for (name, path) in [("--store", &self.store), ("--log", &self.log)] {
            arguments.extend([name.to_owned(), path.to_string_lossy().into_owned()]);
        }
        arguments.extend(options.iter().map(|&option| option.to_owned()));
        arguments
    }

    /// Starts the program.
    ///
    /// # Panics
    /// If it cannot be started.
    pub fn start(&self, mode: &str, options: &[&str]) -> Hammer {
        let mut command = Command::new(&self.program);
        command.args(self.arguments(mode, options)).stdout(Stdio::piped());
        Hammer(command.spawn().expect("the hammer starts"))
    }
}

impl Hammer {
    /// Waits until so many answers were given, or the process has ended. Returns how many there were.
    ///
    /// # Panics
    /// If the process cannot be heard.
    pub fn await_answers(&mut self, count: usize) -> usize {
        let output = self.0.stdout.as_mut().expect("it is piped");
        let mut buffer = [0; 4096];
        let mut heard = 0;
        while heard < count {
            // No more than are waited for, so that the rest can be heard later.
            let most = buffer.len().min(count - heard);
            let read = output.read(&mut buffer[..most]).expect("the hammer can be heard");
            if read == 0 {
                break;
            }
            heard += buffer[..read].iter().filter(|&&byte| byte == b'.').count();
        }
        heard
    }

    /// Ends the process with SIGKILL, wherever it is.
    ///
    /// # Panics
    /// If the process ended before.
    pub fn kill(mut self) {
        let ended = self.0.try_wait().expect("our own process");
        assert!(ended.is_none(), "it was to be killed and had ended: {ended:?}");
        self.0.kill().expect("our own process");
        self.0.wait().expect("our own process");
    }

    /// Waits for the end of the process and returns all that it said.
    ///
    /// # Panics
    /// If the process cannot be heard.
    pub fn finish(mut self) -> (ExitStatus, String) {
        let mut said = String::new();
        let output = self.0.stdout.as_mut().expect("it is piped");
        output.read_to_string(&mut said).expect("the hammer can be heard");
        (self.0.wait().expect("our own process"), said)
    }
}

impl Drop for Hammer {
    fn drop(&mut self) {
        // Both fail if the process has ended, which is what is wanted.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}
