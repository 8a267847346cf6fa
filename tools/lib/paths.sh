# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced first by the scripts beside it that are given paths: goes to the repository's root.

weft_began_in=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# given PATH: where it leads to from the folder that the caller was in.
given() { (cd "$weft_began_in" && realpath -m -- "$1"); }
