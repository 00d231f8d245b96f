// Stands alone, so that its recording needs no other file.
#![no_std]
#![no_main]
use core::arch::asm;
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    exit(1)
}
fn exit(code: u64) -> ! {
    unsafe { asm!("syscall", in("rax") 231u64, in("rdi") code, options(noreturn)) }
}
struct Tree {
    words: [u64; 256],
}
trait Visit {
    fn visit(&self, depth: u32) -> u64;
}
impl Visit for Tree {
    #[inline(never)]
    fn visit(&self, depth: u32) -> u64 {
        if depth == 0 {
            return leaf(&self.words);
        }
        (0..3).map(|n| self.visit(depth - 1).rotate_left(n)).fold(0, u64::wrapping_add)
    }
}
#[inline(never)]
fn leaf(words: &[u64]) -> u64 {
    words.iter().map(|w| w.wrapping_mul(31).rotate_left(7)).filter(|w| w % 3 != 0).fold(0, |a, b| a ^ b)
}
#[inline(never)]
fn sort(words: &mut [u64]) {
    words.sort_unstable_by(|a, b| b.cmp(a));
}
#[inline(never)]
fn work(tree: &mut Tree, seed: u64) -> u64 {
    for (n, w) in tree.words.iter_mut().enumerate() {
        *w = (n as u64 ^ seed).wrapping_mul(0x9e3779b97f4a7c15);
    }
    sort(&mut tree.words);
    let t: &dyn Visit = tree;
    t.visit(5)
}
#[unsafe(no_mangle)]
extern "C" fn run() -> ! {
    let mut tree = Tree { words: [0; 256] };
    let mut x = 0;
    for n in 0..9000 {
        x ^= work(&mut tree, n ^ x);
    }
    exit((x == 12345) as u64)
}
#[unsafe(no_mangle)]
unsafe extern "C" fn memset(to: *mut u8, byte: i32, n: usize) -> *mut u8 {
    unsafe { asm!("rep stosb", inout("rdi") to => _, inout("rcx") n => _, in("al") byte as u8) };
    to
}
#[unsafe(no_mangle)]
unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, n: usize) -> *mut u8 {
    unsafe { asm!("rep movsb", inout("rdi") to => _, inout("rsi") from => _, inout("rcx") n => _) };
    to
}
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}
