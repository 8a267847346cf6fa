# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that the pictures of schedules in docs/images are what weft draws: pictures.py PROGRAM
IMAGES"""
import pathlib
import subprocess
import sys
import tempfile


def main(program, images):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, folder], check=True)
        drawn = sorted(pathlib.Path(folder).iterdir())
        old = [each.name for each in drawn
               if not (images / each.name).is_file()
               or (images / each.name).read_bytes() != each.read_bytes()]
    if not drawn or old:
        sys.exit(f"{program} {images} draws these anew: {' '.join(old)}")


main(sys.argv[1], pathlib.Path(sys.argv[2]))
