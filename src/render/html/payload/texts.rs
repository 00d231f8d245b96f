//! The names of a page: in the order of their bytes, each without the beginning that it shares with
//! the one before it. Deflate looks back 32 KB, and this order puts similar names side by side.

use super::column::Column;
use crate::error::Result;
use crate::folded::{FrameId, StackTable};

/// The sections of names.
pub(super) fn sections(names: &StackTable) -> Result<Vec<(&'static str, Vec<u8>)>> {
    let name = |id: u32| names.name(FrameId(id));
    let mut order: Vec<u32> = (0..names.frame_count() as u32).collect();
    order.sort_unstable_by(|&a, &b| name(a).cmp(name(b)));
    let [mut shared, mut lengths, mut texts, mut ranks] = [(); 4].map(|()| Column::of_names());
    let mut previous: &[u8] = b"";
    let mut ranked = vec![0u32; order.len()];
    for (rank, &id) in (0u32..).zip(&order) {
        let text = name(id);
        let same = previous.iter().zip(text).take_while(|(a, b)| a == b).count();
        shared.push(same as u128)?;
        lengths.push((text.len() - same) as u128)?;
        texts.extend(&text[same..])?;
        previous = text;
        ranked[id as usize] = rank;
    }
    let mut expected = 0;
    for rank in ranked {
        ranks.push(zigzag(i64::from(rank) - expected))?;
        expected = i64::from(rank) + 1;
    }
    Ok(vec![
        ("ranks", ranks.finish()?),
        ("shared", shared.finish()?),
        ("lengths", lengths.finish()?),
        ("texts", texts.finish()?),
    ])
}

/// 0, -1, 1, -2, … as 0, 1, 2, 3, …
pub(super) fn zigzag(number: i64) -> u128 {
    ((number << 1) ^ (number >> 63)) as u64 as u128
}
