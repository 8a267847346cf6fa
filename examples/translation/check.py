# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Uses the translation programs as a person would, and as a person would not:
check.py MPIRUN SINGLE DATA_PARALLEL DISTRIBUTED ZERO1 ZERO2 ZERO3, or - where there is no MPIRUN"""
import fcntl
import gzip
import json
import os
import pathlib
import pty
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

MPIRUN = SINGLE = DATA_PARALLEL = DISTRIBUTED = ZERO1 = ZERO2 = ZERO3 = ""
DIGITS = "null eins zwei drei vier fuenf sechs sieben acht neun".split()
WORDS = "zero one two three four five six seven eight nine".split()


def pairs(count, start=0):
    """Numbers of five digits, spelt digit by digit."""
    for n in range(start, start + count):
        digits = [int(d) for d in f"{n * 7919 % 100000:05d}"]
        yield " ".join(DIGITS[d] for d in digits), " ".join(WORDS[d] for d in digits)


class Translation(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.write("train", pairs(300))
        self.write("valid", pairs(20, 4000))

    def write(self, name, rows):
        rows = list(rows)
        for side in (0, 1):
            text = "".join(row[side] + "\n" for row in rows)
            (self.folder / f"{name}.{'de' if side == 0 else 'en'}").write_text(text)

    def run_program(self, *arguments, program=None, stdin="", processes=0):
        command = [program or DATA_PARALLEL, *map(str, arguments)]
        if processes:
            command = [MPIRUN, "-n", str(processes), *command]
        return subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=300,
                              check=False)

    def corpus(self, train="train", valid="valid"):
        return ["--source", self.folder / f"{train}.de", "--target", self.folder / f"{train}.en",
                "--valid-source", self.folder / f"{valid}.de",
                "--valid-target", self.folder / f"{valid}.en"]

    def train(self, *arguments, model="model", program=None, corpus=None, processes=0):
        return self.run_program("train", self.folder / model, *(corpus or self.corpus()),
                                "--tokens", 600, "--warmup", 50, "--rate", 0.003, "--dropout", 0.1,
                                *arguments, program=program, processes=processes)

    def refused(self, run, *parts):
        self.assertNotEqual(run.returncode, 0, run.stderr)
        for part in parts:
            self.assertIn(part, run.stderr)

    def test_learns_translates_and_scores(self):
        summary = self.folder / "summary.json"
        self.write("more", pairs(1000))
        run = self.train("--max-epochs", 40, "--average", 2, "--summary", summary,
                         "--log", self.folder / "log", "--devices", 2,
                         "--tensorboard", self.folder / "events",
                         "--report", self.folder / "run.html", corpus=self.corpus("more"))
        self.assertEqual(run.returncode, 0, run.stderr)
        page = (self.folder / "run.html").read_text()
        for part in ("Loss per token", "<h2>Memory</h2>", "cpu:1", "<h2>Translations</h2>",
                     "--average 2"):
            self.assertIn(part, page)
        self.assertEqual(page.count('<div class="sample">'), 8)
        events, = (self.folder / "events").glob("events.out.tfevents.*")
        self.assertEqual(events.read_bytes().count(b"valid_loss"), 40)
        figures = json.loads(summary.read_text())
        for name in ("strategy", "devices", "parameters", "updates", "seconds",
                     "tokens_per_second", "peak_memory_bytes", "train_loss", "valid_loss", "bleu"):
            self.assertIn(name, figures)
        self.assertEqual(figures["strategy"], "data_parallel")
        self.assertGreater(figures["bleu"], 50)  # 11 after a fifth of these updates
        log = [json.loads(line) for line in (self.folder / "log").read_text().splitlines()]
        self.assertEqual([line["epoch"] for line in log], list(range(1, 41)))
        self.assertEqual(sorted(path.name for path in (self.folder / "model").glob("epoch-*")),
                         ["epoch-39.safetensors", "epoch-40.safetensors"])

        run = self.run_program("translate", self.folder / "model",
                               stdin="eins zwei drei vier fuenf\n\nacht acht unbekannt\n")
        self.assertEqual(run.returncode, 0, run.stderr)
        lines = run.stdout.splitlines()
        self.assertEqual(len(lines), 3)
        self.assertLessEqual(set(lines[0].split()), set(WORDS))
        self.assertEqual(lines[1], "")
        self.assertIn("1 word is not in the vocabulary\n", run.stderr)
        other_ends = self.run_program("translate", self.folder / "model", stdin="\ufeff" + "eins zwei "
                                      "drei vier fuenf\r\n\r\nacht acht unbekannt\r\n")
        self.assertEqual((other_ends.stdout, other_ends.stderr), (run.stdout, run.stderr))

        with open("/dev/full", "w", encoding="utf-8") as full:
            run = subprocess.run([DATA_PARALLEL, "translate", self.folder / "model"], input="eins\n",
                                 stdout=full, stderr=subprocess.PIPE, text=True, timeout=60,
                                 check=False)
        self.assertEqual(run.returncode, 1)
        self.assertIn("cannot write the output: No space left on device", run.stderr)
        run = subprocess.run(["sh", "-c", 'ulimit -f 0; exec "$0" translate "$1" > "$2"',
                              DATA_PARALLEL, self.folder / "model", self.folder / "cut"],
                             input="eins\n", capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(run.returncode, 1)
        self.assertIn("cannot write the output: File too large", run.stderr)
        descriptor = os.open(self.folder, os.O_RDONLY)
        run = subprocess.run([DATA_PARALLEL, "translate", self.folder / "model"], stdin=descriptor,
                             capture_output=True, text=True, timeout=60, check=False)
        os.close(descriptor)
        self.assertEqual(run.returncode, 1)
        self.assertIn("cannot read standard input: Is a directory", run.stderr)
        run = subprocess.run([DATA_PARALLEL, "translate", self.folder / "model"],
                             input=b"eins\nf\xfcnf\n", capture_output=True, timeout=60, check=False)
        self.assertEqual((run.returncode, run.stdout), (1, b""))
        self.assertIn(b"standard input, line 2: byte 1 (0xfc) is not UTF-8", run.stderr)
        # Else the next file that is opened, a vocabulary say, would be standard input.
        run = subprocess.run(["sh", "-c", '"$0" translate "$1" <&-', DATA_PARALLEL,
                              self.folder / "model"], capture_output=True, text=True, timeout=60,
                             check=False)
        self.assertEqual((run.returncode, run.stdout), (1, ""))
        self.assertIn("cannot read standard input: Bad file descriptor", run.stderr)

        (self.folder / "gap.de").write_text("eins\nzwei\n")
        (self.folder / "gap.en").write_text("one\n\n")
        gap = ["--source", self.folder / "gap.de", "--target", self.folder / "gap.en"]
        self.assertIn("skipped, a side without words: 1 (at 2)",
                      self.run_program("evaluate", self.folder / "model", *gap).stderr)
        self.refused(self.run_program("evaluate", *gap),
                     "the folder of a model, or --hypotheses and --references")

        for precision in ("float32", "bfloat16"):
            score = self.run_program("evaluate", self.folder / "model", "--source",
                                     self.folder / "valid.de", "--target",
                                     self.folder / "valid.en", "--tokenize", "none",
                                     "--product-precision", precision, program=SINGLE)
            self.assertEqual(score.returncode, 0, score.stderr)
            self.assertTrue(score.stdout.startswith("BLEU = "))

        long_line = "eins " * 300
        self.refused(self.run_program("translate", self.folder / "model", stdin=long_line + "\n"),
                     "line 1 has 300 words", "--truncate")
        for lines, said in ((1, "1 line was truncated to 255 words\n"),
                            (2, "2 lines were truncated to 255 words\n")):
            run = self.run_program("translate", self.folder / "model", "--truncate",
                                   stdin=(long_line + "\n") * lines)
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertIn(said, run.stderr)

        config = self.folder / "model/config.json"
        compiled = config.read_text()
        config.write_text(compiled.replace('"heads": 4', '"heads": 8'))
        self.refused(self.run_program("translate", self.folder / "model"), "heads is 8, not 4")
        config.write_text(compiled)
        path = self.folder / "model/best.safetensors"
        whole = path.read_bytes()
        path.write_bytes(whole[:len(whole) // 2])
        self.refused(self.run_program("translate", self.folder / "model", "--model", "best"),
                     "best.safetensors")
        path.write_bytes(whole)
        vocabulary = self.folder / "model/source.vocabulary"
        vocabulary.write_text(vocabulary.read_text().replace("eins", "uno"))
        self.refused(self.run_program("translate", self.folder / "model"), "another source_vocab")

    def test_an_interrupted_run_resumes_to_the_same_bits(self):
        whole = self.train("--max-epochs", 6, model="whole")
        self.assertEqual(whole.returncode, 0, whole.stderr)
        command = [DATA_PARALLEL, "train", self.folder / "parts", *self.corpus(), "--tokens", 600,
                   "--warmup", 50, "--rate", 0.003, "--dropout", 0.1, "--max-epochs", 6]
        process = subprocess.Popen(list(map(str, command)), stderr=subprocess.PIPE, text=True)
        while not (self.folder / "parts/epoch-2.safetensors").exists():
            self.assertIsNone(process.poll())
            time.sleep(0.01)
        second = self.run_program(*command[1:])
        self.refused(second, f"another run writes to {self.folder / 'parts'}: process {process.pid}")
        process.send_signal(signal.SIGTERM)
        stderr = process.communicate(timeout=60)[1]
        self.assertEqual(process.returncode, 128 + signal.SIGTERM, stderr)
        self.assertIn(f"{self.folder / 'parts'} --source", stderr)
        self.assertIn("--resume", stderr)
        resumed = self.run_program(*command[1:], "--resume")
        self.assertEqual(resumed.returncode, 0, resumed.stderr)
        self.assert_same_files("whole", "parts", "epoch-6.safetensors", "average.safetensors",
                               "state.safetensors")

    def assert_same_files(self, one, other, *names):
        for name in names:
            self.assertEqual((self.folder / one / name).read_bytes(),
                             (self.folder / other / name).read_bytes(), f"{one} {other} {name}")

    def test_all_strategies_give_the_same_model(self):
        recipe = ["--max-epochs", 2, "--lanes", 2, "--micro-batches", 4]
        self.assertEqual(self.train(*recipe, model="one", program=SINGLE).returncode, 0)
        for name, program, *arguments in (("devices", DATA_PARALLEL, "--devices", 2),
                                          ("ranks", DISTRIBUTED, "--ranks", 2),
                                          ("idle", DISTRIBUTED, "--ranks", 3),
                                          ("zero1", ZERO1, "--ranks", 2),
                                          ("zero2", ZERO2, "--ranks", 2),
                                          ("zero3", ZERO3, "--ranks", 3),
                                          ("kept", ZERO3, "--ranks", 2,
                                           "--reshard-after-forward", "false")):
            run = self.train(*recipe, *arguments, model=name, program=program)
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assert_same_files("one", name, "epoch-2.safetensors", "state.safetensors")

    def test_a_run_goes_on_without_its_logs(self):
        run = self.train("--max-epochs", 2, "--tensorboard", self.folder / "train.de",
                         "--log", self.folder / "none/log", "--report", self.folder / "none/page",
                         "--trace", self.folder / "none/trace")
        self.assertEqual(run.returncode, 0, run.stderr)
        for said in ("TensorBoard gets nothing", "there will be no more lines",
                     "there will be no report", "there will be no trace"):
            self.assertEqual(run.stderr.count(said), 1, run.stderr)
        self.assertTrue((self.folder / "model/average.safetensors").exists())
        run = self.train("--max-epochs", 2, "--log", "/dev/full", model="full")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(run.stderr.count("cannot write /dev/full"), 1, run.stderr)

    def test_a_line_that_was_cut_off_does_not_spoil_the_next(self):
        log = self.folder / "log"
        self.assertEqual(self.train("--max-epochs", 1, "--log", log, program=SINGLE).returncode, 0)
        first, = log.read_text().splitlines()
        for epoch, there, lines in (2, first + '\n{"upda', 3), (3, first + "\n", 2), (4, "", 1):
            log.write_text(there)
            run = self.train("--max-epochs", epoch, "--log", log, "--resume", program=SINGLE)
            self.assertEqual(run.returncode, 0, run.stderr)
            got = log.read_text().splitlines()
            self.assertEqual((len(got), json.loads(got[-1])["epoch"]), (lines, epoch), got)

    def on_terminal(self, columns, *arguments, status=0, after=lambda process: None):
        """What a terminal of some columns receives, without moves and colours; `after` is called
        with the process as soon as it has received something."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        environment = dict(os.environ, TERM="xterm")
        environment.pop("NO_COLOR", None)
        with subprocess.Popen([SINGLE, *map(str, arguments)], stdout=theirs, stderr=theirs,
                              env=environment) as process:
            os.close(theirs)
            received = b""
            try:
                while part := os.read(ours, 4096):
                    received += part
                    after(process)
            except OSError:
                pass  # its other end is closed
        os.close(ours)
        self.assertEqual(process.returncode, status, received)
        return re.sub(r"\x1b\[[0-9;]*[mK]", "", received.decode())

    def test_a_terminal_of_20_columns_has_room_for_the_progress(self):
        shown = self.on_terminal(20, "train", self.folder / "model", *self.corpus(),
                                    "--max-updates", 3, "--tokens", 600)
        bars = [line for line in re.split(r"[\r\n]+", shown) if re.match(r"epoch \d+: +\d+%", line)]
        self.assertGreaterEqual(len(bars), 2, shown)
        self.assertLess(max(map(len, bars)), 20)
        self.assertIn("\nBLEU of the validation corpus", shown)
        shown = self.on_terminal(20, "train", "--help")
        self.assertIn("--valid-source", shown)

    def test_what_an_interrupted_run_says_stands_below_the_progress(self):
        sent = []

        def interrupt(process):
            if not sent and (self.folder / "model/epoch-2.safetensors").exists():
                sent.append(process.send_signal(signal.SIGINT))
        shown = self.on_terminal(80, "train", self.folder / "model", *self.corpus(), "--tokens",
                                 300, status=128 + signal.SIGINT, after=interrupt)
        self.assertRegex(shown, r"[^\r\n]\r\ninterrupted after \d+ updates, the state is saved; go on "
                                r"with\r\n  [^\r\n]* --resume\r\n$")

    def test_the_progress_of_a_run_that_goes_on_begins_where_it_was(self):
        for more, said in (("--max-updates", 2), r"epoch 1: +67% 2/3 "), (
                ("--max-epochs", 1, "--resume"), r"epoch 1: 100% 3/3 "):
            run = self.train(*more, program=SINGLE)
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertRegex(run.stderr, said)

    def test_a_run_that_goes_on_has_no_mean_until_it_ends_again(self):
        average = self.folder / "model/average.safetensors"
        self.assertEqual(self.train("--max-epochs", 1, program=SINGLE).returncode, 0)
        before = average.read_bytes()
        command = [SINGLE, "train", self.folder / "model", *self.corpus(), "--tokens", 600,
                   "--warmup", 50, "--rate", 0.003, "--dropout", 0.1, "--resume"]
        with subprocess.Popen(list(map(str, command)), stderr=subprocess.DEVNULL) as process:
            while not (self.folder / "model/epoch-2.safetensors").exists():
                self.assertIsNone(process.poll())
                time.sleep(0.01)
            process.send_signal(signal.SIGTERM)
        self.assertFalse(average.exists())
        run = self.run_program("translate", self.folder / "model", program=SINGLE, stdin="eins\n")
        self.assertIn("average.safetensors before a run has ended: this is ", run.stderr)
        run = self.train("--max-updates", 1, "--resume", program=SINGLE)  # nothing is left to do
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertNotEqual(average.read_bytes(), before)

    def test_a_run_that_has_ended_says_so_again(self):
        summary, page = self.folder / "summary.json", self.folder / "run.html"
        run = ["--max-epochs", 2, "--summary", summary, "--report", page]
        self.assertEqual(self.train(*run).returncode, 0)
        figures, shown = json.loads(summary.read_text()), page.read_text()
        again = self.train(*run, "--resume")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(page.read_text(), shown)
        for name in ("epochs", "updates", "bleu"):
            self.assertEqual(json.loads(summary.read_text())[name], figures[name])
        self.assertEqual(figures["epochs"], 2)

    def test_a_run_too_short_for_a_trace_has_none(self):
        trace = self.folder / "trace.json"
        run = self.train("--max-updates", 5, "--trace", trace)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("there will be no trace: it begins after batch 5", run.stderr)
        self.assertFalse(trace.exists())

    def test_what_is_no_number_of_something_is_refused(self):
        for option, value in (("--seed", -1), ("--seed", 2**64), ("--micro-batches", 2**63 - 1),
                              ("--lanes", 10**11)):
            self.refused(self.train(option, value), option)
        for wanted, *refused in (("a positive whole number", ("--tokens", 0), ("--chunk", "five"),
                                  ("--average", 1.5)),
                                 ("0 or a positive whole number", ("--warmup", -5),
                                  ("--minimum-count", -5), ("--max-updates", -1),
                                  ("--patience", -1)),
                                 ("0 or a positive number", ("--rate", "nan"), ("--clip-norm", -1),
                                  ("--weight-decay", "inf")),
                                 ("a number from 0 to below 1", ("--dropout", 1),
                                  ("--label-smoothing", -0.1)),
                                 ("a positive whole number that does not begin with a 0",
                                  ("--tokens", "0600")),  # which would be octal: 384
                                 ("a whole number from 0 to 2^64 - 1 that does not begin with a 0",
                                  ("--seed", "010")),
                                 ("a whole number from 0 to 65536", ("--lanes", -1)),
                                 ("a whole number from 0 to 65536 that does not begin with a 0",
                                  ("--micro-batches", "08"))):
            for option, value in refused:
                self.refused(self.train(option, value), f"{option}: needs {wanted}, not {value}\n")
        self.refused(self.train("--tokens", 2**63),
                     f"--tokens: cannot hold a number like {2**63}\n")
        for option in "--beam", "--batch", "--max-length":
            self.refused(self.run_program("translate", "model", option, 0),
                         f"{option}: needs a positive whole number, not 0\n")
        self.refused(self.run_program("--timeout", 0, "train", "model", program=ZERO1),
                     "--timeout: needs a positive number, not 0\n")
        self.assertEqual(self.train("--max-updates", 1).returncode, 0)
        self.refused(self.train("--max-updates", 1, "--train-subwords", 40, "--resume"),
                     "words that are not cut")

    def test_what_devices_did_is_traced(self):
        for program, processes, rows in ((DATA_PARALLEL, 0, {"cpu:0", "cpu:1"}),
                                         (ZERO2, 2, {"cpu:0", "cpu:1", "cpu:0 messages",
                                                     "cpu:1 messages"})):
            if processes and MPIRUN == "-":
                continue
            run = self.train("--max-updates", 12, "--trace", self.folder / "trace.json",
                             *([] if processes else ["--devices", 2]), program=program,
                             processes=processes, model=f"of {processes}")
            self.assertEqual(run.returncode, 0, run.stderr)
            events = json.loads((self.folder / "trace.json").read_text())["traceEvents"]
            names = {event["args"]["name"] for event in events if event["ph"] == "M"}
            self.assertLessEqual(rows, names)
            spans = {event["name"] for event in events if event["ph"] == "X"}
            self.assertLessEqual({"forward 0", "backward 1", "optimizer", "next batch"}, spans)
            if processes:
                self.assertIn("reduce_scatter 0", spans)

    def test_says_where_numbers_stop_being_finite(self):
        for program in DATA_PARALLEL, ZERO2:
            run = self.run_program("train", self.folder / "model", *self.corpus(), "--tokens", 600,
                                   "--schedule", "constant", "--rate", 1e30, "--check-finite",
                                   "--max-updates", 3, program=program)
            self.refused(run, "update 2, rank 0: ",
                         "encoder.layers.0.self_attention.query: linear: y has ")

    def test_what_is_sent_less_changes_the_model_little(self):
        losses = []
        for name, *exchange in (("all",), ("less", "--order", "fast", "--wire", "bfloat16")):
            summary = self.folder / f"{name}.json"
            run = self.train("--max-epochs", 2, "--lanes", 4, "--ranks", 2, *exchange,
                             "--summary", summary, model=name, program=DISTRIBUTED)
            self.assertEqual(run.returncode, 0, run.stderr)
            losses.append(json.loads(summary.read_text())["train_loss"])
        self.assertNotEqual(*losses)
        self.assertLess(abs(losses[0] - losses[1]), 0.01 * losses[0])

    @unittest.skipIf(len(sys.argv) > 1 and sys.argv[1] == "-", "no mpirun")
    def test_processes_give_the_same_model_as_threads(self):
        recipe = ["--max-epochs", 2, "--lanes", 2, "--micro-batches", 4, "--score"]
        summaries = []
        runs = (("threads", 0, ZERO2, ["--ranks", 2]), ("processes", 2, ZERO2, []),
                ("shards", 2, ZERO3, []))
        for model, processes, program, ranks in runs:
            summaries.append(self.folder / f"{model}.json")
            run = self.train(*recipe, *ranks, "--summary", summaries[-1], model=model,
                             program=program, processes=processes)
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertEqual(run.stderr.count("BLEU of the validation corpus"), 1, run.stderr)
        threads, *others = (json.loads(summary.read_text()) for summary in summaries)
        for (model, *_), other in zip(runs[1:], others, strict=True):
            self.assert_same_files("threads", model, "epoch-2.safetensors", "state.safetensors",
                                   "average.safetensors")
            for name in ("devices", "updates", "train_loss", "valid_loss", "bleu"):
                self.assertEqual(threads[name], other[name], name)
        run = self.run_program("translate", self.folder / "processes", program=ZERO2, processes=2,
                               stdin="eins zwei drei\n")
        self.assertEqual((run.returncode, run.stdout.count("\n")), (0, 1), run.stderr)

    def connecting(self, ranks, *arguments):
        """Starts processes with the variables that torchrun sets, by rank."""
        with socket.create_server(("localhost", 0)) as free:
            port = free.getsockname()[1]
        started = []
        for rank in range(ranks):
            environment = dict(os.environ, RANK=str(rank), WORLD_SIZE=str(ranks),
                               LOCAL_RANK=str(rank), MASTER_ADDR="localhost",
                               MASTER_PORT=str(port))
            started.append(subprocess.Popen([*map(str, arguments)], text=True, env=environment,
                                            stdout=subprocess.PIPE, stderr=subprocess.PIPE))
        return started

    def ends_of(self, started):
        return [(*run.communicate(timeout=300), run.returncode) for run in started]

    def connected(self, ranks, *arguments):
        """Runs processes with the variables that torchrun sets; their ends, by rank."""
        return self.ends_of(self.connecting(ranks, *arguments))

    def test_processes_that_connect_give_the_same_model_as_threads(self):
        recipe = ["--max-epochs", 2, "--lanes", 3, "--micro-batches", 6]
        run = self.train(*recipe, "--ranks", 3, model="threads", program=ZERO2)
        self.assertEqual(run.returncode, 0, run.stderr)
        ended = self.connected(3, ZERO2, "train", self.folder / "connected", *self.corpus(),
                               "--tokens", 600, "--warmup", 50, "--rate", 0.003, "--dropout", 0.1,
                               *recipe)
        for _, stderr, status in ended:
            self.assertEqual(status, 0, stderr)
        self.assert_same_files("threads", "connected", "epoch-2.safetensors", "state.safetensors")

    def test_processes_that_connect_hear_of_a_failure(self):
        corpus = self.corpus()
        corpus[1] = self.folder / "missing.de"
        for _, stderr, status in self.connected(2, DISTRIBUTED, "train", self.folder / "model",
                                                *corpus):
            self.assertNotEqual(status, 0)
            self.assertIn("missing.de", stderr)

    def test_processes_of_which_one_is_interrupted_say_so_together(self):
        for rank in 0, 1:
            model = self.folder / f"model{rank}"
            ranks = self.connecting(2, ZERO3, "train", model, *self.corpus(), "--tokens", 600,
                                    "--max-epochs", 1000)
            while not (model / "epoch-1.safetensors").exists():
                self.assertEqual([run.poll() for run in ranks], [None, None])
                time.sleep(0.01)
            ranks[rank].send_signal(signal.SIGTERM)
            ended = self.ends_of(ranks)
            for _, stderr, status in ended:
                self.assertEqual(status, 128 + signal.SIGTERM, stderr)
            self.assertRegex(ended[0][1], r"the state is saved; go on with\n  torchrun \.\.\. \S*zero")

    @unittest.skipIf(len(sys.argv) > 1 and sys.argv[1] == "-", "no mpirun")
    def test_processes_that_do_not_fit_are_refused(self):
        run = self.train("--ranks", 3, model="model", program=DISTRIBUTED, processes=2)
        self.refused(run, "3 ranks were asked for, but mpirun started 2")

    def test_a_run_goes_on_under_another_strategy_with_the_same_bits(self):
        recipe = ["--lanes", 2, "--micro-batches", 4]
        self.assertEqual(self.train(*recipe, "--max-epochs", 5, model="one", program=SINGLE)
                         .returncode, 0)
        steps = ((ZERO2, "--ranks", 3), (ZERO1, "--ranks", 2), (ZERO3, "--ranks", 2),
                 (DISTRIBUTED, "--ranks", 2), (DATA_PARALLEL, "--devices", 2))
        for epochs, (program, *arguments) in enumerate(steps, start=1):
            first = ["--resume"] if epochs > 1 else recipe
            run = self.train(*first, *arguments, "--max-epochs", epochs, model="parts",
                             program=program)
            self.assertEqual(run.returncode, 0, run.stderr)
        self.assert_same_files("one", "parts", "epoch-5.safetensors", "state.safetensors")

    def vocabulary(self, model):
        return (self.folder / model / "source.vocabulary").read_text().splitlines()[4:]

    def expect_same_score(self, model, summary):
        """What the folder says is all that evaluate needs to score as training did."""
        run = self.run_program("evaluate", self.folder / model, "--source",
                               self.folder / "valid.de", "--target", self.folder / "valid.en",
                               "--tokenize", "none", program=SINGLE)
        self.assertEqual(run.returncode, 0, run.stderr)
        bleu = json.loads(summary.read_text())["bleu"]
        self.assertGreater(bleu, 1)
        self.assertEqual(run.stdout.split()[2], f"{bleu:.2f}")

    def test_codes_cut_text_and_translations_are_joined(self):
        codes = self.folder / "bpe"
        merges = ["e i", "ei n", "ei n</w>", "s</w> x", "t h", "r e", "f i", "e n", "n e</w>"]
        codes.write_text("#version: 0.2\n" + "".join(merge + "\n" for merge in merges))
        self.write("more", pairs(1000))
        summary = self.folder / "summary.json"
        run = self.train("--subwords", codes, "--max-epochs", 4, "--summary", summary,
                         corpus=self.corpus("more"), program=SINGLE)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("subwords by", run.stderr)
        self.assertEqual((self.folder / "model/subwords.codes").read_bytes(), codes.read_bytes())
        self.assertLessEqual({"ein@@", "s", "th@@", "re@@", "ne"}, set(self.vocabulary("model")))
        self.assertFalse({"eins", "three"} & set(self.vocabulary("model")))
        self.expect_same_score("model", summary)
        run = self.run_program("translate", self.folder / "model",
                               stdin="eins zwei drei vier fuenf\n", program=SINGLE)
        self.assertEqual((run.returncode, run.stdout.count("@@")), (0, 0), run.stderr)
        self.assertNotIn("not in the vocabulary", run.stderr)

        own = self.folder / "model/subwords.codes"
        own.write_text("#version: 0.2\ne i\n")
        self.refused(self.run_program("translate", self.folder / "model", program=SINGLE),
                     "another subwords")
        own.unlink()
        self.refused(self.run_program("translate", self.folder / "model", program=SINGLE),
                     "another subwords")

    def test_a_run_goes_on_with_the_subwords_of_its_folder(self):
        codes = self.folder / "bpe"
        codes.write_text("e i\nei n\n")
        whole = self.train("--subwords", codes, "--max-epochs", 2, model="whole", program=SINGLE)
        self.assertEqual(whole.returncode, 0, whole.stderr)
        run = self.train("--subwords", codes, "--max-epochs", 1, model="parts", program=SINGLE)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.refused(self.train("--resume", "--train-subwords", 40, model="parts", program=SINGLE),
                     "--train-subwords 40, but the run goes on with ",
                     "parts/subwords.codes, codes of subword-nmt\n")
        codes.unlink()
        run = self.train("--resume", "--max-epochs", 2, model="parts", program=SINGLE)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assert_same_files("whole", "parts", "epoch-2.safetensors", "state.safetensors")
        words = self.vocabulary("parts")
        self.refused(self.train("--max-epochs", 1, model="parts", program=SINGLE),
                     "parts holds another run: resume it, or choose another folder")
        self.assertTrue((self.folder / "parts/subwords.codes").exists())
        self.assertEqual(self.vocabulary("parts"), words)

    def test_a_run_that_has_saved_nothing_does_not_go_on(self):
        model = self.folder / "model"
        self.refused(self.train("--resume", program=SINGLE), f"there is no folder {model}\n")
        self.assertFalse(model.exists())
        self.assertEqual(self.train("--max-updates", 1, program=SINGLE).returncode, 0)
        (model / "state.safetensors").unlink()  # as if saving it had failed
        for program in SINGLE, ZERO2:
            self.refused(self.train("--resume", program=program), f"{model}: no run has saved its "
                         "state there yet; start one anew, without --resume\n")
        self.assertEqual(self.train("--max-updates", 1, program=SINGLE).returncode, 0)

    def test_a_run_without_a_finite_loss_has_no_model(self):
        run = self.run_program("train", self.folder / "model", *self.corpus(), "--tokens", 600,
                               "--schedule", "constant", "--rate", 1e30, "--max-epochs", 2,
                               program=SINGLE)
        self.refused(run, "there is no best model: no epoch's validation loss was a number")
        self.assertFalse((self.folder / "model" / "average.safetensors").exists())

    def test_a_model_that_makes_no_numbers_translates_nothing(self):
        self.assertEqual(self.train("--max-updates", 1, program=SINGLE).returncode, 0)
        for model in (self.folder / "model").glob("*.safetensors"):
            if model.stem != "state":
                whole = model.read_bytes()
                model.write_bytes(whole[:-4096] + b"\xff" * 4096)  # NaNs
        run = self.run_program("translate", self.folder / "model", stdin="eins\n\nzwei\n")
        self.refused(run, "the translations of 2 lines: the model makes numbers that are not finite")
        self.assertEqual(run.stdout, "")

    def test_a_run_goes_on_with_what_it_began_with(self):
        codes = self.folder / "bpe"
        codes.write_text("e i\nei n\n")
        self.assertEqual(self.train("--max-epochs", 1, program=SINGLE).returncode, 0)
        state = (self.folder / "model/state.safetensors").read_bytes()
        vocabulary = self.folder / "model/source.vocabulary"
        words = vocabulary.read_text()
        self.write("other", pairs(300, 1))

        def refused(*arguments, said, corpus=None):
            self.refused(self.train("--resume", "--max-epochs", 2, *arguments, program=SINGLE,
                                    corpus=corpus), *said)
            self.assertEqual((self.folder / "model/state.safetensors").read_bytes(), state)
        for name, was, here in (("--label-smoothing", "0.1", "0.2"), ("--chunk", "5", "6"),
                                ("--vocabulary", "1000000", "8"), ("--seed", "1", "2")):
            refused(name, here, "--tensorboard", self.folder / "events",
                    said=[f"{name.removeprefix('--')} {was}, this one has {here}"])
        self.assertFalse((self.folder / "events").exists())  # of runs that were refused
        for name, given in ("lanes", 3), ("micro-batches", 2):  # three lanes need as many of these
            refused(f"--{name}", given,
                    said=[f"a run with {name.replace('-', '_')} 1, this one has {given}"])
        refused("--score", said=["a run with --score false, this one has true"])
        refused(corpus=self.corpus("other"), said=["a run with training text ", ", this one has "])
        refused(corpus=self.corpus(valid="other"), said=["a run with validation sentences 20, "
                                                         "this one has 300"])
        refused("--subwords", codes, said=["bpe has the fingerprint", "words that are not cut"])
        vocabulary.write_text(words.replace("eins", "uno"))
        refused(said=["a run with source_vocabulary ", ", this one has "])
        vocabulary.write_text(words)
        run = self.train("--resume", "--max-epochs", 2, program=SINGLE)
        self.assertEqual(run.returncode, 0, run.stderr)

    def test_subwords_that_cannot_be_used_are_refused(self):
        codes = self.folder / "bpe"
        for text, *parts in (("", "no codes"), ("#version: 0.2\ne i\nein\n", "bpe, line 3", "ein"),
                             ("#version: 9\ne i\n", "version \"9\"")):
            codes.write_text(text)
            self.refused(self.train("--subwords", codes), *parts)
        self.refused(self.train("--subwords", self.folder / "nowhere"), "nowhere")
        self.refused(self.train("--subwords", codes, "--train-subwords", 100), "not both")

    @unittest.skipIf(os.environ.get("WEFT_SENTENCE_PIECE") != "1", "no SentencePiece")
    def test_sentence_piece_cuts_text_and_gives_it_back(self):
        self.write("more", pairs(1000))
        summary = self.folder / "summary.json"
        run = self.train("--train-subwords", 40, "--max-epochs", 4, "--summary", summary,
                         "--ranks", 2, corpus=self.corpus("more"), program=ZERO2)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertLessEqual(len(self.vocabulary("model")), 40)
        self.assertTrue(any(word.startswith("\u2581") for word in self.vocabulary("model")))
        self.expect_same_score("model", summary)
        run = self.run_program("translate", self.folder / "model", program=SINGLE,
                               stdin="eins zwei drei vier fuenf\n\n")
        self.assertEqual((run.returncode, run.stdout.count("\n")), (0, 2), run.stderr)
        self.assertNotIn("\u2581", run.stdout)

        model = self.folder / "model/subwords.model"
        for name, *subwords in (("trained", "--train-subwords", 40), ("given", "--subwords", model)):
            run = self.train(*subwords, "--max-epochs", 1, model=name, program=SINGLE,
                             corpus=self.corpus("more"))
            self.assertEqual(run.returncode, 0, run.stderr)
        self.assert_same_files("given", "trained", "subwords.model", "epoch-1.safetensors")
        for pieces, status in (30, 1), (40, 0):
            run = self.train("--train-subwords", pieces, "--max-epochs", 2, "--resume",
                             model="trained", program=SINGLE, corpus=self.corpus("more"))
            self.assertEqual(run.returncode, status, run.stderr)
            self.assertEqual("--train-subwords 30, but the run goes on with " in run.stderr and
                             "trained/subwords.model, a model of 40\n" in run.stderr, status == 1)
        self.refused(self.train("--train-subwords", 100000, model="other"), "100000 pieces",
                     "too high")
        (self.folder / "no.model").write_text("#version: 0.2\ne i\n")
        self.refused(self.train("--subwords", self.folder / "no.model", model="other"), "no.model",
                     "not a SentencePiece model")

    @unittest.skipIf(os.environ.get("WEFT_SENTENCE_PIECE") != "0", "built with SentencePiece")
    def test_without_sentence_piece_it_says_what_to_install(self):
        self.refused(self.train("--train-subwords", 40, program=SINGLE),
                     "--train-subwords needs SentencePiece", "libsentencepiece-dev")
        self.refused(self.train("--subwords", self.folder / "any.model", program=SINGLE),
                     "any.model needs SentencePiece", "libsentencepiece-dev")

    def test_corpora_that_cannot_be_used_are_refused(self):
        def refused(*parts, train="train"):
            self.refused(self.train("--max-updates", 2, corpus=self.corpus(train)), *parts)
        refused("cannot", "nowhere.de", train="nowhere")
        self.write("empty", [])
        refused("empty.de and ", "empty.en: the training corpus has no sentences\n", train="empty")
        self.refused(self.train(corpus=self.corpus(valid="empty")),
                     "empty.de and ", "empty.en: the validation corpus has no sentences\n")
        self.write("blank", [("", "one"), ("eins", " ")])
        refused("blank.en: the training corpus has no sentences; skipped, a side without words: 2 "
                "(at 1, 2)", train="blank")
        empty = [self.folder / "empty.de", self.folder / "empty.en"]
        self.refused(self.run_program("evaluate", "--hypotheses", empty[0], "--references",
                                      empty[1]), "empty.de and ", "empty.en: there are no lines to score")
        self.write("short", pairs(5))
        (self.folder / "short.en").write_text("one\n")
        refused("short.en", train="short")
        self.write("bytes", pairs(5))
        (self.folder / "bytes.de").write_bytes(b"eins\n\xff\xfe\n" * 3)
        refused("UTF-8", "line 2", train="bytes")
        self.write("cut", pairs(5))
        (self.folder / "cut.de").write_bytes(gzip.compress(b"eins zwei\n" * 1000)[:-20])
        refused("cut.de", train="cut")
        self.write("long", [("eins " * 300, "one")])
        refused("long.de", "line 1", "301", "256", train="long")
        self.refused(self.train("--too-long", "drop", corpus=self.corpus("long")),
                     "long.en: the training corpus has no sentences; dropped as too long: 1")
        run = self.train("--max-updates", 2, "--too-long", "drop", model="dropped",
                         corpus=self.corpus("train"))
        self.assertEqual(run.returncode, 0, run.stderr)

    def test_command_lines_that_make_no_sense_are_refused(self):
        for arguments, part in ((["--devices", 0, "train", "m"], "devices"),
                                (["train"], "folder"),
                                (["fly"], "subcommand"),
                                (["train", self.folder / "m"], "training corpus"),
                                (["train", self.folder / "m", "--source", "a"], "none of targets"),
                                (["train", self.folder / "m", "--max-updates", -1], "max-updates"),
                                (["evaluate", "--hypotheses", "a"], "--hypotheses requires --references"),
                                (["evaluate", "--references", "a"], "--references requires --hypotheses"),
                                (["translate", self.folder / "nothing"], "no folder"),
                                (["translate", self.folder], "is no folder of a model"),
                                (["train", self.folder / "train.de" / "m", *self.corpus()],
                                 "cannot make the folder")):
            run = self.run_program(*arguments)
            self.assertNotEqual(run.returncode, 0, arguments)
            self.assertIn(part, run.stderr + run.stdout)

    def test_options_come_from_a_file_whose_keys_are_known(self):
        config = self.folder / "run.toml"
        command = ["--config", config, "train", self.folder / "my model", *self.corpus()]
        for text, said in (("[train]\nwarmupp = 7\n", "warmupp"), ("[trian]\nwarmup = 7\n", "trian"),
                           ("tokens = 100\n", "tokens")):
            config.write_text(text)
            self.refused(self.run_program(*command, program=SINGLE), said)
        config.write_text("[train]\nmax-epochs = 1\ntokens = 600\n")
        run = self.run_program(*command, program=SINGLE)
        self.assertEqual(run.returncode, 0, run.stderr)

    def test_more_devices_than_sentences(self):
        self.write("few", pairs(3))
        run = self.train("--max-epochs", 2, "--devices", 8, corpus=self.corpus("few", "few"))
        self.assertEqual(run.returncode, 0, run.stderr)

    def test_texts_are_scored_as_sacrebleu_does(self):
        (self.folder / "h").write_text("the cat sat on the mat .\nhello there , world !\n")
        (self.folder / "r").write_text("the cat sat on a mat .\nhello there , world !\n")
        self.refused(self.run_program("evaluate", "--hypotheses", self.folder / "h", "--references",
                                      self.folder / "train.en", program=SINGLE),
                     f"{self.folder}/h has 2 lines and {self.folder}/train.en has 300\n")
        for name, ignored in (("folder", ["model"]), ("--tsv", ["--tsv", "corpus.tsv"]),
                              ("--beam", ["--beam", 4]), ("--join-subwords", ["--join-subwords"])):
            self.refused(self.run_program("evaluate", *ignored, "--hypotheses", self.folder / "h",
                                          "--references", self.folder / "r", program=SINGLE),
                         f"{name} excludes --hypotheses")
        run = self.run_program("evaluate", "--hypotheses", self.folder / "h", "--references",
                               self.folder / "r", "--tokenize", "13a", program=SINGLE)
        # sacrebleu 2.6.0: corpus_bleu with these lines
        self.assertEqual(run.stdout.split()[2], "69.19", run.stdout)


if __name__ == "__main__":
    MPIRUN = sys.argv[1]
    SINGLE, DATA_PARALLEL, DISTRIBUTED, ZERO1, ZERO2, ZERO3 = map(os.path.abspath, sys.argv[2:])
    unittest.main(argv=sys.argv[:1])
