//! The names of functions in C++ and Rust as people write them, from those that the compilers give them.

use cpp_demangle::{DemangleOptions, ParseOptions, Symbol};
use std::fmt::{self, Write};

/// Most bytes of a name, and of the text that it stands for: references to earlier parts can make megabytes of a few bytes.
const MOST_BYTES: usize = 16 << 10;
/// Largest depth of what a name of C++ is made of.
const DEEPEST: u32 = 96;

/// A function's name for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Readable {
    /// With its parameters, which distinguish functions of C++: `model::step<int>(int)`.
    pub(super) whole: String,
    /// Without them: `model::step<int>`, in Rust `model::step::<i32>`.
    pub(super) path: String,
}

impl Readable {
    /// Returns the name that stands for what a compiler wrote; `None` if it is the name of a function in C, or none.
    pub(super) fn new(name: &str) -> Option<Self> {
        if name.len() > MOST_BYTES || !name.starts_with("_Z") && !name.starts_with("_R") {
            return None;
        }
        if let Some(path) = rust(name) {
            return Some(Self { whole: path.clone(), path });
        }
        // The name of a copy, such as `.constprop.0`, follows.
        let name = name.split('.').next().unwrap_or_default();
        let limits = ParseOptions::default().recursion_limit(DEEPEST);
        let symbol = Symbol::new_with_options(name, &limits).ok()?;
        let options = DemangleOptions::new().no_return_type().recursion_limit(DEEPEST);
        Some(Self { whole: text(&symbol, options)?, path: text(&symbol, options.no_params())? })
    }

    /// Returns the path without type arguments: `model::step`. A method of an implementation has the path of its type.
    pub(super) fn plain(&self) -> String {
        plain(&self.path)
    }
}

/// A text that does not become too long.
struct Bounded(String);

impl Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > MOST_BYTES {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

fn text(symbol: &Symbol<&str>, options: DemangleOptions) -> Option<String> {
    let mut text = Bounded(String::new());
    symbol.structured_demangle(&mut text, &options).ok()?;
    Some(text.0)
}

fn rust(name: &str) -> Option<String> {
    let found = rustc_demangle::try_demangle(name).ok()?;
    let mut text = Bounded(String::new());
    write!(text, "{found:#}").ok()?; // without the hash
    let copy = match name.starts_with("_R") {
        true => name.find('.').map(|at| &name[at..]),
        false => name.rfind("E.").map(|at| &name[at + 1..]),
    };
    Some(text.0.strip_suffix(copy.unwrap_or_default()).unwrap_or(&text.0).to_owned())
}

fn plain(path: &str) -> String {
    if path.contains("operator") {
        return path.to_owned(); // its name may have such brackets
    }
    // `<Type as Trait>::step` and `<Type>::step`
    if let Some(rest) = path.strip_prefix('<')
        && let Some(end) = end_of_brackets(rest)
    {
        let (inner, after) = (&rest[..end], &rest[end + 1..]);
        let of_type = inner.split(" as ").next().unwrap_or_default();
        return format!("{}{}", plain(of_type), plain(after));
    }
    let Some(start) = path.find('<') else { return path.to_owned() };
    let Some(end) = end_of_brackets(&path[start + 1..]) else { return path.to_owned() };
    let before = path[..start].strip_suffix("::").unwrap_or(&path[..start]);
    format!("{before}{}", plain(&path[start + 1 + end + 1..]))
}

/// Returns where the bracket closes that was opened before this text.
fn end_of_brackets(text: &str) -> Option<usize> {
    let mut open = 1;
    for (at, letter) in text.char_indices() {
        match letter {
            '<' => open += 1,
            '>' if !text[..at].ends_with('-') => open -= 1, // not `->`
            _ => {}
        }
        if open == 0 {
            return Some(at);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names are those that c++filt and rustfilt print, without return types.
    #[test]
    fn names_of_compilers_become_those_of_people() {
        for (name, whole, plain) in [
            ("_ZN4main4step17h0123456789abcdefE", "main::step", "main::step"),
            ("_ZN4main4step17h0123456789abcdefE.llvm.42", "main::step", "main::step"),
            (
                "_ZN52_$LT$main..Model$u20$as$u20$main..Step$LT$u8$GT$$GT$4step17h0123456789abcdefE",
                "<main::Model as main::Step<u8>>::step",
                "main::Model::step",
            ),
            ("_ZN4main4stepEv", "main::step()", "main::step"),
            ("_ZNK5Model4stepEid", "Model::step(int, double) const", "Model::step"),
            ("_Z4stepi", "step(int)", "step"),
            ("_Z4stepi.constprop.0", "step(int)", "step"),
            ("_ZL4stepv", "step()", "step"),
            (
                "_ZN12_GLOBAL__N_14stepEv",
                "(anonymous namespace)::step()",
                "(anonymous namespace)::step",
            ),
            ("_ZNSt6thread4joinEv", "std::thread::join()", "std::thread::join"),
            ("_Z4stepIiEvT_", "step<int>(int)", "step"),
            (
                "_ZN5ModelIdLi3EE4stepERKS0_",
                "Model<double, 3>::step(Model<double, 3> const&)",
                "Model::step",
            ),
            ("_RNvCs1234_4main4step", "main::step", "main::step"),
            ("_RNvNtCsAbC9_4main5inner4step", "main::inner::step", "main::inner::step"),
            ("_RINvCs1234_4main4stepmE", "main::step::<u32>", "main::step"),
            (
                "_RNvXCs1234_4mainNtB2_5ModelNtB2_4Step4step",
                "<main::Model as main::Step>::step",
                "main::Model::step",
            ),
        ] {
            let found = Readable::new(name).unwrap_or_else(|| panic!("{name}"));
            assert_eq!((&*found.whole, &*found.plain()), (whole, plain), "{name}");
        }
        for name in ["step", "_ZN4mai", "_ZN99999999999999999999stepE", "_R", "_Z", ""] {
            assert_eq!(Readable::new(name), None, "{name}");
        }
        let whole = "_RNvNtCsAbC9_4main5inner4step";
        (0..whole.len()).for_each(|length| drop(Readable::new(&whole[..length])));
    }

    /// Each of these parameters doubles the one before it: 2 to the power of 60 would be written.
    #[test]
    fn a_short_name_does_not_become_a_long_text() {
        let digit =
            |number: u32| char::from_digit(number, 36).expect("a digit").to_ascii_uppercase();
        let doubled: String = (1..31).map(|at| format!("S0_IS{0}_S{0}_E", digit(at))).collect();
        let short = |length: usize| format!("_Z4step1a1pIS_S_E{}", &doubled[..length * 11]);
        let found = Readable::new(&short(2)).expect("a short one");
        assert!(
            found.whole.ends_with(", p<p<p<a, a>, p<a, a> >, p<p<a, a>, p<a, a> > >)"),
            "{found:?}"
        );
        assert_eq!(Readable::new(&short(30)), None);
    }

    #[test]
    fn brackets_of_all_kinds_are_left_out() {
        for (path, expected) in [
            ("a::b<c<d>, e>::f", "a::b::f"),
            ("a::b::<fn(i32) -> i32>::f", "a::b::f"),
            ("<[a::T] as b::S<c>>::f::<d>", "[a::T]::f"),
            ("a::operator<", "a::operator<"),
            ("a::b<", "a::b<"),
            ("<", "<"),
            ("", ""),
        ] {
            assert_eq!(plain(path), expected);
        }
    }
}
