# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by the scripts beside it: installs what the build needs and the machine lacks.

# What a command provides may come from elsewhere (a newer Meson from pip, another compiler).
weft_commands=(meson:meson ninja:ninja-build pkg-config:pkg-config python3:python3)
[ -n "${CXX:-}" ] || weft_commands+=(g++:g++)
weft_libraries=(catch2 libcli11-dev libdnnl-dev nlohmann-json3-dev zlib1g-dev)

# Prints the Debian packages that are missing, those named as arguments included.
missing_packages() {
  local entry package installed
  for entry in "${weft_commands[@]}"; do
    command -v "${entry%%:*}" >/dev/null || echo "${entry##*:}"
  done
  installed=$(dpkg-query -W -f='${Package} ${db:Status-Status}\n' "${weft_libraries[@]}" "$@" \
    2>/dev/null || true)
  for package in "${weft_libraries[@]}" "$@"; do
    grep -qxF "$package installed" <<<"$installed" || echo "$package"
  done
}

# Installs the missing packages as root or by sudo; otherwise prints the line to run and fails.
require_packages() {
  if ! command -v dpkg-query >/dev/null; then
    echo "weft: not a Debian system, so no package is installed. The build needs:" \
      "a C++20 compiler, ${weft_commands[*]%%:*} and zlib; oneDNN makes it fast; Catch2 2.13," \
      "CLI11 and nlohmann-json are downloaded if they are missing" >&2
    return 0
  fi
  local missing
  mapfile -t missing < <(missing_packages "$@")
  [ ${#missing[@]} -gt 0 ] || return 0

  local as_root=()
  if [ "$EUID" -ne 0 ]; then
    as_root=(sudo)
    [ -t 0 ] || as_root=(sudo -n)  # nobody is there to type a password
    if ! command -v sudo >/dev/null || ! "${as_root[@]}" true; then
      echo "weft: packages are missing; run this as root, then start again:" >&2
      echo "apt-get update && apt-get install --no-install-recommends ${missing[*]}" >&2
      return 1
    fi
  fi
  local get=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300)
  local install=("${get[@]}" install -y -qq --no-install-recommends "${missing[@]}")
  echo "weft: installing ${missing[*]}" >&2
  # A second try with fresh lists: a new machine has none, and old ones name files that are gone.
  "${install[@]}" >/dev/null 2>&1 </dev/null ||
    { "${get[@]}" update -qq </dev/null && "${install[@]}" </dev/null; } >&2
}
