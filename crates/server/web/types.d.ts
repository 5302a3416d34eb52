// The shapes of the API that the pages read. /openapi.json is the whole of it.

export interface Stats { available: number; held: number; sold: number; blocked: number; total: number }
export interface Rules { hold_ttl_seconds: number; min_hold_seconds: number; max_hold_seconds: number; max_units_per_booking: number; max_active_bookings_per_customer: number | null; require_idempotency_key: boolean; tickets: "any" | "registered" }
export interface Subsection { number: number; rows: number; cols: number; blocked: string[]; stats: Stats }
export interface Section { name: string; price: number; subsections: Subsection[]; stats: Stats }
export interface Area { name: string; price: number; capacity: number; stats: Stats }
export interface Sales { opens_at: string | null; closes_at: string | null }
export interface EventShown {
  id: string; name: string; currency: string; starts_at: string | null; ends_at: string | null; timezone: string; venue: string | null; status: "open" | "closed" | "cancelled"; sales: Sales; rules: Rules; sections: Section[]; areas: Area[]; stats: Stats; sequence: number;
  sellout: { first_sale_at: string | null; sold_out_at: string | null; seconds: number | null };
}
export interface SeatShown { section: string; seat: string; state: "available" | "held" | "sold" | "blocked"; price: number; booking: string | null; hold_expires_at: string | null; version: number }
export interface SeatMap { section: string; rows: number; cols: number; price: number; seats: string[] }
export interface Schedule { id: string; name: string; timezone: string; currency: string; status: "open" | "closed"; rules: Rules; sales: Sales; windows: { start: string; end: string; capacity: number; price: number }[]; days: number; closed_dates: string[]; weekdays: number[]; sequence: number }
export interface Slot {
  id: string; date: string; start_time: string; end_time: string; starts_at: string; ends_at: string; total_capacity: number; booked_count: number; available_count: number; price: number;
  status: "ACTIVE" | "FULL" | "CLOSED"; availability: "AVAILABLE" | "LIMITED" | "FULL" | "CLOSED";
}
export interface Shop { id: string; name: string; timezone: string; currency: string; status: "open" | "closed"; rules: Rules; sales: Sales; sequence: number }
export interface Box {
  id: string; name: string; quantity: number; remaining: number; price: number; next_price: { at: string; price: number } | null; price_curve: { at: string; price: number }[];
  pickup: { starts_at: string; ends_at: string } | null; status: "ACTIVE" | "SOLD_OUT" | "CLOSED" | "ENDED";
}
export interface Booking {
  id: string; status: "on_hold" | "confirmed" | "cancelled" | "expired" | "redeemed"; customer: string; contact: { email: string | null; phone: string | null } | null; reference: string | null; event: string | null; schedule: string | null; shop: string | null;
  seats: { section: string; seat: string; price: number; redeemed_at: string | null }[]; areas: { name: string; quantity: number; price: number }[]; slot: string | null; tickets: string[]; box: string | null; quantity: number; total_price: number; currency: string;
  adjacent: boolean | null; hold_token: string | null; redeem_code: string | null; created_at: string; expires_at: string | null; expires_in_seconds: number | null; confirmed_at: string | null; cancelled_at: string | null; redeemed_at: string | null; redeemed_quantity: number;
  payment_reference: string | null; metadata: Record<string, unknown> | null; version: number; sequence: number;
}
