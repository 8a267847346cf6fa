# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Uses the language model programs as a person would, and as a person would not:
check.py MPIRUN SINGLE GPIPE 1F1B INTERLEAVED ZERO_BUBBLE REPLICAS, or - where there is no MPIRUN"""
import json
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

MPIRUN = SINGLE = GPIPE = ONE_F_ONE_B = INTERLEAVED = ZERO_BUBBLE = REPLICAS = ""


def counting(sentences, start=0):
    """Sentences that count in words: each word says what the next one is."""
    names = "one two three four five six seven eight nine ten".split()
    return "".join(" ".join(names[(start + i + k) % 10] for k in range(12)) + " .\n"
                   for i in range(sentences))


class LanguageModel(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        (self.folder / "train.txt").write_text(counting(60))
        (self.folder / "valid.txt").write_text(counting(12, 3))

    def run_program(self, program, *arguments, processes=0):
        command = [program, *map(str, arguments)]
        if processes:
            command = [MPIRUN, "-n", str(processes), *command]
        return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)

    def arguments(self, model, *more, train="train.txt", valid="valid.txt"):
        options = {"--batch": 8, "--valid-batch": 4, "--bptt": 8, "--max-epochs": 2, "--rate": 1,
                   "--dropout": 0.1}
        rest = list(more)
        while rest:  # an option and its value, or a flag
            name = rest.pop(0)
            options[name] = rest.pop(0) if rest and not str(rest[0]).startswith("--") else None
        command = ["train", self.folder / model, "--train", self.folder / train, "--valid",
                   self.folder / valid]
        for name, value in options.items():
            command += [name] if value is None else [name, value]
        return command

    def train(self, program, model, *more, processes=0, **texts):
        return self.run_program(program, *self.arguments(model, *more, **texts),
                                processes=processes)

    def trained(self, *arguments, **more):
        run = self.train(*arguments, **more)
        self.assertEqual(run.returncode, 0, run.stderr)
        return run

    def refused(self, run, *parts):
        self.assertEqual(run.returncode, 1, run.stdout + run.stderr)
        for part in parts:
            self.assertIn(part, run.stderr)

    def bytes_of(self, model, name="state.safetensors"):
        return (self.folder / model / name).read_bytes()

    def test_every_schedule_ends_with_the_same_file(self):
        run = self.trained(SINGLE, "single", "--test", self.folder / "valid.txt")
        self.assertRegex(run.stderr, r"epoch 2 \| 10/\d+ batches \| lr 0.95 \| ms/batch [\d.]+ \| "
                                     r"loss [\d.]+ \| ppl [\d.]+")
        self.assertRegex(run.stderr, r"end of training \| test loss [\d.]+ \| test ppl [\d.]+")
        expected = self.bytes_of("single")
        for program in GPIPE, ONE_F_ONE_B, INTERLEAVED, ZERO_BUBBLE:
            for recompute in "never", "always":
                with self.subTest(program=program, recompute=recompute):
                    model = pathlib.Path(program).name + recompute
                    self.trained(program, model, "--recompute", recompute)
                    self.assertEqual(self.bytes_of(model), expected)
        if MPIRUN != "-":
            self.trained(ONE_F_ONE_B, "processes", processes=2)
            self.assertEqual(self.bytes_of("processes"), expected)

    def test_one_device_has_no_stages_to_compute_again(self):
        run = self.train(SINGLE, "single", "--recompute", "always")
        self.assertNotEqual(run.returncode, 0)
        self.assertIn("--recompute", run.stderr)

    def test_replicas_end_with_the_same_file_as_fewer_would(self):
        # Two replicas of half of the micro-batches are two lanes: another order of sums.
        self.trained(REPLICAS, "threads", "--micro-batches", 4)
        self.trained(ONE_F_ONE_B, "unsharded", "--ranks", 4, "--micro-batches", 4)
        self.assertEqual(self.bytes_of("unsharded"), self.bytes_of("threads"))

    def test_a_run_that_one_schedule_began_goes_on_under_another(self):
        self.trained(SINGLE, "whole")
        self.trained(GPIPE, "parts", "--max-epochs", 1)
        self.trained(INTERLEAVED, "parts", "--resume")
        self.assertEqual(self.bytes_of("parts"), self.bytes_of("whole"))

    def test_a_run_goes_on_with_what_it_began_with(self):
        self.trained(SINGLE, "model", "--max-epochs", 1)
        (self.folder / "other.txt").write_text(counting(60, 1))
        for name, was, here in (("--bptt", 8, 9), ("--dropout", 0.1, 0.2), ("--rate", 1, 2)):
            self.refused(self.train(SINGLE, "model", "--resume", name, here),
                         f"a run with {name} {was}, this one has {here}")
        self.refused(self.train(SINGLE, "model", "--resume", train="other.txt"),
                     "a run with training text ", ", this one has ")
        self.refused(self.train(SINGLE, "model", "--resume", "--product-precision", "bfloat16"),
                     "a run with products float32, this one has bfloat16")
        self.trained(SINGLE, "model", "--resume")

    def test_a_run_that_has_saved_nothing_does_not_go_on(self):
        self.refused(self.train(SINGLE, "model", "--resume"), "there is no folder ")
        (self.folder / "model").mkdir()
        self.refused(self.train(SINGLE, "model", "--resume"),
                     "model: no run has saved its state there yet; start one anew, without "
                     "--resume")

    def test_products_of_float16_give_the_bits_of_one_device(self):
        options = ("--product-precision", "float16")
        self.trained(SINGLE, "whole", *options)
        self.trained(ONE_F_ONE_B, "parts", "--max-epochs", 1, *options)
        self.trained(ONE_F_ONE_B, "parts", "--resume", *options)
        self.assertEqual(self.bytes_of("parts"), self.bytes_of("whole"))

    def test_more_replicas_than_columns_lose_a_number(self):
        run = self.trained(ONE_F_ONE_B, "model", "--ranks", 4, "--batch", 1, "--valid-batch", 1,
                           "--max-epochs", 1, "--batches", 12, "--report", self.folder / "run.html")
        self.assertRegex(run.stderr, r"stages that cost the same lose \d+\.\d % by this schedule")
        run = self.trained(ONE_F_ONE_B, "short", "--max-epochs", 1, "--batches", 5, "--report",
                           self.folder / "run.html")
        self.assertIn("no batch was recorded: that begins after batch 5", run.stderr)

    def test_an_interrupted_run_goes_on(self):
        self.trained(SINGLE, "whole", "--max-epochs", 12)
        command = list(map(str, [ONE_F_ONE_B, *self.arguments("broken", "--max-epochs", 12)]))
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as run:
            while "epoch 2 |" not in run.stderr.readline():
                time.sleep(0.001)
            run.send_signal(signal.SIGTERM)
            said = run.stderr.read()
        self.assertEqual(run.returncode, 128 + signal.SIGTERM, said)
        self.assertIn("--resume", said)
        self.trained(ONE_F_ONE_B, "broken", "--max-epochs", 12, "--resume")
        self.assertEqual(self.bytes_of("broken"), self.bytes_of("whole"))

    def test_it_learns_and_writes(self):
        self.trained(SINGLE, "model", "--max-epochs", 10, "--log", self.folder / "log.jsonl")
        epochs = [json.loads(line) for line in (self.folder / "log.jsonl").read_text().splitlines()]
        self.assertEqual([epoch["epoch"] for epoch in epochs], list(range(1, 11)))
        self.assertLess(epochs[-1]["valid_perplexity"], 2)
        self.assertAlmostEqual(epochs[1]["rate"], 0.95)
        run = self.run_program(SINGLE, "generate", self.folder / "model", "--prompt",
                               "One two three four", "--words", 3)
        self.assertEqual(run.stdout, "one two three four\nfive six seven\n", run.stderr)
        drawn = [self.run_program(ONE_F_ONE_B, "generate", self.folder / "model", "--prompt", "one",
                                  "--temperature", 2, "--seed", seed).stdout for seed in (1, 1, 2)]
        self.assertEqual(len(drawn[0].split()), 51)
        self.assertEqual(drawn[0], drawn[1])
        self.assertNotEqual(drawn[0], drawn[2])
        for option, value in (("--top-k", 1), ("--top-p", 1e-6)):  # one word alone is left
            run = self.run_program(SINGLE, "generate", self.folder / "model", "--prompt",
                                   "One two three four", "--words", 3, "--temperature", 2, option, value)
            self.assertEqual(run.stdout, "one two three four\nfive six seven\n", run.stderr)
        self.refused(self.run_program(SINGLE, "generate", self.folder / "model", "--prompt",
                                      "Xyzzy plugh"), 'knows no word of the prompt "Xyzzy plugh"')
        best = self.folder / "model/best.safetensors"
        data = best.read_bytes()
        header = 8 + int.from_bytes(data[:8], "little")
        best.write_bytes(data[:header] + b"\xff" * (len(data) - header))  # NaN
        run = self.run_program(SINGLE, "generate", self.folder / "model", "--prompt", "one two")
        self.refused(run, "no word can be drawn after 2 words: the model makes numbers that are not "
                     "finite")
        self.assertEqual(run.stdout, "")

    def test_without_a_mask_words_are_looked_up(self):
        words = re.sub(r"\w+", lambda word: f"w{hash((word.start(), 1)) % 50}", counting(400))
        (self.folder / "random.txt").write_text(words)
        perplexity = {}
        for mask in "causal", "none":
            run = self.trained(SINGLE, mask, "--mask", mask, "--max-epochs", 6, train="random.txt",
                               valid="random.txt")
            perplexity[mask] = float(run.stderr.split("valid ppl ")[-1].split()[0])
        self.assertGreater(perplexity["causal"], 10)
        self.assertLess(perplexity["none"], 3)
        self.refused(self.run_program(SINGLE, "generate", self.folder / "none", "--prompt", "w1"),
                     "without a mask")

    def test_a_run_without_a_finite_loss_has_no_model_to_test(self):
        run = self.run_program(SINGLE, *self.arguments("nan", "--rate", 1e30, "--clip-norm", 0,
                                                       "--test", self.folder / "valid.txt",
                                                       "--report", self.folder / "page.html"))
        self.refused(run, "there is no best model: no epoch")
        self.assertNotIn("-2147483648", (self.folder / "page.html").read_text())

    def test_what_ranks_did_is_traced(self):
        run = self.trained(ONE_F_ONE_B, "traced", "--trace", self.folder / "trace.json",
                           "--report", self.folder / "page.html")
        self.assertIn("<h2>The schedule as it ran</h2>", (self.folder / "page.html").read_text())
        self.assertRegex(run.stderr, r"ranks waited [\d.]+ % .* lose 11.1 % by this schedule")
        events = json.loads((self.folder / "trace.json").read_text())["traceEvents"]
        forwards = [event for event in events if event["name"].startswith("forward")]
        self.assertAlmostEqual(len(forwards), 5 * 8 * 2, delta=4)  # ranks begin apart
        self.trained(SINGLE, "single", "--trace", self.folder / "single.json")
        self.assertIn("forward 0", (self.folder / "single.json").read_text())

    def test_small_batches_and_texts(self):
        run = self.trained(GPIPE, "small", "--batch", 3, "--micro-batches", 5)
        self.assertEqual(run.stderr.count("a batch of 3 columns makes 3 micro-batches, not 5"), 1)
        (self.folder / "empty.txt").write_text("")
        (self.folder / "short.txt").write_text("one two three\n" * 3)
        self.refused(self.train(GPIPE, "model", valid="empty.txt"),
                     "empty.txt: 0 words do not fill 4 columns")
        self.refused(self.train(GPIPE, "model", train="short.txt"),
                     "short.txt: 9 words do not fill 8 columns")
        self.refused(self.train(GPIPE, "model", train="missing.txt"), "missing.txt")
        self.refused(self.train(GPIPE, "model", "--micro-batches", 9), "9 micro-batches", "has 8")

    def test_what_is_no_number_of_something_is_refused(self):
        for option, value, wanted in (("--batch", 0, "a positive whole number"),
                                      ("--batches", -1, "0 or a positive whole number"),
                                      ("--decay", 0, "a positive number"),
                                      ("--clip-norm", -1, "0 or a positive number"),
                                      ("--dropout", 1, "a number from 0 to below 1")):
            run = self.train(SINGLE, "model", option, value)
            self.assertNotEqual(run.returncode, 0)
            self.assertIn(f"{option}: needs {wanted}, not {value}\n", run.stderr)
        run = self.run_program(SINGLE, "generate", "model", "--prompt", "one", "--top-p", 0)
        self.assertNotEqual(run.returncode, 0)
        self.assertIn("--top-p: needs a number above 0, at most 1, not 0\n", run.stderr)

    def test_more_ranks_than_pipelines_take(self):
        run = self.train(GPIPE, "model", "--ranks", 3)
        self.assertNotEqual(run.returncode, 0)
        self.assertIn("a pipeline has 2 ranks", run.stdout + run.stderr)


if __name__ == "__main__":
    MPIRUN, SINGLE, GPIPE, ONE_F_ONE_B, INTERLEAVED, ZERO_BUBBLE, REPLICAS = sys.argv[1:8]
    unittest.main(argv=sys.argv[:1] + sys.argv[8:])
