//! The compiled loops match the kernels' descriptions: their code is read back and decoded.

#![cfg(target_arch = "x86_64")]

use anechoic_kernels::memory;
use anechoic_kernels::work::{Family, KERNELS, find};
use iced_x86::Mnemonic::{
    self, Add, Call, Cmp, Dec, Div, Imul, Jmp, Jne, Lea, Mov, Movdqa, Paddq, Ret, Shl, Shr, Sub,
    Syscall,
};
use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, OpKind};
use std::collections::{BTreeMap, HashSet};

/// The longest that an x86 instruction can be, in bytes.
const LONGEST: usize = 15;

/// The instructions from `address` up to a return.
fn decode(address: u64) -> Vec<Instruction> {
    let mut code: Vec<Instruction> = Vec::new();
    while code.last().is_none_or(|last| last.mnemonic() != Ret) {
        let at = code.last().map_or(address, Instruction::next_ip);
        // SAFETY: an instruction begins at `at`, as none before it returned. Code is readable, and
        // more of it follows: a kernel is not the last function of the program.
        let bytes = unsafe { std::slice::from_raw_parts(at as *const u8, LONGEST) };
        let instruction = Decoder::with_ip(64, bytes, at, DecoderOptions::NONE).decode();
        assert!(!instruction.is_invalid(), "no instruction at {at:#x}");
        code.push(instruction);
    }
    code
}

fn function(id: &str) -> Vec<Instruction> {
    decode(find(id).expect("there is such a kernel").run as usize as u64)
}

/// Returns the only loop of a function, with the branch back.
fn loop_of(code: &[Instruction]) -> &[Instruction] {
    let back: Vec<usize> = (0..code.len()).filter(|&i| goes_back(&code[i])).collect();
    assert_eq!(back.len(), 1, "branches that go back");
    let begin = code.iter().position(|i| i.ip() == code[back[0]].near_branch_target());
    &code[begin.expect("the branch goes to an instruction")..=back[0]]
}

fn goes_back(instruction: &Instruction) -> bool {
    let branch = instruction.flow_control();
    matches!(branch, FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch)
        && instruction.near_branch_target() <= instruction.ip()
}

fn count(code: &[Instruction]) -> BTreeMap<Mnemonic, usize> {
    let mut counts = BTreeMap::new();
    for instruction in code {
        *counts.entry(instruction.mnemonic()).or_default() += 1;
    }
    counts
}

/// Counts the instructions that read or write memory by an operand.
fn memory_accesses(code: &[Instruction]) -> usize {
    let accesses =
        code.iter().filter(|i| i.mnemonic() != Lea && operands(i).contains(&OpKind::Memory));
    accesses.count()
}

fn operands(instruction: &Instruction) -> Vec<OpKind> {
    instruction.op_kinds().collect()
}

/// Counts each instruction.
type Counts = &'static [(Mnemonic, usize)];

/// Each case has the kernel, the instructions of its loop, and how many of them access memory.
const LOOPS: &[(&str, Counts, usize)] = &[
    ("intadd", &[(Add, 512), (Dec, 1), (Jne, 1)], 0),
    ("intadd-chain", &[(Add, 512), (Dec, 1), (Jne, 1)], 0),
    ("intmul", &[(Imul, 512), (Dec, 1), (Jne, 1)], 0),
    ("intmul-chain", &[(Imul, 512), (Dec, 1), (Jne, 1)], 0),
    // Two moves prepare a division, and its quotient is added to a sum.
    ("intdiv", &[(Div, 512), (Mov, 1024), (Add, 512), (Dec, 1), (Jne, 1)], 0),
    ("intdiv-chain", &[(Div, 512), (Dec, 1), (Jne, 1)], 0),
    ("l1load", &[(Mov, 512), (Dec, 1), (Jne, 1)], 512),
    ("counter", &[(Mov, 2), (Add, 1), (Cmp, 1), (Jne, 1)], 2),
    ("counter-reg", &[(Add, 1), (Cmp, 1), (Jne, 1)], 0),
    ("sum", &[(Mov, 2), (Add, 2), (Cmp, 1), (Jne, 1)], 3),
    ("sum-reg", &[(Add, 2), (Cmp, 1), (Jne, 1)], 0),
    ("fibonacci", &[(Mov, 6), (Add, 1), (Sub, 1), (Jne, 1)], 7),
    ("fibonacci-reg", &[(Lea, 1), (Mov, 2), (Dec, 1), (Jne, 1)], 0),
    ("call", &[(Call, 1), (Sub, 1), (Jne, 1)], 1),
    ("call-reg", &[(Call, 1), (Dec, 1), (Jne, 1)], 0),
    ("trap", &[(Mov, 1), (Syscall, 1), (Shr, 1), (Add, 1), (Dec, 1), (Jne, 1)], 0),
];

#[test]
fn a_loop_has_its_instructions_and_no_others() {
    for &(id, instructions, memory) in LOOPS {
        let code = function(id);
        let body = loop_of(&code);
        assert_eq!(count(body), instructions.iter().copied().collect(), "{id}");
        assert_eq!(memory_accesses(body), memory, "{id}: memory accesses");
        assert_eq!(body[0].ip() % 64, 0, "{id}: where the loop starts");
    }
    let listed: HashSet<_> = LOOPS.iter().map(|row| row.0).collect();
    for kernel in KERNELS.iter().filter(|kernel| kernel.family != Family::Null) {
        assert!(listed.contains(kernel.id), "{} has no row here", kernel.id);
    }
}

/// The same of the kernels that pass through memory.
const MEMORY_LOOPS: &[(&str, Counts, usize)] = &[
    ("read-sequential", &[(Paddq, 4), (Add, 1), (Dec, 1), (Jne, 1)], 4),
    ("write-sequential", &[(Movdqa, 4), (Add, 1), (Dec, 1), (Jne, 1)], 4),
    ("read-random", &[(Mov, 1), (Dec, 1), (Jne, 1)], 1),
    ("read-random-local", &[(Mov, 1), (Dec, 1), (Jne, 1)], 1),
    ("read-random-on", &[(Mov, 1), (Dec, 1), (Jne, 1)], 1),
    ("write-random", &[(Mov, 2), (Dec, 1), (Jne, 1)], 2),
    ("write-random-local", &[(Mov, 2), (Dec, 1), (Jne, 1)], 2),
    ("matrix", &[(Mov, 1), (Imul, 1), (Add, 3), (Dec, 1), (Jne, 1)], 2),
    // Every variable is loaded for each use and stored after each change, beside the two loads of the matrix and the vector.
    ("matrix-memory", &[(Mov, 4), (Imul, 2), (Add, 4), (Shl, 1), (Cmp, 1), (Jne, 1)], 11),
];

/// Returns the address of a function that is called through the table of addresses of another unit of code.
fn callee_in_table(instruction: &Instruction) -> Option<u64> {
    let is_in_table = instruction.is_call_near_indirect() && instruction.is_ip_rel_memory_operand();
    // SAFETY: the loader has filled the table, which is aligned.
    is_in_table.then(|| unsafe { *(instruction.ip_rel_memory_address() as *const u64) })
}

/// The code of a kernel's loop: of the kernel itself, or of what it calls for each part of the memory.
fn memory_function(id: &str) -> Vec<Instruction> {
    let code = decode(memory::find(id).expect("there is such a kernel").run as usize as u64);
    // What it calls before that computes sizes; with direct calls, those in the table lead to a panic.
    let direct = code.iter().rfind(|i| i.is_call_near());
    let in_table = || code.iter().filter_map(callee_in_table).next_back();
    let callee = direct.map(Instruction::near_branch_target).or_else(in_table);
    callee.map_or(code, decode)
}

#[test]
fn a_loop_over_memory_accesses_each_line_once() {
    for &(id, instructions, memory) in MEMORY_LOOPS {
        let code = memory_function(id);
        let body = loop_of(&code);
        assert_eq!(count(body), instructions.iter().copied().collect(), "{id}");
        assert_eq!(memory_accesses(body), memory, "{id}: memory accesses");
        assert_eq!(body[0].ip() % 64, 0, "{id}: where the loop starts");
    }
}

#[test]
fn the_code_kernel_has_one_addition_and_one_jump_in_each_of_its_lines() {
    let code = memory_function("code");
    let lines: Vec<_> =
        code.iter().filter(|i| i.ip().is_multiple_of(64) && i.mnemonic() == Add).collect();
    assert_eq!(lines.len(), 8192);
    assert!(lines.windows(2).all(|pair| pair[1].ip() - pair[0].ip() == 64));
    let jumps = code.iter().filter(|i| i.mnemonic() == Jmp && i.is_jmp_short_or_near());
    assert_eq!(jumps.filter(|i| i.near_branch_target().is_multiple_of(64)).count(), 8192);
}

#[test]
fn the_empty_kernel_has_no_loop() {
    let code = function("empty");
    assert_eq!(memory_accesses(&code), 0);
    assert!(
        code.iter().all(|i| matches!(i.flow_control(), FlowControl::Next | FlowControl::Return))
    );
}

#[test]
fn what_is_called_counts_and_returns() {
    for (id, instructions, memory) in
        [("call", [Mov, Add, Mov, Ret].as_slice(), 2), ("call-reg", &[Add, Ret], 0)]
    {
        let code = function(id);
        let call = loop_of(&code).iter().find(|i| i.mnemonic() == Call).expect("it calls");
        let callee = decode(call.near_branch_target());
        assert!(callee.iter().map(Instruction::mnemonic).eq(instructions.iter().copied()), "{id}");
        assert_eq!(memory_accesses(&callee), memory, "{id}");
    }
}

/// Each case has the kernel, its type of instruction, how many registers these write in turn, and how many
/// other instructions each has.
const TICK: &[(&str, Mnemonic, usize, usize)] = &[
    ("intadd", Add, 8, 0),
    ("intadd-chain", Add, 1, 0),
    ("intmul", Imul, 10, 0),
    ("intmul-chain", Imul, 1, 0),
    ("intdiv", Div, 1, 3),
    ("intdiv-chain", Div, 1, 0),
    ("l1load", Mov, 1, 0),
];

#[test]
fn a_tick_kernel_is_512_of_its_type_and_its_loop_under_one_percent_of_them() {
    for &(id, mnemonic, chains, beside) in TICK {
        let code = function(id);
        let body = loop_of(&code);
        let kind: Vec<_> = body.iter().filter(|i| i.mnemonic() == mnemonic).collect();
        let overhead = body.len() - kind.len() * (1 + beside);
        assert_eq!(kind.len(), 512, "{id}");
        assert!(overhead * 100 <= kind.len(), "{id}: {overhead} instructions for the loop");

        let written: HashSet<_> = kind.iter().map(|i| i.op0_register()).collect();
        assert_eq!(written.len(), chains, "{id}: chains");
        for (i, instruction) in kind.iter().enumerate() {
            assert_eq!(instruction.op0_register(), kind[i % chains].op0_register(), "{id}");
            let plain = |kind: &OpKind| matches!(kind, OpKind::Register | OpKind::Memory);
            assert!(operands(instruction).iter().all(plain), "{id}: an operand in the instruction");
        }
    }
}

#[test]
fn a_chained_instruction_reads_what_the_last_one_wrote() {
    for instruction in loop_of(&function("l1load")).iter().filter(|i| i.mnemonic() == Mov) {
        let address = [instruction.memory_base(), instruction.memory_index()];
        assert!(address.contains(&instruction.op0_register()));
    }
    for id in ["intadd-chain", "intmul-chain"] {
        let code = function(id);
        let kind = &loop_of(&code)[..512];
        // With three operands it would write its target without reading it.
        assert!(kind.iter().all(|i| i.op_count() == 2), "{id}");
    }
}
