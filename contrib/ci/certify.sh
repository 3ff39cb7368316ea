#!/usr/bin/env bash
# Certifies the machine of a benchmark in a job of GitHub, GitLab or any other service.
#
#   COMMAND    the benchmark, as a shell would run it (required)
#   OPTIONS    options of `anechoic certify`, such as "--cpus 2 --repeat 10 --min-effect 2%"
#   ON_UNFIT   fail, warn or skip (default: fail)
#   OUTPUT     directory for certificate.json and certificate.md (default: noise)
#
# The verdict is the output `verdict` of a step on GitHub, and the last line here.
set -euo pipefail
: "${COMMAND:?name the benchmark in COMMAND}"
command -v anechoic >/dev/null || {
    echo "certify.sh: anechoic is not in the path" >&2
    exit 127
}
output=${OUTPUT:-noise}
mkdir -p "$output"
rm -f "$output"/certificate.json "$output"/certificate.md # of an earlier benchmark of this job
read -ra options <<<"${OPTIONS:-}"
anechoic=(anechoic)
written=$output
benchmark=(sh -c "$COMMAND")
# Kernel events need privileges, which hosted runners give to sudo. The benchmark keeps its user.
if [ "$(id -u)" != 0 ] && sudo -n true 2>/dev/null; then
    anechoic=(sudo -n -E "$(command -v anechoic)")
    benchmark=(sudo -n -E -u "$(id -un)" "${benchmark[@]}")
    # Root writes into no directory that another user could move.
    written=$(sudo -n mktemp -d)
fi
code=0
"${anechoic[@]}" certify "${options[@]}" --on-unfit "${ON_UNFIT:-fail}" --force \
    --certificate "$written/certificate.json" --markdown "$written/certificate.md" -- "${benchmark[@]}" || code=$?
if [ "$written" != "$output" ]; then
    for file in certificate.json certificate.md; do
        # shellcheck disable=SC2024 # the file is this user's
        sudo -n cat "$written/$file" >"$output/$file" 2>/dev/null || rm -f "$output/$file"
    done
    sudo -n rm -r "$written"
fi
if [ -e "$output/certificate.md" ] && [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
    cat "$output/certificate.md" >>"$GITHUB_STEP_SUMMARY"
fi
verdict=$(sed -n 's/^  "verdict": "\(.*\)",\{0,1\}$/\1/p' "$output/certificate.json" 2>/dev/null || true)
if [ -n "${GITHUB_OUTPUT:-}" ]; then
    echo "verdict=${verdict:-none}" >>"$GITHUB_OUTPUT"
fi
echo "verdict: ${verdict:-none}"
exit "$code"
