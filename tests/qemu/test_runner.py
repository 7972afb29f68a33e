# SPDX-License-Identifier: MIT
"""Tests of the test runner: what it must call a failure, and must not.

A program that prints a canned console and exits stands in for QEMU. Where the
kernels are built, its hidden cases that hang, reset and panic do so for real.
"""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

RUN = Path(__file__).with_name('run.py')
BUILD = RUN.parents[2] / 'build'

START = '# running a.one\nok 1 a.one\n'
HEAD = 'KTAP version 1\n1..2\n'
SECOND = '# running a.two\nok 2 a.two\n'
GOOD = HEAD + START + SECOND + '2 passed, 0 failed, 0 skipped\nEXIT: status=0\n'
BAD = (HEAD + START + '# running a.two\n# x.c:7: EXPECT_EQ(a, b)\n'
       '#   left:  1 (0x1)\nnot ok 2 a.two\n1 passed, 1 failed, 0 skipped\n'
       'EXIT: status=1\n')

X86_OK, X86_BAD, X86_RESET = 33, 35, 0


def run(*args):
    done = subprocess.run(['/usr/bin/python3', str(RUN), *args], timeout=120,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False)
    return done.returncode, done.stdout


def fake(console, status, *args, machine='x86_64', then=''):
    """Runs the runner on a machine that prints `console` and exits."""
    program = (f'import sys, time; sys.stdout.write({console!r}); '
               f'sys.stdout.flush(); {then or "pass"}; sys.exit({status})')
    return run('--machine', machine, '--smp', '1', '--qemu',
               shlex.join([sys.executable, '-c', program]), *args)


def closing(output):
    """The runner's own last line, as numbers."""
    m = re.fullmatch(r'(\d+) passed, (\d+) failed, (\d+) skipped',
                     output.splitlines()[-1])
    assert m, output
    return tuple(int(n) for n in m.groups())


def test_a_good_run_passes():
    code, out = fake(GOOD, X86_OK)
    assert (code, closing(out)) == (0, (2, 0, 0)), out
    assert 'x86_64 smp=1 pvh: 2 passed, 0 failed, 0 skipped\n' in out


def test_a_good_run_passes_on_ppc64():
    code, out = fake(GOOD, 0, machine='ppc64')
    assert (code, closing(out)) == (0, (2, 0, 0)), out


def test_skip_and_todo_are_skipped():
    console = (HEAD + 'ok 1 a.one # SKIP no device\n'
               'not ok 2 a.two # TODO emulator\n'
               '0 passed, 0 failed, 2 skipped\nEXIT: status=0\n')
    code, out = fake(console, X86_OK)
    assert (code, closing(out)) == (0, (0, 0, 2)), out


def test_a_failed_case_is_shown_with_its_diagnostics():
    code, out = fake(BAD, X86_BAD)
    assert (code, closing(out)) == (1, (1, 1, 0)), out
    assert 'a.two' in out and 'x.c:7: EXPECT_EQ(a, b)' in out


def test_noise_of_firmware_is_ignored():
    console = ('\x1b[2J\x1b[01;01HBdsDxe: loading\r\n\x1b[0m' +
               GOOD.replace('\n', '\r\n'))
    assert fake(console, X86_OK)[0] == 0


@pytest.mark.parametrize('name, console, status, machine, says', [
    ('crash', HEAD + START + '# running a.two\npanic: boom\nEXIT: status=1\n',
     X86_BAD, 'x86_64', 'ended in a.two without'),
    ('long report', HEAD + START + '# running a.two\npanic: a long one\n' +
     '  #0 somewhere\n' * 60 + 'EXIT: status=1\n',
     X86_BAD, 'x86_64', 'panic: a long one'),
    ('triple fault', HEAD + START + '# running a.two\n',
     X86_RESET, 'x86_64', 'crashed in a.two: the machine reset itself'),
    ('reset after the end', GOOD, X86_RESET, 'x86_64', 'reset itself'),
    ('exit 0 without closing line', HEAD + START + SECOND + 'EXIT: status=0\n',
     0, 'ppc64', 'without "N passed'),
    ('silence', '', 0, 'ppc64', 'before any test'),
    ('silence on x86', '', X86_OK, 'x86_64', 'before any test'),
    ('no EXIT line', GOOD.replace('EXIT: status=0\n', ''), X86_OK, 'x86_64',
     'without "EXIT'),
    ('EXIT against QEMU', GOOD, X86_BAD, 'x86_64', 'but QEMU says 1'),
    ('EXIT against QEMU on ppc64', GOOD, 1, 'ppc64', 'but QEMU says 1'),
    ('wrong totals', GOOD.replace('2 passed', '3 passed'), X86_OK, 'x86_64',
     'but reported'),
    ('fewer than announced', GOOD.replace('1..2', '1..3'), X86_OK, 'x86_64',
     'announced 3'),
    ('no plan', GOOD.replace('1..2\n', ''), X86_OK, 'x86_64', 'announced None'),
    ('no test', 'KTAP version 1\n1..0\n0 passed, 0 failed, 0 skipped\n'
     'EXIT: status=0\n', X86_OK, 'x86_64', 'ran no test'),
    ('failures, but status 0', BAD.replace('status=1', 'status=0'), X86_OK,
     'x86_64', 'its status is 0'),
    ('QEMU does not start', 'qemu: no such option\n', 1, 'x86_64',
     'QEMU failed with status 1'),
], ids=lambda v: v if isinstance(v, str) and len(v) < 30 else '')
def test_is_a_failure(name, console, status, machine, says):
    code, out = fake(console, status, machine=machine)
    assert code == 1, f'{name}: {out}'
    assert closing(out)[1] >= 1, out
    assert says in out
    for line in console.splitlines()[-3:]:
        assert line in out      # the end of the console is shown


def test_a_silent_machine_is_killed_and_its_case_named():
    code, out = fake(HEAD + START + '# running a.two\n', 0, '--silence', '5',
                     then='time.sleep(60)')
    assert (code, closing(out)) == (1, (1, 1, 0)), out
    assert 'hangs in a.two (silent for 5 s)' in out


def test_a_machine_that_babbles_for_ever_is_killed():
    babble = '[(print("tick", flush=True), time.sleep(.05)) for i in range(999)]'
    code, out = fake(HEAD, 0, '--total', '1', then=babble)
    assert code == 1 and 'not done after 1 s' in out, out


def test_much_output_is_drained():
    lots = 'sys.stdout.write(("y" * 79 + chr(10)) * 50000)'
    code, out = fake('', X86_OK, then=f'{lots}; sys.stdout.write({GOOD!r})')
    assert code == 0, out[-2000:]


def test_icount_runs_must_be_identical(tmp_path):
    assert fake(GOOD, X86_OK, '--icount')[0] == 0
    counter = tmp_path / 'n'
    differ = (f'f = open({str(counter)!r}, "a"); f.write("x"); f.close(); '
              f'print("n", len(open({str(counter)!r}).read())); '
              f'sys.stdout.write({GOOD!r})')
    code, out = fake('', X86_OK, '--icount', '--jobs', '1', then=differ)
    assert code == 1 and 'two runs differ, first in line 1' in out, out
    assert '1st: n 1' in out and '2nd: n 2' in out


@pytest.mark.parametrize('machine', ['x86_64', 'ppc64'])
def test_more_globs_than_fit_are_refused(machine):
    if not (BUILD / machine / 'kernel.elf').exists():
        pytest.skip(f'build/{machine}/kernel.elf is not built')
    code, out = run('--machine', machine, '--smp', '1', '--test', 'a,' * 300)
    assert code == 1, out
    assert 'test: more than 511 characters' in out


@pytest.mark.parametrize('machine', ['x86_64', 'ppc64'])
@pytest.mark.parametrize('case, says', [
    ('hangs', 'hangs in bad.hangs'),
    ('triple_faults', 'in bad.triple_faults'),
    ('panics', 'in bad.panics'),
    ('panics_on_all_cpus_at_once', 'in bad.panics_on_all_cpus_at_once'),
    ('returns_without_a_call', 'the last one that did was ret_address'),
    ('fails', 'bad.fails')])
def test_a_real_machine(machine, case, says):
    if not (BUILD / machine / 'kernel.elf').exists():
        pytest.skip(f'build/{machine}/kernel.elf is not built')
    if case == 'triple_faults' and machine != 'x86_64':
        pytest.skip('x86_64 only')
    silence = '10' if case == 'hangs' else '60'
    code, out = run('--machine', machine, '--smp', '2', '--silence', silence,
                    '--test', f'bad.{case}')
    assert code == 1, out
    assert closing(out)[1] == 1, out
    assert says in out
