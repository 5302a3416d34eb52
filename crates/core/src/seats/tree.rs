//! A tree of maxima over a list of numbers: finds the first entry that is large enough in the logarithm of the
//! list's length, whatever is asked for and however full the list is.

use std::ops::Range;

/// Node 1 is the root, nodes `2n` and `2n + 1` are below `n`, and the leaves are the list, padded with zeros to a
/// power of two.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MaxTree {
    nodes: Vec<u32>,
    leaves: usize,
}

impl MaxTree {
    pub(crate) fn new(values: &[u32]) -> MaxTree {
        let leaves = values.len().next_power_of_two();
        let mut nodes = vec![0; 2 * leaves];
        nodes[leaves..leaves + values.len()].copy_from_slice(values);
        for node in (1..leaves).rev() {
            nodes[node] = nodes[2 * node].max(nodes[2 * node + 1]);
        }
        MaxTree { nodes, leaves }
    }

    pub(crate) fn get(&self, index: usize) -> u32 {
        self.nodes[self.leaves + index]
    }

    pub(crate) fn set(&mut self, index: usize, value: u32) {
        let mut node = self.leaves + index;
        self.nodes[node] = value;
        while node > 1 {
            node /= 2;
            let larger = self.nodes[2 * node].max(self.nodes[2 * node + 1]);
            if self.nodes[node] == larger {
                return;
            }
            self.nodes[node] = larger;
        }
    }

    /// The sum of a range, read entry by entry.
    pub(crate) fn sum(&self, range: Range<usize>) -> u32 {
        self.nodes[self.leaves + range.start..self.leaves + range.end].iter().sum()
    }

    /// The first index in the range whose value is at least `value`, which must not be zero.
    pub(crate) fn first_at_least(&self, range: Range<usize>, value: u32) -> Option<usize> {
        if range.is_empty() {
            return None;
        }
        let mut node = self.leaves + range.start;
        while self.nodes[node] < value {
            // Everything from the range's start to the end of this node is too small: go to the next node.
            node >>= node.trailing_ones();
            if node == 0 {
                return None;
            }
            node += 1;
        }
        while node < self.leaves {
            node *= 2;
            if self.nodes[node] < value {
                node += 1;
            }
        }
        Some(node - self.leaves).filter(|&index| index < range.end)
    }

    /// The last index in the range whose value is at least `value`, which must not be zero.
    pub(crate) fn last_at_least(&self, range: Range<usize>, value: u32) -> Option<usize> {
        if range.is_empty() {
            return None;
        }
        let mut node = self.leaves + range.end - 1;
        while self.nodes[node] < value {
            node >>= node.trailing_zeros();
            if node == 1 {
                return None;
            }
            node -= 1;
        }
        while node < self.leaves {
            node = 2 * node + 1;
            if self.nodes[node] < value {
                node -= 1;
            }
        }
        Some(node - self.leaves).filter(|&index| index >= range.start)
    }

    /// The largest value in the range; zero if it is empty.
    pub(crate) fn largest(&self, range: Range<usize>) -> u32 {
        let mut largest = 0;
        let (mut low, mut high) = (self.leaves + range.start, self.leaves + range.end);
        while low < high {
            largest = largest.max(self.nodes[low]).max(self.nodes[high - 1]);
            low = low.div_ceil(2);
            high /= 2;
        }
        largest
    }

    /// The fewest nodes that cover exactly the range.
    pub(crate) fn cover(&self, range: Range<usize>) -> Vec<Node> {
        let mut cover = Vec::new();
        let (mut low, mut high) = (self.leaves + range.start, self.leaves + range.end);
        while low < high {
            if low % 2 == 1 {
                cover.push(self.node(low));
                low += 1;
            }
            if high % 2 == 1 {
                high -= 1;
                cover.push(self.node(high));
            }
            low /= 2;
            high /= 2;
        }
        cover
    }

    /// The two nodes below a node, or `None` for a leaf.
    pub(crate) fn children(&self, node: &Node) -> Option<[Node; 2]> {
        (node.number < self.leaves).then(|| [self.node(2 * node.number), self.node(2 * node.number + 1)])
    }

    fn node(&self, number: usize) -> Node {
        let depth = number.ilog2();
        let first_leaf = number << (self.leaves.ilog2() - depth);
        Node { number, largest: self.nodes[number], first_index: first_leaf - self.leaves }
    }
}

/// A part of the list: where it begins and its largest value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Node {
    number: usize,
    pub(crate) largest: u32,
    pub(crate) first_index: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn searches_agree_with_a_plain_scan_of_every_range() {
        for length in [1usize, 2, 3, 7, 8, 9, 17] {
            let values: Vec<u32> =
                (0..length).map(|index| u32::try_from((index * 7 + 3) % 5).unwrap()).collect();
            let mut tree = MaxTree::new(&vec![9; length]);
            for (index, &value) in values.iter().enumerate() {
                tree.set(index, value);
                assert_eq!(tree.get(index), value);
            }
            assert_eq!(tree, MaxTree::new(&values), "setting entries gives the tree of the list");
            for start in 0..=length {
                for end in start..=length {
                    assert_eq!(tree.sum(start..end), values[start..end].iter().sum::<u32>());
                    let largest = values[start..end].iter().max().copied();
                    assert_eq!(
                        tree.largest(start..end),
                        largest.unwrap_or(0),
                        "{start}..{end} of {values:?}"
                    );
                    let mut covered: Vec<Node> = tree.cover(start..end);
                    covered.sort_by_key(|node| node.first_index);
                    assert_eq!(
                        covered.iter().map(|node| node.largest).max(),
                        largest,
                        "{start}..{end} of {values:?}"
                    );
                    for value in 1..=5 {
                        let matches = |index: &usize| values[*index] >= value;
                        assert_eq!(tree.first_at_least(start..end, value), (start..end).find(matches));
                        assert_eq!(tree.last_at_least(start..end, value), (start..end).rev().find(matches));
                    }
                }
            }
        }
    }

    #[test]
    fn children_split_a_node_in_two() {
        let tree = MaxTree::new(&[3, 1, 4, 1, 5]);
        let root = tree.cover(0..8);
        assert_eq!(root.len(), 1);
        let [left, right] = tree.children(&root[0]).unwrap();
        assert_eq!((left.largest, left.first_index), (4, 0));
        assert_eq!((right.largest, right.first_index), (5, 4));
        let [_, second] = tree.children(&left).unwrap();
        let [third, _] = tree.children(&second).unwrap();
        assert_eq!((third.largest, third.first_index, tree.children(&third)), (4, 2, None));
    }
}
