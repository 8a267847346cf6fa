# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Writes headers as Doxygen understands them, line for line: doxygen_filter.py INCLUDE TARGET

1. Our `//! @file Sentence.` is a command without a name and a sentence on the line behind it; the
   second SPDX line has room for the command.
2. The first paragraph of a comment is its brief description.
3. What a concept or a convention says for many types is not written again in each of them:
   CONVENTIONS has it, by folder. It holds only where a name has no comment of its own.
"""
import pathlib
import re
import sys

MODULE = "see `weft::nn::Module`."
COMMUNICATOR = "see `weft::comm::Communicator`."
DEVICE = "see `weft::Device`."
STRATEGY = [
    (r"using Objective = ", "The model and the loss, with their places in the buffers."),
    (r"int devices\(\) const", "How many devices this process trains on."),
    (r"D& device\(int", "One of this process's devices."),
    (r"const Recipe& recipe\(\)", "How an update is computed."),
    (r"const Objective& objective\(\)", "What is minimised."),
    (r"TrainingState<Optimizer, D>& state\(\)", "Values, the optimizer's buffers, counters."),
    (r"Whole whole_values\(\)", "Has all parameters there for as long as it lives."),
    (r"explicit Whole\(", "Gathers what is not here."),
    (r"int rank\(\)", "This rank's number; 0 without ranks."),
    (r"int ranks\(\)", "How many ranks there are; 1 without."),
]
CONVENTIONS = {
    "": [
        (r"friend (?:constexpr )?(?:bool|auto) operator(?:==|<=>)\(.*= default;", "Member by member."),
        (r"^\w+\(const \w+&\) = delete;", "Not copied."),
        (r"^\w+& operator=\(const \w+&\) = delete;", "Not copied."),
        (r"^\w+\(\w+&&\w*(?: \w+)?\)(?: noexcept)?(?: = default;| \{)", "Takes over what the other has."),
        (r"^\w+& operator=\(\w+&& ?\w*\)(?: noexcept)?(?: = default;| \{)",
         "Takes over what the other has."),
        (r"^(?:virtual )?~\w+\(\)", "Gives back what it holds; does not throw."),
        (r"^(?:constexpr )?\w+\(\) = default;", "As its members begin."),
        (r"^explicit \w+\(const std::string& message, Place where = Place::here\(\)\)",
         "The message, and the place that throws."),
    ],
    "nn": [
        (r"^static constexpr void members\(", "Shows each member once, in order; " + MODULE),
        (r"^struct Saved \{", "What the backward pass needs of a forward pass."),
        (r"^using Saved = ", "What the backward pass needs of a forward pass."),
        (r"^using Input = ", "What it reads, on a device of type D."),
        (r"^using Output = ", "What it writes, on a device of type D."),
        (r" forward\(", "The output, and what the backward pass needs; " + MODULE),
        (r" backward\(", "Hands gradients to the context and returns that of the input; " + MODULE),
        # Inside of Saved, which its module alone reads.
        (r"^(?:std::array<)?typename [^;]*Saved<D>[^;]*;", "What this part needs to go back."),
        (r"^LayoutPointer<D> \w+;", "Where sequences begin and end."),
        (r"^Tensor<float, D> (?:x|memory);", "The input."),
        (r"^(?:TokenSequences<D> tokens|InputOf<M, D> input);", "The input."),
    ],
    "comm": [
        (r"\bint rank\(\)", "The caller's number among the ranks."),
        (r"\bint size\(\)", "How many ranks there are."),
        (r"\bTimeout timeout\(\)", "How long a wait waits."),
        (r"^(?:static )?void post\(", "Begins sends and receives; " + COMMUNICATOR),
        (r"^(?:static )?void abort\(int", "Makes every transfer of every rank fail; " + COMMUNICATOR),
        (r"\w+ split\(int", "The ranks of one color; called by all. " + "Errors: " + COMMUNICATOR),
        (r"^using Transfer = ", "The messages of one `post`; " + COMMUNICATOR),
        (r"^(?:class|struct) Transfer \{", "The messages of one `post`; " + COMMUNICATOR),
        (r"\bbool done\(\)", "Makes progress, and whether all messages have ended; " + COMMUNICATOR),
        (r"\bvoid wait\(\)", "Waits for all messages, at most for the timeout; " + COMMUNICATOR),
    ],
    "device": [
        (r"^using Lanes = ", "What walks over the columns of a row."),
        (r"\bint index\(\) const", "The device's number in its group."),
        (r"\bMemory allocate\(", "Memory of the device's pool, in bytes; " + DEVICE),
        (r"\bvoid discard\(", "Says that bytes are of no use until they are written; " + DEVICE),
        (r"\bvoid upload\(", "Copies bytes from the host's memory; " + DEVICE),
        (r"\bvoid download\(", "Copies bytes to the host's memory; " + DEVICE),
        (r"\bvoid copy\(", "Copies bytes that the device can read; " + DEVICE),
        (r"\bvoid clear\(", "Writes zeros, so many bytes; " + DEVICE),
        (r"\bvoid submit\(", "Hands the worker a task; " + DEVICE),
        (r"\bvoid synchronize\(\)", "Returns when what was called before has ended; " + DEVICE),
        (r"\bvoid wait_for\(", "What follows comes after what the other was given; " + DEVICE),
        (r"\bbool small_passes = ", "Whether several passes go block by block."),
        (r"\bbool on_host = ", "Whether the host reads and writes the memory as its own."),
        (r"\bbool shares_memory\(", "Whether the first can read what lies on the second."),
        (r"\bvoid for_rows\(", "Calls `f(lanes, row)` for each of n rows of about `cost` elements."),
    ],
    "parallel": STRATEGY + [
        (r"^static constexpr const char\* name = ", "The schedule's name in programs and pictures."),
        (r"^static constexpr int micro_batches = ", "How many micro-batches an update has."),
        (r"^static constexpr int stages_of_rank = ", "How many stages each rank has."),
        (r"static constexpr auto table\(\)", "What each of P ranks does, in order."),
        (r"^static constexpr bool passes = ", "Read by a constraint, so that what fails is said above."),
        (r"^requires RefusedWithoutCommunicator<", "Says that a communicator is missing."),
    ],
}
CONVENTIONS["testing"] = CONVENTIONS["device"]
CONVENTIONS = {folder: [(re.compile(pattern), said) for pattern, said in table]
               for folder, table in CONVENTIONS.items()}
IN_FRONT = ("template", "requires", "[[nodiscard]] static")  # of a declaration's own line


def is_comment(lines, at):
    return 0 <= at < len(lines) and lines[at].lstrip().startswith("//!")


def convention(folder, line):
    """What a convention says of the declaration on a line; None if nothing."""
    declared = line.strip()
    declared = re.sub(r"^\[\[\w+\]\] ", "", declared)
    for pattern, said in CONVENTIONS.get(folder, []) + CONVENTIONS[""]:
        if pattern.search(declared):
            return said
    return None


def shown(lines, folder):
    """The lines as Doxygen should read them: as many as there are."""
    out = list(lines)
    if len(out) > 2 and out[2].startswith("//! @file "):
        out[1], out[2] = "//! @file", "//! @brief " + out[2][len("//! @file "):]
    for i, line in enumerate(lines):
        bare = line.lstrip()
        if i < 3 or bare.startswith("//"):
            if i > 2 and is_comment(lines, i) and not is_comment(lines, i - 1):
                out[i] = line.replace("//!", "//! @brief", 1)
            continue
        if "//!<" in line:
            out[i] = line.replace("//!<", "//!< @brief", 1)
            continue
        said = convention(folder, line)
        if said is None:
            continue
        first = i
        while first > 0 and lines[first - 1].lstrip().startswith(IN_FRONT):
            first -= 1
        if not is_comment(lines, first - 1):
            out[first] = f"/*! @brief {said} */ " + out[first].lstrip()
    return out


def main():
    source, target = map(pathlib.Path, sys.argv[1:3])
    for path in sorted(source.rglob("*")):
        if path.suffix not in (".hpp", ".cuh"):
            continue
        relative = path.relative_to(source)
        folder = relative.parts[1] if len(relative.parts) > 2 else ""
        lines = path.read_text(encoding="utf-8").splitlines()
        (target / relative).parent.mkdir(parents=True, exist_ok=True)
        (target / relative).write_text("\n".join(shown(lines, folder)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
