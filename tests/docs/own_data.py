# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of docs/own-data.md, as a stranger would: own_data.py REPOSITORY

Three things differ: the repository is cloned from this one, what it says to install is only looked
up, and the two files are small."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

REPOSITORY = pathlib.Path()
DIGITS = "null eins zwei drei vier fuenf sechs sieben acht neun".split()
WORDS = "zero one two three four five six seven eight nine".split()


def commands():
    guide = (REPOSITORY / "docs/own-data.md").read_text()
    block, = re.findall(r"```sh\n(.*?)```", guide, re.DOTALL)
    return block.replace("\\\n", " ").splitlines()


class OwnData(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        for name, words in ("my.de", DIGITS), ("my.en", WORDS):
            lines = (" ".join(words[int(digit)] for digit in str(n * 7919 % 100000))
                     for n in range(1, 1201))
            (self.folder / name).write_text("".join(line + "\n" for line in lines))

    def clone(self):
        """What git would bring; without git or its folder, what is here."""
        if (REPOSITORY / ".git").exists() and shutil.which("git"):
            subprocess.run(["git", "-c", "safe.directory=*", "clone", "-q", REPOSITORY,
                            self.folder / "weft"], check=True)
        else:
            shutil.copytree(REPOSITORY, self.folder / "weft", symlinks=True,
                            ignore=shutil.ignore_patterns("build*"))

    def test_there_are_ten_commands_at_most(self):
        self.assertLessEqual(len(commands()), 10)

    def test_they_work(self):
        clone, enter, install, *rest = commands()
        self.assertRegex(clone, r'^git clone "\$WEFT_REPOSITORY" weft +#')
        self.assertEqual(enter, "cd weft")
        self.clone()
        self.assertTrue(install.startswith("sudo apt-get install -y "))
        if shutil.which("dpkg"):
            # A compiler or a Meson may come from elsewhere: pip, or another compiler's place.
            packages = [name for name in install.split()[4:] if not shutil.which(name)]
            for package in packages:
                subprocess.run(["dpkg", "-s", package], check=True, stdout=subprocess.DEVNULL)
        said = ""
        for command in rest:
            done = subprocess.run(["bash", "-c", command], cwd=self.folder / "weft",
                                  capture_output=True, text=True, timeout=900, check=False,
                                  env=dict(os.environ, CCACHE_BASEDIR=str(self.folder)))
            self.assertEqual(done.returncode, 0, f"{command}\n{done.stdout}\n{done.stderr}")
            if "translate my-model" in command:
                self.assertEqual(len(done.stdout.splitlines()), 3)
                self.assertLessEqual(set(done.stdout.split()), set(WORDS))
            said = done.stdout
        self.assertRegex(said, r"^BLEU = [\d.]+")  # little, of so few sentences
        self.assertIn("<h2>Translations</h2>", (self.folder / "weft/my-model.html").read_text())


if __name__ == "__main__":
    REPOSITORY = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
