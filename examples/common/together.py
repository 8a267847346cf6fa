# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Writes several programs as one, which is the program whose name it is called by. Most of the code of
programs that train similar models is the same: where all of them are compiled, it is compiled once.

    together.py OUTPUT NAME SOURCE [NAME SOURCE ...]
"""
import pathlib
import re
import sys

# Each program is a namespace, and its main a function `body`. Another function's end does not return 0 by
# itself: `auto` makes `body` a void function where nothing is returned. (A main that returns in some branches
# needs a `return` at its end too, as the compiler then says.)
PROGRAM = """
namespace program_{name} {{
#define main(...) run(int, char**); auto body(__VA_ARGS__)
#include "{source}"
#undef main
int run(int argc, char** argv) {{ return ::together::run(body, argc, argv); }}
}}
"""
HEAD = """
#include <cstdio>
#include <string_view>
#include <type_traits>

namespace together {
template <class Body>
int run(Body body, int argc, char** argv) {
  const auto call = [&] {
    if constexpr (std::is_invocable_v<Body>) {
      return body();
    } else {
      return body(argc, argv);
    }
  };
  if constexpr (std::is_void_v<decltype(call())>) {
    call();
    return 0;
  } else {
    return call();
  }
}
}
"""
MAIN = """
int main(int argc, char** argv) {{
  const std::string_view called = argc > 0 ? argv[0] : "";
{calls}
  std::fputs("This is several programs as one. Call it by the name of one of them.\\n", stderr);
  return 2;
}}
"""
CALL = '  if (called.ends_with("{name}")) return program_{name}::run(argc, argv);'


def included(source):
    """What a program includes, which stands outside its namespace."""
    for quoted, angled in re.findall(r'^#include (?:"(.+?)"|(<.+?>))', source.read_text(), re.MULTILINE):
        beside = source.parent / quoted
        yield angled or f'"{beside if beside.is_file() else quoted}"'


def main():
    output, *arguments = sys.argv[1:]
    programs = {name: pathlib.Path(source).resolve()
                for name, source in zip(arguments[::2], arguments[1::2])}
    headers = dict.fromkeys(header for source in programs.values() for header in included(source))
    pathlib.Path(output).write_text(
        "\n".join(f"#include {header}" for header in headers) + HEAD +
        "".join(PROGRAM.format(name=name, source=source) for name, source in programs.items()) +
        MAIN.format(calls="\n".join(CALL.format(name=name) for name in programs)))


if __name__ == "__main__":
    main()
