//! What a national on-sale needs, by formula and by simulation: `cargo run --release -p boxoffice-sim --example capacity`.
#![expect(clippy::print_stdout, reason = "it prints its table")]

use boxoffice_sim::capacity::{Costs, Machines, OnSale, cores_wanted, formula, simulate};

/// Measured on a virtual machine of 2 cores: see docs/performance.md.
const COSTS: Costs = Costs { map_us: 44.0, booking_us: 35.0, writer_us: 1.6 };

fn main() {
    let nation = OnSale {
        visitors: 10_000_000,
        tickets: 2_000_000,
        events: 40,
        tickets_per_booking: 2,
        half_life_s: 60.0,
        choosing_s: 20.0,
    };
    println!("{nation:?}");
    println!("{COSTS:?}");
    println!("cores that are seven tenths busy in the first second: {}", cores_wanted(&nation, &COSTS));
    println!();
    println!("              first second busy      sold out after        p99     told to       sold");
    println!("     cores   formula simulated   formula simulated         ms   come back");
    for cores in [6, 8, 16, 32] {
        let machines = Machines { cores, queue_max: 4_096 * cores as usize };
        let (busy, sold_out_s) = formula(&nation, &machines, &COSTS);
        let course = simulate(&nation, &machines, &COSTS, 1);
        println!(
            "{cores:>10} {:>8.0} % {:>7.0} % {sold_out_s:>7.0} s {:>7.0} s {:>10.1} {:>11} {:>10}",
            busy * 100.0,
            course.utilization_at_first * 100.0,
            course.sold_out_s,
            course.p99_ms,
            course.refused,
            course.sold,
        );
    }
}
