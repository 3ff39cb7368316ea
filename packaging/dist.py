#!/usr/bin/env python3
"""Builds the packages of a release into target/packages: `make dist`.

The command is linked statically, with musl where rustup has that target and with glibc otherwise, for each architecture
that has a standard library here. The same source and compiler give the same bytes, in whatever directory: archives are
sorted, and all times are those of the last commit (or SOURCE_DATE_EPOCH).
"""

import base64
import gzip
import hashlib
import io
import json
import os
import platform
import re
import shutil
import stat
import subprocess
import sys
import tarfile
import textwrap
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "target/packages"
VERSION = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
SUMMARY = "measures operating-system noise and names what causes it"
TEXT = (
    "anechoic measures how much of each CPU's time the operating system and the hardware take from a running program,"
    " names what took it, and predicts what that costs a parallel job."
)
MAINTAINER = "The anechoic developers <developers@anechoic.invalid>"
LICENSE = "MIT OR Apache-2.0"
#: The names that Debian and pip have for an architecture.
DEBIAN = {"x86_64": "amd64", "aarch64": "arm64"}
CRATE = ["-p", "anechoic-cli", "--no-default-features"]
# What shells read at the first completion: the installed command prints the rest, which is 0.7 MB.
COMPLETIONS = {
    "bash-completion/completions/anechoic": "source <(anechoic completions bash)\n",
    "zsh/vendor-completions/_anechoic": '#compdef anechoic\nsource <(anechoic completions zsh)\n_anechoic "$@"\n',
    "fish/vendor_completions.d/anechoic.fish": "anechoic completions fish | source\n",
}
LIMITS = {"package": 12_000_000, "installed": 20_000_000}


def output(*command, **options):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT, **options).stdout


EPOCH = int(os.environ.get("SOURCE_DATE_EPOCH") or output("git", "log", "-1", "--format=%ct"))


def targets():
    """For each architecture that can be built here the target, with musl before glibc."""
    libraries = Path(output("rustc", "--print", "sysroot").strip(), "lib/rustlib")
    for arch in DEBIAN:
        installed = [t for c in ("musl", "gnu") if (libraries / (t := f"{arch}-unknown-linux-{c}") / "lib").is_dir()]
        if installed:
            yield installed[0]
        else:
            print(f"no standard library for {arch} (rustup target add {arch}-unknown-linux-musl): no packages for it")


def build(target):
    """Builds the command without what draws PNG files, which is a tenth of it. Its texts have no path of this machine."""
    cargo = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    flags = f"-C target-feature=+crt-static --remap-path-prefix={ROOT}=/anechoic --remap-path-prefix={cargo}=/cargo"
    if target == "x86_64-unknown-linux-gnu":
        # The linker that comes with Rust there: equal functions once, and the list of addresses in short form.
        flags += " -C link-arg=-Wl,-O2,--icf=all,--pack-dyn-relocs=relr"
    subprocess.run(["cargo", "build", "--locked", "--profile", "dist", "--target", target, *CRATE], check=True, cwd=ROOT,
                   env={**os.environ, "RUSTFLAGS": flags})
    directory = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return directory / target / "dist/anechoic"


def stage(binary, reader, place):
    """Lays out what is below /usr: the command, and what it prints for shells and man. `reader` runs here."""
    share = place / "share"
    for name in ("bin", "share/man", "share/doc/anechoic"):
        (place / name).mkdir(parents=True)
    shutil.copy(binary, place / "bin/anechoic")
    output(reader, "man", share / "man/man1")
    for file, script in COMPLETIONS.items():
        (share / file).parent.mkdir(parents=True)
        (share / file).write_text(script)
    health = {"libexec": ["anechoic-measure"], "lib/systemd/system": ["systemd/*"],
              "share/doc/anechoic/examples": ["gate.toml", "nhc/*", "slurm/*", "node-problem-detector/*", "reframe/*"]}
    for directory, files in health.items():
        (place / directory).mkdir(parents=True, exist_ok=True)
        for file in (file for pattern in files for file in sorted((ROOT / "contrib").glob(pattern))):
            shutil.copy(file, place / directory)
    for file in ("LICENSE-MIT", "LICENSE-APACHE"):
        shutil.copy(ROOT / file, share / "doc/anechoic")
    compress(share / "man/man1", "*.1")
    settle(place)


def compress(directory, names):
    for file in directory.glob(names):
        file.with_name(file.name + ".gz").write_bytes(gzip.compress(file.read_bytes(), mtime=0))
        file.unlink()


def settle(place):
    """Gives all files the release's time and the modes of a package."""
    for path in [*place.rglob("*"), place]:
        executable = path.is_dir() or path.stat().st_mode & 0o100
        path.chmod(0o755 if executable else 0o644)
        os.utime(path, (EPOCH, EPOCH))


def tarball(place, name):
    """The same tree as a tar file, to be unpacked anywhere, for example with --strip-components 1 into /usr/local."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for path in sorted(place.rglob("*")):
            entry = tar.gettarinfo(path, f"{name}/{path.relative_to(place)}")
            entry.uid = entry.gid = 0
            entry.uname = entry.gname = "root"
            with open(path, "rb") if path.is_file() else io.BytesIO() as content:
                tar.addfile(entry, content)
    (OUT / f"{name}.tar.gz").write_bytes(gzip.compress(raw.getvalue(), mtime=0))


def wheel(binary, arch):
    """The command and the Python package. A static command needs no C library, so all of them are named."""
    tags = [f"py3-none-{c}_{arch}" for c in ("manylinux_2_17", "manylinux2014", "musllinux_1_1")]
    info = f"anechoic-{VERSION}.dist-info"
    readme = (ROOT / "docs/howto/notebooks.md").read_text("utf-8")
    files = {f"anechoic/{f.name}": f.read_bytes() for f in sorted((ROOT / "python/anechoic").glob("*.*")) if f.is_file()}
    files[f"anechoic-{VERSION}.data/scripts/anechoic"] = binary.read_bytes()
    for name in ("LICENSE-MIT", "LICENSE-APACHE"):
        files[f"{info}/licenses/{name}"] = (ROOT / name).read_bytes()
    files[f"{info}/METADATA"] = (
        f"Metadata-Version: 2.4\nName: anechoic\nVersion: {VERSION}\nSummary: {SUMMARY}\n"
        f"License-Expression: {LICENSE}\nLicense-File: LICENSE-MIT\nLicense-File: LICENSE-APACHE\n"
        f"Requires-Python: >=3.10\nRequires-Dist: pyarrow>=17\nDescription-Content-Type: text/markdown\n\n{readme}"
    ).encode()
    tag_lines = "".join(f"Tag: {tag}\n" for tag in tags)
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: anechoic\nRoot-Is-Purelib: false\n{tag_lines}".encode()
    record = ""
    for name, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(content)}\n"
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    platforms = ".".join(tag.removeprefix("py3-none-") for tag in tags)
    with zipfile.ZipFile(OUT / f"anechoic-{VERSION}-py3-none-{platforms}.whl", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (stat.S_IFREG | (0o755 if "/scripts/" in name else 0o644)) << 16
            archive.writestr(entry, content, compresslevel=9)


def deb(place, arch, work):
    """Debian's package. Nothing but the administrator's file gives the command capabilities (packaging/postinst)."""
    root = work / "deb"
    shutil.copytree(place, root / "usr")
    document = root / "usr/share/doc/anechoic"
    mit = "".join(f" {line or '.'}\n" for line in (document / "LICENSE-MIT").read_text().splitlines())
    for file in ("LICENSE-MIT", "LICENSE-APACHE"):
        (document / file).unlink()
    (document / "copyright").write_text(
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: anechoic\n\n"
        "Files: *\nCopyright: The anechoic developers\nLicense: Apache-2.0 or MIT\n\n"
        f"License: Apache-2.0\n See /usr/share/common-licenses/Apache-2.0.\n\nLicense: MIT\n{mit}"
    )
    date = output("date", "--utc", "--rfc-email", f"--date=@{EPOCH}").strip()
    (document / "changelog").write_text(
        f"anechoic ({VERSION}) stable; urgency=medium\n\n  * Release {VERSION}: see the changelog of its source.\n\n"
        f" -- {MAINTAINER}  {date}\n"
    )
    compress(document, "changelog")
    overrides = root / "usr/share/lintian/overrides"
    overrides.mkdir(parents=True)
    shutil.copy(ROOT / "packaging/lintian-overrides", overrides / "anechoic")
    (root / "DEBIAN").mkdir()
    shutil.copy(ROOT / "packaging/postinst", root / "DEBIAN")
    installed = sum(file.stat().st_size for file in place.rglob("*") if file.is_file()) // 1024
    (root / "DEBIAN/control").write_text(
        f"Package: anechoic\nVersion: {VERSION}\nArchitecture: {DEBIAN[arch]}\nMaintainer: {MAINTAINER}\n"
        f"Installed-Size: {installed}\nSuggests: libcap2-bin\nSection: utils\nPriority: optional\n"
        f"Description: {SUMMARY}\n{textwrap.fill(TEXT, 78, initial_indent=' ', subsequent_indent=' ')}\n"
    )
    settle(root)
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(EPOCH)}
    name = OUT / f"anechoic_{VERSION}_{DEBIAN[arch]}.deb"
    output("dpkg-deb", "--root-owner-group", "-Zxz", "--build", root, name, env=environment)


def rpm(place, arch, work):
    """The package of Fedora, RHEL and SUSE."""
    files = [f"/usr/{f.relative_to(place)}" for f in sorted(place.rglob("*")) if f.is_file()]
    owned = [f"%dir /usr/share/doc/anechoic{below}" for below in ("", "/examples")]
    zsh = [f"/usr/share/zsh/{name}" for name in ("vendor-completions", "site-functions")]
    script = (ROOT / "packaging/postinst").read_text().replace("%", "%%").replace('"$1" = configure', "true")
    (work / "anechoic.spec").write_text(
        f"Name: anechoic\nVersion: {VERSION}\nRelease: 1\nSummary: {SUMMARY}\nLicense: {LICENSE}\nAutoReqProv: no\n"
        f"%global __os_install_post %{{nil}}\n%global debug_package %{{nil}}\n%global _build_id_links none\n"
        f"%description\n{textwrap.fill(TEXT, 78)}\n%install\nmkdir -p %{{buildroot}}/usr\n"
        f"cp -a {place}/. %{{buildroot}}/usr\nmv %{{buildroot}}{zsh[0]} %{{buildroot}}{zsh[1]}\n%post\n{script}\n"
        "%files\n" + "\n".join([*owned, *files]).replace(*zsh) + "\n"
    )
    settings = {
        "_topdir": work / "rpm", "_rpmdir": OUT, "_rpmfilename": "%{NAME}-%{VERSION}-%{RELEASE}.%{ARCH}.rpm",
        "_buildhost": "anechoic", "use_source_date_epoch_as_buildtime": 1, "clamp_mtime_to_source_date_epoch": 1,
        "_binary_payload": "w7.xzdio", "_sourcedir": work, "_dbpath": work / "rpmdb",
    }
    defined = [word for name, value in settings.items() for word in ("--define", f"{name} {value}")]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(EPOCH)}
    output("rpmbuild", "-bb", "--quiet", "--target", f"{arch}-linux", *defined, work / "anechoic.spec", env=environment)


def sbom(built):
    """What the commands are made of, as CycloneDX: the packages that are linked, with the checksums of Cargo.lock."""
    locked = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    checksums = {(package["name"], package["version"]): package.get("checksum") for package in locked}
    linked = output("cargo", "tree", "--locked", *CRATE, "-e", "normal,no-proc-macro", "--prefix", "none", "--no-dedupe",
                    "--format", "{p}|{l}", *(word for target in built for word in ("--target", target)))
    rust = output("rustc", "--version").split()[1]
    components = [{"type": "library", "name": "rust-std", "version": rust, "licenses": [{"expression": LICENSE}]}]
    if any(target.endswith("gnu") for target in built):
        name, version = output("getconf", "GNU_LIBC_VERSION").split()
        components.append({"type": "library", "name": name, "version": version,
                           "licenses": [{"expression": "LGPL-2.1-or-later"}]})
    for line in sorted(set(linked.splitlines())):
        name, version, terms = re.match(r"(\S+) v(\S+)[^|]*\|(.*)", line).groups()
        component = {"type": "library", "name": name, "version": version, "purl": f"pkg:cargo/{name}@{version}"}
        if terms:
            component["licenses"] = [{"expression": terms.replace("/", " OR ")}]
        if checksum := checksums[name, version]:
            components.append(component | {"hashes": [{"alg": "SHA-256", "content": checksum}]})
    made = {"type": "application", "name": "anechoic", "version": VERSION, "licenses": [{"expression": LICENSE}]}
    document = {"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
                "metadata": {"component": made}, "components": components}
    (OUT / f"anechoic-{VERSION}.cdx.json").write_text(json.dumps(document, indent=1) + "\n")


def digest(file):
    return hashlib.sha256(file.read_bytes()).hexdigest()


def recipes():
    """The recipes of Spack and EasyBuild with the checksums of the tar files; lines of an architecture without one go."""
    for recipe, name in {"spack/package.py": "spack-package.py", "easybuild/anechoic.eb": f"anechoic-{VERSION}.eb"}.items():
        lines = (ROOT / "contrib" / recipe).read_text().replace("@VERSION@", VERSION).splitlines(keepends=True)
        for arch in DEBIAN:
            tar = OUT / f"anechoic-{VERSION}-{arch}-linux.tar.gz"
            lines = [line for line in lines if tar.exists() or f"@SHA256_{arch}@" not in line]
            lines = [line.replace(f"@SHA256_{arch}@", digest(tar)) if tar.exists() else line for line in lines]
        (OUT / name).write_text("".join(lines))


def release():
    """The text of the release's page: the changes, the files, and how to install and check them."""
    changes = "".join(f.read_text("utf-8") for f in sorted((ROOT / "changelog").glob("*.md")) if f.name != "README.md")
    own = re.search(rf"^## {re.escape(VERSION)}.*?\n(.*?)(?=^## |\Z)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.S | re.M)
    files = "".join(f"| {f.name} | {f.stat().st_size / 1e6:.1f} MB |\n" for f in sorted(OUT.iterdir()) if f.suffix in PACKAGES)
    (OUT / "RELEASE.md").write_text(
        f"# anechoic {VERSION}\n\n## Changes\n\n{changes}{own[1].strip() if own else ''}\n\n## Files\n\n| file | size |\n"
        f"| --- | --- |\n{files}\n`sha256sum -c SHA256SUMS` checks them; `anechoic-{VERSION}.cdx.json` lists what the"
        " command is made of.\nHow to install each: docs/howto/install.md.\n"
    )


PACKAGES = (".gz", ".whl", ".deb", ".rpm")


def main():
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    os.umask(0o022)
    built = list(targets())
    for target in built:
        arch, binary = target.split("-")[0], build(target)
        reader = binary if arch == platform.machine() else os.environ.get("ANECHOIC", "anechoic")
        work = OUT / "work"
        stage(binary, reader, place := work / "usr")
        size = sum(file.stat().st_size for file in place.rglob("*") if file.is_file())
        print(f"{target}: installed {size / 1e6:.1f} MB")
        assert size <= LIMITS["installed"], f"installed: over {LIMITS['installed']} bytes"
        tarball(place, f"anechoic-{VERSION}-{arch}-linux")
        wheel(binary, arch)
        for tool, package in {"dpkg-deb": deb, "rpmbuild": rpm}.items():
            if shutil.which(tool):
                package(place, arch, work)
            else:
                print(f"no {tool}: no {package.__name__}")
        shutil.rmtree(work)
    sbom(built)
    recipes()
    release()
    sums = "".join(f"{digest(file)}  {file.name}\n" for file in sorted(OUT.iterdir()))
    (OUT / "SHA256SUMS").write_text(sums)
    for file in sorted(OUT.iterdir()):
        print(f"{file.stat().st_size / 1e6:8.2f} MB  {file.name}")
        assert file.stat().st_size <= LIMITS["package"], f"{file.name}: over {LIMITS['package']} bytes"


if __name__ == "__main__":
    sys.exit(main())
