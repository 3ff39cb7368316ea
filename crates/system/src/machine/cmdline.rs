//! The kernel command line, split like the kernel splits it.

/// The parameters of a kernel command line.
#[derive(Debug, Clone)]
pub(crate) struct CommandLine {
    parameters: Vec<(String, Option<String>)>,
}

impl CommandLine {
    /// Splits a command line at white space outside double quotes, up to `--`, after which everything is for
    /// init. `-` and `_` are equal in names.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut quoted = false;
        let words = text.split(|c: char| {
            quoted ^= c == '"';
            c.is_whitespace() && !quoted
        });
        let parameters = words.filter(|word| !word.is_empty()).take_while(|&word| word != "--");
        Self { parameters: parameters.map(parameter).collect() }
    }

    /// Returns the requested value: that of the last `name=value`, or `name` itself if it has no value.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<String> {
        let (_, value) = self.parameters.iter().rfind(|(key, _)| *key == normal(name))?;
        Some(value.clone().unwrap_or_else(|| name.to_owned()))
    }
}

fn parameter(word: &str) -> (String, Option<String>) {
    let word = word.trim_matches('"');
    match word.split_once('=') {
        Some((name, value)) => (normal(name), Some(value.trim_matches('"').to_owned())),
        None => (normal(word), None),
    }
}

fn normal(name: &str) -> String {
    name.replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_found_as_the_kernel_finds_them() {
        let cases: &[(&str, &str, &str, Option<&str>)] = &[
            ("value", "quiet nohz_full=2-7 ro", "nohz_full", Some("2-7")),
            ("flag", "ro nosmt", "nosmt", Some("nosmt")),
            ("flag with value", "nosmt=force", "nosmt", Some("force")),
            ("last one wins", "psi=0 psi=1", "psi", Some("1")),
            ("dash is underscore", "rcu-nocbs=1", "rcu_nocbs", Some("1")),
            ("quoted value", "isolcpus=\"1 2\" psi=0", "isolcpus", Some("1 2")),
            ("quoted whole", "\"isolcpus=1 2\" psi=0", "isolcpus", Some("1 2")),
            ("value with equals", "dyndbg=file=x", "dyndbg", Some("file=x")),
            ("for init", "ro -- nohz_full=1", "nohz_full", None),
            ("part of a name", "xnohz_full=1", "nohz_full", None),
            ("empty value", "isolcpus= ro", "isolcpus", Some("")),
            ("open quote", "ro a=\"1 psi=0", "psi", None),
            ("empty", "", "psi", None),
        ];
        for (case, text, name, expected) in cases {
            let got = CommandLine::parse(text).get(name);
            assert_eq!(got.as_deref(), *expected, "case: {case}");
        }
    }
}
