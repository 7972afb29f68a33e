#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Boot the self-tests under QEMU and judge what the console says.

    run.py                      both machines with 1 and 4 CPUs, and once more
                                where it matters how probes are armed
    run.py --boot-matrix        every way to boot, CPU model and byte order
    run.py --icount             deterministic: two runs, the same bytes
    run.py --machine ppc64 --smp 4 --test 'patch*'

One line per boot, then "N passed, N failed, N skipped". Only the kernel's own
closing lines count as success: its totals, which must agree with the results
above them, and "EXIT: status=N", which must agree with QEMU's exit status. A
crash, a hang, a reset or a missing line is a failure and shows the end of the
console and the case that ran.
"""

import argparse
import json
import os
import queue
import re
import shlex
import socket
import subprocess
import sys
import tempfile
import threading
import time
from bisect import bisect_right
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / 'tools'))
import qemu                                             # noqa: E402
from qemu import Machine                                # noqa: E402

TAIL = 30               # console lines shown with a failure
REPORT = 200            # and those of a panic: what it says stands first
SILENCE = 240           # seconds without output that make a hang
TOTAL = 1200            # seconds for one boot
# Where the way to boot, the CPU or the byte order might matter; but not long:
# also what several CPUs do that take turns on one thread.
SMOKE = 'trap,vectors,step,frames,vm,extable,symtab,kprobe*,probe*,patch.[!ah]*'
# Where it matters how a probe is armed: once more with jumps from the start.
ARMED = 'kprobe*,probe*,session*,isolate*,ret*,jprobe*,trap*,vectors*'
PLAIN_EVERY = 15        # seconds between progress lines without a terminal

NOISE = re.compile(r'\x1b\[[0-9;?=]*[A-Za-z]|[\r\0]')
PLAN = re.compile(r'1\.\.(\d+)$')
RUNNING = re.compile(r'# running (\S+)$')
RESULT = re.compile(r'(not ok|ok) (\d+) (\S+)(?: # (SKIP|TODO)\b ?(.*))?$')
CLOSING = re.compile(r'(\d+) passed, (\d+) failed, (\d+) skipped$')
EXIT = re.compile(r'EXIT: status=(\d+)$')


class Transcript:
    """What the console said, understood line by line as it comes."""

    def __init__(self):
        self.plan = None
        self.running = None     # the case under way
        self.passed = self.failed = self.skipped = 0
        self.closing = None
        self.exit = None
        self.failures = []      # (case, its diagnostic lines)
        self.tail = deque(maxlen=TAIL)
        self._notes = []
        self._partial = ''

    def feed(self, data):
        """Takes bytes as they come from the console."""
        *lines, self._partial = (self._partial + data).split('\n')
        for line in lines:
            self._line(NOISE.sub('', line))

    def end(self):
        """The console is closed: a last line may lack its end."""
        if self._partial:
            self.feed('\n')

    def _line(self, line):
        if line.startswith('panic: '):
            self.tail = deque(self.tail, maxlen=TAIL + REPORT)
        self.tail.append(line)
        if m := RUNNING.match(line):
            self.running, self._notes = m[1], []
        elif m := RESULT.match(line):
            self._result(m)
        elif m := PLAN.match(line):
            self.plan = int(m[1])
        elif m := CLOSING.match(line):
            self.closing = tuple(int(n) for n in m.groups())
        elif m := EXIT.match(line):
            self.exit = int(m[1])
        elif self.running:
            self._notes.append(line)

    def _result(self, m):
        bad, directive = m[1] == 'not ok', m[4]
        if directive == 'SKIP' or (bad and directive == 'TODO'):
            self.skipped += 1
        elif bad:
            self.failed += 1
            self.failures.append((m[3], self._notes[-TAIL:]))
        else:
            self.passed += 1
        self.running, self._notes = None, []

    @property
    def done(self):
        return self.passed + self.failed + self.skipped

    @property
    def where(self):
        if self.running:
            return f'in {self.running}'
        if self.closing:
            return 'after the last test'
        return f'after {self.done} tests' if self.done else 'before any test'


@dataclass
class Outcome:
    """One boot, judged."""
    label: str
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    problem: str = ''           # what went wrong besides failed cases
    failures: list = field(default_factory=list)
    tail: list = field(default_factory=list)
    output: bytes = b''

    @property
    def line(self):
        text = (f'{self.label}: {self.passed} passed, {self.failed} failed, '
                f'{self.skipped} skipped')
        return text + (f': {self.problem}' if self.problem else '')


def problem_of(t, machine, returncode, hang):
    """Why the run as a whole cannot be trusted, or ''. First reason wins."""
    status = qemu.kernel_status(machine, returncode)
    if hang:
        return f'hangs {t.where} ({hang})'
    if status is None:
        return f'crashed {t.where}: {qemu.explain(machine, returncode)}'
    if t.closing is None:
        return (f'ended {t.where} without "N passed, N failed, N skipped" '
                f'(status {status})')
    if t.exit is None:
        return 'ended without "EXIT: status=N"'
    if (t.exit != 0) != (status != 0):
        return f'"EXIT: status={t.exit}", but QEMU says {status}'
    counted = (t.passed, t.failed, t.skipped)
    if t.closing != counted:
        return (f'says {t.closing} passed, failed, skipped, but reported '
                f'{counted}')
    if t.plan != t.done:
        return f'announced {t.plan} tests, but reported {t.done}'
    if t.done == 0:
        return 'ran no test'
    if (t.failed != 0) != (t.exit != 0):
        return f'{t.failed} tests failed, but its status is {t.exit}'
    return ''


class Boot:
    """One QEMU process and its console."""

    def __init__(self, machine, options):
        self.machine = machine
        self.options = options
        self.transcript = Transcript()
        self.state = 'waiting'
        self._tmp = None

    def run(self):
        """-> Outcome. Never raises for what the guest does."""
        self.state = 'starting'
        with tempfile.TemporaryDirectory() as self._tmp:
            returncode, hang, output, detail = self._boot()
        t = self.transcript
        t.end()
        problem = problem_of(t, self.machine.machine, returncode, hang)
        self.state = 'done'
        return Outcome(f'{self.machine} {self.options.words}'.strip(), t.passed,
                       t.failed + bool(problem and not t.failed), t.skipped,
                       problem, t.failures,
                       list(t.tail) + detail if problem else [], output)

    def _command(self):
        cmdline = f'test={self.options.test or "*"} {self.options.words}'
        iso = None
        if self.machine.needs_iso and not self.options.qemu:
            iso = Path(self._tmp) / 'sonde.iso'
            qemu.make_iso(self.machine.kernel, cmdline, iso)
        command = self.machine.command(
            cmdline, iso=iso,
            extra=['-qmp', f'unix:{self._tmp}/qmp,server=on,wait=off'])
        if self.options.qemu:
            command[:1] = shlex.split(self.options.qemu)
        return command

    def _boot(self):
        with subprocess.Popen(self._command(), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT) as process:
            self.state = 'booting'
            chunks = queue.Queue()
            reader = threading.Thread(target=self._drain,
                                      args=(process.stdout, chunks))
            reader.start()
            try:
                hang, output = self._watch(chunks)
                detail = self._where_cpus_are() if hang else []
            finally:
                if hang or sys.exc_info()[0]:
                    process.kill()
                reader.join()
            try:
                returncode = process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                returncode = process.wait()
            return returncode, hang, output, detail

    @staticmethod
    def _drain(stream, chunks):
        """An unread pipe would stop the guest's CPU."""
        while data := stream.read1(65536):
            chunks.put(data)
        chunks.put(None)

    def _watch(self, chunks):
        """Reads until the console closes. -> (reason of a hang or '', bytes)"""
        end = time.monotonic() + self.options.total
        output = bytearray()
        while True:
            left = max(0, end - time.monotonic())
            silence = self.options.silence
            try:
                data = chunks.get(timeout=min(silence, left))
            except queue.Empty:
                return (f'silent for {silence:g} s' if silence < left else
                        f'not done after {self.options.total:g} s',
                        bytes(output))
            if data is None:
                return '', bytes(output)
            output += data
            self.transcript.feed(data.decode('ascii', 'replace'))

    def _where_cpus_are(self):
        """Program counters of a hanging machine, with names, best effort."""
        try:
            with socket.socket(socket.AF_UNIX) as s:
                s.settimeout(5)
                s.connect(f'{self._tmp}/qmp')
                f = s.makefile('rw', encoding='ascii')
                f.readline()
                text = ''
                for request in ({'execute': 'qmp_capabilities'},
                                {'execute': 'human-monitor-command',
                                 'arguments': {'command-line':
                                               'info registers -a'}}):
                    print(json.dumps(request), file=f, flush=True)
                    while 'return' not in (reply := json.loads(f.readline())):
                        pass
                    text = reply['return']
        except (OSError, ValueError):
            return []
        pcs = re.findall(r'\b(?:RIP=|NIP +)([0-9a-f]{16})', text)
        names = symbol_namer(self.machine.kernel.with_suffix('.sym'))
        return [f'CPU {i} at {pc} {names(int(pc, 16))}'
                for i, pc in enumerate(pcs)]


def symbol_namer(path):
    """-> function from address to "name+0x12", from nm -n's output."""
    try:
        rows = [line.split(' ', 2) for line in
                path.read_text(encoding='ascii').splitlines()]
    except OSError:
        rows = []
    addresses = [int(row[0], 16) for row in rows]

    def name(addr):
        i = bisect_right(addresses, addr) - 1
        return f'{rows[i][2]}+{addr - addresses[i]:#x}' if i >= 0 else '?'
    return name


class Progress:
    """One line that is rewritten on a terminal; now and then a plain one
    elsewhere."""

    def __init__(self, boots):
        self.boots = boots
        self.tty = sys.stdout.isatty()
        self._last = time.monotonic()
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._loop)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()
        self._clear()

    def say(self, text):
        with self._lock:
            self._clear()
            print(text, flush=True)
            self._last = time.monotonic()

    def _clear(self):
        if self.tty:
            print('\r\x1b[K', end='', flush=True)

    def _text(self):
        parts = []
        for boot in self.boots:
            if boot.state in ('waiting', 'done'):
                continue
            t = boot.transcript
            parts.append(f'{boot.machine} {t.done}/{t.plan or "?"} '
                         f'{t.running or boot.state}')
        return ' | '.join(parts)

    def _loop(self):
        while not self._stop.wait(0.3 if self.tty else 1):
            with self._lock:
                text = self._text()
                if self.tty:
                    width = os.get_terminal_size().columns - 1
                    print(f'\r\x1b[K{text[:width]}', end='', flush=True)
                elif text and time.monotonic() - self._last > PLAIN_EVERY:
                    print(f'... {text}', flush=True)
                    self._last = time.monotonic()


def show_failure(outcome, say):
    for case, notes in outcome.failures:
        say(f'  FAILED {outcome.label}: {case}')
        for note in notes:
            say(f'    {note}')
    if outcome.problem:
        say(f'  FAILED {outcome.label}: {outcome.problem}. Last lines:')
        for line in outcome.tail:
            say(f'    | {line}')


def same_bytes(first, second):
    """A repeatable machine must repeat itself."""
    if first.output == second.output:
        return
    a, b = (o.output.decode('ascii', 'replace').splitlines()
            for o in (first, second))
    line = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y),
                min(len(a), len(b)))
    second.problem = f'two runs differ, first in line {line + 1}'
    second.failed += 1
    second.tail = [text for side, lines in (('1st', a), ('2nd', b))
                   for text in [f'{side}: {lines[line]}'
                                if line < len(lines) else f'{side}: (ended)']]


def boots_of(options):
    """The boots that the arguments ask for, slow ones first."""
    smoke = argparse.Namespace(**{**vars(options),
                                  'test': options.test or SMOKE})
    if options.boot_matrix:
        x86, ppc, le = (Machine(m, smp=2) for m in qemu.BOOTS)
        return [Boot(le, options)] + [Boot(m, smoke) for m in (
            replace(x86, boot='uefi'), replace(ppc, boot='slof'),
            replace(le, boot='slof'), replace(x86, boot='bios'),
            replace(x86, boot='pvh', smp=8), replace(ppc, boot='vof', smp=8),
            replace(ppc, cpu='power10'), replace(le, cpu='power10'))]
    boots = [Boot(Machine(m, options.boot if options.boot in qemu.BOOTS[m]
                          else '', smp, options.cpu, icount=options.icount),
                  smoke if options.icount and smp > 1 else options)
             for m in options.machine or ('x86_64', 'ppc64')
             for smp in options.smp or (1, 4)
             for _ in range(2 if options.icount else 1)]
    if options.icount or options.test or options.words:
        return boots
    eager = argparse.Namespace(**{**vars(options), 'test': ARMED,
                                  'words': 'optimize=eager'})
    return boots + [Boot(boot.machine, eager) for boot in boots
                    if boot.machine.smp > 1]


def arguments(argv):
    p = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--machine', action='append', choices=qemu.BOOTS)
    p.add_argument('--smp', action='append', type=int)
    p.add_argument('--boot', default='')
    p.add_argument('--cpu', default='')
    p.add_argument('--test', default='', metavar='GLOB')
    p.add_argument('--words', default='', help='more words for the kernel')
    p.add_argument('--boot-matrix', action='store_true')
    p.add_argument('--icount', action='store_true')
    p.add_argument('--jobs', type=int, default=2)
    p.add_argument('--silence', type=float, default=SILENCE, metavar='S',
                   help='seconds without output that make a hang')
    p.add_argument('--total', type=float, default=TOTAL, metavar='S')
    p.add_argument('--qemu', default='', help='run this instead of QEMU')
    p.add_argument('--keep', metavar='DIR', help='write consoles there')
    return p.parse_args(argv)


def keep(outcome, directory):
    Path(directory).mkdir(parents=True, exist_ok=True)
    name = outcome.label.replace(' ', '-').replace('=', '')
    (Path(directory) / f'{name}.log').write_bytes(outcome.output)


def main(argv=None):
    options = arguments(argv)
    try:
        boots = boots_of(options)
    except ValueError as e:
        sys.exit(f'run.py: {e}')
    outcomes = []
    with Progress(boots) as progress, \
            ThreadPoolExecutor(options.jobs) as pool:
        futures = [pool.submit(boot.run) for boot in boots]
        for i, future in enumerate(futures):
            outcome = future.result()
            if options.icount and i % 2:
                same_bytes(outcomes[-1], outcome)
            outcomes.append(outcome)
            if options.keep:
                keep(outcome, options.keep)
            progress.say(outcome.line)
            show_failure(outcome, progress.say)
    passed, failed, skipped = (sum(getattr(o, key) for o in outcomes)
                               for key in ('passed', 'failed', 'skipped'))
    bad = [o for o in outcomes if o.failed or o.problem]
    if bad:
        print('\nnot good:', *(f'  {o.line}' for o in bad), sep='\n')
    print(f'{passed} passed, {failed} failed, {skipped} skipped')
    return 1 if bad or not outcomes else 0


if __name__ == '__main__':
    sys.exit(main())
