# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Installs weft and builds programs against it, as users of Meson, CMake and pkg-config do: a trainer
of two source files, one with ranks under MPI, one for GPUs (which is not run).

    check.py SOURCE_ROOT MESON, where CXX names the compiler
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = MESON = ""
HERE = pathlib.Path(__file__).parent
NVCC = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")


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
    def try_command(cls, *command, **more):
        environment = dict(os.environ, PKG_CONFIG_PATH=str(cls.prefix / "lib/pkgconfig"))
        if NVCC:
            environment["CUDACXX"] = NVCC
        return subprocess.run([str(part) for part in command], capture_output=True, text=True,
                              timeout=300, check=False, env=environment, **more)

    @classmethod
    def run_command(cls, *command, **more):
        done = cls.try_command(*command, **more)
        if done.returncode != 0:
            raise AssertionError(f"{command}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def packaged(self, name):
        """What pkg-config says for a package, which is skipped where weft was installed without."""
        if not (self.prefix / f"lib/pkgconfig/{name}.pc").is_file():
            self.skipTest(f"weft found nothing for {name} on this machine")
        return self.run_command("pkg-config", "--cflags", "--libs", name).split()

    def expect_training(self, program):
        self.assertEqual(self.run_command(program), "weft 0.1.0: the loss fell\n")

    def meson_project(self, name):
        project = self.folder / name
        project.mkdir()
        for source in HERE / "meson.build", *HERE.glob("*.?pp"):
            shutil.copy(source, project)
        shutil.copytree(HERE / "ranks", project / "ranks")
        return project

    def expect_programs(self, build):
        self.expect_training(build / "trainer")
        if (self.prefix / "lib/pkgconfig/weft-mpi.pc").is_file():
            self.assertEqual(self.run_command(build / "ranks"), "1 rank\n")

    def test_meson_finds_what_is_installed(self):
        project = self.meson_project("meson")
        self.run_command(MESON, "setup", "build", "-Ddebug=false", cwd=project)
        self.run_command("ninja", "-C", "build", cwd=project)
        self.expect_programs(project / "build")

    def test_meson_takes_a_subproject(self):
        project = self.meson_project("subproject")
        (project / "subprojects").mkdir()
        (project / "subprojects/weft").symlink_to(SOURCE)
        said = self.run_command(MESON, "setup", "build", "-Ddebug=false",
                                "--force-fallback-for=weft", cwd=project)
        self.assertIn("Executing subproject weft", said)
        self.run_command("ninja", "-C", "build", cwd=project)
        self.expect_programs(project / "build")

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
        self.run_command(os.environ.get("CXX", "c++"), "-std=c++20", "-fno-rtti",
                         HERE / "main.cpp", HERE / "batch.cpp", "-o", program, *flags)
        self.expect_training(program)

    def test_pkg_config_of_mpi(self):
        flags = self.packaged("weft-mpi")
        program = self.folder / "ranks"
        self.run_command(os.environ.get("CXX", "c++"), "-std=c++20", HERE / "ranks/main.cpp",
                         "-o", program, *flags)
        self.assertEqual(self.run_command(program), "1 rank\n")

    def find_components(self, components, *definitions):
        """What CMake says and whether it succeeds, when weft is to be found with components."""
        build = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        done = self.try_command("cmake", "-S", HERE / "ranks", "-B", build,
                                f"-DCMAKE_PREFIX_PATH={self.prefix}", f"-DCOMPONENTS={components}",
                                *definitions)
        # CMake breaks the lines of messages.
        return done.returncode == 0, " ".join((done.stdout + done.stderr).split()), build

    @unittest.skipUnless(shutil.which("cmake"), "no cmake")
    def test_cmake_of_mpi(self):
        self.packaged("weft-mpi")
        for components in "", "mpi":  # that which is not asked for is not looked for
            found, said, build = self.find_components(components)
            self.assertTrue(found, said)
        self.run_command("cmake", "--build", build)
        self.assertEqual(self.run_command(build / "ranks"), "1 rank\n")

    @unittest.skipUnless(shutil.which("cmake"), "no cmake")
    def test_cmake_says_what_a_component_lacks(self):
        for component, missing, said_of_it in (
                ("mpi", "MPI", "component mpi needs MPI: install libopenmpi-dev"),
                ("cuda", "CUDAToolkit", "component cuda needs CUDA 12 or newer"),
                ("nccl", "CUDAToolkit", "component nccl needs the component cuda"),
                ("gpu", "CUDAToolkit", "component gpu does not exist: there are cuda, nccl and mpi")):
            with self.subTest(component):
                found, said, _ = self.find_components(
                    component, f"-DCMAKE_DISABLE_FIND_PACKAGE_{missing}=TRUE")
                self.assertFalse(found)
                self.assertIn("weft: " + said_of_it, said)

    @unittest.skipUnless(NVCC, "no nvcc")
    @unittest.skipUnless(shutil.which("cmake"), "no cmake")
    def test_programs_for_gpus(self):
        flags = self.packaged("weft-cuda")
        build = self.folder / "gpu"
        self.run_command("cmake", "-S", HERE / "gpu", "-B", build,
                         f"-DCMAKE_PREFIX_PATH={self.prefix}", "-DCMAKE_CUDA_ARCHITECTURES=90-real")
        self.run_command("cmake", "--build", build)
        self.assertTrue((build / "product").is_file())

        # What nvcc has compiled is linked by the others, which saves its time.
        compiled = build / "CMakeFiles/product.dir/main.cu.o"
        if (self.prefix / "lib/pkgconfig/weft-nccl.pc").is_file():
            flags = self.packaged("weft-nccl")
        self.run_command(os.environ.get("CXX", "c++"), compiled, "-o", self.folder / "product",
                         *flags)
        elsewhere = self.run_command("pkg-config", "--define-variable=cuda=/elsewhere", "--cflags",
                                     "weft-cuda")
        self.assertIn("-I/elsewhere/include", elsewhere)
        for name in "installed", "subproject":
            with self.subTest(name):
                project = self.folder / f"gpu-{name}"
                project.mkdir()
                shutil.copy(HERE / "gpu/meson.build", project)
                shutil.copy(compiled, project)
                if name == "subproject":
                    (project / "subprojects").mkdir()
                    (project / "subprojects/weft").symlink_to(SOURCE)
                self.run_command(MESON, "setup", "build", cwd=project, *(
                    ["--force-fallback-for=weft"] if name == "subproject" else []))
                self.run_command("ninja", "-C", "build", cwd=project)

    @unittest.skipUnless(NVCC, "no nvcc")
    def test_nvcc_by_hand(self):
        flags = self.packaged("weft-cuda")
        program = self.folder / "by_hand"
        self.run_command(NVCC, "--forward-unknown-opts", "-std=c++20", "-O2", "-arch=sm_90",
                         HERE / "gpu/main.cu", "-o", program, *flags)
        self.assertTrue(program.is_file())

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
