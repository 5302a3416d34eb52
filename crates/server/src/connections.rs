//! The open connections, and which of them has to make room when a client network has too many.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::client_network::ClientNetwork;
use crate::guarded::Progress;
use crate::limits::{CONNECTIONS_DEFAULT, CONNECTIONS_PER_ADDRESS_DEFAULT};

/// How many connections may be open at one time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConnectionLimits {
    pub(crate) in_all: usize,
    pub(crate) per_network: usize,
    /// Whether clients on this machine count as one network, too.
    pub(crate) count_loopback: bool,
}

impl Default for ConnectionLimits {
    fn default() -> ConnectionLimits {
        ConnectionLimits {
            in_all: CONNECTIONS_DEFAULT,
            per_network: CONNECTIONS_PER_ADDRESS_DEFAULT,
            count_loopback: false,
        }
    }
}

pub(crate) struct Connections {
    limits: ConnectionLimits,
    open: Mutex<Open>,
    next_id: AtomicU64,
    none_is_left: Notify,
}

#[derive(Default)]
struct Open {
    in_all: usize,
    by_network: HashMap<ClientNetwork, HashMap<u64, Arc<Progress>>>,
}

/// Why a connection is turned away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TooMany {
    InAll,
    /// And none of them is idle.
    OfNetwork,
}

/// An open connection. Dropped when it is over.
pub(crate) struct OpenConnection {
    connections: Arc<Connections>,
    /// `None` if it is not counted by its network.
    network: Option<ClientNetwork>,
    id: u64,
    pub(crate) progress: Arc<Progress>,
}

impl Connections {
    pub(crate) fn new(limits: ConnectionLimits) -> Arc<Connections> {
        let (open, next_id, none_is_left) = (Mutex::default(), AtomicU64::new(0), Notify::new());
        Arc::new(Connections { limits, open, next_id, none_is_left })
    }

    /// Admits a connection. If its network has too many, the one of them that has been idle for longest is closed for it.
    /// A trusted proxy's are those of many clients, and count for none.
    pub(crate) fn admit(
        self: &Arc<Connections>,
        address: IpAddr,
        is_trusted_proxy: bool,
    ) -> Result<OpenConnection, TooMany> {
        let is_exempt_loopback = address.to_canonical().is_loopback() && !self.limits.count_loopback;
        let is_counted = !is_exempt_loopback && !is_trusted_proxy;
        let network = is_counted.then(|| ClientNetwork::from(address));
        let progress = Arc::new(Progress::new());
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let mut open = self.open.lock();
        if open.in_all >= self.limits.in_all {
            return Err(TooMany::InAll);
        }
        if let Some(network) = network {
            let others = open.by_network.entry(network).or_default();
            if others.len() >= self.limits.per_network {
                let idle = others.iter().filter_map(|(id, other)| Some((other.idle_since()?, *id)));
                let (_, oldest) = idle.min().ok_or(TooMany::OfNetwork)?;
                if let Some(evicted) = others.remove(&oldest) {
                    evicted.evict();
                }
            }
            others.insert(id, Arc::clone(&progress));
        }
        open.in_all += 1;
        drop(open);
        Ok(OpenConnection { connections: Arc::clone(self), network, id, progress })
    }

    /// Resolves when all connections are over. None may be admitted meanwhile.
    pub(crate) async fn all_over(&self) {
        loop {
            let none_is_left = self.none_is_left.notified();
            if self.open.lock().in_all == 0 {
                return;
            }
            none_is_left.await;
        }
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        let mut open = self.connections.open.lock();
        open.in_all -= 1;
        if let Some(network) = self.network
            && let Some(others) = open.by_network.get_mut(&network)
        {
            others.remove(&self.id);
            if others.is_empty() {
                open.by_network.remove(&network);
            }
        }
        if open.in_all == 0 {
            self.connections.none_is_left.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const LIMITS: ConnectionLimits = ConnectionLimits { in_all: 10, per_network: 3, count_loopback: false };

    fn admit(connections: &Arc<Connections>, address: &str) -> Result<OpenConnection, TooMany> {
        connections.admit(address.parse().unwrap(), false)
    }

    async fn is_evicted(connection: &OpenConnection) -> bool {
        tokio::time::timeout(Duration::from_millis(1), connection.progress.evicted()).await.is_ok()
    }

    #[tokio::test(start_paused = true)]
    async fn network_with_too_many_connections_loses_the_one_that_has_been_idle_longest() {
        let connections = Connections::new(LIMITS);
        let mut own = Vec::new();
        for host in ["2001:db8::1", "2001:db8::2", "2001:db8::3"] {
            own.push(admit(&connections, host).unwrap());
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        let others = admit(&connections, "2001:db8:0:1::1").unwrap();
        own[0].progress.set_answering(true);
        own.push(admit(&connections, "2001:db8::4").unwrap());
        let mut evicted = Vec::new();
        for connection in &own {
            evicted.push(is_evicted(connection).await);
        }
        assert_eq!(evicted, [false, true, false, false], "the first is busy");
        assert!(!is_evicted(&others).await);
        own.iter().for_each(|connection| connection.progress.set_answering(true));
        assert_eq!(admit(&connections, "2001:db8::5").err(), Some(TooMany::OfNetwork), "none is idle");
        assert!(admit(&connections, "2001:db8:0:1::2").is_ok());
        assert!(connections.admit("2001:db8::5".parse().unwrap(), true).is_ok(), "a proxy");
        drop(own);
        assert!(admit(&connections, "2001:db8::6").is_ok());
    }

    #[tokio::test]
    async fn loopback_counts_only_if_asked_and_all_connections_have_a_limit() {
        for (count_loopback, expected) in [(false, TooMany::InAll), (true, TooMany::OfNetwork)] {
            let connections = Connections::new(ConnectionLimits { count_loopback, ..LIMITS });
            let mut open = Vec::new();
            let refused = loop {
                match admit(&connections, "::ffff:127.0.0.1") {
                    Ok(connection) => {
                        connection.progress.set_answering(true);
                        open.push(connection);
                    }
                    Err(refused) => break refused,
                }
            };
            assert_eq!(refused, expected);
            let over = tokio::spawn({
                let connections = Arc::clone(&connections);
                async move { connections.all_over().await }
            });
            tokio::task::yield_now().await;
            assert!(!over.is_finished());
            drop(open);
            over.await.unwrap();
            assert!(connections.open.lock().by_network.is_empty());
        }
    }
}
