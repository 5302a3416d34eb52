-- When a node was last too late with a batch. Whoever writes outside its turn soon after that is refused: see commit.rs.
ALTER TABLE inventory ADD COLUMN contended_at timestamptz;
