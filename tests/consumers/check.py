# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Installs weft and builds a trainer of two source files against it, as users of Meson, CMake and
pkg-config do: check.py SOURCE_ROOT MESON, where CXX names the compiler."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = MESON = ""
HERE = pathlib.Path(__file__).parent


class Consumers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.prefix = cls.folder / "installed"
        build = cls.folder / "weft"
        cls.run_command(MESON, "setup", build, SOURCE, "--prefix", cls.prefix, "--libdir", "lib",
                        "-Dtests=false", "-Dexamples=false")
        cls.run_command(MESON, "install", "-C", build)

    @classmethod
    def run_command(cls, *command, **more):
        environment = dict(os.environ, PKG_CONFIG_PATH=str(cls.prefix / "lib/pkgconfig"))
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True,
                              timeout=300, check=False, env=environment, **more)
        if done.returncode != 0:
            raise AssertionError(f"{command}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def expect_training(self, program):
        self.assertEqual(self.run_command(program), "weft 0.1.0: the loss fell\n")

    def meson_project(self, name):
        project = self.folder / name
        project.mkdir()
        for source in HERE / "meson.build", *HERE.glob("*.?pp"):
            shutil.copy(source, project)
        return project

    def test_meson_finds_what_is_installed(self):
        project = self.meson_project("meson")
        self.run_command(MESON, "setup", "build", cwd=project)
        self.run_command("ninja", "-C", "build", cwd=project)
        self.expect_training(project / "build/trainer")

    def test_meson_takes_a_subproject(self):
        project = self.meson_project("subproject")
        (project / "subprojects").mkdir()
        (project / "subprojects/weft").symlink_to(SOURCE)
        said = self.run_command(MESON, "setup", "build", "--force-fallback-for=weft", cwd=project)
        self.assertIn("Executing subproject weft", said)
        self.run_command("ninja", "-C", "build", cwd=project)
        self.expect_training(project / "build/trainer")

    @unittest.skipUnless(shutil.which("cmake"), "no cmake")
    def test_cmake(self):
        build = self.folder / "cmake"
        self.run_command("cmake", "-S", HERE, "-B", build,
                         f"-DCMAKE_PREFIX_PATH={self.prefix}")
        self.run_command("cmake", "--build", build, "-j2")
        self.expect_training(build / "trainer")

    def test_pkg_config_and_no_run_time_types(self):
        flags = self.run_command("pkg-config", "--cflags", "--libs", "weft").split()
        program = self.folder / "trainer"
        self.run_command(os.environ.get("CXX", "c++"), "-std=c++20", "-O1", "-fno-rtti",
                         HERE / "main.cpp", HERE / "batch.cpp", "-o", program, *flags)
        self.expect_training(program)

    def test_only_headers_are_installed(self):
        headers = {path.relative_to(self.prefix / "include/weft")
                   for path in (self.prefix / "include/weft").rglob("*") if path.is_file()}
        expected = {path.relative_to(pathlib.Path(SOURCE) / "include/weft")
                    for path in (pathlib.Path(SOURCE) / "include/weft").rglob("*")
                    if path.suffix in (".hpp", ".cuh")}
        self.assertEqual(headers, expected)
        version = self.run_command("pkg-config", "--modversion", "weft")
        self.assertEqual(version, "0.1.0\n")


if __name__ == "__main__":
    SOURCE, MESON = os.path.abspath(sys.argv[1]), sys.argv[2]
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
