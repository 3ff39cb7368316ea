//! Root writes nothing where another user could redirect it.
//!
//! Whoever may rename an entry of a directory can put a link in its place. So root writes only below directories of
//! which each, from `/` down, belongs to root and lets nobody else rename the next part of the path. Nobody can then
//! exchange any part later either, also not during a long measurement: this is why one check before the first write is
//! enough, and why the writes themselves may go by path.
//!
//! A user who became root with sudo is no other user. In a user namespace, root has no power over the files of users
//! outside it, so these are none either. The kernel displays all of them as one number (`overflowuid`, usually 65534); a
//! user of the namespace who has the same number cannot be distinguished from them.

use crate::problem::ProblemKind;
use std::ffi::OsString;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// More links than the kernel follows in one path.
const MOST_LINKS: usize = 40;
/// The permission of a directory's group to create, rename and remove its entries.
const WRITE_GROUP: u32 = 0o020;
/// The same permission of all others.
const WRITE_OTHERS: u32 = 0o002;
/// Only its owner may rename an entry of such a directory.
const STICKY: u32 = 0o1000;

/// What a path is for: what a stranger on the way could do, and what helps.
#[derive(Debug, Clone, Copy)]
struct Purpose {
    could: &'static str,
    kind: ProblemKind,
    remedy: &'static str,
}

const WRITE: Purpose = Purpose {
    could: "could redirect what is written there",
    kind: ProblemKind::CannotWrite,
    remedy: "name a place where only you may write, for example with `-o /tmp/NAME`, or start \
             this as the user who owns that place",
};
const RUN: Purpose = Purpose {
    could: "could exchange the code",
    kind: ProblemKind::Unavailable,
    remedy: "copy it to a place where only you may write (as root: install -m 755 FILE /root/), or measure as its owner",
};

impl Purpose {
    fn verify_owner(self, path: &Path, about: &Metadata) -> io::Result<()> {
        if is_trusted(about.uid()) { Ok(()) } else { Err(self.owned_by_stranger(path, about)) }
    }

    fn owned_by_stranger(self, path: &Path, about: &Metadata) -> io::Error {
        self.refused(format!("{} belongs to user {}, who", path.display(), about.uid()))
    }

    fn open_to_others(self, path: &Path) -> io::Error {
        self.refused(format!("other users may write to {}, and", path.display()))
    }

    fn refused(self, who: String) -> io::Error {
        io::Error::other(self.kind.problem(format!("{who} {}", self.could), self.remedy))
    }
}

/// Refuses, as root, a directory in which another user could redirect a file that is created under a new name and then
/// renamed. The directory may be one like /tmp.
///
/// # Errors
/// Names the directory that another user controls; or returns the system's error.
pub fn verify_place(dir: &Path) -> io::Result<()> {
    if is_root() { follow(dir).and_then(|dir| verify_last(&dir, true)) } else { Ok(()) }
}

/// Refuses, as root, a directory whose entries another user could exchange or create.
///
/// # Errors
/// Names the directory that another user controls; or returns the system's error.
pub(crate) fn verify_own(dir: &Path) -> io::Result<()> {
    if is_root() { follow(dir).and_then(|dir| verify_last(&dir, false)) } else { Ok(()) }
}

/// Refuses, as root, a file that another user could change or exchange: its code is about to run. Returns where the path
/// leads, without links.
///
/// # Errors
/// Names the file or the directory that another user controls; or returns the system's error.
pub fn verify_code(path: &Path) -> io::Result<PathBuf> {
    let found = follow_for(RUN, path)?;
    if is_root() {
        let about = found.metadata()?;
        RUN.verify_owner(&found, &about)?;
        if others_may_write(&found, &about) {
            return Err(RUN.open_to_others(&found));
        }
    }
    Ok(found)
}

/// Returns where `path` leads, without links. Its last part need not exist.
///
/// Root follows only its own links. Other users follow none that stands in a directory like /tmp and belongs neither to
/// them nor to the owner of that directory, and write to no such pipe: the kernel refuses these to the shell's `>` too
/// (`fs.protected_symlinks`, `fs.protected_fifos`).
///
/// # Errors
/// Names the link, the pipe or the directory that another user controls; or returns the system's error.
pub fn follow(path: &Path) -> io::Result<PathBuf> {
    follow_for(WRITE, path)
}

fn follow_for(purpose: Purpose, path: &Path) -> io::Result<PathBuf> {
    let mut left = parts(&std::path::absolute(path)?);
    let (mut at, mut links) = (PathBuf::from("/"), 0);
    while let Some(part) = left.pop() {
        if part == ".." {
            at.pop(); // no part of it is a link
            continue;
        }
        let next = at.join(&part);
        let about = match next.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound && left.is_empty() => {
                return Ok(next);
            }
            about => about?,
        };
        verify_entry(purpose, &at, &next, &about)?;
        if about.is_symlink() {
            links += 1;
            if links > MOST_LINKS {
                return Err(io::Error::other("it is a link to itself"));
            }
            let leads_to = next.read_link()?;
            if leads_to.is_absolute() {
                at = PathBuf::from("/");
            }
            left.extend(parts(&leads_to));
            continue;
        }
        at = next;
    }
    Ok(at)
}

/// Returns the parts of a path, the first one last.
fn parts(path: &Path) -> Vec<OsString> {
    let parts = path.components().rev().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    });
    parts.collect()
}

/// Checks that nobody else can exchange an entry of a directory, and that it is not somebody else's link or pipe.
fn verify_entry(purpose: Purpose, dir: &Path, entry: &Path, about: &Metadata) -> io::Result<()> {
    let about_dir = dir.metadata()?;
    let sticky = about_dir.mode() & STICKY != 0;
    if !is_root() {
        let users = [about_dir.uid(), rustix::process::geteuid().as_raw()];
        let open = sticky && about_dir.mode() & WRITE_OTHERS != 0;
        let leads_away = !about.is_dir() && !about.is_file();
        let planted = leads_away && open && !users.contains(&about.uid());
        return if planted { Err(purpose.owned_by_stranger(entry, about)) } else { Ok(()) };
    }
    purpose.verify_owner(dir, &about_dir)?;
    match others_may_write(dir, &about_dir) {
        true if !sticky => Err(purpose.open_to_others(dir)),
        false if !about.is_symlink() => Ok(()),
        _ => purpose.verify_owner(entry, about),
    }
}

/// Checks the directory into which root writes, whose path has been checked.
fn verify_last(dir: &Path, like_tmp: bool) -> io::Result<()> {
    let about = dir.metadata()?;
    WRITE.verify_owner(dir, &about)?;
    let shared = like_tmp && about.mode() & STICKY != 0;
    if others_may_write(dir, &about) && !shared { Err(WRITE.open_to_others(dir)) } else { Ok(()) }
}

/// Returns whether anybody but root may create and rename entries of a directory. An access list is not read: with one,
/// the permissions of the group may be those of any user.
fn others_may_write(dir: &Path, about: &Metadata) -> bool {
    let group_may_write = about.mode() & WRITE_GROUP != 0;
    let own_group = is_trusted_group(about.gid()) && !has_access_list(dir);
    about.mode() & WRITE_OTHERS != 0 || group_may_write && !own_group
}

fn has_access_list(dir: &Path) -> bool {
    rustix::fs::getxattr(dir, "system.posix_acl_access", &mut [0; 0][..]).is_ok_and(|size| size > 0)
}

/// Returns whether a user is root, became root with sudo or is outside of this user namespace.
pub(crate) fn is_trusted(user: u32) -> bool {
    user == 0
        || sudo_user().is_some_and(|(own, _)| own == user)
        || is_displayed_as_outside("uid", user)
}

fn is_trusted_group(group: u32) -> bool {
    group == 0 || is_private_group(sudo_user(), group) || is_displayed_as_outside("gid", group)
}

/// Returns whether this is the group that distributions make for one user alone: it has the user's number. A primary group
/// such as `users` is that of many.
fn is_private_group(sudo_user: Option<(u32, u32)>, group: u32) -> bool {
    sudo_user == Some((group, group))
}

/// Returns whether a number of the kind `uid` or `gid` is that of users or groups outside of this user namespace.
fn is_displayed_as_outside(kind: &str, number: u32) -> bool {
    let read = |path: String| std::fs::read_to_string(path).ok();
    let displayed = read(format!("/proc/sys/kernel/overflow{kind}"));
    let displayed = displayed.and_then(|number| number.trim().parse().ok());
    read(format!("/proc/self/{kind}_map"))
        .is_some_and(|map| is_outside(&map, displayed.unwrap_or(65_534), number))
}

/// Returns whether a namespace with this map displays users of outside, as the number `displayed`, with this number.
fn is_outside(map: &str, displayed: u32, number: u32) -> bool {
    let fields = |line: &str| -> Vec<u64> {
        line.split_whitespace().filter_map(|field| field.parse().ok()).collect()
    };
    let ranges: Vec<Vec<u64>> = map.lines().map(fields).collect();
    if ranges == [[0, 0, u64::from(u32::MAX)]] {
        return false; // nobody is outside
    }
    let is_mapped = ranges.iter().any(|range| match range[..] {
        [first, _, count] => (first..first + count).contains(&u64::from(number)),
        _ => false,
    });
    number == displayed || !is_mapped
}

/// Returns the numbers of the user who became root with sudo, and of the user's group.
#[must_use]
pub fn sudo_user() -> Option<(u32, u32)> {
    let number = |name| std::env::var(name).ok().and_then(|number| number.parse().ok());
    Some((number("SUDO_UID")?, number("SUDO_GID")?))
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, chown, lchown, symlink};

    const STRANGER: u32 = 65_534;

    /// Makes a directory with this owner, group and mode.
    fn make(dir: PathBuf, owner: [u32; 2], mode: u32) {
        fs::create_dir(&dir).expect("a directory");
        chown(&dir, Some(owner[0]), Some(owner[1])).expect("root may");
        fs::set_permissions(&dir, Permissions::from_mode(mode)).expect("root may");
    }

    #[test]
    fn root_writes_only_where_nobody_else_can_rename_a_part_of_the_path() {
        if !is_root() || sudo_user().is_some() {
            return; // only root can give files away
        }
        let dir = tempfile::tempdir().expect("a directory");
        let at = |name: &str| dir.path().join(name);
        make(at("own"), [0, 0], 0o755);
        make(at("own/inner"), [0, 0], 0o700);
        make(at("theirs"), [STRANGER, STRANGER], 0o755);
        make(at("theirs/ours"), [0, 0], 0o700);
        make(at("open"), [0, 0], 0o777);
        make(at("open/ours"), [0, 0], 0o700);
        make(at("tmp"), [0, 0], 0o1777);
        make(at("tmp/ours"), [0, 0], 0o700);
        make(at("tmp/theirs"), [STRANGER, STRANGER], 0o700);
        make(at("of-group"), [0, STRANGER], 0o775);
        make(at("of-own-group"), [0, 0], 0o775);
        for (link, owner) in [("own-link", 0), ("their-link", STRANGER), ("tmp/planted", STRANGER)]
        {
            symlink(at("own/inner"), at(link)).expect("a link");
            lchown(at(link), Some(owner), Some(owner)).expect("root may");
        }
        symlink("../theirs/ours", at("own/to-theirs")).expect("a link");
        symlink("loop", at("loop")).expect("a link");
        let cases = [
            ("own", "own/inner", true, true),
            ("by a way back", "own/inner/../../own", true, true),
            ("a stranger's", "theirs", false, false),
            ("below a stranger's", "theirs/ours", false, false),
            ("open to all", "open", false, false),
            ("below what is open to all", "open/ours", false, false),
            ("like /tmp", "tmp", true, false),
            ("own in /tmp", "tmp/ours", true, true),
            ("a stranger's in /tmp", "tmp/theirs", false, false),
            ("of a stranger's group", "of-group", false, false),
            ("of the own group", "of-own-group", true, true),
            ("by an own link", "own-link", true, true),
            ("by a stranger's link", "their-link", false, false),
            ("by a link planted in /tmp", "tmp/planted", false, false),
            ("by an own link to below a stranger's", "own/to-theirs", false, false),
            ("by a link to itself", "loop", false, false),
            ("absent", "own/none", false, false),
        ];
        for (name, path, place, own) in cases {
            let [as_place, as_own] = [verify_place(&at(path)), verify_own(&at(path))];
            assert_eq!((as_place.is_ok(), as_own.is_ok()), (place, own), "{name}: {as_place:?}");
        }
        let error = verify_own(&at("theirs/ours")).expect_err("below a stranger's").to_string();
        assert!(error.contains("theirs belongs to user 65534"), "{error}");
    }

    #[test]
    fn a_path_is_followed_to_what_need_not_exist_yet() {
        let dir = tempfile::tempdir().expect("a directory");
        let real = dir.path().canonicalize().expect("it is there");
        symlink("not-yet", real.join("link")).expect("a link");
        for (path, expected) in [("file", "file"), ("link", "not-yet"), ("./a/../file", "")] {
            let found = follow(&real.join(path)).ok();
            let expected = Some(real.join(expected)).filter(|_| !expected.is_empty());
            assert_eq!(found, expected, "{path}");
        }
    }

    #[test]
    fn users_of_outside_are_displayed_as_one_number() {
        for (map, number, expected) in [
            ("         0          0 4294967295\n", 65_534, false),
            ("         0          0 4294967295\n", 1000, false),
            ("         0       1000          1\n", 65_534, true),
            ("0 100000 65536\n", 65_534, true),
            ("0 100000 65536\n", 65_533, false),
            ("0 1000 1\n1 100000 65536\n", 65_534, true),
            ("0 1000 1\n1 100000 65536\n", 65_536, false),
            ("0 1000 1\n1 100000 65536\n", 65_537, true),
        ] {
            assert_eq!(is_outside(map, 65_534, number), expected, "{map} {number}");
        }
    }

    #[test]
    fn a_group_is_trusted_under_sudo_if_it_is_of_the_user_alone() {
        for (sudo_user, group, expected) in [
            (Some((1000, 1000)), 1000, true),
            (Some((1000, 100)), 100, false),
            (Some((1000, 100)), 1000, false),
            (None, 1000, false),
        ] {
            assert_eq!(is_private_group(sudo_user, group), expected, "{sudo_user:?} {group}");
        }
    }
}
