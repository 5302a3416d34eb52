//! A TCP balancer: each connection goes to the next node.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};

use crate::error::{Error, Result};

/// Between clients and the nodes of a cluster. It ends with the process.
#[derive(Debug)]
pub struct Balancer {
    address: SocketAddr,
}

impl Balancer {
    /// Listens on a free port.
    pub fn start(nodes: Vec<SocketAddr>) -> Result<Balancer> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(Error::io("cannot make a runtime"))?;
        let listener = std::net::TcpListener::bind("127.0.0.1:0").map_err(Error::io("cannot listen"))?;
        listener.set_nonblocking(true).map_err(Error::io("cannot listen without blocking"))?;
        let address = listener.local_addr().map_err(Error::io("no port"))?;
        let (nodes, turn) = (Arc::new(nodes), AtomicUsize::new(0));
        std::thread::spawn(move || {
            runtime.block_on(async move {
                let listener = TcpListener::from_std(listener).expect("a runtime runs");
                while let Ok((client, _)) = listener.accept().await {
                    tokio::spawn(carry(client, Arc::clone(&nodes), turn.fetch_add(1, Ordering::Relaxed)));
                }
            });
        });
        Ok(Balancer { address })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// Carries bytes both ways between a client and the first node from `turn` on that takes the connection.
async fn carry(mut client: TcpStream, nodes: Arc<Vec<SocketAddr>>, turn: usize) {
    for place in 0..nodes.len() {
        if let Ok(mut node) = TcpStream::connect(nodes[turn.wrapping_add(place) % nodes.len()]).await {
            // Either side may break off; both connections are closed then.
            let _ = copy_bidirectional(&mut client, &mut node).await;
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    /// A node that answers every connection with its letter; its address.
    fn node(letter: u8) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for connection in listener.incoming() {
                connection.unwrap().write_all(&[letter]).unwrap();
            }
        });
        address
    }

    #[test]
    fn connections_go_to_each_node_in_turn_and_past_one_that_is_down() {
        let down = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let balancer = Balancer::start(vec![node(b'a'), down, node(b'c')]).unwrap();
        let answers: Vec<u8> = (0..6)
            .map(|_| {
                let mut answer = [0];
                TcpStream::connect(balancer.address()).unwrap().read_exact(&mut answer).unwrap();
                answer[0]
            })
            .collect();
        assert_eq!(answers, b"accacc");
    }
}
