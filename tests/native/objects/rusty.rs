//! Generic code, closures and iterators: many levels of inlined functions.
#![no_std]

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}

pub struct Order {
    price: u64,
    count: u64,
}

trait Total {
    fn total(&self) -> u64;
}

impl Total for Order {
    #[inline(always)]
    fn total(&self) -> u64 {
        self.price.wrapping_mul(self.count)
    }
}

#[inline(never)]
fn sum<T: Total>(orders: &[T]) -> u64 {
    orders.iter().map(|order| order.total().rotate_left(3)).filter(|n| n % 3 != 0).fold(0, |a, b| a ^ b)
}

#[unsafe(no_mangle)]
pub extern "C" fn sum_orders(first: *const Order, count: usize) -> u64 {
    sum(unsafe { core::slice::from_raw_parts(first, count) })
}
