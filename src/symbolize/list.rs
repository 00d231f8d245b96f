//! A list that only grows, by any thread, and lends what it holds for as long as it lives.

use std::sync::OnceLock;

/// See the module.
pub(super) struct List<T> {
    head: OnceLock<Box<Node<T>>>,
}

struct Node<T> {
    value: T,
    next: OnceLock<Box<Node<T>>>,
}

impl<T> Default for List<T> {
    fn default() -> Self {
        List { head: OnceLock::new() }
    }
}

impl<T> List<T> {
    /// Appends; the lists here have tens of elements, so walking to the end is nothing.
    pub(super) fn push(&self, value: T) -> &T {
        let mut node = Box::new(Node { value, next: OnceLock::new() });
        let mut end = &self.head;
        loop {
            while let Some(next) = end.get() {
                end = &next.next;
            }
            // Another thread may have been faster: then its node is passed, too.
            match end.set(node) {
                Ok(()) => return &end.get().expect("it has just been set").value,
                Err(back) => node = back,
            }
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        let mut at = self.head.get();
        std::iter::from_fn(move || {
            let node = at?;
            at = node.next.get();
            Some(&node.value)
        })
    }
}

impl<T> Drop for List<T> {
    /// One by one: dropping each from within the one before would need stack for all.
    fn drop(&mut self) {
        let mut next = self.head.take();
        while let Some(mut node) = next {
            next = node.next.take();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_what_many_threads_append() {
        let list = List::default();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let list = &list;
                scope.spawn(move || {
                    for n in 0..100 {
                        let value = thread * 100 + n;
                        assert_eq!(*list.push(value), value);
                    }
                });
            }
        });
        let mut all: Vec<i32> = list.iter().copied().collect();
        all.sort_unstable();
        assert_eq!(all, (0..400).collect::<Vec<_>>());
    }

    #[test]
    fn a_long_list_is_dropped_without_recursion() {
        let mut list = List::default();
        for n in 0..300_000 {
            let rest = std::mem::take(&mut list);
            let head = OnceLock::new();
            let mut rest = rest;
            let next = OnceLock::new();
            if let Some(node) = rest.head.take() {
                let _ = next.set(node);
            }
            let _ = head.set(Box::new(Node { value: n, next }));
            list = List { head };
        }
        drop(list);
    }
}
