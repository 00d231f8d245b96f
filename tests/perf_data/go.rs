//! Go's functions that go on to another stack.

use std::process::Command;

use fg_tools::symbolize::{Module, Object, Search};

use super::kit::*;
use super::{below, fold_bytes, root_with_maps};

const CODE: u64 = 0x7000_0000;

/// A function of Go's name; one section makes a program Go's.
const SOURCE: &str = r#"
__attribute__((noinline)) int leaf(int x) { __asm__ volatile(""); return x + 1; }
int switching(int) __asm__("runtime.mcall");
__attribute__((noinline)) int switching(int x) { __asm__ volatile(""); return leaf(x) + 2; }
int main(int n, char **v) { return switching(n) + 3; }
#ifdef GO
__attribute__((section(".gopclntab"))) int table = 1;
#endif
"#;

/// The place in the file of a byte of a function.
fn place(object: &Object, function: &[u8], byte: u64) -> u64 {
    let svma = object.functions_named(&[function])[0].start + byte;
    let segment = object.segments().find(|segment| segment.svma.contains(&svma)).expect("it is loaded");
    CODE + svma - segment.svma.start + segment.file.start
}

#[test]
#[cfg(target_arch = "x86_64")]
fn nothing_stands_below_a_function_that_left_its_stack() {
    let root = root_with_maps(&[]);
    let folder = root.path().join("bin");
    std::fs::create_dir(&folder).unwrap();
    let (file, program) = (folder.join("app.c"), folder.join("app"));
    std::fs::write(&file, SOURCE).unwrap();
    for (flag, is_go) in [("-DC", false), ("-DGO", true)] {
        let mut cc = Command::new("cc");
        let made = cc.args(["-O1", flag, "-o"]).arg(&program).arg(&file).status();
        if !made.is_ok_and(|status| status.success()) {
            eprintln!("skipped: no cc here");
            return;
        }
        let module = Module { path: program.to_str().unwrap().into(), build_id: None };
        let object = Search::default().open(&module).unwrap();
        let stack_at = 0x7fff_0000u64;
        // Wherever the callers are looked for, they are the same.
        let mut stack = place(&object, b"runtime.mcall", 5).to_le_bytes().to_vec();
        stack.extend(place(&object, b"main", 5).to_le_bytes().repeat(8));
        let fields = USUAL | REGS_USER | STACK_USER;
        let mut r = Recording::new(PLAIN, &[Event { fields, registers: 0x1c0, ..Event::default() }]);
        r.comm(1, 1, 0, b"app", false);
        r.mmap(1, 0, CODE, 0x10_0000, 0, "/bin/app");
        let registers = vec![0, stack_at, place(&object, b"leaf", 0)];
        let chain = vec![];
        r.sample(&Sample {
            pid: 1,
            tid: 1,
            time: 10,
            period: 5,
            chain,
            registers,
            stack,
            ..Sample::default()
        });
        let (text, _) = fold_bytes(&r.bytes(), &below(root.path())).unwrap();
        assert_eq!(text == "app;runtime.mcall;leaf 5\n", is_go, "{text}");
        assert!(is_go || text.ends_with("main;runtime.mcall;leaf 5\n"), "{text}");
    }
}
