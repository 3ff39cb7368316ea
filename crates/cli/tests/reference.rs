//! The page `docs/reference/commands.md`, made of the command line itself: an option that several commands have is
//! explained once, and each of these commands names it.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// Commands that have an option before it is explained in one place: subcommands of one command, or any.
const ENOUGH: (usize, usize) = (2, 3);
/// Most values of an option that are listed; more have a command that lists them.
const VALUES: usize = 10;

const INTRODUCTION: &str = "\
Every command with its options; *more* leads to the page about it. `anechoic COMMAND --help` also has examples. \
Times are written like `500ms`, `10s` or `5m`, rates like `1khz`, lists of CPUs like `0-3,8`. \
`anechoic` itself, `measure`, `suite`, `predict`, `export` and `import` begin with the options that all or some of their \
commands have; each of these commands names what it has of the latter.\n";

/// What is used like this is clear from the list of what a command has.
const PLAIN_USES: [&str; 4] =
    ["[OPTIONS]", "<COMMAND>", "[OPTIONS] [RECORDINGS]...", "[OPTIONS] <FILE>..."];

/// Commands that another page explains, so that this one only repeats what they are for. A method has the page of its name.
const EXPLAINED: &[(&str, &str)] = &[
    ("anechoic run", "methods/detours.md"),
    ("anechoic record", "methods/program.md"),
    ("anechoic measure fwq", "methods/fwq-ftq.md"),
    ("anechoic measure ftq", "methods/fwq-ftq.md"),
    ("anechoic suite cmt", "papers/radojkovic-2008.md"),
    ("anechoic suite paging", "papers/radojkovic-2009.md"),
    ("anechoic suite ticks", "papers/tsafrir-2007.md"),
    ("anechoic suite loops", "papers/tsafrir-2007.md"),
    ("anechoic suite memory", "papers/waechtler-2012.md"),
    ("anechoic suite selfish", "papers/karner-2014.md"),
    ("anechoic suite ferreira", "papers/ferreira-2008.md"),
    ("anechoic minimal", "howto/minimal.md"),
    ("anechoic inject", "methods/injection.md"),
    ("anechoic predict bsp", "methods/bsp.md"),
    ("anechoic predict laws", "methods/prediction.md"),
    ("anechoic predict phases", "methods/prediction.md"),
    ("anechoic predict ticks", "methods/serial.md"),
    ("anechoic merge", "methods/hosts.md"),
    ("anechoic compare", "methods/comparison.md"),
    ("anechoic ab", "howto/compare.md"),
    ("anechoic history", "howto/compare.md"),
    ("anechoic gate", "methods/gate.md"),
    ("anechoic certify", "methods/certificate.md"),
    ("anechoic rank", "methods/comparison.md"),
    ("anechoic sweep", "howto/sweep.md"),
];

const COLOUR: &str = "- `--color WHEN`: auto, always or never, all have it; auto has colours on a terminal, unless \
`NO_COLOR` is set or a launcher started the command\n";

/// One option of one command.
struct Row {
    /// As one writes it, such as `-d, --duration TIME`.
    name: String,
    /// What the page states about it.
    line: String,
}

/// A command as its page shows it.
struct Entry<'a> {
    name: &'a str,
    command: &'a clap::Command,
    rows: Vec<Row>,
}

impl Entry<'_> {
    /// The command whose subcommand this one is.
    fn parent(&self) -> &str {
        self.name.rsplit_once(' ').map_or("", |(parent, _)| parent)
    }
}

/// An explanation that stands once for several commands.
struct Shared {
    line: String,
    /// Whether all subcommands of the command at which it stands have it.
    by_all: bool,
}

/// The explanations by the command at which they stand and the name of the option.
type Homes = BTreeMap<String, BTreeMap<String, Shared>>;

/// Returns the page about these commands, without its title.
pub fn page(commands: &[(String, clap::Command)]) -> String {
    let entries: Vec<Entry> = commands
        .iter()
        .map(|(name, command)| Entry { name, command, rows: rows(command) })
        .collect();
    for (name, page) in EXPLAINED {
        assert!(
            entries.iter().any(|entry| entry.name == *name),
            "{name} has {page}, but is no command"
        );
    }
    let homes = homes(&entries);
    let mut text = format!("{INTRODUCTION}\n## anechoic\n\n{COLOUR}{}", list(&homes, "anechoic"));
    for entry in &entries {
        text += &section(entry, &homes);
    }
    text
}

/// Chooses where a line is explained that several commands have: at their common parent, if hardly any other has it,
/// otherwise at `anechoic`. One name has one explanation there: the one of most commands.
fn homes(entries: &[Entry]) -> Homes {
    let mut uses: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for entry in entries {
        for row in &entry.rows {
            uses.entry((&row.name, &row.line)).or_default().push(entry.parent());
        }
    }
    let mut uses: Vec<_> = uses.into_iter().collect();
    uses.sort_by_key(|(_, parents)| std::cmp::Reverse(parents.len()));
    let free =
        |homes: &Homes, name| homes.get("anechoic").is_none_or(|known| !known.contains_key(name));
    let mut homes = Homes::new();
    for ((name, line), parents) in uses {
        let among = |family: &&&str| parents.iter().filter(|parent| parent == family).count();
        let family = parents.iter().max_by_key(among).expect("a command has it");
        let (inside, outside) = (among(&family), parents.len() - among(&family));
        let home = match parents.len() >= ENOUGH.1 && (outside > 0 || *family == "anechoic") {
            true if free(&homes, name) => "anechoic",
            _ if inside >= ENOUGH.0 && *family != "anechoic" => family,
            _ => continue,
        };
        let children = entries.iter().filter(|entry| entry.parent() == home).count();
        let shared = Shared { line: line.to_owned(), by_all: inside == children };
        homes.entry(home.to_owned()).or_default().entry(name.to_owned()).or_insert(shared);
    }
    homes
}

/// Returns the explanations that stand at a command for its subcommands.
fn list(homes: &Homes, name: &str) -> String {
    let lines = |by_all| {
        let here = homes.get(name).into_iter().flat_map(BTreeMap::values);
        here.filter(|shared| shared.by_all == by_all).map(|shared| shared.line.as_str()).collect()
    };
    let (all, some): (String, String) = (lines(true), lines(false));
    let part = |heading, lines: &str| match lines.is_empty() {
        true => String::new(),
        false => format!("\n{heading}:\n\n{lines}"),
    };
    part("All have", &all) + &part("Some have", &some)
}

/// Returns what a command is for: all that its help states, or its first line and the page that explains it.
fn about(entry: &Entry) -> String {
    let short = entry.command.get_about().map(ToString::to_string).unwrap_or_default();
    let long = entry.command.get_long_about().map(ToString::to_string);
    match explained_by(entry.name) {
        Some(page) => format!("{short} ([more](../{page}))"),
        None => long.unwrap_or(short),
    }
}

/// Returns the page that explains a command, below `docs/`.
fn explained_by(name: &str) -> Option<String> {
    if let Some((_, page)) = EXPLAINED.iter().find(|(explained, _)| *explained == name) {
        return Some((*page).to_owned());
    }
    let page = format!("methods/{}.md", name.strip_prefix("anechoic measure ")?);
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    docs.join(&page).exists().then_some(page)
}

/// Returns what the page states about one command.
fn section(entry: &Entry, homes: &Homes) -> String {
    let command = entry.command;
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ");
    let mut text = format!("\n## {}\n\n{}\n", entry.name, about(entry));
    if !PLAIN_USES.iter().any(|plain| usage.ends_with(plain)) {
        let _ = write!(text, "\n`{usage}`\n");
    }
    for alias in command.get_visible_aliases() {
        let _ = write!(text, "\n`anechoic {alias}` is the same command.\n");
    }
    let home_of = |row: &&Row| {
        let has = |home: &&str| {
            let shared = homes.get(*home).and_then(|names| names.get(&row.name));
            shared.is_some_and(|shared| shared.line == row.line)
        };
        [entry.parent(), "anechoic"].into_iter().find(has)
    };
    let own: String = entry
        .rows
        .iter()
        .filter(|row| home_of(row).is_none())
        .map(|row| row.line.as_str())
        .collect();
    if !own.is_empty() {
        let _ = write!(text, "\n{own}");
    }
    let mut shared: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for row in &entry.rows {
        if let Some(home) = home_of(&row)
            && !homes[home][&row.name].by_all
        {
            shared.entry(home).or_default().push(short(row, &homes[home]));
        }
    }
    for (home, names) in shared {
        let anchor = home.replace(' ', "-");
        let _ = write!(text, "\nOf [{home}](#{anchor}): {}\n", names.join(", "));
    }
    if command.has_subcommands() {
        text += &list(homes, entry.name);
    }
    let after = command.get_after_long_help().or(command.get_after_help()).map(ToString::to_string);
    let after = after.unwrap_or_default();
    for paragraph in after.split("\n\n").filter(|text| !text.starts_with("Example")) {
        let is_text = paragraph.lines().all(|line| !line.starts_with(' '));
        let _ = match is_text {
            true => write!(text, "\n{paragraph}\n"),
            false => write!(text, "\n```text\n{paragraph}\n```\n"),
        };
    }
    text
}

/// Returns the long name of an option, with its value where two of one long name are explained together.
fn short(row: &Row, names: &BTreeMap<String, Shared>) -> String {
    let long = |name: &str| name.split(", ").last().unwrap_or_default().to_owned();
    let bare = |name: &str| long(name).split(' ').next().unwrap_or_default().to_owned();
    let alike = names.keys().filter(|name| bare(name) == bare(&row.name)).count();
    format!("`{}`", if alike > 1 { long(&row.name) } else { bare(&row.name) })
}

fn rows(command: &clap::Command) -> Vec<Row> {
    command.get_arguments().filter_map(row).collect()
}

fn row(option: &clap::Arg) -> Option<Row> {
    let id = option.get_id().as_str();
    if option.is_hide_set() || option.is_global_set() || matches!(id, "help" | "version") {
        return None;
    }
    let value = option.get_value_names().and_then(|names| names.first()).map(ToString::to_string);
    let takes = option.get_action().takes_values();
    let name = match (option.get_long(), option.get_short()) {
        (Some(long), Some(short)) => format!("-{short}, --{long}"),
        (Some(long), None) => format!("--{long}"),
        _ => String::new(),
    };
    let name = format!("{name} {}", value.filter(|_| takes).unwrap_or_default()).trim().to_owned();
    let help = option.get_long_help().or_else(|| option.get_help()).map(ToString::to_string);
    let help = help.unwrap_or_default();
    let mut meaning = help.split_whitespace().collect::<Vec<_>>().join(" ").replace('<', "&lt;");
    let possible: Vec<String> = option
        .get_possible_values()
        .iter()
        .map(|value| format!("`{}`", value.get_name()))
        .collect();
    if takes && !possible.is_empty() && possible.len() <= VALUES {
        let _ = write!(meaning, ". One of {}", possible.join(", "));
    }
    let defaults: Vec<_> =
        option.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    if takes && !defaults.is_empty() && !meaning.contains("[default: ") {
        let _ = write!(meaning, " [default: {}]", defaults.join(","));
    }
    Some(Row { line: format!("- `{name}`: {meaning}\n"), name })
}
