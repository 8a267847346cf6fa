# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by the scripts beside it: brings a build folder up to date with meson.build.

# configure FOLDER [MESON OPTIONS]: sets the folder up, or reads the build files again, so that
# tests which are found by listing a folder are never missed. A folder that was set up without tests
# or examples gets them, unless the options say otherwise.
configure() {
  local folder=$1
  shift
  set -- -Dtests=true -Dexamples=true "$@"
  if [ -f "$folder/build.ninja" ]; then
    meson setup --reconfigure "$folder" "$@"
  else
    meson setup "$folder" "$@"
  fi
}
