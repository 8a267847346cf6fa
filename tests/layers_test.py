# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Tests layers.py on small trees, each of which breaks one law."""
import pathlib
import tempfile
import unittest

from layers import MAY_INCLUDE, OPENING, faults_of

HEAD = "\n".join([OPENING[0], OPENING[1], OPENING[2] + "A header.", "#pragma once", ""])


class Layers(unittest.TestCase):
    def faults(self, files, recipe="folders = {\n  'core': ['index'],\n}\n"):
        """The faults of a tree of `files` beside a sound header core/index.hpp."""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            sound = {"include/weft/core/index.hpp": HEAD, "tests/meson.build": recipe}
            for name, content in {**sound, **files}.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(content)
            return faults_of(root)

    def assert_one(self, faults, *parts):
        self.assertEqual(len(faults), 1, faults)
        for part in parts:
            self.assertIn(part, faults[0])

    def test_the_table_itself_only_looks_down(self):
        below = set()
        for folder, names in MAY_INCLUDE.items():
            self.assertLessEqual(set(names.split()), below, folder)
            below.add(folder)

    def test_a_sound_tree_has_no_fault(self):
        self.assertEqual(self.faults({
            "include/weft/io/file.hpp": HEAD + "#include <weft/core/index.hpp>\n#include <map>\n",
            "include/weft/weft.hpp": HEAD + "#include <weft/core/index.hpp>\n",
            "tests/core/index.cpp": ""}), [])

    def test_the_version_is_that_of_the_project(self):
        header = HEAD + ("#define WEFT_VERSION_MAJOR 1  //!< first\n#define WEFT_VERSION_MINOR 2\n"
                         "#define WEFT_VERSION_PATCH 0\n"
                         'inline constexpr const char* version = "1.2.0";\n')
        for said, version, faults in ((header, "1.2.0", 0), (header, "1.20.0", 1),
                                      (header.replace("MINOR 2", "MINOR 3"), "1.2.0", 1),
                                      (header.replace('"1.2.0"', '"1.3.0"'), "1.2.0", 1)):
            found = self.faults({"include/weft/core/version.hpp": said,
                                 "meson.build": f"project('weft', 'cpp',\n  version: '{version}')"})
            self.assertEqual(len(found), faults, found)

    def test_a_lower_folder_may_not_include_a_higher_one(self):
        self.assert_one(self.faults({
            "include/weft/io/file.hpp": HEAD,
            "include/weft/core/shape.hpp": HEAD + "#include <weft/io/file.hpp>\n"}),
            "include/weft/core/shape.hpp:5", "core/ may include core")

    def test_a_spaced_directive_is_seen(self):
        spaced = HEAD + "#if A\n #  include <weft/io/file.hpp>\n#endif\n"
        self.assert_one(self.faults({
            "include/weft/io/file.hpp": HEAD,
            "include/weft/core/shape.hpp": spaced}),
            "include/weft/core/shape.hpp:6")

    def test_only_users_include_the_whole(self):
        self.assert_one(self.faults({
            "include/weft/weft.hpp": HEAD,
            "include/weft/core/shape.hpp": HEAD + "#include <weft/weft.hpp>\n"}),
            "is for users")

    def test_a_new_folder_needs_a_place(self):
        self.assert_one(self.faults({"include/weft/misc/a.hpp": HEAD}), "misc/", "no place")

    def test_an_include_that_does_not_exist(self):
        self.assert_one(self.faults({
            "include/weft/core/shape.hpp": HEAD + "#include <weft/core/gone.hpp>\n"}),
            "does not exist")

    def test_a_header_for_every_compiler_includes_none_for_nvcc(self):
        self.assert_one(self.faults({
            "include/weft/core/scan.cuh": HEAD,
            "include/weft/core/shape.hpp": HEAD + "#include <weft/core/scan.cuh>\n"}),
            "needs nvcc")

    def test_quotes_and_costly_headers(self):
        self.assert_one(self.faults({
            "include/weft/core/shape.hpp": HEAD + '#include "index.hpp"\n'}), "full path")
        self.assert_one(self.faults({
            "include/weft/core/shape.hpp": HEAD + "#include <iostream>\n"}), "too costly")

    def test_a_header_is_the_same_for_every_compiler(self):
        asks = HEAD + "struct S {\n# ifdef __CUDACC__\n  int range;\n# endif\n};\n"
        self.assert_one(self.faults({"include/weft/core/trace.hpp": asks}),
                        "include/weft/core/trace.hpp:6", "the same for nvcc")
        self.assertEqual(self.faults({"include/weft/core/host_device.hpp": asks,
                                      "include/weft/core/trace.cuh": asks}), [])

    def test_a_line_like_a_directive(self):
        calls = HEAD + "void f(Module& module) {\n  module.begin();\n}\n"
        self.assert_one(self.faults({"include/weft/core/shape.hpp": calls}),
                        "include/weft/core/shape.hpp:6", "'module'")
        self.assertEqual(self.faults({
            "include/weft/core/shape.hpp": calls.replace("  module", "  modules")}), [])

    def test_the_opening_lines(self):
        for missing in HEAD.splitlines():
            text = "\n".join(line for line in HEAD.splitlines() if line != missing)
            self.assertNotEqual(self.faults({"include/weft/core/shape.hpp": text}), [], missing)
        twice = HEAD + "#pragma once\n"
        self.assert_one(self.faults({"include/weft/core/shape.hpp": twice}), "once")

    def test_an_empty_tree_is_a_fault(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(len(faults_of(pathlib.Path(folder))), 1)

    def test_a_test_that_nothing_builds(self):
        self.assert_one(self.faults({"tests/core/shape.cpp": ""}), "tests/core/shape.cpp")
        self.assert_one(self.faults({"tests/core/deep/index.cpp": ""}), "tests/core/deep/index.cpp")
        # The name stands in another folder's list.
        self.assert_one(self.faults({"tests/io/index.cpp": ""}), "tests/io/index.cpp")
        self.assertEqual(self.faults({"tests/mpi/ring.cpp": "",
                                      "tests/mpi/meson.build": "executable('m', 'ring.cpp')"}), [])


if __name__ == "__main__":
    unittest.main()
