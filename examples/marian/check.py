# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Translates as Hugging Face does: check.py TRANSLATE_MARIAN_SMALL TRANSLATE_MARIAN CONVERT DATA

DATA is the folder of a MarianMT model, with what `generate` found, which interchange.py wrote. The
environment's WEFT_SENTENCE_PIECE is 1 where the programs have SentencePiece.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile


def main(small, large, convert, data):
    data = pathlib.Path(data)
    expected = json.loads((data / "translations.json").read_text(encoding="utf-8"))
    numbers = json.loads((data / "vocab.json").read_text(encoding="utf-8"))
    names = {number: name for name, number in numbers.items()}

    def text(rows):
        return "".join(" ".join(names[number] for number in row) + "\n" for row in rows)

    with tempfile.TemporaryDirectory() as folder:
        converted = pathlib.Path(folder) / "converted"
        subprocess.run([sys.executable, convert, "marian-to-weft", data, converted], check=True)

        def translate(source, *arguments, program=small):
            return subprocess.run([program, *arguments, converted], input=source, text=True,
                                  encoding="utf-8", stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  check=False)

        assert len(expected["runs"]) == 7 and len(expected["sources"]) >= 24
        for run in expected["runs"]:
            for more in ([], ["--batch", "5", "--threads", "2"]):
                ended = translate(text(expected["sources"]), "--pieces", *run["arguments"], *more)
                assert ended.returncode == 0, ended.stderr
                assert ended.stdout == text(run["found"]), (run["generate"], more, ended.stdout)

        # An unknown piece is <unk>, spaces do not count, and no line is lost.
        known, unknown = (translate(f"{names[5]} {piece}\n\n", "--pieces").stdout
                          for piece in ("<unk>", " no-such-piece "))
        assert known == unknown and known.count("\n") == 2, (known, unknown)
        too_long = translate("\n" + " ".join([names[5]] * 40) + "\n", "--pieces")
        assert too_long.returncode == 1, too_long
        assert "line 2 has 40 pieces and an end, the model 40 positions" in too_long.stderr
        other = translate("\n", "--pieces", program=large)
        assert other.returncode == 1, other
        assert "d_model is 32, not 512, heads is 4, not 8" in other.stderr, other
        assert '"d_model":32' in other.stderr and '"d_model":512' in other.stderr, other
        none = subprocess.run([small, folder], capture_output=True, text=True, check=False)
        assert none.returncode == 1 and "is no folder of a model" in none.stderr, none

        # What the file says beside its tensors is not trusted with the memory of a table.
        path = converted / "model.safetensors"
        whole = path.read_bytes()
        end = 8 + int.from_bytes(whole[:8], "little")
        for name, number in (("longest", "1000000000"), ("start", "4294967296"),
                             ("forbidden", '"5x7"')):
            header = json.loads(whole[8:end])
            header["__metadata__"][name] = number.strip('"')
            edited = json.dumps(header).encode()
            path.write_bytes(len(edited).to_bytes(8, "little") + edited + whole[end:])
            ended = translate("\n", "--pieces")
            assert ended.returncode == 1, ended
            assert f'{path}: its metadata has "{name}" {number}' in ended.stderr, ended
        path.write_bytes(whole)

        # Sentences, by the folder's own models of SentencePiece.
        cases = json.loads((data / "sentences.json").read_text(encoding="utf-8"))
        sentences = "".join(case["sentence"] + "\n" for case in cases)
        ended = translate(sentences)
        if os.environ["WEFT_SENTENCE_PIECE"] == "0":
            assert ended.returncode == 1, ended
            assert "source.spm needs SentencePiece" in ended.stderr, ended
            return
        assert ended.returncode == 0, ended.stderr
        for case, line in zip(cases, ended.stdout.splitlines(), strict=True):
            assert line == case["translation"], (case, line)
        assert any("<unk>" in case["pieces"] for case in cases)

        model = converted / "target.spm"
        model.write_bytes((data / "vocab.json").read_bytes())
        ended = translate(sentences)
        assert ended.returncode == 1 and "target.spm: is not a SentencePiece model" in ended.stderr, \
            ended
        model.unlink()
        ended = translate(sentences)
        assert ended.returncode == 1 and "target.spm" in ended.stderr and "--pieces" in ended.stderr, \
            ended


if __name__ == "__main__":
    main(*sys.argv[1:])
