//! nginx before the server, with kept connections to it.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};

const START_TIMEOUT: Duration = Duration::from_secs(30);

/// A running nginx; it is killed when this is dropped.
pub(super) struct Nginx {
    process: Child,
    pub(super) address: SocketAddr,
}

impl Nginx {
    /// Starts it with all its files in a directory; `None` if it is not installed.
    pub(super) fn start(place: &Path, server: SocketAddr) -> Result<Option<Nginx>> {
        let program = ["nginx", "/usr/sbin/nginx"].into_iter().find(|program| {
            let asked = Command::new(program).arg("-v").stderr(Stdio::null()).status();
            asked.is_ok_and(|status| status.success())
        });
        let Some(program) = program else { return Ok(None) };
        let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let address = free.map_err(|error| Error::new(format!("no port is free: {error}")))?;
        let folder = place.display();
        // Only warnings of nginx itself would be of interest; that it refuses requests is what is tested.
        let settings = format!(
            "daemon off; master_process off; pid {folder}/nginx.pid; error_log {folder}/error.log crit;\n\
             events {{ worker_connections 512; }}\n\
             http {{\n\
               access_log off;\n\
               client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;\n\
               fastcgi_temp_path {folder}/fastcgi;\n\
               uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;\n\
               upstream boxoffice {{ server {server}; keepalive 4; }}\n\
               server {{\n\
                 listen {address};\n\
                 location / {{\n\
                   proxy_pass http://boxoffice; proxy_http_version 1.1; proxy_set_header Connection \"\";\n\
                   proxy_request_buffering off; proxy_next_upstream off;\n\
                 }}\n\
               }}\n\
             }}\n"
        );
        let file = place.join("nginx.conf");
        std::fs::write(&file, settings)
            .map_err(|error| Error::new(format!("{}: {error}", file.display())))?;
        let process = Command::new(program)
            .arg("-p")
            .arg(place)
            .arg("-c")
            .arg(&file)
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| Error::new(format!("cannot start nginx: {error}")))?;
        let mut nginx = Nginx { process, address };
        let started = Instant::now();
        while TcpStream::connect(address).is_err() {
            if let Ok(Some(status)) = nginx.process.try_wait() {
                return Err(Error::new(format!("nginx ended at once ({status})")));
            }
            if started.elapsed() > START_TIMEOUT {
                return Err(Error::new(format!("nginx does not listen after {} s", START_TIMEOUT.as_secs())));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(Some(nginx))
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}
