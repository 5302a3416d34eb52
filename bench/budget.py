#!/usr/bin/env python3
"""What a booking costs, stage by stage, in nanoseconds of processor time.

    cargo build --release && bench/budget.py

Books one seat after the other at a server of its own, over 256 connections with one request at a time each, watches the server
with `perf record`, and sorts what was seen by the function that ran and the thread it ran on. Needs `perf` (Debian: linux-perf)
and the right to use it.
"""

import json
import pathlib
import re
import selectors
import socket
import subprocess
import sys
import tempfile
import urllib.request

BINARY = pathlib.Path(__file__).resolve().parent.parent / "target/release/boxoffice"
BOOKINGS = 150_000
CONNECTIONS = 256
TICKS_A_SECOND = 100

# The first that fits counts. Threads: t(okio), s(hard), which also commits small batches, c(ommitter) and the housekeeper, who moves what is in
# the log into redb; k is the kernel on any of them.
STAGES = [
    ("network: the kernel's sockets", "k", r"tcp|skb|sock|inet|ip_|net_|epoll|ep_|__dev|softirq|eth_|sk_|napi|copy_to_iter|copy_from_iter|sendto|recvfrom|simple_copy"),
    ("disk: the kernel's files", "k", r"ext4|jbd2|blk|bio|folio|iowrite|virt|block|filemap|fdatasync|pwrite|writeback|xas_|iomap|dd_|scsi"),
    ("fresh memory: page faults", "k", r"page|fault|vma|mas_|mm_|memcg|cgroup|clear_|rmqueue|lru"),
    ("threads: sleeping and waking", "k", r"."),
    ("HTTP: heads of requests and answers", "t", r"httparse|express|write_date|RequestId|listen::"),
    ("JSON: reading bodies", "t", r"serde_json::(de|read)|Deserialize|by_name|input::|from_utf8|parse_str"),
    ("JSON: writing answers", "t", r"BookingBody|serde_json::ser|Serialize|Moment|encode_lower|body::|itoa|format_escaped|hold_token|readable"),
    ("keys: hashes and fingerprints", "t", r"blake3|idempotency|Secret"),
    ("routing: who asks, which inventory", "t", r"caller|create::|submit|registry|Registry|find_inventory|rates|view|engine::"),
    ("runtime: tasks, timers, queues", "t", r"tokio|mio|futures|poll|waker|oneshot|watch|core::future|AtomicWaker|parking_lot"),
    ("store: the log, redb and the mark", "sc", r"redb|xxh|store::|mark"),
    ("journal: encoding and hashing", "sc", r"postcard|blake3|codec|record|serde|encode|Serialize"),
    ("showing it to readers", "sc", r"publish|Publish|view|View|Touched|moved"),
    ("answering: whoever waits", "sc", r"answer|oneshot|waker|tokio|commit|Part|part"),
    ("deciding: the rules", "s", r"boxoffice_core"),
    ("batches: from the queue to the committer", "s", r"boxoffice_engine|inbox|shard|rpds|parking_lot"),
    ("memory: allocating, freeing, copying", "tsc", r"mi_|malloc|free|memmove|memset|memcpy|drop_in_place|alloc|realloc|drop_slow"),
    ("clocks and chance", "tsc", r"clock_gettime|rand|chacha|getrandom|Instant|SystemTime"),
    ("the rest", "tsc", r"."),
]


def main():
    if not BINARY.exists():
        sys.exit(f"{BINARY} is not there: cargo build --release")
    with tempfile.TemporaryDirectory() as directory:
        server = subprocess.Popen(
            [BINARY, "serve", "--listen", "127.0.0.1:0", "--data", f"{directory}/store"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )
        try:
            address = re.search(r"http://\S+", server.stdout.readline()).group()
            seen, cpu_seconds = watch(server.pid, address, directory)
        finally:
            server.terminate()
            server.wait()
    show(seen, cpu_seconds)


def watch(pid, address, directory):
    """What ran how often, and for how long in all, while everybody booked."""
    hall = {"id": "hall", "name": "Hall", "currency": "TWD", "sections": [{
        "name": "A", "price": 100, "subsections": [{"number": n, "rows": 50, "cols": 50} for n in range(1, 401)],
    }]}
    request = urllib.request.Request(
        f"{address}/v1/events", json.dumps(hall).encode(), {"content-type": "application/json"},
    )
    urllib.request.urlopen(request).close()
    port = int(address.rsplit(":", 1)[1])
    book(port, range(CONNECTIONS))
    record = subprocess.Popen(
        ["perf", "record", "--quiet", "-F", "1999", "-p", str(pid), "-o", f"{directory}/perf.data"],
    )
    before = cpu(pid)
    book(port, range(CONNECTIONS, CONNECTIONS + BOOKINGS))
    after = cpu(pid)
    record.terminate()
    record.wait()
    report = subprocess.run(
        ["perf", "report", "-i", f"{directory}/perf.data", "--no-children", "-g", "none",
         "--sort", "comm,symbol", "--field-separator", "\t", "--show-nr-samples"],
        check=True, capture_output=True, text=True,
    ).stdout
    lines = [line.split("\t") for line in report.splitlines() if line and not line.startswith("#")]
    return [(int(line[1]), line[2].strip(), line[3].strip()) for line in lines if len(line) >= 4], after - before


def book(port, numbers):
    """One seat for each number, each under a key of its own."""
    numbers = iter(numbers)
    waiting = selectors.DefaultSelector()

    def ask(connection):
        number = next(numbers, None)
        if number is None:
            waiting.unregister(connection)
            connection.close()
            return
        body = b'{"customer":"customer-%d","event":"hall","best_available":{"quantity":1}}' % number
        connection.sendall(
            b"POST /v1/bookings HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
            b"idempotency-key: key-%d\r\ncontent-length: %d\r\n\r\n%b" % (number, len(body), body)
        )

    for _ in range(CONNECTIONS):
        connection = socket.create_connection(("127.0.0.1", port))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        waiting.register(connection, selectors.EVENT_READ)
        ask(connection)
    while waiting.get_map():
        for key, _ in waiting.select():
            # An answer is small, and comes in one piece.
            answer = key.fileobj.recv(16 * 1024)
            assert answer.startswith(b"HTTP/1.1 201 ") and answer.endswith(b"}"), answer
            ask(key.fileobj)


def cpu(pid):
    """Seconds of processor time so far."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_A_SECOND


def stage_of(thread, symbol):
    where = "k" if symbol.startswith("[k]") else {"tokio": "t", "shard": "s", "commi": "c", "house": "c"}.get(thread[:5], "t")
    for name, threads, pattern in STAGES:
        if where in threads and re.search(pattern, symbol):
            return name
    raise AssertionError(f"nothing fits {symbol}")


def show(seen, cpu_seconds):
    counts = dict.fromkeys((name for name, _, _ in STAGES), 0)
    for count, thread, symbol in seen:
        counts[stage_of(thread, symbol)] += count
    whole = sum(counts.values())
    nanoseconds = cpu_seconds * 1e9 / BOOKINGS
    for name, count in counts.items():
        print(f"{name:<48} {nanoseconds * count / whole:>7.0f} ns {100 * count / whole:>5.1f} %")
    print(f"{'a booking, all threads of the server':<48} {nanoseconds:>7.0f} ns, {whole} samples, {BOOKINGS} bookings")


main()
