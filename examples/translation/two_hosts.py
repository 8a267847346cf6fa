# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Trains on two hosts, and cuts the cable between them: two_hosts.py MPIRUN PROGRAM

`meson test` runs it with the environment that mpirun needs.

The hosts are two network namespaces of this machine, joined by a pair of virtual interfaces; ranks
reach each other over TCP. Exits with 77, which counts as skipped, where it may not make any, and
with another MPI than Open MPI, whose options it gives.
"""
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

from faults import check, write_corpora

TIMEOUT_S = 4
SKIPPED = 77


class Hosts:
    """Namespaces "a" and "b" with the addresses 10.213.7.1 and .2."""

    def __init__(self, folder):
        self.names = [f"weft-{os.getpid()}-{side}" for side in "ab"]
        self.addresses = ["10.213.7.1", "10.213.7.2"]
        self.links = [f"weft{os.getpid() % 100000}{side}" for side in "ab"]
        self.agent = folder / "agent"

    def __enter__(self):
        if shutil.which("ip") is None or shutil.which("unshare") is None:
            print("ip (iproute2) and unshare (util-linux) are needed to make network namespaces")
            sys.exit(SKIPPED)
        for name in self.names:
            made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True,
                                  check=False)
            if made.returncode != 0:
                print(f"may not make network namespaces: {made.stderr.strip()}")
                self.__exit__()
                sys.exit(SKIPPED)
        try:
            ip("link", "add", self.links[0], "netns", self.names[0], "type", "veth", "peer",
               "name", self.links[1], "netns", self.names[1])
            for name, address, link in zip(self.names, self.addresses, self.links, strict=True):
                ip("-n", name, "address", "add", f"{address}/24", "dev", link)
                ip("-n", name, "link", "set", link, "up")
                ip("-n", name, "link", "set", "lo", "up")
            # What mpirun calls to start its daemon on the other host. Hosts have names of their own,
            # by which Open MPI tells whether ranks may share memory.
            self.agent.write_text("#!/bin/sh\nshift\n" + self.inside(1) + ' "$*"\n')
            self.agent.chmod(0o755)
        except subprocess.CalledProcessError as refused:
            print(f"may not join network namespaces: {refused}")
            self.__exit__()
            sys.exit(SKIPPED)
        return self

    def __exit__(self, *_):
        for name in self.names:
            subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)

    def inside(self, host):
        """A shell's words that run the next word on a host, as a shell's line."""
        script = f"hostname weft-{'ab'[host]}; exec sh -c \"$1\""
        return (f"exec ip netns exec {self.names[host]} unshare --uts "
                f"sh -c {shlex.quote(script)} sh")

    def cut(self):
        ip("-n", self.names[0], "link", "set", self.links[0], "down")

    def mpirun(self, mpirun, command):
        line = shlex.join([mpirun, "-n", "2",
                           "--host", ",".join(self.addresses),
                           "--mca", "plm_rsh_agent", str(self.agent),
                           "--mca", "btl", "tcp,self", "--mca", "pml", "ob1",
                           "--mca", "btl_tcp_if_include", "10.213.7.0/24",
                           "--mca", "oob_tcp_if_include", "10.213.7.0/24",
                           # mpirun finds out after five minutes otherwise, and then leaves the ranks
                           # one second to say what they know.
                           "--mca", "oob_tcp_keepalive_time", "2",
                           "--mca", "oob_tcp_keepalive_intvl", "1",
                           "--mca", "oob_tcp_keepalive_probes", "2",
                           "--mca", "odls_base_sigkill_timeout", "3", *map(str, command)])
        return subprocess.Popen(["sh", "-c", f"{self.inside(0)} {shlex.quote(line)}"],
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def ip(*arguments):
    subprocess.run(["ip", *arguments], check=True)


def training(program, folder, model, *arguments):
    return [program, "--timeout", TIMEOUT_S, *arguments, "train", folder / model,
            "--source", folder / "train.de", "--target", folder / "train.en",
            "--valid-source", folder / "valid.de", "--valid-target", folder / "valid.en",
            "--tokens", 600, "--warmup", 50, "--rate", 0.003, "--lanes", 2, "--micro-batches", 2]


def left_over(folder):
    """Processes of a run that still live."""
    time.sleep(1)
    return subprocess.run(["pgrep", "-f", f"train {folder}"], capture_output=True, text=True,
                          check=False).stdout.split()


def main(mpirun, program):
    program = os.path.abspath(program)
    version = subprocess.run([mpirun, "--version"], capture_output=True, text=True, check=False).stdout
    if "Open MPI" not in version:
        print("not the mpirun of Open MPI")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory() as name, Hosts(pathlib.Path(name)) as hosts:
        folder = pathlib.Path(name)
        write_corpora(folder)

        run = hosts.mpirun(mpirun, training(program, folder, "hosts") + ["--max-epochs", 2])
        said = run.communicate(timeout=120)[0]
        check(run.returncode == 0, f"a run on two hosts ends well: {said}")
        alone = subprocess.run(
            list(map(str, training(program, folder, "threads", "--ranks", 2)
                     + ["--max-epochs", 2])), capture_output=True, text=True, check=False)
        check(alone.returncode == 0, alone.stderr)
        for file in ("epoch-2.safetensors", "state.safetensors"):
            check((folder / "hosts" / file).read_bytes() == (folder / "threads" / file).read_bytes(),
                  f"two hosts have the bytes of two threads: {file}")

        run = hosts.mpirun(mpirun, training(program, folder, "cut") + ["--max-epochs", 1000])
        while not (folder / "cut/epoch-1.safetensors").exists():
            check(run.poll() is None, "the run goes on until the cable is cut")
            time.sleep(0.02)
        hosts.cut()
        begin = time.monotonic()
        try:
            said = run.communicate(timeout=60)[0]
        except subprocess.TimeoutExpired:
            subprocess.run(["pkill", "-KILL", "-f", str(folder)], check=False)
            check(False, "a run whose cable was cut ends within a minute")
        seconds = time.monotonic() - begin
        check(run.returncode != 0, f"a run whose cable was cut fails: {said}")
        check("rank 0: rank 1 has not entered" in said, f"it says who was missing: {said}")
        check(seconds < TIMEOUT_S + 5 + 3, f"in {seconds:.1f} s: {said}")
        check(not left_over(folder), f"nobody stays behind: {said}")
        print(f"two hosts trained; {seconds:.1f} s after the cable was cut all had ended")


if __name__ == "__main__":
    main(*sys.argv[1:])
