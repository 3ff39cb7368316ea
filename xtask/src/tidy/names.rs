//! Names that one can search for: no value and no function is named `of`, and closures with a name are short and few.

use super::Finding;
use crate::source::Source;
use std::collections::BTreeMap;
use std::path::Path;
use syn::parse::{ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Block, Expr, Local, Pat, Token};

/// This file, which holds the ceilings.
const HERE: &str = "xtask/src/tidy/names.rs";

/// Lines of a closure with a name beyond which it should be a function.
const CLOSURE_LINES: usize = 3;

/// Named closures per 1,000 lines of code that are few enough: the ceiling need not fall further.
const FEW_CLOSURES: f64 = 11.0;

/// How far below its ceiling a crate's share of named closures may lie. Each added line of code changes the share;
/// without this room, changes that have nothing to do with closures would break the rule.
const ROOM: f64 = 1.5;

/// What a crate may have beside no value and no function named `of`. A ceiling only falls: whoever lowers a number lowers it
/// here.
struct Ceiling {
    name: &'static str,
    /// Closures with a name that are longer than `CLOSURE_LINES`.
    long_closures: usize,
    /// Closures with a name per 1,000 lines of code.
    closures: usize,
}

#[rustfmt::skip]
const CEILINGS: &[Ceiling] = &[
    Ceiling { name: "analyze", long_closures: 46, closures: 15 },
    Ceiling { name: "attribute", long_closures: 6, closures: 11 },
    Ceiling { name: "bare", long_closures: 9, closures: 11 },
    Ceiling { name: "cli", long_closures: 13, closures: 11 },
    Ceiling { name: "kernels", long_closures: 3, closures: 11 },
    Ceiling { name: "lab", long_closures: 0, closures: 11 },
    Ceiling { name: "measure", long_closures: 33, closures: 11 },
    Ceiling { name: "mpi", long_closures: 2, closures: 11 },
    Ceiling { name: "predict", long_closures: 17, closures: 17 },
    Ceiling { name: "recording", long_closures: 20, closures: 11 },
    Ceiling { name: "report", long_closures: 14, closures: 16 },
    Ceiling { name: "simulate", long_closures: 7, closures: 11 },
    Ceiling { name: "system", long_closures: 26, closures: 14 },
    Ceiling { name: "xtask", long_closures: 10, closures: 15 },
];

/// What a file or a crate has.
#[derive(Debug, Default, PartialEq)]
struct Counts {
    values: usize,
    functions: usize,
    closures: usize,
    long_closures: usize,
    /// Lines of code that ships, without comments.
    lines: usize,
}

pub(super) fn check(_root: &Path, sources: &[Source]) -> anyhow::Result<Vec<Finding>> {
    let counts = by_crate(sources)?;
    let mut findings = Vec::new();
    let mut report = |what| findings.push(Finding { file: HERE.into(), what });
    for (name, counts) in &counts {
        match CEILINGS.iter().find(|ceiling| ceiling.name == *name) {
            Some(ceiling) => against(ceiling, counts).into_iter().for_each(&mut report),
            None => report(format!("has no ceiling for the crate {name}")),
        }
    }
    Ok(findings)
}

/// Closures with a name per 1,000 lines of code.
///
/// # Errors
/// A file that is not Rust.
pub fn closures_per_1000_lines(sources: &[Source]) -> anyhow::Result<f64> {
    let counts = by_crate(sources)?;
    let all = counts.values().fold(Counts::default(), |sum, counts| Counts {
        closures: sum.closures + counts.closures,
        lines: sum.lines + counts.lines,
        ..sum
    });
    Ok(all.share_of_closures())
}

fn by_crate(sources: &[Source]) -> anyhow::Result<BTreeMap<&str, Counts>> {
    let mut crates: BTreeMap<&str, Counts> = BTreeMap::new();
    for source in sources {
        let found = counts(source)?;
        let sum = crates.entry(source.crate_name()).or_default();
        sum.values += found.values;
        sum.functions += found.functions;
        sum.closures += found.closures;
        sum.long_closures += found.long_closures;
        sum.lines += found.lines;
    }
    Ok(crates)
}

/// What is wrong with the counts of a crate, and which number to write.
fn against(ceiling: &Ceiling, counts: &Counts) -> Vec<String> {
    let name = ceiling.name;
    let names = [
        ("values named `of`", counts.values, "name what each value is"),
        (
            "functions named `of` or `of_…`",
            counts.functions,
            "name what each makes (`new`, `from_…`) or returns",
        ),
    ];
    let mut wrong = Vec::new();
    for (what, count, remedy) in names {
        if count > 0 {
            wrong.push(format!("{name} has {count} {what}: {remedy}"));
        }
    }
    let (long, most) = (counts.long_closures, ceiling.long_closures);
    let what = format!("{name} has {long} named closures over 3 lines, ceiling {most}");
    if long > most {
        wrong.push(format!("{what}: make each a function"));
    } else if long < most {
        wrong.push(format!("{what}: write `long_closures: {long}` for {name}"));
    }
    let (share, limit) = (counts.share_of_closures(), ceiling.closures as f64);
    let what = format!("{name} has {share:.1} named closures per 1,000 lines, ceiling {limit}");
    let lower = share.max(FEW_CLOSURES).ceil();
    if share > limit {
        wrong.push(format!("{what}: make functions or plain expressions of some"));
    } else if share + ROOM < limit && lower < limit {
        wrong.push(format!("{what}: write `closures: {lower}` for {name}"));
    }
    wrong
}

fn counts(source: &Source) -> anyhow::Result<Counts> {
    let mut names = Names::default();
    names.visit_file(&source.parsed()?);
    let mut found = Counts { closures: 0, long_closures: 0, ..names.found };
    if source.ships() {
        let mut shipped = Names::default();
        shipped.visit_file(&source.shipped()?);
        found.closures = shipped.found.closures;
        found.long_closures = shipped.found.long_closures;
        found.lines = source.shipped_lines().filter(|line| is_code(line)).count();
    }
    Ok(found)
}

fn is_code(line: &str) -> bool {
    let line = line.trim_start();
    !line.is_empty() && !line.starts_with("//")
}

impl Counts {
    fn share_of_closures(&self) -> f64 {
        self.closures as f64 * 1e3 / self.lines.max(1) as f64
    }
}

/// Counts the names that a file introduces.
#[derive(Default)]
struct Names {
    found: Counts,
}

impl<'ast> Visit<'ast> for Names {
    fn visit_pat_ident(&mut self, pattern: &'ast syn::PatIdent) {
        self.found.values += usize::from(pattern.ident == "of");
        visit::visit_pat_ident(self, pattern);
    }

    fn visit_field(&mut self, field: &'ast syn::Field) {
        self.found.values += usize::from(field.ident.as_ref().is_some_and(|name| name == "of"));
        visit::visit_field(self, field);
    }

    fn visit_signature(&mut self, signature: &'ast syn::Signature) {
        let name = signature.ident.to_string();
        self.found.functions += usize::from(name == "of" || name.starts_with("of_"));
        visit::visit_signature(self, signature);
    }

    fn visit_local(&mut self, local: &'ast Local) {
        if let Some(Expr::Closure(_)) = local.init.as_ref().map(|init| &*init.expr) {
            let (first, last) = (local.let_token.span.start(), local.semi_token.span.end());
            let lines = last.line - first.line + 1;
            self.found.closures += 1;
            self.found.long_closures += usize::from(lines > CLOSURE_LINES);
        }
        visit::visit_local(self, local);
    }

    /// The arguments of a macro are tokens: those of `assert!`, `format!` and `matches!` are Rust again.
    fn visit_macro(&mut self, called: &'ast syn::Macro) {
        let tokens = &called.tokens;
        let expressions = Punctuated::<Expr, Token![,]>::parse_terminated;
        if let Ok(expressions) = expressions.parse2(tokens.clone()) {
            expressions.iter().for_each(|expression| self.visit_expr(expression));
        } else if let Ok((value, pattern, guard)) = matched.parse2(tokens.clone()) {
            self.visit_expr(&value);
            self.visit_pat(&pattern);
            guard.iter().for_each(|guard| self.visit_expr(guard));
        } else if let Ok(statements) = Block::parse_within.parse2(tokens.clone()) {
            statements.iter().for_each(|statement| self.visit_stmt(statement));
        }
    }
}

/// The arguments of `matches!`.
fn matched(input: ParseStream) -> syn::Result<(Expr, Pat, Option<Expr>)> {
    let value = input.parse()?;
    input.parse::<Token![,]>()?;
    let pattern = Pat::parse_multi_with_leading_vert(input)?;
    let guard =
        if input.parse::<Option<Token![if]>>()?.is_some() { Some(input.parse()?) } else { None };
    input.parse::<Option<Token![,]>>()?;
    Ok((value, pattern, guard))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Counts {
        counts(&Source { path: "crates/a/src/b.rs".into(), text: text.to_owned() }).expect("Rust")
    }

    #[test]
    fn values_and_functions_named_of_are_counted_where_they_are_named() {
        let cases = [
            ("let", "fn f() { let of = 1; of + of; }", 1, 0),
            ("let of two", "fn f() { let (mut of, b) = c; }", 1, 0),
            ("parameter", "fn f(of: u8) -> u8 { of }", 1, 0),
            ("closure", "fn f() { g(|of| of.a, |&of: &u8| of) }", 2, 0),
            ("pattern", "fn f() { if let Some(of) = a {} match b { C { of, .. } => of } }", 2, 0),
            ("loop", "fn f() { for (of, b) in c {} }", 1, 0),
            ("field", "struct A { of: u8 } enum B { C { of: u8 } }", 2, 0),
            ("use of a field", "fn f() { a.of }", 0, 0),
            (
                "in a macro",
                "fn f() { assert!(a.all(|of| of), \"of {of}\"); vec![|of| 1; 2]; }",
                2,
                0,
            ),
            ("in a pattern of a macro", "fn f() { matches!(a, Some(of) if of > 1); }", 1, 0),
            ("in text", "// of\nfn f() { \"|of| let of\"; r#\"fn of()\"#; } /* of */", 0, 0),
            ("function", "fn of() {} trait A { fn of_b(); } impl A for B { fn of_b() {} }", 0, 3),
            ("call", "fn f() { A::of(1).of_b() }", 0, 0),
            ("other names", "fn offer(off: u8, of_b: u8, b_of: u8) {} fn b_of() {}", 0, 0),
            ("unit tests", "#[cfg(test)]\nmod tests { fn of() { let of = 1; } }", 1, 1),
        ];
        for (name, text, values, functions) in cases {
            let found = found(text);
            assert_eq!((found.values, found.functions), (values, functions), "case: {name}");
        }
    }

    #[test]
    fn closures_with_a_name_are_counted_with_their_lines() {
        let of_lines = |n: usize| format!("fn f() {{\nlet a = |b| {{{}}};\n}}", "\n".repeat(n - 1));
        let cases = [
            ("short", of_lines(1), 1, 0),
            ("three lines", of_lines(3), 1, 0),
            ("four lines", of_lines(4), 1, 1),
            ("that moves", "fn f() { let a = move || 1; let b: fn() = || 2; }".to_owned(), 2, 0),
            ("without a name", "fn f() { g(|b| {\n\n\n\n}); }".to_owned(), 0, 0),
            (
                "in unit tests",
                "#[cfg(test)]\nmod tests { fn f() { let a = || 1; } }".to_owned(),
                0,
                0,
            ),
        ];
        for (name, text, closures, long) in cases {
            let found = found(&text);
            assert_eq!((found.closures, found.long_closures), (closures, long), "case: {name}");
        }
        let lines =
            found("//! A.\n\nfn f() {\n    // b\n    c() // d\n}\n#[cfg(test)]\nmod tests {\n}\n");
        assert_eq!(lines.lines, 3);
    }

    #[test]
    fn a_ceiling_neither_holds_less_than_there_is_nor_stays_when_there_is_less() {
        let ceiling = Ceiling { name: "a", long_closures: 3, closures: 14 };
        let at = |values, functions, long_closures, closures| {
            let counts = Counts { values, functions, closures, long_closures, lines: 1000 };
            against(&ceiling, &counts)
        };
        assert_eq!(at(0, 0, 3, 14), Vec::<String>::new());
        assert_eq!(at(0, 0, 3, 13), Vec::<String>::new(), "the share has room below");
        assert_eq!(
            at(3, 2, 4, 15),
            [
                "a has 3 values named `of`: name what each value is",
                "a has 2 functions named `of` or `of_…`: name what each makes (`new`, `from_…`) or returns",
                "a has 4 named closures over 3 lines, ceiling 3: make each a function",
                "a has 15.0 named closures per 1,000 lines, ceiling 14: make functions or plain expressions of some",
            ]
        );
        assert_eq!(
            at(0, 0, 2, 12),
            [
                "a has 2 named closures over 3 lines, ceiling 3: write `long_closures: 2` for a",
                "a has 12.0 named closures per 1,000 lines, ceiling 14: write `closures: 12` for a",
            ]
        );
        assert_eq!(at(0, 0, 3, 5).len(), 1);
        assert!(at(0, 0, 3, 5)[0].ends_with("write `closures: 11` for a"), "few enough");
        let few = Ceiling { closures: 11, ..ceiling };
        let counts = Counts { long_closures: 3, lines: 1000, ..Counts::default() };
        assert_eq!(against(&few, &counts), Vec::<String>::new());
    }
}
