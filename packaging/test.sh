#!/bin/bash
# Installs the packages of `make dist` for real, as root: `make test-dist`. Each part states what it found; the first
# that is wrong ends it. `packaging/test.sh wheel deb` tests these two.
set -Eeuo pipefail
cd "$(dirname "$0")/.."
packages=$PWD/target/packages
arch=$(uname -m)
cpu=$(($(nproc) - 1))
place=$(mktemp -d -t anechoic-packages-XXXXXX)
trap 'echo "packaging/test.sh:$LINENO: this is wrong" >&2' ERR
trap 'rm -rf --one-file-system "$place"' EXIT
chmod 755 "$place"

# The wheel in a fresh environment, by a user without rights, timed from pip to the first result.
test_wheel() {
    local home=$place/home
    install -d -o 65534 -g 65534 "$home"
    cp "$packages"/*"$arch".whl "$place"
    setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs env -i PATH=/usr/bin:/bin HOME="$home" CPU=$cpu \
        bash -euo pipefail -c '
        cd
        /usr/bin/python3 -m venv env
        start=$(date +%s%N)
        env/bin/pip install --quiet --no-cache-dir ../*.whl
        env/bin/anechoic run --cpus "$CPU" --duration 1s --output first --quiet
        env/bin/python -c "
import anechoic
first = anechoic.open(\"first\")
noise = first.result(\"summary\")[\"total\"][\"noise\"]
print(f\"wheel: {first.detours.num_rows} detours, noise {noise:.4f}, command {anechoic.tool().name} of the environment\")
assert first.detours.num_rows > 0 and str(anechoic.tool()).startswith(\"$HOME/env/bin/\")"
        ms=$((($(date +%s%N) - start) / 1000000 - 1000))
        echo "wheel: $ms ms from pip install to the first result, beside the second that it measured"
        test $ms -le 15000
        env/bin/pip uninstall --quiet --yes anechoic
        test ! -e env/bin/anechoic'
}

# A fresh Debian stable in a directory, made once.
debian() {
    test -e "$place/debian" || mmdebstrap --quiet --variant=minbase --include=man-db,libcap2-bin stable "$place/debian" \
        "${DEBIAN_MIRROR:-http://deb.debian.org/debian}"
}

test_deb() {
    lintian --allow-root --fail-on error,warning "$packages"/anechoic_*.deb
    debian
    local root=$place/debian command=$place/debian/usr/bin/anechoic
    cp "$packages"/anechoic_*_"$(dpkg --print-architecture)".deb "$root/anechoic.deb"
    in_root() { unshare --mount sh -c 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"' "$root" "$@"; }
    in_root dpkg --install /anechoic.deb >/dev/null
    in_root anechoic --version
    in_root man anechoic-run | grep -c . | sed 's/^/deb: lines of man anechoic-run: /'
    in_root bash -c '. /usr/share/bash-completion/completions/anechoic && complete -p anechoic' >/dev/null
    in_root sh -n /usr/libexec/anechoic-measure
    in_root anechoic run --cpus $cpu --duration 1s --quiet --output /first
    in_root anechoic summary /first --json | grep -m 1 '"noise"'
    test -z "$(in_root getcap /usr/bin/anechoic)" && test "$(stat -c %a:%G "$command")" = 755:root
    mkdir "$root/etc/anechoic" && echo adm >"$root/etc/anechoic/group"
    in_root dpkg --install /anechoic.deb >/dev/null
    in_root getcap /usr/bin/anechoic | grep -q cap_sys_admin && test "$(stat -c %a:%G "$command")" = 750:adm
    rm "$root/etc/anechoic/group"
    in_root dpkg --install /anechoic.deb >/dev/null
    test -z "$(in_root getcap /usr/bin/anechoic)" && test "$(stat -c %a:%G "$command")" = 755:root
    in_root dpkg --verify anechoic
    in_root dpkg --purge anechoic >/dev/null
    test -z "$(find "$root/usr" -name '*anechoic*')"
    echo "deb: installed, measured, capabilities on request only, removed without a trace"
}

test_rpm() {
    debian
    local root=$place/debian file
    file=$(ls "$packages"/anechoic-*."$arch".rpm)
    # The root's /bin/sh belongs to no rpm.
    in_rpm() { rpm --root "$root" --dbpath /var/lib/rpm --force-debian --nodeps "$@"; }
    in_rpm --install "$file"
    in_rpm --verify anechoic
    chroot "$root" anechoic --version
    test -e "$root/usr/share/zsh/site-functions/_anechoic"
    test -z "$(chroot "$root" getcap /usr/bin/anechoic)"
    in_rpm --erase anechoic
    test -z "$(find "$root/usr" -name '*anechoic*')"
    echo "rpm: installed, verified, removed without a trace; requires $(rpm -qp --requires "$file" | grep -v rpmlib | xargs)"
}

# The recipe of EasyBuild, by EasyBuild, which refuses to run as root.
test_easybuild() {
    local home=$place/easybuild
    install -d -o 65534 -g 65534 "$home"
    cp "$packages"/anechoic-*.eb "$packages"/*.tar.gz "$home"
    setpriv --reuid 65534 --regid 65534 --clear-groups env -i PATH=/usr/bin:/bin HOME="$home" bash -eo pipefail -c '
        cd
        /usr/bin/python3 -m venv env
        env/bin/pip install --quiet --quiet --no-cache-dir easybuild
        export EB_PYTHON=$HOME/env/bin/python
        . /etc/profile.d/modules.sh
        "$HOME/env/bin/eb" --modules-tool=EnvironmentModules --module-syntax=Tcl --prefix="$HOME/here" *.eb >log || { cat log; exit 1; }
        module use here/modules/all
        module load anechoic
        [[ $(command -v anechoic) == "$HOME"/here/software/* ]]
        echo "easybuild: $(anechoic --version) from the module $(module --terse list 2>&1 | tail -n 1)"'
}

# The command of the tar file alone in the first file system of a kernel.
test_tar() {
    tar -xzf "$packages"/anechoic-*-"$arch"-linux.tar.gz -C "$place" --strip-components 1
    cargo run --quiet --release -p xtask -- lab "$place/bin/anechoic" --fast
}

# The same bytes from another directory and another target directory.
test_twice() {
    git clone --quiet . "$place/again"
    (cd "$place/again" && SOURCE_DATE_EPOCH=$(git log -1 --format=%ct) CARGO_TARGET_DIR=$place/target python3 packaging/dist.py)
    diff -r "$packages" "$place/again/target/packages"
    echo "twice: the same bytes"
}

for part in "${@:-wheel deb rpm easybuild tar twice}"; do
    for name in $part; do "test_$name"; done
done
